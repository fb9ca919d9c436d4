"""Outputs that are written line by line and can be resumed after an interruption."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TextIO

from nmt.errors import NmtError
from nmt.files.locking import locked
from nmt.files.named_files import open_text
from nmt.files.paths import is_stream, not_writable, real_path, require_directory


def can_be_resumed(paths: Sequence[str]) -> bool:
    """Whether all of these are places for plain files that are not compressed, which `ResumableOutputs` needs."""
    return all(
        path != "-" and not path.endswith(".gz") and not Path(path).is_dir() and not is_stream(Path(path))
        for path in paths
    )


class ResumableOutputs:
    """Text files that are written line by line, appear under their names when they are complete, and can be gone on
    with where an interruption left them.

    Until then they are hidden beside their places. After an error that the user can mend nothing is left, unless a
    block of lines was there.

    Args:
        paths: the files, which belong together line by line.
        resume: whether to go on with what an interruption left; False: there must be nothing.
        block: lines of the input whose results are only there together.
        per_line: lines that are written for a line of the input.

    Raises:
        NmtError: no directory to write into, or something to go on with that is not asked for.
    """

    def __init__(self, paths: Sequence[str], resume: bool, block: int, per_line: int = 1) -> None:
        self._places = [real_path(Path(path)) for path in paths]  # a symbolic link stays one
        for place in self._places:
            require_directory(place.parent)
        self._parts = [place.with_name(f".{place.name}.part") for place in self._places]
        self._about = self._parts[0].with_name(f".{self._places[0].name}.identity")
        self._block, self._per_line = block, per_line
        self.done = self._whole_blocks()
        """Lines of the input whose results are there already."""
        for part in [] if self.done else self._parts:
            if _lines(part) >= block * per_line:
                raise NmtError(
                    f"{part}: an interrupted command left it, and nothing of what is to stand beside it: repeat that "
                    "command if it wrote other files, or delete this one to begin anew"
                )
        if self.done and not resume:
            raise NmtError(
                f"{paths[0]}: {self.done} lines of an interrupted translation are there: go on with --resume, "
                f"or delete {self._parts[0]} to begin anew"
            )
        if resume and not self.done:
            print(f"nmt: {paths[0]}: no interrupted translation is there: beginning with line 1", file=sys.stderr)

    def _whole_blocks(self) -> int:
        return min(map(_lines, self._parts)) // (self._block * self._per_line) * self._block

    @contextmanager
    def opened(self, identity: str) -> Iterator[list[TextIO]]:
        """The files, to be written on behind the lines that are there.

        Args:
            identity: of what makes their contents; only what the same identity left is gone on with.

        Raises:
            NmtError: what is there is of another identity, or another process is writing it.
        """
        known = {identity}
        if len(self._places) > 1:
            identity = f"{len(self._places)} {identity}"
            known.add(identity)
        with self._alone():
            if self.done and (not self._about.exists() or self._about.read_text(encoding="utf-8") not in known):
                raise NmtError(
                    f"{self._parts[0]}: an interrupted command left it, of another model, input, search or precision, "
                    "or with other files beside it: repeat that command, or delete it to begin anew"
                )
            try:
                self._identify(identity)
                with ExitStack() as files:
                    parts = zip(self._parts, self._places, strict=True)
                    there = self.done * self._per_line
                    yield [files.enter_context(_opened_behind(part, there, place)) for part, place in parts]
            except BaseException as error:
                if left := self._whole_blocks():
                    print(f"nmt: {left} lines are kept; the same command with --resume goes on there", file=sys.stderr)
                else:
                    self._clear()
                    if isinstance(error, KeyboardInterrupt):
                        print(f"nmt: nothing is kept: lines are kept {self._block} at a time", file=sys.stderr)
                raise
            for part, place in zip(self._parts, self._places, strict=True):
                part.replace(place)
            self._clear()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keeps other processes from writing the same."""
        part, place = self._parts[0], self._places[0]
        try:
            part.touch()
        except OSError as error:
            raise not_writable(place, error) from None
        with locked(part, NmtError(f"{place}: another process is writing it: wait, or choose another output")):
            yield

    def _identify(self, identity: str) -> None:
        try:
            self._about.write_text(identity, encoding="utf-8")
        except OSError as error:
            raise not_writable(self._places[0], error) from None

    def _clear(self) -> None:
        for path in (*self._parts, self._about):
            path.unlink(missing_ok=True)


def _lines(path: Path) -> int:
    if not path.exists():
        return 0
    with open(path, "rb") as file:
        return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 20), b""))


def _opened_behind(path: Path, lines: int, place: Path) -> TextIO:
    """The file, cut behind its first lines, open for writing there; `place` is what it is going to be."""
    path.touch()
    with open(path, "rb+") as file:
        for _ in range(lines):
            file.readline()
        file.truncate(file.tell())
    return open_text(path, "a", place)
