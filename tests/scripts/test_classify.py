"""The classification of sentences by two distant words: the label, its balance, the models, the script."""

from __future__ import annotations

import json
import subprocess
from itertools import cycle
from pathlib import Path

import numpy as np
import pytest
from commands import forked

from corpora.demo_grammar.corpus import stream
from corpora.demo_grammar.lexicon import Lexicon
from nmt import NmtError, save_figure
from studies.classification import models, report
from studies.classification.experiment import LEXICON
from studies.classification.sentences import (
    as_arrays,
    balanced,
    chance,
    count_words,
    determiners,
    find_example,
    index_words,
)

REPOSITORY = Path(__file__).parents[2]

FORMS = frozenset({"the", "a", "my"})
SENTENCES = [
    "The dog sees a small cat",
    "A dog sees the small cat",
    "The dog sees the small cat",
    "My dog sees a small cat",
]
"""One sentence of each case; the two words are three or four words apart."""


def script(*arguments: str, cwd: Path = REPOSITORY) -> subprocess.CompletedProcess[str]:
    return forked([str(REPOSITORY / "scripts/studies/classify.py"), *arguments], cwd)


def test_the_label_of_a_sentence():
    example = find_example("The dog of my friend sees a cat .", FORMS, 5)
    assert example == (("the", "dog", "of", "my", "friend", "sees", "a", "cat", "."), (0, 6), (True, False), 1)
    assert not example.label
    assert [find_example(text, FORMS, 3).label for text in SENTENCES] == [False, False, True, True]
    assert find_example("The dog of my friend sees a cat .", FORMS, 7) is None  # too close
    assert find_example("The dog sees her in a park .", FORMS, 1) is None  # `her` may be a pronoun
    assert find_example("The dog sees Paul .", FORMS, 1) is None


def test_determiners_are_those_of_the_lexicon():
    forms = determiners(Lexicon(LEXICON))
    assert {"the", "a", "an", "this", "these", "my", "every", "several"} <= forms
    assert not forms & {"her", "all", "dog"}


def test_cases_alternate_and_no_single_word_decides():
    found = balanced((pair.english for pair, _ in stream(Lexicon(LEXICON), 1)), determiners(Lexicon(LEXICON)), 4, 80)
    assert len({example.words for example in found}) == 80
    for begin in range(0, 80, 4):
        assert len({example.case for example in found[begin : begin + 4]}) == 4
    for example in found:
        first, last = example.deciding
        assert last - first >= 4
        assert example.case == (example.words[first] == "the", example.words[last] == "the")
    for word in (0, 1):  # half of the sentences where this word is "the" have label 1
        assert np.mean([example.label for example in found if example.case[word]]) == 0.5


def test_too_few_sentences_are_an_error():
    with pytest.raises(
        NmtError, match="only 0 of 480 sentences are of the rarest case, but 2 are needed: lower --distance"
    ):
        balanced(cycle(SENTENCES[:3]), FORMS, 3, 8)


def test_arrays_and_counts_of_four_sentences():
    examples = [find_example(text, FORMS, 3) for text in SENTENCES]
    index = index_words(examples[:3])
    assert index == {"a": 2, "cat": 3, "dog": 4, "sees": 5, "small": 6, "the": 7}
    ids, labels = as_arrays(examples, index)
    assert ids[0, :7].tolist() == [7, 4, 5, 2, 6, 3, 0]
    assert ids[3, 0] == 1  # unknown: `my`
    assert labels.tolist() == [0, 0, 1, 1]
    counts = count_words(ids, 8)
    assert counts[2].tolist() == [0, 0, 0, 1, 1, 1, 1, 2]
    assert counts.sum(axis=1).tolist() == [6, 6, 6, 6]


def test_the_share_of_weight_on_the_deciding_words():
    """Deciding words at 0 and 3 of six words: 2/6 by chance; sigmoid weights do not sum to one."""
    examples = [find_example(text, FORMS, 3) for text in SENTENCES[:2]]
    weights = np.array([[0.5, 0, 0, 0.25, 0.25, 0], [0.5, 1.0, 0.5, 1.0, 0.5, 0.5]])
    found = models.measure_weights(weights, examples)
    assert found["share"] == pytest.approx((0.75 + 1.5 / 4) / 2)
    assert found["first"] == (1 + 1 / 2) / 2  # one of the two in the first sentence, one of two equals in the second
    assert found["mean"] == pytest.approx(5 / 12)
    assert chance(examples) == pytest.approx(1 / 3)


