"""A run records its languages: named by the user, or decided by the script of its text."""

from __future__ import annotations

import shutil
from dataclasses import replace

import copy_task
import pytest
from prepared_runs import prepared

from nmt.config import CorpusConfig
from nmt.evaluation import bleu_tokenizer
from nmt.evaluation.errors import EvaluationError
from nmt.run.directory import Run
from nmt.run.errors import RunError
from nmt.run.manifest import MANIFEST
from nmt.text.tokenizer import Tokenizer
from nmt.training.preparation.languages import with_languages

JAPANESE = ["猫が好きです。", "犬も好きです。", "本を読みます。", "水を飲みます。"]


@pytest.fixture
def corpus(tmp_path):
    copy_task.write_corpus(tmp_path, train=60, validation=5)
    return tmp_path


def tags(run) -> tuple[str, str]:
    return str(run.languages.source), str(run.languages.target)


def test_the_script_decides_and_the_run_says_so(corpus, monkeypatch):
    copy_task.write_lines(corpus / "train.target", JAPANESE * 15)
    said: list[str] = []
    monkeypatch.setattr(bleu_tokenizer, "find_spec", lambda name: None)
    run = prepared(copy_task.config(corpus, vocabulary={"type": "char", "size": 100}), said).run
    assert tags(run) == tags(Run.open(run.directory)) == ("und-Latn", "ja")
    assert said[0] == (
        "languages: und-Latn to ja, by the script of the text; another language is named with "
        "--corpus.source_language and --corpus.target_language; words of the target are cut by budoux's model ja_word; "
        "BLEU counts by sacreBLEU's tokenizer char (sacrebleu[ja] has a better one)"
    )
    assert run.config.training.tokenize == "char"
    assert run.target.segment("猫が好き").words == ["猫", "が", "好き"]
    assert run.source.segment("猫が好き").words == ["猫が好き"]


def test_named_languages_win(corpus):
    said: list[str] = []
    named = {"source_language": "EN", "target_language": "fr-ca"}
    run = prepared(copy_task.config(corpus, corpus=named), said).run
    assert tags(run) == ("en", "fr-CA")
    assert said[0] == "languages: en to fr-CA"


def test_a_fine_tuning_keeps_the_languages_that_its_text_leaves_open(corpus):
    initial = CorpusConfig(source_language="en", target_language="fr-CA")
    kept = with_languages(copy_task.config(corpus), print, initial=initial).corpus
    assert (kept.source_language, kept.target_language) == ("en", "fr-CA")
    for side, name in (("source", "en"), ("target", "nl")):
        shutil.copy(corpus / f"train.{side}", corpus / f"new.{name}")
    train = {"train": {"source": str(corpus / "new.en"), "target": str(corpus / "new.nl")}}
    other = with_languages(copy_task.config(corpus, corpus=train), print, initial=initial).corpus
    assert (other.source_language, other.target_language) == ("en", "und-Latn")  # the file names another language


def test_a_named_language_in_another_script_is_questioned(corpus):
    said: list[str] = []
    prepared(copy_task.config(corpus, corpus={"source_language": "ja", "target_language": "en"}), said)
    assert [line for line in said if "script" in line] == [
        "warning: corpus.source_language is ja, but most of the source text is in the script Latn: "
        "are source and target exchanged?"
    ]


@pytest.mark.parametrize(
    ("source", "target", "questioned"), [("en", "fr-CA", True), ("fr", "en", False), ("en", "de", False)]
)
def test_files_that_are_named_after_the_other_language_are_questioned(source, target, questioned, corpus):
    """The text of both sides is in one script, so the script cannot tell the sides apart."""
    (corpus / "train.source").rename(corpus / "my.fr")
    (corpus / "train.target").rename(corpus / "my.en")
    config = copy_task.config(corpus, corpus={"source_language": source, "target_language": target})
    train = replace(config.corpus.train, source=str(corpus / "my.fr"), target=str(corpus / "my.en"))
    said: list[str] = []
    with_languages(replace(config, corpus=replace(config.corpus, train=train)), said.append)
    assert [line for line in said if "exchanged" in line] == [
        f"warning: corpus.source_language is en and corpus.target_language is fr-CA, but the files are {corpus}/my.fr "
        f"and {corpus}/my.en: are source and target exchanged?"
    ] * questioned


def test_a_resumed_run_keeps_its_languages_until_others_are_named(corpus):
    config = copy_task.config(corpus, corpus={"source_language": "en"})
    assert tags(prepared(config).run) == ("en", "und-Latn")
    unnamed = replace(config, corpus=replace(config.corpus, source_language=""))
    assert tags(prepared(unnamed).run) == ("en", "und-Latn")
    named = replace(config, corpus=replace(config.corpus, source_language="", target_language="de"))
    assert tags(prepared(named).run) == tags(Run.open(prepared(named).run.directory)) == ("en", "de")


def test_a_run_from_before_languages_opens_with_unknown_ones_and_resumes(corpus):
    config = copy_task.config(corpus)
    run = prepared(config).run
    path = run.directory / "config.json"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(line for line in lines if "_language" not in line), encoding="utf-8")
    (run.directory / MANIFEST).unlink()
    assert tags(Run.open(run.directory)) == ("und", "und")
    assert tags(prepared(config).run) == ("und", "und")


