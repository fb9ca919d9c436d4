"""The plan of a comparison: a file of variants, read and checked before any training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from nmt.config import ConfigError, CorpusConfig, PairsConfig, RunConfig, config_from_dict, config_to_dict
from nmt.config.hints import did_you_mean
from nmt.config.reading import merge_fields
from nmt.config.relative_paths import fields_from_file, from_file
from nmt.config.yaml_files import load_fields, read_yaml
from nmt.errors import NmtError
from nmt.evaluation.bleu_tokenizer import tokenizer_of_run
from nmt.text.formats import text_pairs
from nmt.text.languages import decide_languages


class ComparisonError(NmtError):
    """A file of variants that cannot be compared, or a training that failed; the message says what to do."""


@dataclass(frozen=True)
class TestSet:
    """The text on which the trained variants are measured.

    Raises:
        ConfigError: no pairs, or pairs in two ways.
    """

    source: str = ""
    target: str = ""
    tsv: str = ""
    """In place of source and target: one file with a pair on each line and tabs between its columns."""
    source_column: int = 1
    target_column: int = 2
    alignment: str = ""
    """A file of gold links in Pharaoh format; empty: alignments are not measured."""
    tokenize: str = ""
    """The name of sacreBLEU's tokenizer; empty: by the language of the text."""

    def __post_init__(self) -> None:
        _ = self.pairs  # made at once, because it refuses contradictions

    @cached_property
    def pairs(self) -> PairsConfig:
        """Its files."""
        names = ("source", "target", "tsv", "source_column", "target_column")
        return PairsConfig(**{name: getattr(self, name) for name in names})

    @property
    def files(self) -> tuple[str, ...]:
        """The files of its sentences."""
        return (self.tsv,) if self.tsv else (self.source, self.target)

    @cached_property
    def sides(self) -> tuple[list[str], list[str]]:
        """All sources and all targets.

        Raises:
            CorpusError: a file cannot be read, or a line is no pair.
        """
        pairs = list(text_pairs(self.pairs))
        return [source for source, _ in pairs], [target for _, target in pairs]

    @cached_property
    def languages(self) -> CorpusConfig:
        """The languages of its text and their words, decided by the text."""
        return decide_languages(CorpusConfig(), *self.sides)

    @property
    def tokenizer(self) -> str:
        """The name of sacreBLEU's tokenizer that measures it."""
        return self.tokenize or tokenizer_of_run(RunConfig(corpus=self.languages))


@dataclass(frozen=True)
class VariantRun:
    """The training of one variant with one seed."""

    variant: str
    seed: int
    config: RunConfig
    given: Mapping[str, Any] = field(default_factory=dict)
    """The fields that the file of variants gives; the others have their defaults, or training decides them."""

    @property
    def name(self) -> str:
        """The name of its run directory and its files."""
        return f"{self.variant}-{self.seed}"

    @property
    def directory(self) -> Path:
        """Its run directory."""
        return Path(self.config.directory) / self.name


