"""`nmt predict-quality`: the BLEU and chrF to expect of a full training."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from nmt.cli.files import require_files_of_their_own
from nmt.cli.loading import require_runs, say
from nmt.cli.pair_files import add_pair_flags, files_of, is_text_given, pairs_from_flags, refuse_parts
from nmt.cli.parser import Parser, positive, refuse_idle
from nmt.config import CorpusConfig, RunConfig, recipes
from nmt.errors import NmtError
from nmt.files.outputs import open_output, require_writable
from nmt.progress import LineProgress, counted

if TYPE_CHECKING:
    from nmt.run.directory import Run
    from nmt.text.pairs import Pair
    from nmt.training.quality.fit import Estimate
    from nmt.training.quality.prediction import Prediction, ShortTraining
    from nmt.training.quality.text_figures import TextFigures

DESCRIPTION = (
    "Says what BLEU and chrF2 to expect of a full training on a text, before it is trained: from the share of words "
    "that the text lacks for new sentences of its kind, and from the length of its sentences. --run adds a short "
    "training. The estimate is fitted on trainings of this project, and the printed intervals are the errors of "
    "corpora that the fit has not seen. Text unlike short everyday sentences of European languages may differ more."
)
EXAMPLE = "nmt predict-quality --source my.en --target my.de --picture expected.png"


def add_flags(parser: Parser) -> None:
    add_pair_flags(parser, datasets=True)
    parser.usage = "nmt predict-quality [--source FILE --target FILE] [--run DIR] [OPTION ...]"
    parser.add_argument(
        "--run", metavar="DIR", help="run of a short or unfinished training; without other pairs, its text is measured"
    )
    parser.add_argument(
        "--passes", type=positive, metavar="N", help="epochs of the full training (default: as --recipe auto chooses)"
    )
    parser.add_argument("--picture", metavar="FILE", help="drawing of BLEU against text size; .png, .pdf or .svg")
    parser.add_argument("--json", metavar="FILE", help="file for the estimates, as JSON")


def run(arguments: Namespace) -> None:
    """Measures the text, reads the run, prints and writes the prediction."""
    from nmt.training.quality.fit import load_fit
    from nmt.training.quality.prediction import predict

    config = _config(arguments)
    _check_outputs(arguments, config)
    figures = _figures(config)
    fit = load_fit()
    prediction = predict(figures, fit, _short_training(arguments, config))
    for line in _lines(prediction):
        print(line)
    if arguments.picture:
        from nmt.drawing import save_figure
        from nmt.training.quality.drawing import draw_prediction

        save_figure(draw_prediction(prediction, fit), arguments.picture)
    if arguments.json:
        with open_output(arguments.json) as file:
            file.write(json.dumps(_as_json(prediction), indent=2) + "\n")
    written = [path for path in (arguments.picture, arguments.json) if path]
    if written:
        say(f"written to {' and '.join(written)}")


def _config(arguments: Namespace) -> RunConfig:
    """A configuration with the pairs that the command line names, or else the pairs of the run."""
    if not arguments.run:
        refuse_idle(arguments, ["passes"], "is for a short training: give --run too")
    if arguments.run and not is_text_given(arguments):
        from nmt.run.directory import Run

        refuse_parts(arguments)
        require_runs([arguments.run])
        config = Run.open(arguments.run).config
        if not config.corpus.train:  # of a prepared corpus, a pack or an export
            raise NmtError(f"{arguments.run}: does not name its text: give the text by --source and --target")
        return config
    pairs = pairs_from_flags(arguments, languages=True)
    source, target = arguments.source_language or "", arguments.target_language or ""
    return RunConfig(corpus=CorpusConfig(train=pairs, source_language=source, target_language=target))


def _check_outputs(arguments: Namespace, config: RunConfig) -> None:
    written = [path for path in (arguments.picture, arguments.json) if path]
    if "-" in written:
        raise NmtError("standard output (-) has the estimates: name files for --picture and --json")
    require_files_of_their_own(files_of(config.corpus.train), written)
    require_writable(*written)
    if arguments.picture:
        from nmt.drawing import check_suffix

        check_suffix(Path(arguments.picture))


def _figures(config: RunConfig) -> list[TextFigures]:
    """The figures of the text, whose words are cut as a training would cut them."""
    from nmt.text.languages import decide_languages, words_of
    from nmt.training.auto_recipe import training_pairs
    from nmt.training.quality.text_figures import measure_figures

    reader = training_pairs(config)
    first = [pair for pair, _ in zip(reader, range(1000), strict=False)]
    corpus = decide_languages(config.corpus, [pair.source for pair in first], [pair.target for pair in first])
    figures = measure_figures(_watched(reader), words_of(corpus))
    if reader.report.shifted:
        say(f"warning: {reader.report.shifted}")
    return figures


def _watched(pairs: Iterable[Pair]) -> Iterator[Pair]:
    return LineProgress(task="measuring the text", unit="pairs").over(pairs)


def _short_training(arguments: Namespace, config: RunConfig) -> ShortTraining | None:
    """The best validation of --run, beside the epochs of the full training."""
    if not arguments.run:
        return None
    from nmt.run.directory import Run
    from nmt.training.quality.prediction import read_short_training

    require_runs([arguments.run])
    opened = Run.open(arguments.run)
    if is_text_given(arguments):
        _say_if_of_other_text(opened, config)
    full = arguments.passes
    if full is None:
        from nmt.training.auto_recipe import fit_to_text

        whole = replace(config, training=replace(config.training, minutes=0))
        alike = {"training": {"recombine": opened.config.training.recombine}}  # an epoch has these new pairs too
        full = fit_to_text(alike, whole).fields["training"]["passes"]
    return read_short_training(opened, full)


def _say_if_of_other_text(run: Run, config: RunConfig) -> None:
    """Warns of a run that was trained on other text than the one that is measured."""
    from nmt.evaluation.seen_pairs import count_seen_pairs
    from nmt.run.training_pairs import has_training_pairs
    from nmt.training.auto_recipe import training_pairs

    if run.config.corpus.prepared or not has_training_pairs(run.directory, run.config):
        return
    first = [pair for pair, _ in zip(training_pairs(config), range(1000), strict=False)]
    seen = count_seen_pairs(run, [pair.source for pair in first], [pair.target for pair in first])
    if seen < len(first) / 2:
        say(
            f"warning: {run.directory} was trained on {seen:,} of the first {len(first):,} pairs: scores of a training "
            "on other text say little about this one"
        )


def _lines(prediction: Prediction) -> Iterator[str]:
    text, short = prediction.figures, prediction.short
    yield (
        f"text: {counted(text.pairs, 'pair')}; {text.source_words:.1f} source words and {text.target_words:.1f} target "
        f"words per sentence; {text.source_types:,} and {text.target_types:,} different words"
    )
    yield (
        f"unseen words: of the words in a tenth of the sentences, {text.source_unseen:.1%} of the source and "
        f"{text.target_unseen:.1%} of the target are in no other sentence"
    )
    if prediction.unlike:
        yield f"The text is unlike every measured one: {' and '.join(prediction.unlike)}. Trust the estimate less."
    if short and prediction.of_training:
        yield f"from the text alone: BLEU {_range(prediction.of_text)}"
        yield (
            f"from the short training alone ({short.bleu:.1f} greedy after {short.epochs:.3g} of {short.full} epochs): "
            f"BLEU {_range(prediction.of_training)}"
        )
    elif short:
        yield (
            f"the short training has only {short.epochs:.3g} of {counted(short.full, 'epoch')}; from {short.needed} "
            "on it counts"
        )
    yield f"expected after a full training: BLEU {_range(prediction.bleu)}, chrF2 {_range(prediction.chrf)}"
    for one in prediction.more[1:]:
        yield f"  with {one.pairs:,.0f} pairs of this kind: BLEU {_range(one.bleu)}"
    if recipes.suited_to(text.pairs) in recipes.RECOMBINED:
        yield "New pairs, which recipe auto makes from so much text, are not counted; captions gain 1 to 3 BLEU."
    yield "Four of five trainings should end within these ranges: a beam of 5, sentences like those of the text."


def _range(estimate: Estimate) -> str:
    low, high = estimate.interval
    return f"{estimate.value:.1f} ({low:.1f} to {high:.1f})"


def _as_json(prediction: Prediction) -> dict[str, object]:
    def shown(estimate: Estimate | None) -> dict[str, object] | None:
        return None if estimate is None else {"value": estimate.value, "interval": list(estimate.interval)}

    return {
        "text": prediction.figures._asdict(),
        "unlike_measured": prediction.unlike,
        "short_training": prediction.short and prediction.short._asdict(),
        "bleu": shown(prediction.bleu),
        "chrf": shown(prediction.chrf),
        "bleu_of_text": shown(prediction.of_text),
        "bleu_of_training": shown(prediction.of_training),
        "curve": [{"pairs": one.pairs, "bleu": shown(one.bleu)} for one in [*prediction.curve, *prediction.more[1:]]],
    }
