"""From a configuration to encoded pairs: what is trained on, what validates, and what is refused."""

from __future__ import annotations

import gzip
import shutil
from dataclasses import replace
from typing import Any

import copy_task
import numpy as np
import pytest

from nmt.config import RunConfig
from nmt.errors import NmtError
from nmt.run.directory import Run
from nmt.run.errors import RunError
from nmt.text.tokenizer import Tokenizer
from nmt.training.preparation.prepare import Prepared, prepare


@pytest.fixture
def corpus(tmp_path):
    copy_task.write_corpus(tmp_path, train=60, validation=5)
    return tmp_path


def prepared(config: RunConfig, said: list[str] | None = None) -> Prepared:
    return prepare(config, "float32", [].append if said is None else said.append)


def texts(result: Prepared) -> list[tuple[str, str]]:
    """The training pairs, decoded."""
    sides = []
    for sequences, tokenizer in ((result.train.source, result.run.source), (result.train.target, result.run.target)):
        ids = [sequences.gather(np.array([i]))[0].tolist() for i in range(len(sequences))]
        sides.append(tokenizer.decode(ids))
    return list(zip(*sides, strict=True))


def lines(corpus, name: str) -> list[str]:
    return (corpus / name).read_text().splitlines()


# Where pairs come from


def test_every_pair_of_the_files_is_encoded(corpus):
    result = prepared(copy_task.config(corpus))
    assert texts(result) == list(zip(lines(corpus, "train.source"), lines(corpus, "train.target"), strict=True))
    assert [pair.alignment for pair in result.validation] == lines(corpus, "validation.align")
    assert [pair.source for pair in result.validation] == lines(corpus, "validation.source")


def test_tsv_and_gz_give_the_same_pairs(corpus):
    expected = texts(prepared(copy_task.config(corpus)))
    rows = [f"{i}\t{t}\t{s}" for i, (s, t) in enumerate(expected)]
    (corpus / "pairs.tsv.gz").write_bytes(gzip.compress("\n".join(rows).encode()))
    tsv = {"tsv": str(corpus / "pairs.tsv.gz"), "source_column": 3, "target_column": 2, "source": "", "target": ""}
    assert texts(prepared(copy_task.config(corpus, name="tsv", corpus={"train": tsv}))) == expected


def held_out(corpus, name: str, **training: Any) -> Prepared:
    nothing = {"source": "", "target": "", "alignment": ""}
    changes = {"corpus": {"validation": nothing, "held_out": 10}, "training": training}
    return prepared(copy_task.config(corpus, name=name, **changes))


def test_held_out_pairs_share_no_side_with_the_training(corpus):
    source, target = lines(corpus, "train.source"), lines(corpus, "train.target")
    copy_task.write_lines(corpus / "train.source", [*source, *source[:30]])
    copy_task.write_lines(corpus / "train.target", [*target, *target[1:31]])
    result = held_out(corpus, "one")
    train = texts(result)
    assert len(result.validation) == 10
    assert not {pair.source for pair in result.validation} & {s for s, _ in train}
    assert not {pair.target for pair in result.validation} & {t for _, t in train}
    assert len(train) + len(result.validation) < 90


def test_the_seed_decides_what_is_held_out(corpus):
    first, again, other = (held_out(corpus, name, seed=seed) for name, seed in (("a", 1), ("b", 1), ("c", 2)))
    assert first.validation == again.validation
    assert first.validation != other.validation


def test_vocabulary_knows_the_training_pairs_alone(corpus):
    for side in ("source", "target"):
        copy_task.write_lines(corpus / f"validation.{side}", ["zebra ba"] * 5)
    copy_task.write_lines(corpus / "validation.align", ["0-0 1-1"] * 5)
    vocabulary = prepared(copy_task.config(corpus)).run.source
    assert vocabulary.decode(vocabulary.encode(["zebra ba"])) == ["⁇ ba"]


