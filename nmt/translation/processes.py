"""A translator whose chunks of requests are answered by several processes, and come back in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NoReturn

from nmt.alignment.hard_links import DEFAULT_LINKING, Linking
from nmt.batches.windows import windows
from nmt.run.directory import Run
from nmt.run.text_profile import load_profile
from nmt.translation.inference.protocol import Report
from nmt.translation.request import TranslationRequest
from nmt.translation.result import Translation
from nmt.translation.translator import Translator
from nmt.translation.worker import Chunk, Load
from nmt.translation.worker_pool import WorkerPool


class ProcessTranslator(Translator):
    """A translator that answers requests in worker processes. Only the workers load the model.

    Use it as a context manager: the workers end with the block.

    Args:
        directory: the run, or the first run of an ensemble, whose vocabularies and settings are read here.
        load: loads the translator of a worker; see `Load`.
        processes: number of workers. Each gets an equal share of the processors.

    Raises:
        RunError: the directory is not a run.
    """

    def __init__(self, directory: str | Path, load: Load, processes: int) -> None:
        run = Run.open(directory)
        self._pool = WorkerPool(load, processes)
        super().__init__(
            run, _FarInference(self._pool), load_profile(run.directory, (run.source.size, run.target.size))
        )

    def __enter__(self) -> ProcessTranslator:
        self._pool.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.stop()

    def answer(
        self,
        requests: Iterable[TranslationRequest],
        linking: Linking = DEFAULT_LINKING,
        report: Report | None = None,
    ) -> Iterator[list[Translation]]:
        """See `Translator.answer`. The workers' aligner makes the links.

        Raises:
            NmtError: also for a worker that fails twice at the same chunk, or while it loads the model.
        """
        chunks = (Chunk(of_chunk, linking) for of_chunk in windows(requests, self.chunk_size))
        return chain.from_iterable(self._pool.answers(chunks, report or _silent))


def _silent(sentences: int) -> None:
    """Reports nothing."""


class _FarInference:
    """Stands for the inference of the workers; see `protocol.Inference`."""

    batches_at_once = 1

    def __init__(self, pool: WorkerPool) -> None:
        self._pool = pool

    @property
    def fingerprint(self) -> str:
        """The fingerprint that a worker computed; waits until it has loaded the model."""
        return self._pool.fingerprint

    def find(self, *_: Any, **__: Any) -> NoReturn:
        raise NotImplementedError("worker processes search: use ProcessTranslator.answer")

    def score(self, *_: Any, **__: Any) -> NoReturn:
        raise NotImplementedError("worker processes only answer requests: load the translator here to score pairs")
