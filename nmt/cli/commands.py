"""What each command does: checks its files first, loads the model, then streams."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nmt.cli.files import count_lines, outdated_drawings, require_files_of_their_own, require_lines, require_same_length
from nmt.cli.loading import SEARCH, lines_of, load, load_run, say, say_if_cut, watched
from nmt.cli.parser import as_flags, refuse_idle
from nmt.cli.quiet import quiet_start
from nmt.config import SearchConfig, to_dict
from nmt.errors import NmtError
from nmt.files.outputs import open_output
from nmt.files.paths import can_be_read_again, output_directory, real_path
from nmt.progress import LineProgress
from nmt.text.lines import read_lines

if TYPE_CHECKING:
    from nmt.alignment.hard_links import Linking
    from nmt.alignment.links import Gold, Links
    from nmt.drawing import Picture
    from nmt.explaining.erasure import Erasure
    from nmt.translation.translator import Translation, Translator


def train(recipe: str, config: str | None, flags: Sequence[str]) -> bool:
    """`nmt train`: a run from a recipe, a configuration file over it and flags over both.

    Returns:
        Whether it came to its end; False after an interruption.
    """
    from nmt.training.settings import load_config

    settings = load_config(config, flags, recipe, say)
    with quiet_start():
        from nmt.training.trainer import train

    result = train(settings)
    if result.finished:
        say(f"the run is in {result.directory}; translate with: nmt translate --model {result.directory}")
    return result.finished


ALIGNMENTS = ("alignments.pharaoh", "alignments.jsonl")
"""What `nmt align` writes of all pairs, beside its drawings: links and all numbers."""


def align(arguments: Namespace) -> None:
    """`nmt align`: Pharaoh links, all numbers as JSON, and drawings of the first pairs."""
    if arguments.gold and not arguments.target:
        raise NmtError("--gold is an alignment of sentence pairs: give their --target too")
    _refuse_search_flags(arguments)
    _refuse_file(arguments.output)
    if not arguments.reverse:
        why = "makes one alignment of two: give --reverse, the run of the opposite direction"
        refuse_idle(arguments, ["symmetrize"], why)
    if "html" not in arguments.format:
        refuse_idle(arguments, ["nbest"], "is what the page shows: add html to --format")
    if arguments.nbest > 1 and (arguments.target or arguments.reverse):
        raise NmtError("--nbest is for a search of one model: leave out --target and --reverse")
    linking = _linking(arguments)
    read = [path for path in (arguments.source, arguments.target, arguments.gold) if path]
    require_files_of_their_own(read, [str(Path(arguments.output) / name) for name in ALIGNMENTS])
    total = require_same_length({path: count_lines(path) for path in (arguments.source, arguments.target) if path})
    gold = _read_gold(arguments, total)
    if arguments.reverse and real_path(Path(arguments.reverse)) in (
        real_path(Path(model)) for model in arguments.model
    ):
        raise NmtError("--reverse is the run that --model names: expected one of the opposite direction")
    translator, search = load(arguments)
    how = {"checkpoints": arguments.checkpoints, "precision": arguments.precision}
    reverse = load_run(arguments.reverse, **how) if arguments.reverse else None
    progress = lines_of(total)
    found = _pairs(arguments, translator, reverse, search, linking)
    with output_directory(Path(arguments.output)) as directory:
        links = _export(progress.over(found), directory, arguments, gold, progress)
    if gold is not None:
        _score_links(links, gold)
    say(f"{progress.count} pairs in {progress.seconds:.1f} s, written to {directory}")


def _pairs(
    arguments: Namespace, translator: Translator, reverse: Translator | None, search: SearchConfig, linking: Linking
) -> Iterator[list[Translation]]:
    """For each line the given pair, or the model's translations, best first."""
    source = read_lines(arguments.source)
    if not arguments.target and reverse is None:
        yield from translator.translate_nbest(source, search, arguments.nbest, linking=linking)
        return
    pairs = translator.align(source, read_lines(arguments.target), linking) if arguments.target else None
    pairs = pairs or translator.translate(source, search, linking=linking)
    if reverse is not None:
        from nmt.translation.translator import symmetrized

        pairs = symmetrized(pairs, reverse, arguments.symmetrize or "grow-diag-final-and", linking)
    for pair in pairs:
        yield [pair]


def _refuse_search_flags(arguments: Namespace) -> None:
    if arguments.target:
        refuse_idle(arguments, SEARCH, "is for a search: with --target nothing is searched for")


def _refuse_file(path: str) -> None:
    if Path(path).exists() and not Path(path).is_dir():
        raise NmtError(f"{path}: is a file; name a directory to write into")


def _linking(arguments: Namespace) -> Linking:
    from nmt.alignment.hard_links import Linking

    if arguments.links not in ("shares", "threshold"):
        refuse_idle(arguments, ["threshold"], "is for --links shares and threshold")
    given = {} if arguments.threshold is None else {"threshold": arguments.threshold}
    with as_flags(Linking):
        return Linking(arguments.links, arguments.links_of, step=arguments.attention, **given)


