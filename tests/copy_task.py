"""The smallest translation: each word of a made-up language has its own word in another, in the same order."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from nmt.config import RunConfig, config_from_dict

WORDS = {f"{first}{second}": f"{second}{first}o" for first in "bdfgklmn" for second in "aei"}


def sentences(count: int, seed: int, longest: int = 6) -> list[str]:
    """Different sentences of 1 to `longest` words."""
    draw = random.Random(seed)
    found: dict[str, None] = {}
    while len(found) < count:
        found[" ".join(draw.choices(list(WORDS), k=draw.randint(1, longest)))] = None
    return list(found)


def translation(sentence: str) -> str:
    return " ".join(WORDS[word] for word in sentence.split())


def links(sentence: str) -> str:
    """Its word alignment in Pharaoh format."""
    return " ".join(f"{i}-{i}" for i in range(len(sentence.split())))


def write_lines(path: Path, lines: list[str]) -> str:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


def write_corpus(directory: Path, train: int, validation: int = 40) -> None:
    """train.source and so on: sentences, translations, alignments; no validation source is in the training set."""
    drawn = sentences(train + validation, seed=1)
    for name, part in (("train", drawn[validation:]), ("validation", drawn[:validation])):
        write_lines(directory / f"{name}.source", part)
        write_lines(directory / f"{name}.target", [translation(sentence) for sentence in part])
        write_lines(directory / f"{name}.align", [links(sentence) for sentence in part])


def merged(fields: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """`fields` with the nested `changes` over them."""
    return fields | {
        name: merged(fields[name], value) if isinstance(value, dict) and name in fields else value
        for name, value in changes.items()
    }


def fields(directory: Path) -> dict[str, Any]:
    """Fields of a run on the corpus that `write_corpus` left in `directory`; the run directories are beside it."""
    return {
        "directory": str(directory / "runs"),
        "corpus": {
            "train": {side: f"{directory}/train.{side}" for side in ("source", "target")},
            "validation": {
                "source": f"{directory}/validation.source",
                "target": f"{directory}/validation.target",
                "alignment": f"{directory}/validation.align",
            },
        },
        "vocabulary": {"type": "word", "size": 60},
        "model": {
            "units": 32,
            "embedding": 32,
            "attention": {"units": 32},
            "dropout": {"embedding": 0.1, "encoder": 0.1, "state": 0.1, "context": 0.0, "readout": 0.1},
        },
        "training": {
            "passes": 2,
            "batch_tokens": 400,
            "schedule": {"learning_rate": 0.01, "warmup_steps": 20, "decay": "cosine"},
            "ema": 0.9,
            "precision": "float32",
            "live_view": False,  # its own tests draw
        },
    }


def config(directory: Path, **changes: Any) -> RunConfig:
    """The same as a configuration, with nested changes."""
    made: RunConfig = config_from_dict(RunConfig, merged(fields(directory), changes))
    return made