def test_separate_vocabularies(corpus):
    changes = {"vocabulary": {"shared": False, "size": 28, "target_size": 20}, "model": {"tie": "target"}}
    result = prepared(copy_task.config(corpus, **changes))
    assert (result.run.source.size, result.run.target.size) == (28, 20)
    assert "⁇" in result.run.source.decode(result.run.source.encode([copy_task.WORDS["ba"]]))[0]


# Long pairs


def with_long_pair(corpus) -> None:
    for side, word in (("source", "ba"), ("target", "abo")):
        copy_task.write_lines(corpus / f"train.{side}", [*lines(corpus, f"train.{side}"), " ".join([word] * 9)])


def test_long_pairs_are_dropped_and_said(corpus):
    with_long_pair(corpus)
    said: list[str] = []
    result = prepared(copy_task.config(corpus, corpus={"max_pieces": 6}), said)
    assert len(result.train) == 60
    assert "1 training pairs longer than 6 pieces were dropped (corpus.on_long)" in said


def test_long_pairs_are_cut_and_said(corpus):
    with_long_pair(corpus)
    said: list[str] = []
    result = prepared(copy_task.config(corpus, corpus={"max_pieces": 6, "on_long": "truncate"}), said)
    assert texts(result)[-1] == (" ".join(["ba"] * 6), " ".join(["abo"] * 6))
    assert "1 training pairs longer than 6 pieces were cut (corpus.on_long)" in said


def test_nothing_short_enough_is_refused_and_can_be_mended(corpus):
    for side, word in (("source", "ba"), ("target", "abo")):
        copy_task.write_lines(corpus / f"train.{side}", [" ".join([word] * 9)])
    config = copy_task.config(corpus, vocabulary={"size": 8}, corpus={"max_pieces": 6})
    with pytest.raises(NmtError, match=r"no training pair has at most 6 pieces on each side: raise corpus\.max_pieces"):
        prepared(config)
    assert len(prepared(replace(config, corpus=replace(config.corpus, max_pieces=9))).train) == 1


# What is refused leaves nothing behind


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"vocabulary": {"type": "unigram", "size": 5000}}, r"5000 pieces are more than .* to at most \d+"),
        ({"corpus": {"train": {"source": "nowhere"}}}, "nowhere: No such file"),
        ({"corpus": {"train": {"source": "{}/bad"}}}, "bad, line 3: not valid UTF-8"),
        ({"corpus": {"train": {"source": "{}/short"}}}, "short has 2 lines, .*train.target has 60 lines"),
        ({"corpus": {"validation": {"source": "{}/short", "alignment": ""}}}, "short has 2 lines"),
        ({"corpus": {"validation": {"source": "{}/words"}}}, "validation.align, line 1: link 1-1, .* out of range"),
        (
            {"corpus": {"validation": {"source": "{}/none", "target": "{}/none", "alignment": ""}}},
            "validation has no pairs",
        ),
        ({"corpus": {"validation": {"source": "", "target": "", "alignment": ""}, "held_out": 60}}, "held_out"),
        (
            {"model": {"attention": {"window": "hard"}}, "training": {"guided": {"links": "{}/train.align"}}},
            "training.guided.links trains attention weights, but model.attention.window hard makes them 0 or 1",
        ),
    ],
)
def test_mistakes_are_named_and_leave_nothing(changes, message, corpus):
    (corpus / "bad").write_bytes(b"a\nb\nc\xff\n" + b"d\n" * 57)
    (corpus / "short").write_text("a\nb\n")
    (corpus / "none").write_text("")
    (corpus / "words").write_text("word\n" * 5)

    def here(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: here(inner) for name, inner in value.items()}
        return value.replace("{}", str(corpus)) if isinstance(value, str) else value

    with pytest.raises(NmtError, match=message) as error:
        prepared(copy_task.config(corpus, **here(changes)))
    assert "\n" not in str(error.value)
    assert not (corpus / "runs").exists()