@dataclass(frozen=True)
class ComparisonPlan:
    """All runs, seed after seed: a comparison that is interrupted has measured all variants equally often."""

    test: TestSet
    variants: tuple[str, ...]
    """Names in the order of the file; the others are compared with the first."""
    runs: tuple[VariantRun, ...]
    changes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The fields that each variant changes."""
    about: str = ""
    """One line about the comparison, for the report."""


def read_plan(path: Path, output: Path, seeds: int | None = None) -> ComparisonPlan:
    """Reads a YAML file with these fields:

        about:     one line for the report
        config:    configuration file that all variants start from
        common:    fields that replace those of `config` for all variants
        test:      source and target, or tsv with source_column and target_column; optionally alignment, tokenize
        seeds:     number of seeds (1, 2, ...)
        variants:  names, each with the fields that it changes

    Args:
        path: the file; paths in it begin at its folder.
        output: directory of the comparison; runs go into `runs` below it.
        seeds: number of seeds in place of the file's.

    Raises:
        ComparisonError, ConfigError: a field is missing or unknown, or a variant is not a valid configuration.
    """
    values = _fields(path)
    common = _changes(path, "common", values["common"])
    common = merge_fields(load_fields(from_file(values["config"], path)) if values["config"] else {}, common)
    variants = values["variants"]
    if not isinstance(variants, dict) or not variants:
        raise ComparisonError(f"{path}: variants: expected names and what each of them changes")
    test = _test_set(path, values["test"])
    changes = {str(name): _changes(path, f"variant {name}", change) for name, change in variants.items()}
    merged = {name: merge_fields(common, change) for name, change in changes.items()}
    runs = [
        VariantRun(name, seed, _config(path, name, fields, seed, output), fields)
        for seed in range(1, (seeds or values["seeds"]) + 1)
        for name, fields in merged.items()
    ]
    return ComparisonPlan(test, tuple(changes), tuple(runs), changes, str(values["about"] or ""))


def _test_set(path: Path, values: Any) -> TestSet:
    kinds = {field.name: type(field.default) for field in fields(TestSet)}
    given = set(values) if isinstance(values, dict) else set()
    if not given <= set(kinds) or not ({"source", "target"} <= given or "tsv" in given):
        raise ComparisonError(
            f"{path}: test: expected source and target, or tsv; and alignment and tokenize if need be"
        )
    for name, value in values.items():
        if type(value) is not kinds[name]:
            expected = "text" if kinds[name] is str else "a number"
            raise ComparisonError(f"{path}: test: {name} is {value!r}: expected {expected}")
    files = ("source", "target", "tsv", "alignment")
    placed: dict[str, Any] = {n: from_file(value, path) if n in files else value for n, value in values.items()}
    try:
        return TestSet(**placed)
    except ConfigError as error:
        raise ComparisonError(f"{path}: test: {error}") from None


def _fields(path: Path) -> dict[str, Any]:
    values = read_yaml(path)
    defaults: dict[str, Any] = {"about": "", "config": "", "common": {}, "test": None, "seeds": 1, "variants": None}
    if not isinstance(values, dict):
        raise ComparisonError(f"{path}: no fields: expected {', '.join(defaults)}")
    for name in values:
        if name not in defaults:
            near = did_you_mean(str(name), defaults) or f": expected {', '.join(defaults)}"
            raise ComparisonError(f"{path}: unknown field {name}{near}")
    values = defaults | values
    if not isinstance(values["seeds"], int) or values["seeds"] < 1:
        raise ComparisonError(f"{path}: seeds is {values['seeds']}: expected a number from 1")
    if not isinstance(values["config"] or "", str):
        raise ComparisonError(f"{path}: config is {values['config']!r}: expected the name of a file")
    return values


def _changes(path: Path, name: str, values: Any) -> dict[str, Any]:
    """The fields that a variant, or `common`, changes; none where all of them are commented out."""
    values = values or {}
    if not isinstance(values, dict):
        raise ComparisonError(f"{path}: {name} is {values!r}: expected fields, indented below it")
    training = values.get("training")
    if isinstance(training, dict) and "seed" in training:
        raise ComparisonError(f"{path}: {name}: training.seed: every variant is trained with seeds 1, 2, ... (`seeds`)")
    for named in ("name", "directory"):
        if named in values:
            raise ComparisonError(f"{path}: {name}: {named}: nmt compare names the runs itself: leave it out")
    return fields_from_file(values, path)


def _config(path: Path, variant: str, values: dict[str, Any], seed: int, output: Path) -> RunConfig:
    try:
        config: RunConfig = config_from_dict(RunConfig, values)
        if "/" in variant:
            raise ConfigError("expected a name without /")
    except ConfigError as error:
        raise ComparisonError(f"{path}: variant {variant}: {error}") from None
    training = replace(config.training, seed=seed)
    return replace(config, name=f"{variant}-{seed}", directory=str(output / "runs"), training=training)


def fields_of(run: VariantRun) -> dict[str, Any]:
    """All settings of a run."""
    return config_to_dict(run.config)


def fields_to_train(run: VariantRun) -> dict[str, Any]:
    """The fields of a run for `nmt train --config`: the given ones, and fields that the comparison settles.

    A default would count as given too. So a fine-tuning would not take the setting from its initial run.
    """
    config = run.config
    settled = {"seed": config.training.seed, "precision": config.training.precision}
    named = {"name": config.name, "directory": config.directory}
    return {**merge_fields(run.given, {"training": settled}), **named}
