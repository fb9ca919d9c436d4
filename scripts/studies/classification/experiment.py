"""The comparison: every model is trained on every training set with every seed."""

from __future__ import annotations

import argparse
import json
import shlex
import statistics
import sys
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np

from corpora.demo_grammar.corpus import stream
from corpora.demo_grammar.lexicon import Lexicon
from nmt import save_figure
from studies.classification import report
from studies.classification.models import Data, measure, measure_weights
from studies.classification.sentences import Example, as_arrays, balanced, chance, determiners, index_words

LEXICON = Path(__file__).resolve().parents[3] / "data" / "demo" / "lexicon"
DRAWN = 4
"""Sentences in the figure: one of each case."""


def compare(
    train: list[Example], test: list[Example], options: argparse.Namespace
) -> tuple[dict[str, dict[str, list[float]]], dict[str, np.ndarray]]:
    """Trains every model on one training set with every seed.

    Returns:
        The results of each model, a list of one number per seed for each measurement: accuracies and the results of
        `measure_weights`. And the weights of each pooling with the first seed for the first test sentences,
        [sentences, positions].
    """
    index = index_words(train)
    data = Data(len(index) + 2, *as_arrays(train, index), *as_arrays(test, index))
    found: dict[str, dict[str, list[float]]] = {}
    weights: dict[str, np.ndarray] = {}
    between = np.array([example.between > 0 for example in test])
    for seed in range(1, options.seeds + 1):
        for name in options.models:
            begin = time.perf_counter()
            measured = measure(name, data, options.units, options.updates, seed)
            numbers = {"accuracy": float(measured.right.mean())}
            if between.any():
                numbers["between"] = float(measured.right[between].mean())
            if measured.weights is not None:
                numbers |= measure_weights(measured.weights, test)
                weights.setdefault(name, measured.weights[:DRAWN])
            for key, value in numbers.items():
                found.setdefault(name, {}).setdefault(key, []).append(value)
            message = f"accuracy {numbers['accuracy']:.3f}, {time.perf_counter() - begin:.0f} s"
            print(f"{len(train)} sentences, seed {seed}, {name}: {message}", file=sys.stderr)
    return found, weights


def run(options: argparse.Namespace) -> None:
    """Generates the sentences, trains and measures all models, and writes the results."""
    options.output.mkdir(parents=True, exist_ok=True)
    lexicon = Lexicon(LEXICON)
    sentences = (pair.english for pair, _ in stream(lexicon, seed=1))
    examples = balanced(sentences, determiners(lexicon), options.distance, options.test + max(options.train))
    test, train = examples[: options.test], examples[options.test :]
    mean, share = statistics.mean(len(e.words) for e in examples), statistics.mean(e.between > 0 for e in test)
    print(
        f"{len(examples)} sentences of {mean:.1f} words; {share:.1%} of the test sentences have a third determiner",
        file=sys.stderr,
    )
    majority = max(statistics.mean(e.label is value for e in test) for value in (False, True))
    results: report.Results = {}
    for size in options.train:
        results[size], weights = compare(train[:size], test, options)
    text = report.table(results, majority, chance(test))
    versions = f"keras {version('keras')}, tensorflow {version('tensorflow')}"
    text += f"\n\nCommand: {shlex.join(['python', *sys.argv])}; {versions}\n"
    (options.output / "table.md").write_text(text, encoding="utf-8")
    (options.output / "results.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    if weights:
        save_figure(report.draw(test[:DRAWN], weights), options.output / "attention.png")
    print(text, end="")
    files = "table.md, results.json" + ", attention.png" * bool(weights)
    print(f"results: {options.output}/{files}", file=sys.stderr)
