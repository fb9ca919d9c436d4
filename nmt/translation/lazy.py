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
        self._error: Exception | None = None

    def __next__(self) -> T:
        result = self._ahead.popleft() if self._ahead else self._next_result()
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
        if not isinstance(index, slice):
            self._compute(index, None if index < 0 else index + 1)
            return self._ahead[index - self._passed]
        backward = index.step is not None and index.step < 0
        first, last = (index.stop, index.start) if backward else (index.start, index.stop)
        if last is None or last < 0 or (first is not None and first < 0):
            self._compute(first or 0, None)
        else:
            self._compute(first + 1 if backward and first is not None else first or 0, last + backward)
        places = range(*index.indices(self._passed + len(self._ahead)))
        ahead = list(self._ahead)
        return [ahead[place - self._passed] for place in places]

    def _compute(self, first: int, count: int | None) -> None:
        """Computes the first `count` results, or all.

        Raises:
            NmtError: iteration has already handed on the result of index `first`, or all are needed and some are gone.
        """
        if self._passed and (count is None or first < self._passed):
            raise NmtError(
                f"{self._passed} {self._name} have already been iterated over and are not kept: make a list of them"
            )
        while count is None or self._passed + len(self._ahead) < count:
            try:
                self._ahead.append(self._next_result())
            except StopIteration:
                return

    def _next_result(self) -> T:
        """The next result of the source; once the source has failed, its error each time: a failed generator ends."""
        if self._error is not None:
            raise self._error
        try:
            return next(self._results)
        except StopIteration:
            raise
        except Exception as error:
            self._error = error
            raise

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise AttributeError(
            f"{self._name} are computed as they are read, so they have no '{name}' together: take one of them, as in "
            f"found[0], iterate over them, or make a list"
        )

    def __repr__(self) -> str:
        return f"<{self._name}, computed as they are read: iterate, take one by [0], or make a list>"
