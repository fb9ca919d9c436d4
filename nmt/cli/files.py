"""Checks of the files that a command line names, before any work is done."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Sized
from contextlib import contextmanager
from pathlib import Path

from nmt.errors import NmtError
from nmt.files.paths import can_be_read_again, real_path
from nmt.progress import LineProgress
from nmt.text.documents import document_kind
from nmt.text.lines import read_lines


def count_lines(path: str) -> int | None:
    """The number of lines of a file; None for a stream (standard input, a pipe), which can be read only once.

    A large file takes seconds, so progress is shown.

    Raises:
        CorpusError: the file cannot be read, or is not valid UTF-8.
    """
    if not can_be_read_again([path]):
        return None
    progress = LineProgress(task=f"reading {path}")
    return sum(1 for _ in progress.over(read_lines(path)))


def refuse_document(path: str, instead: str = "") -> None:
    """Refuses a document where lines of text are read.

    Args:
        path: the file.
        instead: what else to do with a document of pairs.

    Raises:
        NmtError: names the file and its kind.
    """
    if kind := document_kind(path):
        more = instead if kind != "SRT" else ""
        raise NmtError(f"{path}: is {kind}, expected text with one sentence per line{more}")


def require_same_length(counts: dict[str, int | None]) -> int | None:
    """The common number of lines of files that belong together line by line; None if no count is known.

    Raises:
        NmtError: two known counts differ; the message lists all of them.
    """
    known = {path: count for path, count in counts.items() if count is not None}
    if len(set(known.values())) > 1:
        lines = ", ".join(f"{path} has {count}" for path, count in known.items())
        raise NmtError(f"the files belong together line by line but have different numbers of lines: {lines}")
    return next(iter(known.values()), None)


def require_lines(path: str, lines: Sized) -> None:
    """Refuses an empty text where a measurement needs sentences.

    Raises:
        NmtError: names the file.
    """
    if not lines:
        raise NmtError(f"{path}: is empty: expected one sentence per line")


def require_files_of_their_own(inputs: Sequence[str], outputs: Sequence[str]) -> None:
    """Refuses an output that is also an input or another output, and a stream that is named twice.

    Raises:
        NmtError: names the file.
    """
    if inputs.count("-") > 1:
        raise NmtError("standard input (-) is named twice, but its lines can be read only once: give files")
    if outputs.count("-") > 1:
        raise NmtError("standard output (-) is named twice, so lines would be mixed: give files")
    for place, path in enumerate(outputs):
        for other in (*inputs, *outputs[:place]):
            if _is_same_file(path, other):
                raise NmtError(f"{path}: is named twice and would be overwritten: each output needs its own file")


def _is_same_file(path: str, other: str) -> bool:
    if "-" in (path, other):
        return False  # standard input and standard output are different streams
    one, two = Path(path), Path(other)
    if one.is_char_device():
        return False  # such as /dev/null, which keeps nothing
    return real_path(one) == real_path(two) or (one.exists() and two.exists() and one.samefile(two))


@contextmanager
def outdated_drawings(directory: Path, name: str) -> Iterator[None]:
    """Removes the drawings of an earlier command when this command has written new numbers.

    Only a directory that holds `name`.jsonl has drawings of ours: pictures with the numbers of its records, `name`.html
    and `name`.pdf. After an error they stay.
    """
    drawn: list[Path] = []
    records = directory / f"{name}.jsonl"
    if records.exists():
        pictures = [place for suffix in ("png", "svg") for place in directory.glob(f"*.{suffix}")]
        with records.open(encoding="utf-8") as file:
            numbers = {f"{int(found[1]):04d}" for line in file if (found := re.match(r'\{"line": ([0-9]+)', line))}
        drawn = [place for place in pictures if place.stem in numbers]
        drawn += [directory / f"{name}.{suffix}" for suffix in ("html", "pdf")]
    yield
    for place in drawn:
        place.unlink(missing_ok=True)
