"""A thousand sentences through every network of data/demo/variants.yaml and of the recipes, and through its export."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import REPOSITORY
from onnx_sessions import graphs_of
from test_exported_inference import PIECES, write_network

from nmt.config import ModelConfig, SearchConfig, config_from_dict, recipes
from nmt.config.yaml_files import load_fields, read_yaml
from nmt.text.pieces import EOS
from nmt.translation.inference.exported_inference import ExportedInference
from nmt.translation.inference.exported_model import ExportedModel
from nmt.translation.inference.model_inference import ModelInference
from nmt.translation.inference.protocol import Hypothesis

SENTENCES = 1000
TIE = 1e-4
"""Nats between hypotheses that rounding may swap."""


def narrow(fields_of_model: dict[str, Any]) -> ModelConfig:
    """A network with small widths; the recipes' other sizes only repeat layers."""
    config = config_from_dict(ModelConfig, fields_of_model)
    sizes = replace(config.transformer, heads=2, feed_forward=10, longest=32)
    attention = replace(config.attention, units=5)
    return replace(config, units=8, embedding=8, attention=attention, transformer=sizes)


def networks() -> dict[ModelConfig, str]:
    """The different networks, each with the first of its names."""
    variants = read_yaml(REPOSITORY / "data" / "demo" / "variants.yaml")
    named = {
        name: variants["common"]["model"] | variant.get("model", {}) for name, variant in variants["variants"].items()
    }
    named |= {f"recipe {name}": load_fields(recipes.path(name)).get("model", {}) for name in recipes.NAMES}
    found: dict[ModelConfig, str] = {}
    for name, model in named.items():
        found.setdefault(narrow({**model, "dropout": {}}), name)
    return found


NETWORKS = networks()


def draw_sources() -> list[list[int]]:
    random = np.random.default_rng(5)
    return [random.integers(EOS + 1, PIECES, random.integers(1, 13)).tolist() for _ in range(SENTENCES)]


def differs(found: list[Hypothesis], expected: list[Hypothesis]) -> bool:
    """Whether the best hypotheses of a sentence are not the same. They are then equally good, or nearly so."""
    one, other = found[0], expected[0]
    assert abs(one.score - other.score) <= TIE * max(1, abs(other.score))
    if one.ids != other.ids:
        return True
    np.testing.assert_allclose(one.weights, other.weights, rtol=0, atol=1e-4)
    np.testing.assert_allclose(one.piece_log_probabilities, other.piece_log_probabilities, rtol=1e-4, atol=1e-4)
    return False


@pytest.mark.slow
@pytest.mark.parametrize("network", NETWORKS, ids=NETWORKS.get)
def test_a_thousand_sentences_are_translated_and_aligned_as_by_the_run(
    make_model: Callable[..., Any], tmp_path: Path, network: ModelConfig
) -> None:
    model = make_model(3, **{field.name: getattr(network, field.name) for field in fields(network)} | {"dropout": None})
    exported = ExportedInference(ExportedModel(write_network(tmp_path / "export", graphs_of(model)), PIECES))
    run, sources = ModelInference(model), draw_sources()
    for beam in (1, 5):
        search = SearchConfig(beam_size=beam, length_penalty=0.8, max_length_ratio=0.5)
        pairs = zip(exported.find(sources, search), run.find(sources, search), strict=True)
        different = [source for source, pair in zip(sources, pairs, strict=True) if differs(*pair)]
        assert len(different) <= SENTENCES // 200, different
