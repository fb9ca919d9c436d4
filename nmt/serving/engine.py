"""The computations of a server on a translator, away from the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from nmt.explaining import erasure
from nmt.explaining.erasure import Erasure
from nmt.translation.erased_words import ErasureMethod
from nmt.translation.request import TranslationRequest
from nmt.translation.result import Translation
from nmt.translation.translator import Translator


class Engine:
    """Answers requests with a translator.

    Args:
        translator: several threads may use it.
    """

    def __init__(self, translator: Translator) -> None:
        self._translator = translator

    async def translate(self, requests: Sequence[TranslationRequest]) -> list[list[Translation]]:
        """The translations of each request; see `Translator.answer`."""
        return await asyncio.to_thread(lambda: list(self._translator.answer(requests)))

    async def align(self, pairs: Sequence[tuple[str, str]]) -> list[Translation]:
        """The pairs with their log-probability and alignment; see `Translator.align`."""
        sources, targets = [source for source, _ in pairs], [target for _, target in pairs]
        return await asyncio.to_thread(lambda: list(self._translator.align(sources, targets)))

    async def erase(self, pair: Translation, method: ErasureMethod) -> Erasure:
        """The erasure of each source word of a pair; see `explaining.erasure`."""
        return await asyncio.to_thread(lambda: next(erasure.erase(self._translator, [pair], method))[1])
