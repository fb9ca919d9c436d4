"""`nmt info`: one run, described from its files."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from nmt.cli.loading import require_runs
from nmt.cli.parser import Parser
from nmt.progress import counted, duration

if TYPE_CHECKING:
    from nmt.training.run_summary import RunSummary

DESCRIPTION = (
    "Describes a run: languages, network, vocabulary, text, progress of the training, best values on the validation "
    "pairs, size of its files, and the settings that differ from the defaults. It reads files only, so it answers at "
    "once and can look at a run in training."
)
EXAMPLE = "nmt info saved_models/mine"


def add_flags(parser: Parser) -> None:
    parser.add_argument("run", metavar="RUN", help="run directory of nmt train, or file of nmt pack")


def run(arguments: Namespace) -> None:
    """Prints a line for each fact."""
    require_runs([arguments.run])
    from nmt.training.run_summary import RunSummary

    summary = RunSummary.of(Path(arguments.run))
    for name, fact in _facts(summary):
        print(f"{name:<11} {fact}")
    for setting, value in summary.changes().items():
        print(f"  {setting}: {list(value) if isinstance(value, tuple) else value}")


def file_size(size: int) -> str:
    """A number of bytes in GiB, MiB, KiB or bytes."""
    for unit, bytes_of_unit in (("GiB", 2**30), ("MiB", 2**20)):
        if size >= bytes_of_unit:
            return f"{size / bytes_of_unit:.1f} {unit}"
    return f"{size / 1024:.0f} KiB" if size >= 1024 else counted(size, "byte")


def languages(summary: RunSummary) -> str:
    """Source and target language; empty for a run that records none."""
    corpus = summary.run.config.corpus
    tags = corpus.source_language, corpus.target_language
    return " -> ".join(tag or "?" for tag in tags) if any(tags) else ""


def network(summary: RunSummary) -> str:
    """The kind and the width of the network."""
    model = summary.run.config.model
    if model.architecture == "transformer":
        return f"transformer, {model.embedding} wide"
    kind = f"{model.decoder} decoder, {model.attention.score} attention"
    return f"{model.architecture}, {kind}, {model.units} wide"


def _facts(summary: RunSummary) -> Iterator[tuple[str, str]]:
    from nmt.run.training_pairs import about_new_pairs

    run, state = summary.run, summary.state
    yield "run", str(run.directory)
    if text := languages(summary):
        yield "languages", text
    unknown = "the run keeps no copy of its pairs"
    made = about_new_pairs(run.config)
    yield "text", unknown if summary.pairs is None else f"{summary.pairs:,} training pairs{made}"
    kind = run.config.vocabulary.type
    shared = run.config.vocabulary.shared
    sizes = f"{run.source.size:,} shared" if shared else f"{run.source.size:,} source, {run.target.size:,} target"
    yield "vocabulary", f"{sizes} {kind} pieces"
    missing = "parameters in README.md" if summary.is_export else "no best weights yet"
    parameters = missing if summary.parameters is None else f"{summary.parameters:,} parameters"
    yield "network", f"{network(summary)}, {parameters}, {run.config.training.precision}"
    yield "links", "made by the aligner that the run keeps" if run.has_aligner else "made by attention"
    yield "training", summary.progress
    if state is not None:
        planned = run.config.training.passes
        yield "", f"{state.pass_index} of {counted(planned, 'epoch')}, {counted(state.step, 'step')}"
        yield "", f"{duration(state.seconds)} in steps, validation not included"
    bleu = "" if summary.best_bleu is None else f"BLEU {summary.best_bleu:.2f}, "
    loss = "" if summary.best_loss is None else f"loss {summary.best_loss:.4f} nats per piece"
    elsewhere = "in README.md" if summary.is_export else "in the model card" if run.is_pack else ""
    yield "best values", f"{bleu}{loss}" or elsewhere or "no validation yet"
    yield "changed", time.strftime("%Y-%m-%d %H:%M", time.localtime(summary.changed))
    parts = ", ".join(f"{name} {file_size(size)}" for name, size in summary.sizes.items() if size)
    yield "files", f"{file_size(summary.size)}: {parts}"
    yield "settings", "these differ from the defaults:" if summary.changes() else "the defaults"
