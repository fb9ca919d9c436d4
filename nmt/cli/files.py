"""Lines in, whole files out."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from nmt.errors import NmtError
from nmt.files.paths import can_be_read_again, real_path
from nmt.text.lines import read_lines

Bytes = IO[bytes] | gzip.GzipFile


def count_lines(path: str) -> int | None:
    """How many lines a file has, or None where it can be read only once (standard input, a pipe).

    Raises:
        CorpusError: the file is not valid UTF-8, so that this is known before any work is done.
    """
    return sum(1 for _ in read_lines(path)) if can_be_read_again([path]) else None


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
    return real_path(one) == real_path(two) or (one.exists() and two.exists() and one.samefile(two))


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