def _export(
    pairs: Iterator[list[Translation]],
    directory: Path,
    arguments: Namespace,
    gold: Sequence[Gold] | None,
    progress: LineProgress,
) -> list[Links]:
    """Writes the numbers of all pairs, then draws the first that have words on both sides.

    Returns:
        The links of all pairs, where there is a gold alignment to measure them by.
    """
    from nmt.alignment.links import require_in_range
    from nmt.drawing import MOST_WORDS, Picture, drawable

    kept: list[Links] = []
    number = 0
    drawn: dict[int, tuple[list[Translation], Picture]] = {}
    with outdated_drawings(directory, "alignments"), ExitStack() as files:
        links, numbers = (files.enter_context(open_output(str(directory / name))) for name in ALIGNMENTS)
        for number, found in enumerate(pairs, start=1):
            pair = found[0]
            say_if_cut(pair, progress)
            links.write(pair.alignment.pharaoh() + "\n")
            record = {"line": number, "log_probability": pair.log_probability} | pair.alignment.to_json()
            numbers.write(json.dumps(record, ensure_ascii=False) + "\n")
            gold_links = gold[number - 1] if gold is not None and number <= len(gold) else None
            if gold_links is not None:
                where = f"{arguments.gold}, sentence {number}"
                require_in_range(gold_links, pair.alignment.source, pair.alignment.target, where)
                kept.append(pair.alignment.links)
            if len(drawn) == arguments.limit:
                continue
            if drawable(pair.alignment):
                title = f"line {number}, log-probability {pair.log_probability:.2f}"
                drawn[number] = found, Picture(pair.alignment, title, gold_links)
            elif max(pair.alignment.weights.shape) > MOST_WORDS:
                progress.print(f"line {number} is not drawn: a side has more than {MOST_WORDS} words")
        if gold is not None:  # of a pipe it is known only now
            require_same_length({arguments.source: number, arguments.gold: len(gold)})
    _draw(drawn, directory, arguments.format)
    return kept


def _draw(drawn: dict[int, tuple[list[Translation], Picture]], directory: Path, formats: Sequence[str]) -> None:
    """Draws pairs, named by their lines, in each of the formats."""
    from nmt.drawing import page as viewer
    from nmt.drawing import save_heatmap, save_pages

    if not drawn:
        return
    if "html" in formats:
        entries = [viewer.Entry(found, f"line {number}", picture.gold) for number, (found, picture) in drawn.items()]
        viewer.save(entries, directory / "alignments.html")
    if "pdf" in formats:
        pictures = [picture for _, picture in drawn.values()]
        save_pages(pictures, directory / "alignments.pdf", LineProgress(len(drawn)).over)
    for suffix in sorted({"png", "svg"}.intersection(formats)):
        for number, (_, picture) in LineProgress(len(drawn)).over(drawn.items()):
            place = directory / f"{number:04d}.{suffix}"
            save_heatmap(picture.alignment, place, picture.title, picture.gold)


def evaluate(arguments: Namespace) -> None:
    """`nmt evaluate`: BLEU, chrF and, with a gold alignment, the alignment error rate of the reference pairs."""
    read = [path for path in (arguments.source, arguments.reference, arguments.gold) if path]
    written = [path for path in (arguments.output, arguments.json) if path]
    require_files_of_their_own(read, written)
    if "-" in written:
        raise NmtError("standard output (-) has the scores: give --output and --json files")
    sources, references = list(read_lines(arguments.source)), list(read_lines(arguments.reference))
    require_same_length({arguments.source: len(sources), arguments.reference: len(references)})
    require_lines(arguments.source, sources)
    gold = _read_gold(arguments, len(sources))
    _require_measurable(sources, references, arguments.tokenize, gold or (), arguments.gold)
    with ExitStack() as files:
        output = files.enter_context(open_output(arguments.output)) if arguments.output else None
        report = files.enter_context(open_output(arguments.json)) if arguments.json else None
        translator, search = load(arguments)
        progress = lines_of(len(sources), translator)
        hypotheses = [t.text for t in watched(translator.translate(sources, search), progress)]
        results = _score(hypotheses, references, arguments.tokenize)
        if gold is not None:
            pairs = lines_of(len(sources)).over(translator.align(sources, references))
            results["alignment"] = _score_links((pair.alignment.links for pair in pairs), gold)
        if output is not None:
            output.writelines(f"{text}\n" for text in hypotheses)
        if report is not None:
            about = {"model": " ".join(arguments.model), "sentences": len(sources), "search": to_dict(search)}
            report.write(json.dumps(about | results, indent=2) + "\n")
    blank = sum(not text.strip() and bool(source.strip()) for source, text in zip(sources, references, strict=True))
    if blank:
        say(f"references without words: {blank}; whatever the model says there counts as wrong")
    places = f", written to {' and '.join(written)}" if written else ""
    say(f"{progress.count} lines translated in {progress.seconds:.1f} s{places}")


