"""Training pairs as ids: every pair in order, long pairs, and links between pieces."""

from __future__ import annotations

import gzip
from dataclasses import replace
from typing import Any

import copy_task
import numpy as np
import pytest
from prepared_runs import guided, lines, prepared, texts, with_long_pair

from nmt.errors import NmtError
from nmt.training.preparation.prepare import Prepared


@pytest.fixture
def corpus(tmp_path):
    copy_task.write_corpus(tmp_path, train=60, validation=5)
    return tmp_path


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


@pytest.mark.parametrize("on_long", ["drop", "truncate"])
def test_a_side_of_which_nothing_is_read_is_dropped(corpus, on_long):
    """A zero-width space is text in the file, and no piece."""
    for name, text in (("train.source", "\u200b"), ("train.target", "ba da")):
        with open(corpus / name, "a", encoding="utf-8") as file:
            file.write(f"{text}\n")
    said: list[str] = []
    how = {"vocabulary": {"normalization": "nmt_nfkc"}, "corpus": {"on_long": on_long}}
    result = prepared(copy_task.config(corpus, **how), said)
    assert len(result.train) == 60
    assert "dropped: 1 training pair with a side without pieces" in said


def test_long_pairs_are_dropped_and_reported(corpus):
    with_long_pair(corpus)
    said: list[str] = []
    result = prepared(copy_task.config(corpus, corpus={"max_pieces": 6}), said)
    assert len(result.train) == 60
    assert "dropped: 1 training pair longer than 6 pieces (corpus.on_long)" in said


def test_long_pairs_are_cut_and_reported(corpus):
    with_long_pair(corpus)
    said: list[str] = []
    result = prepared(copy_task.config(corpus, corpus={"max_pieces": 6, "on_long": "truncate"}), said)
    assert texts(result)[-1] == (" ".join(["ba"] * 6), " ".join(["abo"] * 6))
    assert "cut: 1 training pair longer than 6 pieces (corpus.on_long)" in said


def test_text_without_short_pairs_is_refused_and_max_pieces_can_be_raised(corpus):
    for side, word in (("source", "ba"), ("target", "abo")):
        copy_task.write_lines(corpus / f"train.{side}", [" ".join([word] * 9)])
    config = copy_task.config(corpus, vocabulary={"size": 8}, corpus={"max_pieces": 6})
    with pytest.raises(NmtError, match=r"no training pair has at most 6 pieces on each side: raise corpus\.max_pieces"):
        prepared(config)
    assert len(prepared(replace(config, corpus=replace(config.corpus, max_pieces=9))).train) == 1


def linked_pieces(result: Prepared) -> list[list[tuple[int, int]]]:
    """The links of each training pair, as (source piece, target piece)."""
    assert result.train.links is not None
    ids = [result.train.links.gather(np.array([i]))[0].tolist() for i in range(len(result.train))]
    return [list(zip(pair[1::2], pair[::2], strict=True)) for pair in ids]


def test_links_stay_with_their_pairs(corpus):
    """Pairs that are empty, too long or held out are removed together with their lines of links."""
    source, target, links = (lines(corpus, f"train.{name}") for name in ("source", "target", "align"))
    source[7:7], target[7:7], links[7:7] = [""], ["abo"], ["0-9"]
    source[20:20], target[20:20], links[20:20] = [" ".join(["ba"] * 9)], [" ".join(["abo"] * 9)], ["8-8"]
    # Each word is one piece. The link from the last source word to the first target word marks the pair.
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


def test_a_link_between_words_links_all_of_their_pieces(corpus):
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


def test_links_to_pieces_behind_the_cut_are_left_out(corpus):
    with_long_pair(corpus)
    links = [*lines(corpus, "train.align"), "0-0 5-5 6-5 5-6 8-8"]
    result = prepared(guided(corpus, links, corpus={"max_pieces": 6, "on_long": "truncate"}))
    assert linked_pieces(result)[-1] == [(0, 0), (5, 5)]


def test_links_are_stored_only_where_attention_is_guided(corpus):
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
def test_links_that_do_not_fit_the_pairs_are_refused(spoil, message, corpus):
    links: list[Any] = lines(corpus, "train.align")
    for number, line in spoil.items():
        links[number] = line
    config = guided(corpus, [line for line in links if line is not None])
    with pytest.raises(NmtError, match=message) as error:
        prepared(config)
    assert "\n" not in str(error.value)
    assert not (corpus / "runs" / "guided" / "config.json").exists()