def test_directory_of_something_else_is_left_alone(corpus):
    (corpus / "runs" / "run").mkdir(parents=True)
    (corpus / "runs" / "run" / "thesis.tex").write_text("years of work")
    with pytest.raises(RunError, match="is not empty and not a run: give the run another name"):
        prepared(copy_task.config(corpus))
    assert [path.name for path in (corpus / "runs" / "run").iterdir()] == ["thesis.tex"]


# Another run's vocabularies


def test_vocabularies_can_be_another_run_s(corpus):
    first = prepared(copy_task.config(corpus))
    said: list[str] = []
    copy_task.write_lines(corpus / "train.source", ["ba be bi"] * 5)  # on which no such vocabulary could be trained
    copy_task.write_lines(corpus / "train.target", ["abo ebo ibo"] * 5)
    changes = {"vocabulary": {"run": str(first.run.directory)}}
    second = prepared(copy_task.config(corpus, name="second", **changes), said)
    assert (second.run.source, second.run.target) == (first.run.source, first.run.target)
    assert any(line.startswith("vocabularies of") for line in said)
    assert not any(line.startswith("making a vocabulary") for line in said)


def test_other_vocabularies_in_the_same_place_are_not_taken_from_the_cache(corpus):
    first = prepared(copy_task.config(corpus)).run.directory
    changes = {"vocabulary": {"run": str(first)}}
    prepared(copy_task.config(corpus, name="second", **changes))
    shutil.rmtree(first)
    other = prepared(copy_task.config(corpus, vocabulary={"size": 40}))
    third = prepared(copy_task.config(corpus, name="third", **changes))
    assert third.run.source == other.run.source


def test_a_shared_vocabulary_is_not_taken_for_two(corpus):
    first = prepared(copy_task.config(corpus)).run.directory
    changes = {"vocabulary": {"run": str(first), "shared": False}, "model": {"tie": "target"}}
    with pytest.raises(RunError, match="vocabulary.shared is True in .* set the same value here"):
        prepared(copy_task.config(corpus, name="second", **changes))


# The cache


ALREADY = "this text has been prepared before"


@pytest.fixture
def no_work(monkeypatch) -> None:
    """Neither a vocabulary can be trained nor a sentence encoded."""

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("the work is done again")

    monkeypatch.setattr(Tokenizer, "train", refuse)
    monkeypatch.setattr(Tokenizer, "encode", refuse)


def test_a_second_run_on_the_same_text_does_no_work(corpus, request):
    with_long_pair(corpus)
    changes = {"corpus": {"max_pieces": 6}}
    told: list[str] = []
    first = prepared(copy_task.config(corpus, **changes), told)
    expected = texts(first)
    (corpus / "moved").mkdir()
    for path in corpus.glob("train.*"):
        path.rename(corpus / "moved" / path.name)
    moved = {side: str(corpus / "moved" / f"train.{side}") for side in ("source", "target")}
    request.getfixturevalue("no_work")
    said: list[str] = []
    second = prepared(copy_task.config(corpus, name="second", corpus={"max_pieces": 6, "train": moved}), said)
    assert texts(second) == expected
    assert second.validation == first.validation
    assert said[0].startswith(ALREADY)
    assert told[0] == "making a vocabulary of 60 pieces"
    assert said[1:] == told[1:]


def test_the_cache_can_be_deleted_under_a_run(corpus):
    config = copy_task.config(corpus)
    expected = texts(prepared(config))
    shutil.rmtree(corpus / "runs" / ".cache")
    (corpus / "runs").rename(corpus / "moved")
    assert texts(prepared(replace(config, directory=str(corpus / "moved")))) == expected


def change_train(corpus) -> dict[str, Any]:
    source = lines(corpus, "train.source")
    copy_task.write_lines(corpus / "train.source", [source[-1], *source[1:]])
    return {}


def change_validation(corpus) -> dict[str, Any]:
    copy_task.write_lines(corpus / "validation.align", ["0-0"] * 5)
    return {}


