"""The computations of a server on a translator, shared by all clients."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any

from nmt.explaining import erasure
from nmt.explaining.erasure import Erasure
from nmt.serving.delivery import Delivery
from nmt.serving.limits import Limits, patiently
from nmt.serving.scheduler import CHARACTERS, Job, Scheduler
from nmt.translation.erased_words import ErasureMethod
from nmt.translation.glossary import Glossary
from nmt.translation.request import TranslationRequest
from nmt.translation.result import Translation
from nmt.translation.translator import Translator

ALIGN, ERASE = "align", "erase"
"""First parts of the keys of jobs that translate nothing."""


class Engine:
    """Answers requests with a translator. Cancelling a call frees its place in the queue.

    Args:
        translator: several threads may use it.
        limits: of the queue.
        report: called with the number of sentences that are computed together.
    """

    def __init__(self, translator: Translator, limits: Limits, report: Callable[[int], object]) -> None:
        self.translator = translator
        self._delivery: Delivery | None = None
        self.scheduler = Scheduler(_Compute(translator, report), limits.queue, translator.inference.batches_at_once)

    async def translate(self, requests: Sequence[TranslationRequest]) -> list[list[Translation]]:
        """The translations of each request; see `Translator.answer`.

        Raises:
            RefusedError: the queue is full.
            NmtError: a request that cannot be answered.
        """
        with_terms = any(request.terms for request in requests)  # they are looked up in each text
        return await self._computed(await asyncio.to_thread(_jobs, requests) if with_terms else _jobs(requests))

    async def align(self, pairs: Sequence[tuple[str, str]]) -> list[Translation]:
        """The pairs with their log-probability and alignment; see `Translator.align`.

        Raises:
            RefusedError: the queue is full.
        """
        return await self._computed([Job((ALIGN,), pair, max(map(len, pair))) for pair in pairs])

    async def erase(self, pair: Translation, method: ErasureMethod) -> Erasure:
        """The erasure of each source word of a pair; see `explaining.erasure`.

        Sentences of other clients come between the parts of a long pair. After the first part, the others wait for a
        place in the queue.

        Raises:
            RefusedError: the queue is full at the beginning.
            NmtError: the model cannot score a pair without a word.
        """
        first, *others = _erasure_jobs(pair, method)
        parts = await self._computed([first])
        for job in others:
            parts += await patiently(partial(self._computed, [job]))
        return erasure.joined(parts)

    def warm_up(self) -> None:
        """Compiles the usual programs, so that the first request is quick."""
        jobs = [Job(_key(one), one, 1) for one in [TranslationRequest("a", self.translator.config.search)]]
        jobs.append(Job((ALIGN,), ("a", "a"), 1))
        self._compute_each(jobs)

    def warm_up_rest(self) -> None:
        """Compiles what the page needs besides: going on after a prefix, and leaving words out."""
        pair = next(iter(self.translator.align(["a"], ["a"])))
        first = next(iter(self.translator.translate(["a"]))).text.partition(" ")[0]
        one = TranslationRequest("a", self.translator.config.search, prefix=first)
        jobs = [Job(_key(one), one, 1)] if first else []
        self._compute_each([*jobs, *_erasure_jobs(pair, "word")])

    def _compute_each(self, jobs: Sequence[Job]) -> None:
        """Computes jobs one after the other, which the shortest queue has room for."""
        for job in jobs:
            self.scheduler.submit([job])
            job.future.result()

    async def _computed(self, jobs: list[Job]) -> list[Any]:
        """The results of jobs; if one fails or nobody waits for them, all are cancelled."""
        self.scheduler.submit(jobs)
        loop = asyncio.get_running_loop()
        if self._delivery is None or self._delivery.loop is not loop:
            self._delivery = Delivery(loop)
        try:
            return list(await asyncio.gather(*[self._delivery.result_of(job.future) for job in jobs]))
        finally:
            for job in jobs:
                job.future.cancel()


def _jobs(requests: Sequence[TranslationRequest]) -> list[Job]:
    return [Job(_key(request), request, _length(request)) for request in requests]


def _erasure_jobs(pair: Translation, method: ErasureMethod) -> list[Job]:
    """Jobs that erase some words each: a forward pass for each word, and few enough for one computation."""
    characters, words = len(pair.source) + len(pair.text), len(pair.alignment.source)
    some = max(CHARACTERS // max(characters, 1), 1)
    spans = [range(first, min(first + some, words)) for first in range(0, max(words, 1), some)]
    return [Job((ERASE, method), (pair, span), characters * max(len(span), 1), patient=True) for span in spans]


def _key(request: TranslationRequest) -> Hashable:
    """The key of a request: requests with equal keys have one program, and are computed together.

    Terms that do not occur in the text need no program. If they did, the first text with a term would compile in the
    quick lane.
    """
    terms = bool(request.terms and Glossary(request.terms).of(request.text))
    constrained = bool(request.prefix or request.phrases), terms, request.glossary_mode if terms else "prefer"
    return request.search, request.candidates if request.search.method == "sample" else 0, constrained


def _length(request: TranslationRequest) -> int:
    """The characters that the search reads, and those that it must write."""
    return len(request.text) + len(request.prefix) + sum(map(len, request.phrases))


class _Compute:
    """Computes jobs of one key with a translator."""

    def __init__(self, translator: Translator, report: Callable[[int], object]) -> None:
        self._translator, self._report = translator, report

    def __call__(self, key: Any, values: list[Any]) -> list[Any]:
        self._report(len(values))
        if key[0] == ALIGN:
            return list(self._translator.align([source for source, _ in values], [target for _, target in values]))
        if key[0] == ERASE:
            pairs, words = zip(*values, strict=True)
            return [found for _, found in erasure.erase(self._translator, pairs, key[1], words=words)]
        return list(self._translator.answer(values))
