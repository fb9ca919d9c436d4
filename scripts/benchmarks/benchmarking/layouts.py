"""The names of nmt that a measurement needs, in today's layout or in the flat layout of older checkouts.

`--before` measures another checkout of nmt with the code of this folder, so only this module knows where names are.
"""

from __future__ import annotations

from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import nmt

PLACES = {
    "Adam": ("nmt.training.optimizer.Adam", "nmt.engine.Adam"),
    "Batch": ("nmt.batches.arrays.Batch", "nmt.batching.Batch"),
    "BatchPlan": ("nmt.batches.plan.BatchPlan", "nmt.batching.Plan"),
    "EncodedCorpus": ("nmt.batches.encoded_corpus.EncodedCorpus", "nmt.batching.EncodedCorpus"),
    "FewShapesPlan": ("nmt.batches.few_shapes_plan.FewShapesPlan", "nmt.batching.GridPlan"),
    "PAD": ("nmt.text.pieces.PAD", "nmt.tokenizer.PAD"),
    "Seq2Seq": ("nmt.network.model.Seq2Seq", "nmt.model.Seq2Seq"),
    "TrainStep": ("nmt.training.step.TrainStep", "nmt.engine.TrainStep"),
    "batch_shapes": ("nmt.backend.capabilities.batch_shapes", "nmt.engine.batch_shapes"),
    "configure_runtime": (
        "nmt.backend.machine.configure_runtime",
        "nmt.engine.configure_runtime",
        "nmt.engine.share_processors",
    ),
    "encoder": ("nmt.network.encoder", "nmt.encoder"),
    "load_config": ("nmt.training.settings.load_config", "nmt.configuration.load_config"),
    "pass_batches": ("nmt.batches.pipeline.pass_batches", "nmt.pipeline.pass_batches"),
    "peak_memory": ("nmt.backend.machine.peak_memory", "nmt.engine.peak_memory"),
    "slices_for": ("nmt.network.losses.output_loss.slices_for", "nmt.losses.slices_for"),
    "sort_by_length": ("nmt.batches.plan.sort_by_length", "nmt.batching.by_length"),
}
"""Dotted names, newest first."""

METHODS = {
    "largest_batch_cells": ("BatchPlan", "most_cells"),
    "limit_attention_memory": ("Seq2Seq", "spare_memory"),
    "padding_share": ("BatchPlan", "waste"),
    "readouts": ("Seq2Seq", "read"),
}
"""Methods by their name today: the class, as a key of `PLACES`, and the older name."""


def find(name: str) -> Any:
    """The object that `PLACES` lists under a name, from the checkout of nmt that is on the path.

    Raises:
        ImportError: the checkout has it at none of the places.
    """
    for place in PLACES[name]:
        module = place if name == "encoder" else place.rpartition(".")[0]
        if _has_module(module):
            try:
                return resolve_name(place)
            except AttributeError:
                continue
    raise ImportError(f"{nmt.__path__[0]} has no {name}: expected {' or '.join(PLACES[name])}")


def _has_module(name: str) -> bool:
    """Whether the checkout has the module. Importing cannot tell: an installed nmt answers for missing modules."""
    path = Path(nmt.__path__[0], *name.split(".")[1:])
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


def find_method(owner: Any, name: str) -> Any:
    """The method of an object, under its name today or its older one; None: it has neither."""
    return getattr(owner, name, None) or getattr(owner, METHODS[name][1], None)
