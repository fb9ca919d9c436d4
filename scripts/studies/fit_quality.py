"""Fits the expected quality of a training on this project's own trainings, and tests it on corpora left out.

    python scripts/studies/fit_quality.py [--multi30k data/multi30k] [--tatoeba data/tatoeba/fra-eng.tsv]

Quality comes from rows of docs/results.jsonl, and figures from the texts themselves. The fit is least squares in
log-odds of BLEU. Each corpus is predicted by a fit without it; these errors, not the errors of the fit, are the
uncertainty that `nmt predict-quality` reports. The script prints the predictions and writes coefficients.json.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from common.running import run_script
from documentation.results import read
from nmt.config import CorpusConfig, PairsConfig
from nmt.text.pairs import Pair, PairReader
from nmt.training.quality import fit, text_figures

ROOT = Path(__file__).resolve().parents[2]
OUTPUT = Path(fit.__file__).with_name("coefficients.json")
T_QUANTILES = {2: 1.886, 3: 1.638, 4: 1.533, 5: 1.476, 6: 1.440, 7: 1.415}
"""0.9 quantiles of Student's t by degrees of freedom, which widen intervals that few corpora decide."""


class Text(NamedTuple):
    """A text with rows of full trainings on it."""

    corpus: str
    """Texts of one corpus are left out together."""
    name: str
    source: str
    target: str
    pairs: int | None
    rows: Sequence[str]


TEXTS = [
    Text("en-de", "Multi30k en-de, 1,000 pairs", "tok/train.en", "tok/train.de", 1000, ["few-pairs-1k"]),
    Text("en-de", "Multi30k en-de, 3,000 pairs", "tok/train.en", "tok/train.de", 3000,
         ["3k-recipe", "3k-data-efficiency"]),
    Text("en-de", "Multi30k en-de, 10,000 pairs", "tok/train.en", "tok/train.de", 10_000,
         ["10k-recipe", "10k-data-efficiency"]),
    Text("en-de", "Multi30k en-de", "tok/train.en", "tok/train.de", None,
         ["multi30k-de-30k-seed1", "multi30k-de-30k-seed2", "multi30k-de-30k-seed3"]),
    Text("en-de", "Multi30k en-de, cased", "raw/train.en", "raw/train.de", None, ["multi30k-cased-30k"]),
    Text("en-fr", "Multi30k en-fr", "tok/train.en", "tok/train.fr", None,
         ["multi30k-fr-30k", "multi30k-fr-30k-recurrence-seed1"]),
    Text("de-en", "Multi30k de-en, 10,000 pairs", "tok/train.de", "tok/train.en", 10_000, ["10k-de-en"]),
    Text("tatoeba", "Tatoeba en-fr", "tatoeba", "tatoeba", None, ["tatoeba-150k"]),
    Text("demo", "demo corpus", "demo/train.en", "demo/train.fr", None, ["demo-test"]),
]  # fmt: skip

PARTS = [
    ("transformer-13", "multi30k-de-transformer-no-words", 13 / 40),
    ("multi30k-de-transformer-26", "multi30k-de-transformer-no-words", 26 / 40),
    ("multi30k-de-half-hour-no-words", "multi30k-de-transformer-no-words", 30 / 40),
    ("multi30k-de-transformer-rate-002", "multi30k-de-transformer-26-one-thread", 18 / 26),
    ("multi30k-de-transformer-batch-4000-26", "multi30k-de-transformer-batch-4000", 26 / 40),
    ("transformer-13-r-drop", "transformer-13-old-average", 4 / 13),
    ("10k-words-in-tanh", "10k-recipe", 2 / 16),
    ("10k-words-added", "10k-recipe", 7 / 16),
    ("10k-rate-003", "10k-no-words", 6 / 16),
    ("30k-less-dropout", "multi30k-de-30k-seed1", 9 / 18),
    ("multi30k-de-30k-old-dropout", "multi30k-de-30k-old-dropout-30-epochs", 18 / 30),
]
"""Trainings that ended early or had fewer epochs, each with a longer one, and its share of the epochs."""

SIZES = ("10k-transformer-small", "10k-transformer-no-words")
"""The same training with fewer and with more layers."""

SEEDS = ("multi30k-de-30k-seed1", "multi30k-de-30k-seed2", "multi30k-de-30k-seed3")


