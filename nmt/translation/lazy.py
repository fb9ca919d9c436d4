"""Results that are computed as they are read."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar, overload

from nmt.errors import NmtError

T = TypeVar("T")


class Lazy(Generic[T], Iterator[T]):
    """An iterator over results that also takes an index.

    An index computes the results up to its own, and keeps them until they are iterated over. Iteration keeps nothing,
    so memory does not grow with a stream.

    Args:
        results: computes the results.
        name: of the results, for messages.
    """

    def __init__(self, results: Iterable[T], name: str) -> None:
        self._results, self._name = iter(results), name
        self._ahead: deque[T] = deque()
        self._passed = 0

    def __next__(self) -> T:
        result = self._ahead.popleft() if self._ahead else next(self._results)
        self._passed += 1
        return result

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        """The result of this index; a slice is a list.

        Raises:
            IndexError: there are not so many results.
            NmtError: iteration has already handed on a result that the index needs.
        """
        ends = (index.start or 0, index.stop) if isinstance(index, slice) else (index, index + 1)
        from_end = any(end is None or end < 0 for end in ends) or index == -1
        self._compute(None if from_end else max(ends))
        if self._passed and (from_end or min(ends) < self._passed):
            raise NmtError(
                f"{self._passed} {self._name} have already been iterated over and are not kept: make a list of them"
            )
        if isinstance(index, slice):
            return list(self._ahead)[_shifted(index, self._passed)]
        return self._ahead[index - self._passed]

    def _compute(self, count: int | None) -> None:
        """Computes the first `count` results, or all."""
        while count is None or self._passed + len(self._ahead) < count:
            try:
                self._ahead.append(next(self._results))
            except StopIteration:
                return

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise AttributeError(
            f"{self._name} are computed as they are read, so they have no '{name}' together: take one of them, as in "
            f"found[0], iterate over them, or make a list"
        )

    def __repr__(self) -> str:
        return f"<{self._name}, computed as they are read: iterate, take one by [0], or make a list>"


def _shifted(index: slice, by: int) -> slice:
    """The slice of what is left after `by` results."""
    start, stop = (None if end is None else end - by for end in (index.start, index.stop))
    return slice(start, stop, index.step)