def test_training_reports_the_lines_that_normalisation_changes(corpus):
    written = [*JAPANESE, "第２番の店です。", "ＡとＢです。"] * 10
    copy_task.write_lines(corpus / "train.target", written)
    changes = {"vocabulary": {"type": "char", "size": 100, "shared": False}, "model": {"tie": "target"}}
    kept, changed = ([], [])  # what was said
    run = prepared(copy_task.config(corpus, **changes), kept).run
    assert run.config.vocabulary.normalization == "nfc"
    assert run.target.decode(run.target.encode(written)) == written
    assert not any("normalisation" in line for line in kept)
    changes["vocabulary"]["normalization"] = "nmt_nfkc"
    prepared(copy_task.config(corpus, name="other", **changes), changed)
    assert (
        "normalisation changes 20 target lines, such as '２' to '2'; translations never have such characters: "
        "--vocabulary.normalization nfc keeps them"
    ) in changed


def test_the_coverage_of_characters_follows_the_script_of_each_side(corpus, monkeypatch):
    train, coverages = Tokenizer.train, []

    def recorded(sentences, config, size=0):
        coverages.append(config.character_coverage)
        return train(sentences, config, size)

    monkeypatch.setattr(Tokenizer, "train", recorded)
    char = {"type": "char", "size": 200}
    prepared(copy_task.config(corpus, name="latin", vocabulary=char))
    copy_task.write_lines(corpus / "train.target", JAPANESE * 15)
    prepared(copy_task.config(corpus, name="joint", vocabulary=char))
    prepared(copy_task.config(corpus, name="two", vocabulary={**char, "shared": False}, model={"tie": "target"}))
    prepared(copy_task.config(corpus, name="own", vocabulary={**char, "character_coverage": 0.99}))
    assert coverages == [1.0, 0.9995, 1.0, 0.9995, 0.99]


def test_pieces_are_short_where_a_side_has_no_spaces_between_words(corpus):
    def longest(name: str, **vocabulary) -> tuple[list[int], str]:
        said: list[str] = []
        settings = {"type": "unigram", "size": 60, "adapt_size": True, **vocabulary}
        model = {"tie": "target"}
        run = prepared(copy_task.config(corpus, name=name, vocabulary=settings, model=model), said).run
        (about,) = [line for line in said if line.startswith("vocabular")]
        pieces = [tokenizer.pieces(range(4, tokenizer.size)) for tokenizer in (run.source, run.target)]
        return [max(len(piece) for piece in one) for one in pieces], about

    phrases = ["dasisteinhausmitgarten", "einhausmitgartenistschön", "derhundimgartenistgroß"]
    copy_task.write_lines(corpus / "train.target", phrases * 20)
    apart = {"shared": False}
    (_, target), about = longest("apart", **apart)
    assert target <= 8 and "target unigram pieces (of 8 characters at most, because text has no spaces" in about
    (_, target), about = longest("long", **apart, longest_piece=16)
    assert target > 8 and "at most" not in about
    (both, _), about = longest("shared")
    assert both <= 8 and "for both languages (of 8 characters at most" in about
    copy_task.write_lines(corpus / "train.target", [" ".join(line) for line in phrases] * 20)
    assert "at most" not in longest("spaced", **apart)[1]
    copy_task.write_lines(corpus / "train.target", ["猫が好きです。", "犬は庭にいます。"] * 30)
    assert "target unigram pieces (of 8 characters at most" in longest("japanese", **apart)[1]  # words of a few letters


def test_a_resumed_run_keeps_its_normalisation_and_coverage(corpus):
    old = copy_task.config(corpus, vocabulary={"normalization": "nmt_nfkc", "character_coverage": 1.0})
    prepared(old)
    kept = prepared(copy_task.config(corpus)).run.config.vocabulary
    assert (kept.normalization, kept.character_coverage) == ("nmt_nfkc", 1.0)


def test_an_unknown_tokenizer_is_refused_before_the_work(corpus):
    with pytest.raises(EvaluationError, match="^tokenize is 'moses': expected one of none, zh, 13a"):
        prepared(copy_task.config(corpus, training={"tokenize": "moses"}))
    assert not (corpus / "runs").exists()


def test_a_resumed_run_keeps_its_tokenizer(corpus):
    config = copy_task.config(corpus, training={"tokenize": "intl"})
    prepared(config)
    unnamed = replace(config, training=replace(config.training, tokenize="auto"))
    assert prepared(unnamed).run.config.training.tokenize == "intl"
    other = replace(config, training=replace(config.training, tokenize="char"))
    with pytest.raises(RunError, match=r"was begun with training.tokenize = 'intl', now it is 'char'"):
        prepared(other)


def test_standard_input_is_refused_before_it_is_read(corpus, monkeypatch):
    monkeypatch.setattr("sys.stdin", None)  # reading it fails
    streamed = copy_task.config(corpus, corpus={"train": {"source": "-"}})
    with pytest.raises(ValueError, match="standard input can be read only once"):
        prepared(streamed)