def main() -> None:
    """Fits, prints the test, writes the coefficients."""
    arguments = parse()
    rows = {name: row["metrics"] for name, row in read().items()}
    beam = fmean(odds(row, "validation_bleu") - odds(row, "validation_bleu_greedy") for row in with_both(rows))
    figures = [measured(text, arguments) for text in TEXTS]
    inputs = np.array([fit.predictors(one) for one in figures])
    outputs = np.array([fmean(quality(rows[name], beam) for name in text.rows) for text in TEXTS])
    factors = least_squares(inputs, outputs)
    corpora = [text.corpus for text in TEXTS]
    predicted = left_out(inputs, outputs, corpora)
    freedom = len(set(corpora)) - 1
    deviation = root_of_corpora(outputs - predicted, corpora) * T_QUANTILES[freedom] / fit.QUANTILE
    gains = [
        (odds(rows[full], "validation_bleu_greedy") - odds(rows[part], "validation_bleu_greedy")) / (1 / share - 1)
        for part, full, share in PARTS
    ]
    pairs = [(odds(row, "bleu"), odds(row, "chrf")) for row in rows.values() if {"bleu", "chrf"} <= row.keys()]
    pairs = [pair for pair in pairs if all(map(math.isfinite, pair))]
    chrf_inputs, chrf = np.array([[1, bleu] for bleu, _ in pairs]), np.array([value for _, value in pairs])
    of_chrf = least_squares(chrf_inputs, chrf)
    words = [one.target_words for one in figures]
    smaller, larger = (rows[name] for name in SIZES)
    found = {
        "text": factors.tolist(),
        "text_deviation": deviation,
        "gain": fmean(gains),
        "gain_deviation": stdev(gains) * (1 + 1 / len(gains)) ** 0.5,
        "beam": beam,
        "seeds": stdev(odds(rows[name], "validation_bleu") for name in SEEDS),
        "size": (odds(larger, "validation_bleu") - odds(smaller, "validation_bleu"))
        / math.log(larger["parameters"] / smaller["parameters"]),
        "chrf": of_chrf.tolist(),
        "chrf_deviation": float(np.std(chrf - chrf_inputs @ of_chrf)),
        "words": [math.floor(10 * min(words)) / 10, math.ceil(10 * max(words)) / 10],
    }
    found = {name: np.round(value, 4).tolist() for name, value in found.items()}
    points = zip(TEXTS, figures, map(fit.score, outputs), map(fit.score, predicted), strict=True)
    found["measured"] = [[text.name, one.pairs, round(bleu, 2), round(guess, 2)] for text, one, bleu, guess in points]
    OUTPUT.write_text(formatted(found), encoding="utf-8")
    report(found, [fit.score(value) for value in inputs @ factors], gains)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--multi30k", type=Path, default=ROOT / "data/multi30k", help="folder with tok/ and raw/")
    parser.add_argument("--tatoeba", type=Path, default=ROOT / "data/tatoeba/fra-eng.tsv")
    return parser.parse_args()


def measured(text: Text, arguments: argparse.Namespace) -> text_figures.TextFigures:
    """The figures of a text."""
    folder = ROOT / "data" if text.corpus == "demo" else arguments.multi30k
    named = PairsConfig(tsv=str(arguments.tatoeba))
    if text.corpus != "tatoeba":
        named = PairsConfig(source=str(folder / text.source), target=str(folder / text.target))
    reader: Iterable[Pair] = PairReader(named, CorpusConfig(train=named))
    return text_figures.measure_figures(islice(reader, text.pairs))[-1]


def with_both(rows: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of trainings whose validation pairs were translated greedily and by a beam."""
    names = {"validation_bleu", "validation_bleu_greedy"}
    return [row for row in rows.values() if names <= row.keys() and isinstance(row["validation_bleu"], float)]


def odds(row: dict[str, Any], name: str) -> float:
    """Log-odds of a score; NaN for a score that is no single number."""
    return fit.log_odds(row[name]) if isinstance(row[name], int | float) else math.nan


def quality(row: dict[str, Any], beam: float) -> float:
    """BLEU with a beam in log-odds: of validation pairs, of test pairs, or estimated from greedy search."""
    for name in ("validation_bleu", "bleu"):
        if name in row:
            return odds(row, name)
    return odds(row, "validation_bleu_greedy") + beam


def least_squares(inputs: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    return np.linalg.lstsq(inputs, outputs, rcond=None)[0]


def left_out(inputs: np.ndarray, outputs: np.ndarray, corpora: Sequence[str]) -> np.ndarray:
    """The prediction for each text by the fit without its corpus."""
    predicted = np.empty_like(outputs)
    for corpus in set(corpora):
        own = np.array([name == corpus for name in corpora])
        predicted[own] = inputs[own] @ least_squares(inputs[~own], outputs[~own])
    return predicted


def root_of_corpora(errors: np.ndarray, corpora: Sequence[str]) -> float:
    """The root of the mean square, in which each corpus counts once."""
    squares = [fmean(error**2 for error, name in zip(errors, corpora, strict=True) if name == one)
               for one in set(corpora)]  # fmt: skip
    return fmean(squares) ** 0.5


def formatted(found: dict[str, Any]) -> str:
    """JSON with a line for each field and each text."""
    lines = [f" {json.dumps(name)}: {json.dumps(value)}" for name, value in found.items() if name != "measured"]
    texts = ",\n".join(f"  {json.dumps(row)}" for row in found["measured"])
    return "{\n" + ",\n".join([*lines, f' "measured": [\n{texts}\n ]']) + "\n}\n"


def report(found: dict[str, Any], fitted: Sequence[float], gains: Sequence[float]) -> None:
    print(f"{'text':32} {'pairs':>7} {'BLEU':>6} {'fitted':>6} {'left out':>8}")
    for (name, pairs, bleu, guess), own in zip(found["measured"], fitted, strict=True):
        print(f"{name:32} {pairs:7,} {bleu:6.1f} {own:6.1f} {guess:8.1f}")
    errors = [abs(bleu - guess) for _, _, bleu, guess in found["measured"]]
    print(f"BLEU of a left-out corpus: mean error {fmean(errors):.1f}, largest {max(errors):.1f}")
    rest = [abs(gain - (sum(gains) - gain) / (len(gains) - 1)) for gain in gains]
    print(f"gain by 1/f - 1: {fmean(gains):.3f}, mean error of a left-out training {fmean(rest):.3f}, in log-odds")
    print(f"written to {OUTPUT}")


if __name__ == "__main__":
    sys.exit(run_script(main))