@pytest.mark.parametrize("pooling", ["softmax", "sigmoid", "average", "max"])
def test_padding_changes_nothing_and_has_no_weight(pooling):
    model = models.Classifier(9, 8, pooling)
    short = np.array([[7, 4, 5, 2, 6], [3, 4, 0, 0, 0]], dtype=np.int32)
    long = np.pad(short, ((0, 0), (0, 3)))
    np.testing.assert_allclose(model(short), model(long), atol=1e-5)
    weights = np.asarray(model.pool(long)[1])
    assert (weights[0, :5] >= 0).all() and weights[0].sum() > 0
    assert (weights[0, 5:] == 0).all() and (weights[1, 2:] == 0).all()
    if pooling != "sigmoid":
        np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-5)


def data(count: int) -> models.Data:
    """Pairs of four words; the label is true if both ids are below 4 or both are not."""
    draw = np.random.default_rng(0)
    ids = draw.integers(2, 6, size=(count, 2)).astype(np.int32)
    labels = ((ids[:, 0] < 4) == (ids[:, 1] < 4)).astype(np.float32)
    return models.Data(6, ids, labels, ids[:200], labels[:200])


@pytest.mark.slow
def test_only_a_hidden_layer_learns_the_agreement_of_two_words():
    linear = models.measure("bag of words", data(400), 16, 150, seed=1)
    hidden = models.measure("bag of words, hidden layer", data(400), 16, 150, seed=1)
    assert linear.right.mean() < 0.7 < 0.95 < hidden.right.mean()
    assert linear.weights is None


@pytest.mark.slow
def test_attention_learns_the_label():
    measured = models.measure("softmax", data(400), 16, 100, seed=1)
    assert measured.right.mean() > 0.95
    np.testing.assert_allclose(measured.weights.sum(axis=1), 1, atol=1e-5)


def test_the_table_has_means_and_ranges():
    numbers = {"accuracy": [0.9, 0.8], "between": [0.5, 0.7], "share": [0.4, 0.2], "first": [1.0, 1.0], "mean": [1, 1]}
    lines = report.table({400: {"bag of words": {"accuracy": [0.5]}, "softmax": numbers}}, 0.5, 0.25).splitlines()
    assert lines[2:] == [
        "| 400 | majority class | 0.500 | | |",
        "| 400 | bag of words | 0.500 (0.500 to 0.500) |  |  |",
        "| 400 | BiLSTM, softmax | 0.850 (0.800 to 0.900) | 0.600 (0.500 to 0.700) | 0.300 (0.200 to 0.400) |",
        "| | chance | | | 0.250 |",
    ]


def test_deciding_words_are_framed(tmp_path):
    examples = [find_example(text, FORMS, 3) for text in SENTENCES[:2]]
    figure = report.draw(examples, {"softmax": np.ones((2, 18)), "max": np.eye(2, 18)})
    save_figure(figure, tmp_path / "attention.png")
    for axes, example in zip(figure.axes, examples, strict=False):
        assert [patch.get_x() + 0.5 for patch in axes.patches] == [*example.deciding]
        assert tuple(label.get_text() for label in axes.get_xticklabels()) == example.words
        np.testing.assert_allclose(axes.images[0].get_array()[0], 1 / 18)


@pytest.mark.slow
def test_the_script_writes_its_results(tmp_path):
    arguments = ["--train", "40", "--test", "40", "--units", "4", "--updates", "2", "--seeds", "1"]
    result = script(*arguments, "--models", "bag of words", "softmax", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    output = tmp_path / "saved_models/classify"
    assert result.stderr.endswith("results: saved_models/classify/table.md, results.json, attention.png\n")
    found = json.loads((output / "results.json").read_text())
    assert found.keys() == {"40"}
    assert 0 <= found["40"]["softmax"]["accuracy"][0] <= 1
    assert found["40"]["bag of words"].keys() <= {"accuracy", "between"}
    assert (output / "attention.png").stat().st_size > 5000
    assert (output / "table.md").read_text() == result.stdout
    assert "| 40 | BiLSTM, softmax |" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--train", "10"], "10 sentences: expected a multiple of 4"),
        (["--units", "3"], "--units 3: expected an even number"),
        (["--seeds", "0"], "argument --seeds: 0: expected 1 or more"),
    ],
)
def test_a_mistake_is_one_line(arguments, message):
    result = script(*arguments)
    assert result.returncode == 2
    assert result.stderr.startswith(f"classify.py: error: {message}")
    assert len(result.stderr.splitlines()) == 1
