"""`nmt aligner`: links between the words of sentence pairs, by an aligner that learns from the pairs alone."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from shlex import quote
from typing import TYPE_CHECKING, Any

from nmt.cli.files import require_files_of_their_own
from nmt.cli.flags import refuse_file, with_dashes
from nmt.cli.gold import add_gold_format_flags, print_alignment_score, read_gold_flags, whole_gold
from nmt.cli.loading import require_runs, say, say_if_few, say_if_unfinished
from nmt.cli.pair_files import GivenText, add_pair_flags, is_text_given, refuse_parts
from nmt.cli.parser import Parser, as_flags, refuse_idle
from nmt.cli.train import INTERRUPTED
from nmt.config import CorpusConfig, config_from_dict
from nmt.config.aligner import AlignerConfig
from nmt.config.fields import settings_of
from nmt.config.flags import add_settings
from nmt.errors import NmtError
from nmt.files.outputs import open_output, require_writable
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
_OF_WORDS = ("words", "stem_weight", "stem_letters")
"""Settings that pieces do not have."""
_OF_RUN = ("source_language", "target_language", "source_words", "target_words")
"""Settings that a run has decided."""


def add_flags(parser: Parser) -> None:
    add_pair_flags(parser, languages=True)
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
    from nmt.aligning.preparation import readable_pairs
    from nmt.alignment.links import AlignmentError

    _refuse_contradictions(arguments)
    loaded = _load(arguments) if arguments.model else None
    text = GivenText(arguments, languages=True, corpus=_known_corpus(arguments, loaded))
    read = [*text.paths, *(path for path in (arguments.gold, arguments.config) if path)]
    directory = [] if loaded else [_directory(arguments)]
    require_files_of_their_own(read, [arguments.links, *directory])
    require_writable(arguments.links)
    total = text.count()
    gold = read_gold_flags(arguments, text.name, total)
    aligner = loaded or _train(arguments, text)
    if aligner is None:
        return INTERRUPTED
    pairs = text.pairs if loaded else readable_pairs(text.pairs, aligner.directory)
    try:
        measured = _write(aligner, pairs, text, arguments, total, gold)
    except AlignmentError as error:
        model = _named(arguments, aligner)
        raise NmtError(f"{error}; the aligner is trained: mend the file and repeat with --model {model}") from None
    if gold is not None:
        gold = whole_gold(arguments, gold, text.name, len(measured))
        with redirect_stdout(sys.stderr if arguments.links == "-" else sys.stdout):
            print_alignment_score(measured, gold)
        say_if_few(len(gold))
    return 0


def _directory(arguments: Namespace) -> str:
    """The directory of the aligner that is trained."""
    return arguments.output or DEFAULT_DIRECTORY


def _load(arguments: Namespace) -> Aligner:
    """The trained aligner that the command line names, with the settings that its flags change."""
    from nmt.aligning.aligner import Aligner

    aligner = Aligner.load(arguments.model)
    say_if_unfinished(aligner)
    with as_flags(AlignerConfig):
        aligner.config = replace(aligner.config, **_given(arguments, _OF_LINKS))
    return aligner


def _named(arguments: Namespace, aligner: Aligner) -> str:
    """The aligner as --model takes it."""
    return quote(arguments.model or str(aligner.directory))


def _known_corpus(arguments: Namespace, aligner: Aligner | None) -> CorpusConfig:
    """The languages that an aligner or a run has decided."""
    from nmt.aligning.directory import corpus_of
    from nmt.translation.loading import config_of_run

    if aligner:
        return corpus_of(aligner.config)
    if not arguments.run:
        return CorpusConfig()
    require_runs([arguments.run])
    return config_of_run(arguments.run).corpus


def _learn_for_run(arguments: Namespace) -> int:
    """Trains the aligner that a run keeps."""
    refuse_idle(arguments, ["model", "output", "run"], "names another aligner: leave it or --for out")
    refuse_idle(arguments, _OF_OUTPUT, "is for links of pairs, and --for writes none: align pairs with --model RUN")
    refuse_idle(arguments, _OF_RUN, "is decided by the run: leave it out")
    require_runs([arguments.for_run])
    from nmt.aligning.run_training import learn_for_run
    from nmt.run.directory import Run
    from nmt.training.interruption import interruption

    config, run, pairs = _config(arguments), Run.open(arguments.for_run), None
    if is_text_given(arguments):
        text = GivenText(arguments, corpus=run.config.corpus)
        require_files_of_their_own(text.paths, [])
        pairs = text.pairs
    else:
        refuse_parts(arguments)
    with interruption() as interrupted:
        return 0 if learn_for_run(run, config, say, interrupted, pairs) else INTERRUPTED


def _refuse_contradictions(arguments: Namespace) -> None:
    if arguments.model:
        trained = [setting.name for setting in _SETTINGS if setting.name not in _OF_LINKS]
        why = "is for a training: leave out --model, which aligns with a trained aligner"
        refuse_idle(arguments, ["output", "run", "config", *trained], why)
    else:
        refuse_file(_directory(arguments))
    if arguments.run:
        why = "is of words: leave it out, or --run, whose pieces are aligned"
        refuse_idle(arguments, _OF_WORDS, why)
    if decides := "aligner" if arguments.model else "run" if arguments.run else "":
        of_document = _OF_TEXT if arguments.document else ()  # the same flags choose its languages
        refuse_idle(arguments, set(_OF_RUN).difference(of_document), f"is decided by the {decides}: leave it out")


def _given(arguments: Namespace, names: Any) -> dict[str, Any]:
    return {name: value for name in names if (value := getattr(arguments, name)) is not None}


def _config(arguments: Namespace) -> AlignerConfig:
    """The settings of the file and the flags."""
    from nmt.config.yaml_files import read_yaml

    fields = (read_yaml(arguments.config) if arguments.config else None) or {}
    if not isinstance(fields, dict):
        raise NmtError(f"{arguments.config}: expected fields, such as `jump_epochs: 5`")
    if fields.get("unit", "word") != "word" and not arguments.run:
        raise NmtError(f"{arguments.config}: unit is {fields['unit']}: pieces are those of a run: give --run too")
    if arguments.run or arguments.for_run:
        for name in (*_OF_RUN, *(_OF_WORDS if arguments.run else ())):
            if name in fields:
                raise NmtError(f"{arguments.config}: {name} is decided by the run: leave it out")
    given = _given(arguments, [*_OF_TEXT, *(setting.name for setting in _SETTINGS)])
    with as_flags(AlignerConfig):
        config: AlignerConfig = config_from_dict(
            AlignerConfig, {**fields, **given, **({"unit": "piece"} if arguments.run else {})}
        )
    return config


def _train(arguments: Namespace, text: GivenText) -> Aligner | None:
    """The aligner; None after an interruption."""
    from nmt.aligning.aligner import Aligner
    from nmt.training.interruption import interruption

    config, units = _config(arguments), None
    if arguments.run:
        from nmt.aligning.units import units_of_run

        units, config = units_of_run(arguments.run, config)
    with interruption() as interrupted:
        return Aligner.train(text.pairs, _directory(arguments), config, units, say, interrupted)


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
            f"{counted(cut, 'pair')} with more than {aligner.config.max_words} {aligner.config.unit}s on a side: "
            f"later words have no links; to link them, repeat with --model {_named(arguments, aligner)} and a larger "
            "--max-words"
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
