"""Fuzz targets for settings: YAML files, flags, variants, search spaces, whole command lines."""

from __future__ import annotations

from pathlib import Path

from oracle import read_or_refused, target

from nmt.config import RunConfig, config_from_dict, config_to_dict
from nmt.config.aligner import AlignerConfig
from nmt.config.flags import parse_flags
from nmt.config.reading import build_config
from nmt.config.yaml_files import as_yaml, load_fields
from nmt.training.comparison.plan import read_plan
from nmt.training.sweep.space import read_space


def check_yaml(data: bytes, place: Path) -> None:
    """Accepted settings are the same after they were written and read."""
    (path := place / "config.yaml").write_bytes(data)
    fields = read_or_refused(load_fields, path)
    config = None if fields is None else read_or_refused(build_config, fields, path, {})
    if config is not None:
        assert config_from_dict(RunConfig, config_to_dict(config)) == config
        path.write_text(as_yaml(config), encoding="utf-8")
        again = load_fields(path)
        assert again.keys() <= config_to_dict(config).keys()


def check_flags(data: bytes, place: Path) -> None:
    """Flags of a training and of an aligner, a word per line."""
    words = data.decode("utf-8", "surrogateescape").split("\n")
    for kind in (RunConfig, AlignerConfig):
        fields = read_or_refused(parse_flags, kind, words, "nmt train")
        if fields is not None:
            read_or_refused(config_from_dict, kind, fields)


def check_variants(data: bytes, place: Path) -> None:
    """A file of variants is read whole before the first training."""
    (path := place / "variants.yaml").write_bytes(data)
    read_or_refused(read_plan, path, place / "output")


def check_space(data: bytes, place: Path) -> None:
    """A space of settings to search."""
    (path := place / "space.yaml").write_bytes(data)
    read_or_refused(read_space, path)


YAML = b"""name: first
corpus: {train: {source: a.en, target: a.fr}, on_empty: drop}
vocabulary: {type: unigram, size: 800, symbols: [<a>, <b>]}
model:
  units: 64
  attention: {score: dot, window: local_p}
training: {passes: 3, schedule: {learning_rate: 1e-3}, checkpoints: {keep: 2}}
search: {beam_size: 4}
"""
VARIANTS = b"""about: Two variants.
common: {corpus: {train: {tsv: a.tsv}}, training: {passes: 3}}
test: {source: a.en, target: a.fr}
seeds: 2
variants:
  dot: {model: {attention: {score: dot}}}
  none: {}
"""
SPACE = b"""metric: loss
common: {corpus: {train: {tsv: a.tsv}}}
space:
  model.units: {choices: [32, 64]}
  training.schedule.learning_rate: {low: 1e-4, high: 1e-2, log: true}
"""

TARGETS = {
    "yaml": target(check_yaml, YAML, b'{"name": "first", "model": {"units": 5}}'),
    "flags": target(check_flags, b"--model.units\n64\n--training.deterministic\n--vocabulary.symbols\n[a, b]\n"),
    "variants": target(check_variants, VARIANTS),
    "space": target(check_space, SPACE),
}
