"""`nmt aligner`: links between the words of sentence pairs, by an aligner that learns from the pairs alone."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nmt.cli.files import require_files_of_their_own, require_same_length
from nmt.cli.flags import refuse_file, with_dashes
from nmt.cli.gold import add_gold_format_flags, print_alignment_score, read_gold_flags
from nmt.cli.loading import require_runs, say
from nmt.cli.pair_files import GivenText, add_pair_flags, is_text_given
from nmt.cli.parser import Parser, as_flags, refuse_idle
from nmt.cli.train import INTERRUPTED
from nmt.config import config_from_dict
from nmt.config.aligner import AlignerConfig
from nmt.config.fields import settings_of
from nmt.config.flags import add_settings
from nmt.errors import NmtError
from nmt.files.outputs import open_output
from nmt.progress import LineProgress, counted

if TYPE_CHECKING:
    from nmt.aligning.aligned_pair import AlignedPair
    from nmt.aligning.aligner import Aligner
    from nmt.alignment.links import Gold, Links
    from nmt.config import PairsConfig

DEFAULT_DIRECTORY = "saved_models/aligner"

DESCRIPTION = (
    "Links the words of sentence pairs. An aligner learns from these pairs alone, without gold links and without a "
    "translation model; then it writes the links of each pair, line by line. Its directory keeps it: the same command "
    "resumes an interrupted training, and --model aligns other text with it. With --for RUN, a run learns and keeps an "
    "aligner, which then makes the links of nmt align, translate, explain and serve."
)
EXAMPLE = "nmt aligner --source my.en --target my.de --output saved_models/my-aligner --links my.links"

_OF_TEXT = ("source_language", "target_language")
"""Settings whose flags come with the flags of pairs."""
_SETTINGS = [setting for setting in settings_of(AlignerConfig) if setting.name not in (*_OF_TEXT, "unit")]
_OF_LINKS = ("symmetrize", "rounds", "max_words", "batch_tokens")
"""Settings that apply to a trained aligner."""
_OF_OUTPUT = ("links", "format", "gold", "gold_format", "gold_base")
"""Flags of the links that are written."""
_OF_RUN = ("source_language", "target_language", "source_words", "target_words")
"""Settings that a run has decided."""


def add_flags(parser: Parser) -> None:
    add_pair_flags(parser)
    parser.add_argument(
        "--output", metavar="DIR", help=f"directory of the aligner that is trained (default: {DEFAULT_DIRECTORY})"
    )
    parser.add_argument(
        "--model",
        metavar="DIR",
        help="align with this trained aligner, or with the aligner of a run, pack or export; nothing is trained",
    )
    parser.add_argument(
        "--for",
        dest="for_run",
        metavar="RUN",
        help="train an aligner on the training pairs of this run, and keep it in the run, whose links it then makes; "
        "pairs are named only to learn from other text",
    )
    parser.add_argument("--links", metavar="FILE", default="-", help="file for the links (default: standard output)")
    parser.add_argument(
        "--format",
        choices=["pharaoh", "naacl", "json"],
        default="pharaoh",
        help="format of the links: pharaoh, a line per pair such as 0-0 1-2; naacl, a line per link with its "
        "probability, counted from 1; json, a line per pair with words, probabilities and links (default: pharaoh)",
    )
    parser.add_argument(
        "--run", metavar="DIR", help="align the pieces of this run's vocabularies; the links are still between words"
    )
    parser.add_argument("--gold", metavar="FILE", help="gold alignment of the pairs; prints the AER")
    add_gold_format_flags(parser)
    group = parser.add_argument_group("settings of the training")
    group.add_argument("--config", metavar="FILE", help="YAML or JSON file of these settings; flags win over it")
    add_settings(group, _SETTINGS, spell=with_dashes)


def run(arguments: Namespace) -> int:
    """Trains or loads an aligner, and writes the links of all pairs."""
    if arguments.for_run:
        return _learn_for_run(arguments)
    _refuse_contradictions(arguments)
    text = GivenText(arguments, languages=True)
    read = [*text.paths, *(path for path in (arguments.gold, arguments.config) if path)]
    require_files_of_their_own(read, [arguments.links])
    total = text.count()
    gold = read_gold_flags(arguments, text.name, total)
    from nmt.aligning.aligner import Aligner

    pairs = text.pairs
    if arguments.model:
        aligner = Aligner.load(arguments.model)
        with as_flags(AlignerConfig):
            aligner.config = replace(aligner.config, **_given(arguments, _OF_LINKS))
    else:
        trained, pairs = _train(arguments, text)
        if trained is None:
            return INTERRUPTED
        aligner = trained
    measured = _write(aligner, pairs, text, arguments, total, gold)
    if gold is not None:
        require_same_length({text.name: len(measured), arguments.gold: len(gold)})
        with redirect_stdout(sys.stderr if arguments.links == "-" else sys.stdout):
            print_alignment_score(measured, gold)
    return 0


def _learn_for_run(arguments: Namespace) -> int:
    """Trains the aligner that a run keeps."""
    refuse_idle(arguments, ["model", "output", "run"], "names another aligner: leave it or --for out")
    refuse_idle(arguments, _OF_OUTPUT, "is for links of pairs, and --for writes none: align pairs with --model RUN")
    refuse_idle(arguments, _OF_RUN, "is decided by the run: leave it out")
    require_runs([arguments.for_run])
    from nmt.aligning.run_training import WORK, learn_for_run
    from nmt.run.directory import Run
    from nmt.training.interruption import interruption

    config, run, pairs = _config(arguments), Run.open(arguments.for_run), None
    if is_text_given(arguments):
        from nmt.aligning.preparation import readable_pairs

        text = GivenText(arguments)
        require_files_of_their_own(text.paths, [])
        run.require_directory()
        pairs = readable_pairs(text.pairs, config, run.directory / WORK)
    with interruption() as interrupted:
        return 0 if learn_for_run(run, config, say, interrupted, pairs) else INTERRUPTED


def _refuse_contradictions(arguments: Namespace) -> None:
    if arguments.model:
        trained = [setting.name for setting in _SETTINGS if setting.name not in _OF_LINKS]
        why = "is for a training: leave out --model, which aligns with a trained aligner"
        refuse_idle(arguments, ["output", "run", "config", *trained], why)
    else:
        refuse_file(arguments.output or DEFAULT_DIRECTORY)


def _given(arguments: Namespace, names: Any) -> dict[str, Any]:
    return {name: value for name in names if (value := getattr(arguments, name)) is not None}


def _config(arguments: Namespace) -> AlignerConfig:
    """The settings of the file and the flags."""
    from nmt.config.yaml_files import read_yaml

    fields = read_yaml(arguments.config) if arguments.config else {}
    if not isinstance(fields, dict | None):
        raise NmtError(f"{arguments.config}: expected fields, such as `jump_epochs: 5`")
    given = _given(arguments, [*_OF_TEXT, *(setting.name for setting in _SETTINGS)])
    with as_flags(AlignerConfig):
        config: AlignerConfig = config_from_dict(
            AlignerConfig, {**(fields or {}), **given, **({"unit": "piece"} if arguments.run else {})}
        )
    return config


def _train(arguments: Namespace, text: GivenText) -> tuple[Aligner | None, PairsConfig]:
    """The aligner, None after an interruption, and the pairs in files that can be read again."""
    from nmt.aligning.aligner import Aligner
    from nmt.aligning.preparation import readable_pairs
    from nmt.training.interruption import interruption

    config, units = _config(arguments), None
    if arguments.run:
        require_runs([arguments.run])
        from nmt.aligning.units import units_of_run

        units, config = units_of_run(arguments.run, config)
    directory = Path(arguments.output or DEFAULT_DIRECTORY)
    pairs = readable_pairs(text.pairs, config, directory)
    with interruption() as interrupted:
        return Aligner.train(pairs, directory, config, units, say, interrupted), pairs


def _write(
    aligner: Aligner,
    pairs: PairsConfig,
    text: GivenText,
    arguments: Namespace,
    total: int | None,
    gold: Sequence[Gold] | None,
) -> list[Links]:
    """Writes the links of all pairs.

    Returns:
        The links of each pair if there is gold to compare them with.

    Raises:
        AlignmentError: a gold link to a word that its pair lacks.
    """
    from nmt.alignment.links import require_in_range
    from nmt.text.formats import text_pairs

    progress, form = LineProgress(total, unit="pairs", task="aligning"), _FORMATS[arguments.format]
    measured: list[Links] = []
    cut = 0
    with open_output(arguments.links) as output:
        for alignment in progress.over(aligner.align(text_pairs(pairs, text.languages))):
            output.writelines(f"{line}\n" for line in form(progress.count, alignment))
            cut += alignment.cut
            if gold is not None:
                if not alignment.cut and len(measured) < len(gold):
                    where = f"{arguments.gold}, sentence {progress.count}"
                    require_in_range(gold[len(measured)], alignment.source, alignment.target, where)
                measured.append(alignment.links)
    place = "standard output" if arguments.links == "-" else arguments.links
    say(
        f"{counted(progress.count, 'pair')} aligned in {progress.seconds:.1f} s ({progress.speed}), links written to "
        f"{place}; the aligner is in {aligner.directory}"
    )
    if cut:
        say(
            f"{counted(cut, 'pair')} with more than {aligner.config.max_words} words on a side: later words have no "
            f"links; to link them, repeat with --model {aligner.directory} and a larger --max-words"
        )
    return measured


def _pharaoh(number: int, alignment: AlignedPair) -> Iterator[str]:
    yield alignment.pharaoh()


def _naacl(number: int, alignment: AlignedPair) -> Iterator[str]:
    for s, t in sorted(alignment.links):
        yield f"{number} {s + 1} {t + 1} S {alignment.probabilities[t, s]:.4f}"


def _json(number: int, alignment: AlignedPair) -> Iterator[str]:
    yield json.dumps({"line": number} | alignment.to_json(), ensure_ascii=False)


_FORMATS: dict[str, Callable[[int, AlignedPair], Iterator[str]]] = {"pharaoh": _pharaoh, "naacl": _naacl, "json": _json}
"""The lines of a pair in each format."""
