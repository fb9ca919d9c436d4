"""Prepared runs on the copy task, and their pairs as text."""

from __future__ import annotations

from typing import Any

import copy_task
import numpy as np

from nmt.config import RunConfig
from nmt.training.preparation.prepare import Prepared, prepare


def prepared(config: RunConfig, said: list[str] | None = None) -> Prepared:
    return prepare(config, "float32", [].append if said is None else said.append)


def texts(result: Prepared) -> list[tuple[str, str]]:
    """The training pairs, decoded."""
    sides = []
    for sequences, tokenizer in ((result.train.source, result.run.source), (result.train.target, result.run.target)):
        ids = [sequences.gather(np.array([i]))[0].tolist() for i in range(len(sequences))]
        sides.append(tokenizer.decode(ids))
    return list(zip(*sides, strict=True))


def lines(corpus, name: str) -> list[str]:
    """The lines of a file of the corpus."""
    return (corpus / name).read_text().splitlines()


def held_out(corpus, name: str, **training: Any) -> Prepared:
    """A run with 10 held-out validation pairs."""
    nothing = {"source": "", "target": "", "alignment": ""}
    changes = {"corpus": {"validation": nothing, "held_out": 10}, "training": training}
    return prepared(copy_task.config(corpus, name=name, **changes))


def with_long_pair(corpus) -> None:
    """Adds a training pair of 9 words to the corpus."""
    for side, word in (("source", "ba"), ("target", "abo")):
        copy_task.write_lines(corpus / f"train.{side}", [*lines(corpus, f"train.{side}"), " ".join([word] * 9)])


def guided(directory, links: list[str], name: str = "guided", **changes: Any) -> RunConfig:
    """A run whose attention is guided by these links."""
    path = copy_task.write_lines(directory / "links", links)
    return copy_task.config(directory, name=name, training={"guided": {"links": path}}, **changes)


def change_train(corpus) -> dict[str, Any]:
    """Changes the first training pair; no setting changes."""
    source = lines(corpus, "train.source")
    copy_task.write_lines(corpus / "train.source", [source[-1], *source[1:]])
    return {}