def nothing_new(corpus) -> dict[str, Any]:
    """What does not decide how pairs are prepared."""
    return {"model": {"units": 16}, "training": {"seed": 7, "passes": 9}, "search": {"beam_size": 2}}


@pytest.mark.parametrize(
    ("change", "again"),
    [
        (nothing_new, False),
        (change_train, True),
        (change_validation, True),
        (lambda corpus: {"vocabulary": {"size": 40}}, True),
        (lambda corpus: {"corpus": {"max_pieces": 5}}, True),
    ],
)
def test_what_decides_the_pairs_decides_whether_they_are_made_again(change, again, corpus):
    prepared(copy_task.config(corpus))
    said: list[str] = []
    changed = copy_task.config(corpus, name="second", **change(corpus))
    found = texts(prepared(changed, said))
    assert any(line.startswith(ALREADY) for line in said) is not again
    shutil.rmtree(corpus / "runs")
    assert texts(prepared(changed)) == found


def test_the_seed_counts_where_it_decides_what_is_held_out(corpus):
    first, other = held_out(corpus, "a", seed=1), held_out(corpus, "b", seed=2)
    assert first.validation != other.validation
    assert len(list((corpus / "runs" / ".cache").iterdir())) == 2


def test_a_preparation_that_fails_late_leaves_nothing(corpus, monkeypatch):
    encode = Tokenizer.encode

    def fail(self: Tokenizer, sentences: list[str]) -> Any:
        if sentences == lines(corpus, "train.target"):
            raise KeyboardInterrupt
        return encode(self, sentences)

    with monkeypatch.context() as patched:
        patched.setattr(Tokenizer, "encode", fail)
        with pytest.raises(KeyboardInterrupt):
            prepared(copy_task.config(corpus))
    assert not (corpus / "runs" / "run").exists()
    assert list((corpus / "runs" / ".cache").iterdir()) == []
    assert len(prepared(copy_task.config(corpus)).train) == 60


def test_text_that_changes_under_the_preparation_is_refused(corpus, monkeypatch):
    encode = Tokenizer.encode

    def change(self: Tokenizer, sentences: list[str]) -> Any:
        change_train(corpus)
        return encode(self, sentences)

    with monkeypatch.context() as patched:
        patched.setattr(Tokenizer, "encode", change)
        with pytest.raises(NmtError, match="the pairs changed while they were read: start again"):
            prepared(copy_task.config(corpus))
    assert not (corpus / "runs" / "run").exists()
    assert texts(prepared(copy_task.config(corpus)))[0][0] == lines(corpus, "train.source")[0]


# Opening again


def test_a_run_opens_again_as_it_was(corpus):
    odd = [f"ba\u2028ki {i} \u0085 😀" for i in range(5)]
    copy_task.write_lines(corpus / "validation.source", odd)
    config = copy_task.config(corpus)
    first, again = prepared(config), prepared(config)
    assert [pair.source for pair in again.validation] == odd
    assert again.validation == first.validation
    assert texts(again) == texts(first)
    assert again.run == first.run


def test_it_does_not_need_its_corpus_files_any_more(corpus):
    config = copy_task.config(corpus)
    first = prepared(config)
    for path in [*corpus.glob("train.*"), *corpus.glob("validation.*")]:
        path.unlink()
    assert texts(prepared(config)) == texts(first)


def test_search_that_the_command_gives_anew_is_said(corpus):
    """Such as where `nmt tune --save` had found another."""
    config = copy_task.config(corpus)
    run = prepared(config).run
    tuned = replace(config.search, length_penalty=0.4)
    replace(run, config=replace(run.config, search=tuned)).save_config()
    said: list[str] = []
    prepared(config, said)
    then, now = tuned.length_penalty, config.search.length_penalty
    assert f"search.length_penalty of this run was {then}" in said[0] and said[0].endswith(f" it is {now}")
    assert Run.open(run.directory).config.search == config.search


