"""What each command does: checks its files first, loads the model, then streams."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from nmt.cli.files import count_lines, require_same_length, whole_file
from nmt.cli.quiet import quiet_start
from nmt.config import SearchConfig, to_dict
from nmt.corpus import read_lines
from nmt.errors import NmtError
from nmt.progress import Progress

if TYPE_CHECKING:
    from nmt.alignment import Linking
    from nmt.links import Gold, Links
    from nmt.translator import Translation, Translator


def train(config: str | None, flags: Sequence[str]) -> bool:
    """`nmt train`: a run from a configuration file and the flags over it.

    Returns:
        Whether it came to its end; False after an interruption.
    """
    from nmt.cli.configuration import load_config

    settings = load_config(config, flags)
    with quiet_start():
        from nmt.training import train

    result = train(settings)
    if result.finished:
        _say(f"the run is in {result.directory}; translate with: nmt translate --model {result.directory}")
    return result.finished


def translate(arguments: Namespace) -> None:
    """`nmt translate`: as many lines out as in, in their order."""
    if arguments.alignments in ("-", arguments.output):
        raise NmtError("--alignments needs a file of its own")
    path = "-" if arguments.input is None else arguments.input
    total = count_lines(path)
    with ExitStack() as files:
        output = files.enter_context(whole_file(arguments.output))
        links = files.enter_context(whole_file(arguments.alignments)) if arguments.alignments else None
        translator, search = _load(arguments)
        if arguments.input is None and sys.stdin.isatty():
            _interact(translator, search, output, links)
            return
        progress = _progress(total)
        for translation in _watched(translator.translate(read_lines(path), search), progress):
            _write_lines(translation, output, links)
    place = "standard output" if arguments.output == "-" else arguments.output
    _say(f"{progress.count} lines in {progress.seconds:.1f} s ({progress.speed}), written to {place}")


def _interact(translator: Translator, search: SearchConfig, output: TextIO, links: TextIO | None) -> None:
    _say("a sentence a line; end with Ctrl-D")
    while True:
        print("> ", end="", file=sys.stderr, flush=True)
        line = sys.stdin.readline()
        if not line:
            print(file=sys.stderr)
            return
        for translation in translator.translate([line.rstrip("\r\n")], search):
            if translation.truncated:
                _say("the sentence is longer than the model takes; its end was cut off")
            _write_lines(translation, output, links)
        output.flush()


def _write_lines(translation: Translation, output: TextIO, links: TextIO | None) -> None:
    output.write(translation.text + "\n")
    if links is not None:
        links.write(translation.alignment.pharaoh() + "\n")


def align(arguments: Namespace) -> None:
    """`nmt align`: Pharaoh links, all numbers as JSON, and plots of the first pairs."""
    if arguments.gold and not arguments.target:
        raise NmtError("--gold is an alignment of sentence pairs: give their --target too")
    if arguments.target and (arguments.beam_size, arguments.length_penalty) != (None, None):
        raise NmtError("--beam-size and --length-penalty are for a search: with --target nothing is searched for")
    if arguments.symmetrize and not arguments.reverse:
        raise NmtError("--symmetrize makes one alignment of two: give --reverse, the run of the opposite direction")
    linking = _linking(arguments)
    total = require_same_length({path: count_lines(path) for path in (arguments.source, arguments.target) if path})
    gold = _read_gold(arguments, total)
    translator, search = _load(arguments)
    reverse = _open(arguments.reverse) if arguments.reverse else None
    directory = Path(arguments.output)
    if directory.exists() and not directory.is_dir():
        raise NmtError(f"{directory}: is a file; name a directory to write into")
    directory.mkdir(parents=True, exist_ok=True)
    source = read_lines(arguments.source)
    pairs = translator.align(source, read_lines(arguments.target), linking) if arguments.target else None
    pairs = pairs or translator.translate(source, search, linking)
    if reverse is not None:
        from nmt.translator import symmetrized

        pairs = symmetrized(pairs, reverse, arguments.symmetrize or "grow-diag-final-and", linking)
    progress = _progress(total)
    links = _export(_watched(pairs, progress), directory, arguments, gold)
    if gold is not None:
        _score_links(links, gold)
    _say(f"{progress.count} pairs in {progress.seconds:.1f} s, written to {directory}")


def _linking(arguments: Namespace) -> Linking:
    from nmt.alignment import Linking

    if arguments.threshold is not None and arguments.links not in ("shares", "threshold"):
        raise NmtError("--threshold is for --links shares and threshold")
    given = {} if arguments.threshold is None else {"threshold": arguments.threshold}
    return Linking(arguments.links, arguments.links_of, step=arguments.attention, **given)


def _export(
    pairs: Iterator[Translation], directory: Path, arguments: Namespace, gold: Sequence[Gold] | None
) -> list[Links]:
    """Writes the numbers of all pairs and plots of the first that have words on both sides.

    Returns:
        The links of all pairs, where there is a gold alignment to measure them by.
    """
    from nmt.links import require_in_range
    from nmt.plotting import save_heatmap

    kept, plots = [], 0
    with ExitStack() as files:
        links = files.enter_context(whole_file(str(directory / "alignments.pharaoh")))
        numbers = files.enter_context(whole_file(str(directory / "alignments.jsonl")))
        for number, pair in enumerate(pairs, start=1):
            links.write(pair.alignment.pharaoh() + "\n")
            record = {"line": number, "log_probability": pair.log_probability} | pair.alignment.to_json()
            numbers.write(json.dumps(record, ensure_ascii=False) + "\n")
            if gold is not None:
                where = f"{arguments.gold}, sentence {number}"
                require_in_range(gold[number - 1], pair.alignment.source, pair.alignment.target, where)
                kept.append(pair.alignment.links)
            if plots < arguments.limit and pair.alignment.source and pair.alignment.target:
                title = f"line {number}, log-probability {pair.log_probability:.2f}"
                save_heatmap(pair.alignment, directory / f"{number:04d}.{arguments.format}", title=title)
                plots += 1
    return kept


def evaluate(arguments: Namespace) -> None:
    """`nmt evaluate`: BLEU, chrF and, with a gold alignment, the alignment error rate of the reference pairs."""
    from nmt.links import require_in_range

    sources, references = list(read_lines(arguments.source)), list(read_lines(arguments.reference))
    require_same_length({arguments.source: len(sources), arguments.reference: len(references)})
    gold = _read_gold(arguments, len(sources))
    for number, links in enumerate(gold or (), start=1):
        words = sources[number - 1].split(), references[number - 1].split()
        require_in_range(links, *words, f"{arguments.gold}, sentence {number}")
    _check_tokenizer(arguments.tokenize)
    with ExitStack() as files:
        output = files.enter_context(whole_file(arguments.output)) if arguments.output else None
        report = files.enter_context(whole_file(arguments.json)) if arguments.json else None
        translator, search = _load(arguments)
        progress = _progress(len(sources))
        hypotheses = [t.text for t in _watched(translator.translate(sources, search), progress)]
        results = _score(hypotheses, references, arguments.tokenize)
        if gold is not None:
            results["alignment"] = _score_links(
                (t.alignment.links for t in translator.align(sources, references)), gold
            )
        if output is not None:
            output.writelines(f"{text}\n" for text in hypotheses)
        if report is not None:
            about = {"model": arguments.model, "sentences": len(sources), "search": to_dict(search)}
            report.write(json.dumps(about | results, indent=2) + "\n")
    _say(f"{progress.count} lines translated in {progress.seconds:.1f} s")


def _check_tokenizer(name: str) -> None:
    """An unknown tokenizer is told before the translation, not after it."""
    from nmt.evaluation import bleu

    bleu(["a"], ["a"], name)


def _score(hypotheses: Sequence[str], references: Sequence[str], tokenize: str) -> dict[str, Any]:
    from nmt.evaluation import bleu, chrf

    scores = {"bleu": bleu(hypotheses, references, tokenize), "chrf": chrf(hypotheses, references)}
    for score in scores.values():
        print(score)
    return {name: score._asdict() for name, score in scores.items()}


def _score_links(predicted: Iterable[Links], gold: Sequence[Gold]) -> dict[str, Any]:
    from nmt.evaluation import alignment_score

    score = alignment_score(predicted, gold)
    print(score)
    return score._asdict()


def _read_gold(arguments: Namespace, sentences: int | None) -> list[Gold] | None:
    """The gold alignment that the command line names, as many entries as there are sentences where that is known."""
    from nmt.links import read_gold

    if arguments.gold is None:
        if arguments.gold_base is not None or arguments.gold_format != "pharaoh":
            raise NmtError("--gold-format and --gold-base say how to read --gold: name that file too")
        return None
    lines = read_lines(arguments.gold)
    gold = read_gold(lines, arguments.gold, arguments.gold_format, arguments.gold_base, sentences)
    require_same_length({"the text": sentences, arguments.gold: len(gold)})
    return gold


def _load(arguments: Namespace) -> tuple[Translator, SearchConfig]:
    """The model, and its own search with what the command line says over it."""
    given = {"beam_size": arguments.beam_size, "length_penalty": arguments.length_penalty}
    given = {name: value for name, value in given.items() if value is not None}
    SearchConfig(**given)  # both are checked before the seconds that loading takes
    translator = _open(arguments.model)
    return translator, replace(translator.config.search, **given)


def _open(directory: str) -> Translator:
    if not Path(directory).is_dir():
        what = "is a file, not a run directory" if Path(directory).exists() else "no such run directory"
        raise NmtError(f"{directory}: {what}; nmt train makes one")
    with quiet_start():
        from nmt.translator import Translator

    return Translator.load(directory)


def _progress(total: int | None) -> Progress:
    from nmt.translator import WINDOW

    return Progress(total, window=WINDOW)


def _watched(translations: Iterable[Translation], progress: Progress) -> Iterator[Translation]:
    """The same translations, with progress, and word of each sentence that was cut off."""
    for translation in progress.over(translations):
        if translation.truncated:
            progress.say(f"line {progress.count} is longer than the model takes; its end was cut off")
        yield translation


def _say(message: str) -> None:
    print(f"nmt: {message}", file=sys.stderr)