def _require_measurable(
    sources: Sequence[str], references: Sequence[str], tokenize: str, gold: Sequence[Gold], gold_path: str
) -> None:
    """Told before anything is translated, or trained, and not after it: an unknown tokenizer, gold links of words that
    there are not."""
    from nmt.alignment.links import require_in_range
    from nmt.evaluation.bleu_and_chrf import require_tokenizer

    require_tokenizer(tokenize)
    for number, links in enumerate(gold, start=1):
        words = sources[number - 1].split(), references[number - 1].split()
        require_in_range(links, *words, f"{gold_path}, sentence {number}")


def _score(hypotheses: Sequence[str], references: Sequence[str], tokenize: str) -> dict[str, Any]:
    from nmt.evaluation.bleu_and_chrf import bleu, chrf

    scores = {"bleu": bleu(hypotheses, references, tokenize), "chrf": chrf(hypotheses, references)}
    for score in scores.values():
        print(score)
    return {name: score._asdict() for name, score in scores.items()}


def _score_links(predicted: Iterable[Links], gold: Sequence[Gold]) -> dict[str, Any]:
    from nmt.evaluation.alignment_error_rate import alignment_score

    score = alignment_score(predicted, gold)
    print(score)
    return score._asdict()


def explain(arguments: Namespace) -> None:
    """`nmt explain`: the numbers of every pair, the worst first, and where asked what erasing a source word changes."""
    from nmt.cli.report import RECORDS, TABLE, write_report

    _refuse_search_flags(arguments)
    _refuse_file(arguments.output)
    read = [path for path in (arguments.source, arguments.target) if path]
    require_files_of_their_own(read, [str(Path(arguments.output) / name) for name in (RECORDS, TABLE)])
    total = require_same_length({path: count_lines(path) for path in read})
    translator, search = load(arguments)
    source = read_lines(arguments.source)
    pairs = translator.align(source, read_lines(arguments.target)) if arguments.target else None
    pairs = pairs or translator.translate(source, search)
    if arguments.erase:
        from nmt.explaining.erasure import PAIRS_TOGETHER, erase

        progress = LineProgress(total, window=PAIRS_TOGETHER)
        explained = _erased(erase(translator, pairs, arguments.erase, search.max_source), progress)
    else:
        progress = lines_of(total)
        explained = ((pair, None) for pair in watched(pairs, progress))
    with output_directory(Path(arguments.output)) as directory:
        write_report(explained, directory, arguments.worst)
    say(f"{progress.count} pairs in {progress.seconds:.1f} s, written to {directory}")


def compare(arguments: Namespace) -> None:
    """`nmt compare`: variants of a configuration, trained and measured side by side."""
    from nmt.alignment.pharaoh_and_naacl import read_gold
    from nmt.training.comparison import chosen_line, read_plan, run_trials, settle_precision, write_report

    directory, failed = Path(arguments.output), []
    if arguments.report_only:
        refuse_idle(arguments, ["jobs"], "is for training: leave it or --report-only out")
    plan = read_plan(Path(arguments.variants), directory, arguments.seeds)
    test = plan.test
    if not can_be_read_again(path for path in (test.source, test.target, test.alignment) if path):
        raise NmtError(f"{arguments.variants}: test: standard input and pipes can be read only once: give files")
    require_same_length({path: count_lines(path) for path in (test.source, test.target, test.alignment) if path})
    sources, references = list(read_lines(test.source)), list(read_lines(test.target))
    require_lines(test.source, sources)
    gold = read_gold(list(read_lines(test.alignment)), test.alignment) if test.alignment else ()
    _require_measurable(sources, references, test.tokenize, gold, test.alignment)
    chosen_line(arguments.sentence, sources)
    if not arguments.report_only:
        _refuse_file(arguments.output)
        with output_directory(directory):
            failed = run_trials(settle_precision(plan, directory), directory, arguments.jobs)
    with quiet_start():
        import nmt.translation.translator  # noqa: F401  what draws the attention of every variant
    say(f"the report is {write_report(plan, directory, arguments.sentence)}")
    if failed:
        raise NmtError(f"{len(failed)} of {len(plan.trials)} trainings failed, and the report lacks them: {failed[0]}")


def _erased(
    pairs: Iterable[tuple[Translation, Erasure]], progress: LineProgress
) -> Iterator[tuple[Translation, Erasure | None]]:
    for pair, erasure in progress.over(pairs):
        say_if_cut(pair, progress)
        yield pair, erasure


def _read_gold(arguments: Namespace, sentences: int | None) -> list[Gold] | None:
    """The gold alignment that the command line names, as many entries as there are sentences where that is known."""
    from nmt.alignment.pharaoh_and_naacl import read_gold

    if arguments.gold is None:
        refuse_idle(arguments, ["gold_format", "gold_base"], "says how to read --gold: name that file too")
        return None
    lines = read_lines(arguments.gold)
    gold = read_gold(lines, arguments.gold, arguments.gold_format, arguments.gold_base, sentences)
    require_same_length({arguments.source: sentences, arguments.gold: len(gold)})
    if not any(links.possible for links in gold):
        raise NmtError(f"{arguments.gold}: has no links at all, so nothing can be measured by it")
    return gold