def test_what_was_read_is_told_with_the_vocabulary_of_another_run_too(corpus):
    run = prepared(copy_task.config(corpus)).run
    said: list[str] = []
    prepared(copy_task.config(corpus, name="other", vocabulary={"run": str(run.directory)}), said)
    assert "60 pairs read, 60 kept" in said


def test_text_that_has_changed_since_is_said_and_not_read(corpus):
    config, said = copy_task.config(corpus), list[str]()
    first = texts(prepared(config))
    prepared(config, said)
    assert said == []
    change_train(corpus)
    assert texts(prepared(config, said)) == first
    assert len(said) == 1
    assert said[0].startswith(
        f"the text has changed since {corpus / 'runs' / 'run'} was begun, and training continues with the old"
    )


@pytest.mark.parametrize("name", ["about.json", "validation.jsonl", "source.ids", "target.lengths"])
@pytest.mark.parametrize("damage", ["junk", "gone", "empty"])
def test_a_damaged_copy_of_the_pairs_is_refused(name, damage, corpus):
    """Junk has an odd number of bytes, so that it is no row of ids either."""
    config = copy_task.config(corpus)
    prepared(config)
    path = corpus / "runs" / "run" / "corpus" / name
    path.write_bytes(b"" if damage == "empty" else b"junk!")
    if damage == "gone":
        path.unlink()
    with pytest.raises(RunError, match="corpus: the run's copy of its sentence pairs is damaged or incomplete: give"):
        prepared(config)


def test_preparation_that_was_cut_off_is_done_again(corpus):
    config = copy_task.config(corpus)
    expected = texts(prepared(config))
    directory = corpus / "runs" / "run"
    (directory / "config.json").unlink()
    (directory / "corpus" / "source.ids").write_bytes(b"half")
    assert texts(prepared(config)) == expected


def test_free_settings_are_taken_over_and_the_precision_stays(corpus):
    config = copy_task.config(corpus)
    prepare(config, "mixed_bfloat16", print)
    prepare(replace(config, training=replace(config.training, passes=99, precision="float32")), "float32", print)
    saved = Run.open(corpus / "runs" / "run").config.training
    assert (saved.passes, saved.precision) == (99, "mixed_bfloat16")


def test_what_a_network_does_not_read_is_said_once(corpus):
    said: list[str] = []
    fields = {"architecture": "transformer", "decoder": "luong", "dropout": {"state": 0.5}}
    config = copy_task.config(corpus, model=fields)
    prepared(config, said)
    assert said[0].startswith("this network does not use model.dropout.encoder, model.decoder, model.units, ")
    assert said[0].endswith(", model.dropout.state: these settings have no effect")
    prepared(config, again := list[str]())
    assert not again


def test_another_model_is_refused_and_changes_nothing(corpus):
    config = copy_task.config(corpus)
    prepared(config)
    before = (corpus / "runs" / "run" / "config.json").read_bytes()
    with pytest.raises(RunError, match="was begun with model.units = 32, now it is 64: give this run another name"):
        prepared(replace(config, model=replace(config.model, units=64)))
    assert (corpus / "runs" / "run" / "config.json").read_bytes() == before


# Links that train attention


def guided(directory, links: list[str], name: str = "guided", **changes: Any) -> RunConfig:
    path = copy_task.write_lines(directory / "links", links)
    return copy_task.config(directory, name=name, training={"guided": {"links": path}}, **changes)


def linked_pieces(result: Prepared) -> list[list[tuple[int, int]]]:
    """Of each training pair its (source piece, target piece)."""
    assert result.train.links is not None
    ids = [result.train.links.gather(np.array([i]))[0].tolist() for i in range(len(result.train))]
    return [list(zip(pair[1::2], pair[::2], strict=True)) for pair in ids]


