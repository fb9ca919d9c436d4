"""samples.jsonl of a run: translations of a few validation sentences, at several steps of its training."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from nmt.alignment.errors import AlignmentError
from nmt.alignment.word_alignment import WordAlignment
from nmt.files.atomic_writing import write_atomically
from nmt.run.errors import RunError

SAMPLES = "samples.jsonl"


class Sample(NamedTuple):
    """A translation of a validation sentence at a step of the training."""

    step: int
    sentence: int
    """Number of the validation pair, from 0."""
    reference: str
    text: str
    log_probability: float
    """In nats."""
    alignment: WordAlignment


def read_samples(path: Path) -> list[Sample]:
    """The samples in a file; none if there is no file.

    Raises:
        RunError: the file is damaged, or cannot be read.
    """
    if not path.exists():
        return []
    try:
        with open(path, encoding="utf-8") as lines:
            return [_sample(json.loads(line)) for line in lines]
    except OSError as error:
        raise RunError(f"{path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, RecursionError, AlignmentError) as error:
        raise RunError(f"{path}: damaged ({error}): delete it; training goes on without its samples") from None


def _sample(record: dict[str, object]) -> Sample:
    alignment = WordAlignment.from_json(record["alignment"])
    numbers = int(str(record["step"])), int(str(record["sentence"]))
    return Sample(
        *numbers, str(record["reference"]), str(record["text"]), float(str(record["log_probability"])), alignment
    )


def write_samples(path: Path, samples: Sequence[Sample]) -> None:
    """Replaces the file by these samples, a line of JSON for each."""
    records = (sample._asdict() | {"alignment": sample.alignment.to_json()} for sample in samples)
    text = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    write_atomically(path, text.encode(errors="backslashreplace"))


def thinned(samples: Sequence[Sample], most: int) -> list[Sample]:
    """The samples of at most `most` steps: the first step, the newest, and steps between them at even distances."""
    steps = sorted({sample.step for sample in samples})
    while len(steps) > max(most, 2):
        gaps = [after - before for before, after in zip(steps[:-2], steps[2:], strict=True)]
        del steps[1 + gaps.index(min(gaps))]
    return [sample for sample in samples if sample.step in steps]
