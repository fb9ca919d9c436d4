"""A sample that is spread evenly over a stream of unknown length."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class SpreadSample(Generic[T]):
    """Items of a stream at equal distances: at most `count`, and at least half as many from a longer stream."""

    def __init__(self, count: int) -> None:
        self.kept: list[T] = []
        self._count, self._step = count, 1

    def over(self, items: Iterable[T]) -> Iterator[T]:
        """Hands the items on, and samples them; `kept` begins anew."""
        self.kept, self._step = [], 1
        for place, item in enumerate(items):
            self._offer(place, item)
            yield item

    def _offer(self, place: int, item: T) -> None:
        if place % self._step:
            return
        if len(self.kept) == self._count > 1:
            self.kept, self._step = self.kept[::2], 2 * self._step
            if place % self._step:
                return
        if len(self.kept) < self._count:
            self.kept.append(item)
