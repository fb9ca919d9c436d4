"""Output files that grow line by line and can be resumed after an interruption."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TextIO

from nmt.errors import NmtError
from nmt.files.atomic_writing import errors_named, move_into_place, shortened, write_atomically
from nmt.files.locking import locked
from nmt.files.named_files import open_text
from nmt.files.paths import is_stream, not_writable, real_path, require_directory
from nmt.files.reading import plain_name
from nmt.progress import counted, report

_RENAMING = "renaming "
"""Begins the identity file from the moment when the first of several files may have its final name."""

_SHAPE = re.compile(r"([0-9]+)x([0-9]+) ")
"""Begins an identity: the number of files, and of output lines for each input line."""


def can_be_resumed(paths: Sequence[str]) -> bool:
    """Whether all of these are plain, uncompressed files, or can become such files. `ResumableOutputs` needs them."""
    return all(
        path != "-" and plain_name(path) == path and not Path(path).is_dir() and not is_stream(Path(path))
        for path in paths
    )


class ResumableOutputs:
    """Text files that belong together line by line and appear under their names when they are complete.

    Until then each grows as a hidden file `.NAME.part` in its directory. Beside the first of them, `.NAME.identity`
    identifies the command that writes them; long names are shortened. After an error or an interruption the hidden
    files stay if they hold a complete block of lines, and are removed otherwise.

    A process can be killed after some of several files have their names. The identity file records that renaming has
    begun, so `resume` then finds the lines of these files under their final names.

    Args:
        paths: the final paths.
        resume: continue behind the lines that an interruption left. False: no such lines may exist.
        block: input lines whose results are written together. An incomplete block is written again.
        per_line: output lines for each input line.

    Raises:
        NmtError: a directory is missing or cannot be written, or `resume` is False and lines of an interruption exist.
    """

    def __init__(self, paths: Sequence[str], resume: bool, block: int, per_line: int = 1) -> None:
        self._places = [real_path(Path(path)) for path in paths]  # a symbolic link stays a link
        for place in self._places:
            require_directory(place.parent)
        self._parts = [place.with_name(f".{shortened(place.name)}.part") for place in self._places]
        self._identity_file = self._places[0].with_name(f".{shortened(self._places[0].name)}.identity")
        self._block, self._per_line = block, per_line
        self.done = self._lines_done()
        """Input lines whose results an interruption left: complete blocks."""
        if self.done:
            if not resume:
                raise NmtError(f"{self._left()}: continue with --resume, or {self._start_again()}")
            return
        self._refuse_single_parts()
        if resume:
            report(f"{paths[0]}: there is nothing to resume: starting at line 1")

    def _left(self) -> str:
        """The beginning of a message on the lines of an interruption."""
        return f"{self._places[0]}: an interrupted command left {counted(self.done, 'line')}"

    def _start_again(self) -> str:
        """The end of a message: the remedy that drops these lines."""
        return f"delete {' and '.join(str(part) for part in self._parts if part.exists())} to start again"

    def _lines_done(self) -> int:
        """Input lines in complete blocks of all files."""
        return min(map(_count_lines, self._lines_left())) // self._lines_of_block() * self._block

    def _lines_of_block(self) -> int:
        """Output lines of a block by the command that began the files, which may write more for each input line."""
        saved = _SHAPE.match(self._saved_identity().removeprefix(_RENAMING))
        return self._block * int(saved[2] if saved else self._per_line)

    def _lines_left(self) -> list[Path]:
        """The files with the lines that an interruption left, one for each output.

        These are the hidden files. After an interruption between two renames, some are under their final names.
        """
        missing = [not part.exists() for part in self._parts]
        if not any(missing) or all(missing) or not self._saved_identity().startswith(_RENAMING):
            return self._parts
        left = [place if gone else part for gone, part, place in zip(missing, self._parts, self._places, strict=True)]
        complete = len(set(map(_count_lines, left))) == 1  # or somebody changed a final file
        return left if complete else self._parts

    def _refuse_single_parts(self) -> None:
        """Keeps the lines of an interrupted command that wrote other files together with one of these."""
        if all(part.exists() for part in self._parts):
            return  # the same command, stopped before each file had a block
        for part in self._parts:
            if _count_lines(part) >= self._lines_of_block():
                raise NmtError(
                    f"{part}: an interrupted command left this file, but its other files are missing: repeat that "
                    "command, or delete this file to start again"
                )

    @contextmanager
    def open(self, identity: str) -> Iterator[list[TextIO]]:
        """Opens the files for writing behind the first `done` input lines.

        Args:
            identity: a digest of everything that the content depends on, such as model, input and search.

        Raises:
            NmtError: the lines of the interruption have another identity, or another process is writing the files.
        """
        with self._locked():
            self._require_identity(identity)
            try:
                self._hide_again()
                for part in self._parts:  # their names are on the disk together with the identity's
                    part.touch()
                self._save_identity(self._numbered(identity))
                with ExitStack() as files:
                    parts = zip(self._parts, self._places, strict=True)
                    lines = self.done * self._per_line
                    yield [files.enter_context(_open_behind(part, lines, place)) for part, place in parts]
            except BaseException as error:
                self._keep_or_remove(error)
                raise
            if len(self._parts) > 1:
                self._save_identity(_RENAMING + self._numbered(identity))
            move_into_place(self._parts, self._places)
            self._remove()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Keeps other processes from writing these files."""
        place = self._places[0]
        file = self._lines_left()[0] if self.done else self._parts[0]  # a rename keeps the lock of the file
        try:
            file.touch()
        except OSError as error:
            raise not_writable(place, error) from None
        with locked(file, NmtError(f"{place}: another process is writing this file: wait, or choose another output")):
            yield

    def _require_identity(self, identity: str) -> None:
        """Refuses to continue behind the lines of another command."""
        saved = self._saved_identity().removeprefix(_RENAMING)
        if self.done and saved != self._numbered(identity):
            raise NmtError(
                f"{self._left()}, but its model, input, search, precision, outputs or other flags were different, or "
                f"another version of nmt began the file: repeat that command, or {self._start_again()}"
            )

    def _hide_again(self) -> None:
        """Gives files that an interruption left under their final names their hidden names again."""
        for left, part in zip(self._lines_left(), self._parts, strict=True):
            if self.done and left != part:
                left.replace(part)

    def _saved_identity(self) -> str:
        """The content of the identity file; empty without a file."""
        return self._identity_file.read_text(encoding="utf-8") if self._identity_file.exists() else ""

    def _save_identity(self, content: str) -> None:
        try:
            write_atomically(self._identity_file, content.encode())
        except OSError as error:
            raise not_writable(self._places[0], error) from None

    def _numbered(self, identity: str) -> str:
        """The identity with the numbers of files and of lines: commands with an equal first file may differ in them."""
        return f"{len(self._places)}x{self._per_line} {identity}"

    def _keep_or_remove(self, error: BaseException) -> None:
        """Reports the complete blocks after an error, or removes all hidden files if there is none."""
        if left := self._lines_done():
            report(f"{left:,} lines are kept; repeat the command with --resume to continue there")
            return
        self._remove()
        if isinstance(error, KeyboardInterrupt):
            report(f"nothing is kept: lines are kept in blocks of {self._block}")

    def _remove(self) -> None:
        for path in (*self._parts, self._identity_file):
            path.unlink(missing_ok=True)


def _count_lines(path: Path) -> int:
    """Complete lines of a file; 0 if it does not exist."""
    if not path.exists():
        return 0
    with open(path, "rb") as file:
        return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 20), b""))


def _open_behind(path: Path, lines: int, place: Path) -> TextIO:
    """Opens a file for writing behind its first lines and cuts the rest off; errors name `place`."""
    with errors_named(place), open(path, "rb+") as file:
        for _ in range(lines):
            file.readline()
        file.truncate(file.tell())
    return open_text(path, "a", place)