def test_links_stay_with_their_pairs(corpus):
    """An empty pair, one too long and the held-out ones go with their lines of the file."""
    source, target, links = (lines(corpus, f"train.{name}") for name in ("source", "target", "align"))
    source[7:7], target[7:7], links[7:7] = [""], ["abo"], ["0-9"]
    source[20:20], target[20:20], links[20:20] = [" ".join(["ba"] * 9)], [" ".join(["abo"] * 9)], ["8-8"]
    # Each word is one piece; a pair is told by its links: its last source word to its first target word.
    own = [f"{len(s.split()) - 1}-0" for s in source]
    links = [mark if 1 <= len(s.split()) <= 8 else link for s, mark, link in zip(source, own, links, strict=True)]
    copy_task.write_lines(corpus / "train.source", source)
    copy_task.write_lines(corpus / "train.target", target)
    nothing = {"source": "", "target": "", "alignment": ""}
    for name, validation in (("given", {}), ("held", {"validation": nothing, "held_out": 9})):
        result = prepared(guided(corpus, links, name, corpus={"max_pieces": 8, **validation}))
        sources = [s for s, _ in texts(result)]
        assert " ".join(["ba"] * 9) not in sources
        assert linked_pieces(result) == [[(len(s.split()) - 1, 0)] for s in sources]
        if name == "held":
            assert [pair.links for pair in result.validation] == [
                f"{len(pair.source.split()) - 1}-0" for pair in result.validation
            ]
        assert linked_pieces(prepared(guided(corpus, links, name, corpus={"max_pieces": 8, **validation}))) == (
            linked_pieces(result)
        )


def test_links_between_words_are_links_between_all_their_pieces(corpus):
    words = [copy_task.links(source) for source in lines(corpus, "train.source")]
    result = prepared(guided(corpus, words, vocabulary={"type": "char", "size": 60}))
    first = lines(corpus, "train.source")[0], lines(corpus, "train.target")[0]
    source, target = result.run.source.segment(first[0]), result.run.target.segment(first[1])
    expected = {
        (j, i)
        for i, word in enumerate(target.word_of_piece)
        for j, other in enumerate(source.word_of_piece)
        if word == other
    }
    assert set(linked_pieces(result)[0]) == expected
    assert len(expected) > len(first[0].split())


def test_links_to_pieces_that_are_cut_off_are_left_out(corpus):
    with_long_pair(corpus)
    links = [*lines(corpus, "train.align"), "0-0 5-5 6-5 5-6 8-8"]
    result = prepared(guided(corpus, links, corpus={"max_pieces": 6, "on_long": "truncate"}))
    assert linked_pieces(result)[-1] == [(0, 0), (5, 5)]


def test_without_guidance_nothing_is_stored(corpus):
    result = prepared(copy_task.config(corpus))
    assert result.train.links is None
    assert not list((corpus / "runs" / "run" / "corpus").glob("links*"))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        ({4: "0-0 9-0"}, r"links, line 5: link 9-0, counted from 0, is out of range: the pair has \d source"),
        ({4: "0-0 0-9"}, r"links, line 5: link 0-9, counted from 0, is out of range"),
        ({2: "0-0 1:1"}, r"links, line 3: '1:1' is no link: expected one such as 1-2"),
        ({59: None}, "train.source has 60 lines, .*links has 59 lines"),
        (dict.fromkeys(range(60), ""), "links: no training pair has a link: expected lines such as 0-0 1-2"),
    ],
)
def test_links_that_do_not_fit_are_refused_at_the_start(spoil, message, corpus):
    links: list[Any] = lines(corpus, "train.align")
    for number, line in spoil.items():
        links[number] = line
    config = guided(corpus, [line for line in links if line is not None])
    with pytest.raises(NmtError, match=message) as error:
        prepared(config)
    assert "\n" not in str(error.value)
    assert not (corpus / "runs" / "guided" / "config.json").exists()


def test_other_links_make_another_run(corpus):
    config = guided(corpus, lines(corpus, "train.align"))
    prepared(config)
    other = replace(config.training.guided, weight=0.5)
    with pytest.raises(RunError, match=r"begun with training\.guided\.weight = 1\.0, now it is 0\.5"):
        prepared(replace(config, training=replace(config.training, guided=other)))
