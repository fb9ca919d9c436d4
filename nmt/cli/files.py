"""Lines in, whole files out."""

from __future__ import annotations

import errno
import gzip
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import IO, TextIO

from nmt.errors import NmtError
from nmt.files import locked, open_text, read_once, real, renamed
from nmt.text.corpus import read_lines

Bytes = IO[bytes] | gzip.GzipFile


def count_lines(path: str) -> int | None:
    """How many lines a file has, or None where it can be read only once (standard input, a pipe).

    Raises:
        CorpusError: the file is not valid UTF-8, so that this is known before any work is done.
    """
    return sum(1 for _ in read_lines(path)) if can_read_again([path]) else None


def require_same_length(counts: dict[str, int | None]) -> int | None:
    """The number of lines that files which belong together line by line all have; None where it is known of no file.

    Raises:
        NmtError: two of the counts that are known differ; the message has them all.
    """
    known = {path: count for path, count in counts.items() if count is not None}
    if len(set(known.values())) > 1:
        lines = ", ".join(f"{path} has {count}" for path, count in known.items())
        raise NmtError(f"the files belong together line by line but differ in lines: {lines}")
    return next(iter(known.values()), None)


def require_lines(path: str, lines: Sequence[str]) -> None:
    """Refuses a text that is empty, where something is measured by it.

    Raises:
        NmtError: names the file.
    """
    if not lines:
        raise NmtError(f"{path}: is empty: expected a sentence a line")


def require_files_of_their_own(inputs: Sequence[str], outputs: Sequence[str]) -> None:
    """Refuses to write over what is read, two files to one place, or to take lines of standard input in turns.

    Raises:
        NmtError: names the file.
    """
    if inputs.count("-") > 1:
        raise NmtError("standard input (-) is named twice, and each of its lines is read once: give files")
    if outputs.count("-") > 1:
        raise NmtError("standard output (-) is named twice, and their lines would be mixed: give files")
    for place, path in enumerate(outputs):
        for other in (*inputs, *outputs[:place]):
            if _same(path, other):
                raise NmtError(f"{path}: is named twice, and would be overwritten: each output needs a file of its own")


def _same(path: str, other: str) -> bool:
    if "-" in (path, other):
        return False  # what is read from standard input does not come from where standard output goes
    one, two = Path(path), Path(other)
    if one.is_char_device():
        return False  # such as /dev/null, which keeps nothing
    return real(one) == real(two) or (one.exists() and two.exists() and one.samefile(two))


@contextmanager
def whole_file(path: str) -> Iterator[TextIO]:
    """A text file that appears under its name only when it is complete, compressed if the name ends in .gz; `-` is
    standard output.

    It is written beside its place and renamed there at the end, so a reader never sees half of it and a failure
    leaves what was there. Devices and pipes are written directly.

    Raises:
        NmtError: the path is a directory, or its directory does not exist.
    """
    with ExitStack() as moves:
        if path.endswith(".gz"):
            with _opened_bytes(path, moves) as packed, TextIOWrapper(packed, encoding="utf-8") as text:
                yield text
        else:
            with _opened(path, moves) as file:
                yield file


@contextmanager
def whole_files(paths: Sequence[str]) -> Iterator[list[Bytes]]:
    """Files as `whole_file` makes them, for bytes, that belong together: all of them appear, or after an error none."""
    with ExitStack() as moves, ExitStack() as files:  # all are closed before the first gets its name
        yield [files.enter_context(_opened_bytes(path, moves)) for path in paths]


@contextmanager
def _opened_bytes(path: str, moves: ExitStack) -> Iterator[Bytes]:
    """What is written is compressed if the name ends in .gz."""
    with _opened(path, moves) as file:
        if path.endswith(".gz"):
            with gzip.GzipFile("", "wb", 6, file.buffer, mtime=0) as packed:  # the same text gives the same bytes
                yield packed
        else:
            yield file.buffer


@contextmanager
def _opened(path: str, moves: ExitStack) -> Iterator[TextIO]:
    """A file as `whole_file` says, whatever its name ends in, which it gets when `moves` is closed."""
    place = Path(path)
    if path == "-":
        yield sys.stdout
        sys.stdout.flush()
    elif place.is_dir():
        raise NmtError(f"{path}: is a directory; name a file to write")
    elif read_once(place):
        with open_text(place, "w") as file:
            yield file
    else:
        place = real(place)  # a symbolic link stays one
        _require_directory(place.parent)
        with _open_beside(place, moves) as file:
            yield file


def _open_beside(place: Path, moves: ExitStack) -> TextIO:
    """A hidden file beside its place, where it goes when `moves` is closed."""
    temporary = place.with_name(f".{place.name}.{os.getpid()}.part")
    moves.enter_context(renamed(temporary, place))  # before it is made: a signal may come as soon as it is there
    try:
        return open_text(temporary, "w", place)
    except OSError as error:
        raise _not_writable(place, error) from None


def can_read_again(paths: Iterable[str]) -> bool:
    """Whether all of these are files, and none a pipe or a device, which is empty once it has been read."""
    return not any(path == "-" or read_once(Path(path)) for path in paths)


def can_grow(paths: Sequence[str]) -> bool:
    """Whether all of these are places for plain files that are not compressed, which `Growing` needs."""
    return all(
        path != "-" and not path.endswith(".gz") and not Path(path).is_dir() and not read_once(Path(path))
        for path in paths
    )


class Growing:
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
        self._places = [real(Path(path)) for path in paths]  # a symbolic link stays one
        for place in self._places:
            _require_directory(place.parent)
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
            raise _not_writable(place, error) from None
        with locked(part, NmtError(f"{place}: another process is writing it: wait, or choose another output")):
            yield

    def _identify(self, identity: str) -> None:
        try:
            self._about.write_text(identity, encoding="utf-8")
        except OSError as error:
            raise _not_writable(self._places[0], error) from None

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


@contextmanager
def outdated_drawings(directory: Path, name: str) -> Iterator[None]:
    """While new numbers are written as `name`.jsonl: what an earlier call drew of others beside them goes when they are
    there, and stays after an error. In a directory without such numbers nothing was drawn by us."""
    drawn: list[Path] = []
    if (directory / f"{name}.jsonl").exists():
        numbered = [place for suffix in ("png", "svg") for place in directory.glob(f"*.{suffix}")]
        drawn = [place for place in numbered if re.fullmatch(r"[0-9]{4,}", place.stem)]
        drawn += [directory / f"{name}.{suffix}" for suffix in ("html", "pdf")]
    yield
    for place in drawn:
        place.unlink(missing_ok=True)


def _require_directory(path: Path) -> None:
    if not path.is_dir():
        raise NmtError(f"{path}: {'is a file' if path.exists() else 'no such directory'}; make a directory first")
    if not os.access(path, os.W_OK):
        raise _not_writable(path, PermissionError(errno.EACCES, os.strerror(errno.EACCES)))


def _not_writable(path: Path, error: OSError) -> NmtError:
    return NmtError(f"{path}: {error.strerror}: choose a directory that can be written into")
