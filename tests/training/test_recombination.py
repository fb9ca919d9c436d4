"""`training.recombine`: new training pairs, in which phrases of other pairs replace some of a pair's own."""

from __future__ import annotations

import re
from dataclasses import replace

import copy_task
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prepared_runs import prepared
from short_runs import config, guided

from nmt.config import ConfigError, TrainingConfig
from nmt.text.languages import Language
from nmt.text.languages.words import SPACED, words_of_language
from nmt.text.pairs import Pair
from nmt.training.preparation.corpus_files import cache_key
from nmt.training.preparation.recombination import Recombination, Splice, spaced_words, spliced

DOG = Pair("a dog sleeps", "un chien dort", links="0-0 1-1 2-2")
CAT = Pair("a cat sleeps here", "un chat dort ici", links="0-0 1-1 2-2 3-3")
RED = Pair("the red house", "la maison rouge", links="0-0 1-2 2-1")


def recombined(pairs: list[Pair], count: int, seed: int = 1, words=(SPACED, SPACED)) -> list[Pair]:
    return list(Recombination(pairs, words, count, seed).over(pairs))


def test_phrases_between_the_same_words_are_exchanged():
    """`dog` and `cat` both stand between `a` and `sleeps`; no other phrases are interchangeable."""
    assert recombined([DOG, CAT, RED], 1) == [
        DOG,
        Pair("a cat sleeps", "un chat dort", links="0-0 1-1 2-2"),
        CAT,
        Pair("a dog sleeps here", "un chien dort ici", links="0-0 1-1 2-2 3-3"),
        RED,
        RED,
    ]


def test_a_pair_is_repeated_in_place_of_new_pairs_that_cannot_be_made():
    made = recombined([DOG, CAT, RED], 4)
    assert len(made) == 15
    assert made[:5].count(DOG) == 4 and made[-5:] == [RED] * 5


def test_the_words_around_a_phrase_are_those_of_both_sides():
    """`dog` stands between the same source words in both pairs, but the target words before it differ."""
    other = Pair("a cow sleeps", "une vache dort", links="0-0 1-1 2-2")
    assert recombined([DOG, other], 1) == [DOG, DOG, other, other]


def test_links_move_with_the_words():
    """The phrase that comes in is longer, and its own two links cross."""
    small = Pair("a little dog sleeps", "un chien petit dort", links="0-0 1-2 2-1 3-3")
    assert recombined([CAT, small], 1)[1] == Pair(
        "a little dog sleeps here", "un chien petit dort ici", links="0-0 1-2 2-1 3-3 4-4"
    )


def test_several_phrases_of_a_pair_are_exchanged_where_words_are_between_them():
    pairs = [
        Pair(f"a {one} sees the {two} .", f"un {one.upper()} voit le {two.upper()} .", links="0-0 1-1 2-2 3-3 4-4 5-5")
        for one, two in (("man", "dog"), ("boy", "cat"))
    ]
    made = recombined(pairs, 20)
    assert {"a man sees the cat .", "a boy sees the dog ."} <= {pair.source for pair in made}
    for pair in made:
        assert pair.target.split()[1] == pair.source.split()[1].upper()
        assert pair.target.split()[4] == pair.source.split()[4].upper()


def test_refused_pairs_are_not_made():
    """Such as near-duplicates of held-out pairs."""
    making = Recombination([DOG, CAT], (SPACED, SPACED), 1, 1, lambda pair: "here" in pair.source)
    assert [pair.source for pair in making.over([DOG, CAT])] == [DOG.source, "a cat sleeps", CAT.source, CAT.source]


def test_the_same_seed_makes_the_same_pairs():
    texts = copy_task.sentences(40, seed=1)
    pairs = [Pair(text, copy_task.translation(text), links=copy_task.links(text)) for text in texts]
    assert recombined(pairs, 2, seed=5) == recombined(pairs, 2, seed=5) != recombined(pairs, 2, seed=6)
    making = Recombination(pairs, (SPACED, SPACED), 2, 5)
    assert list(making.over(pairs)) == list(making.over(pairs))


def test_the_summary_counts_new_pairs_and_shows_one():
    making = Recombination([DOG, CAT, RED], (SPACED, SPACED), 3, 1)
    list(making.over([DOG, CAT, RED]))
    beginning = "2 new pairs made of their phrases, and 7 repetitions of pairs without enough phrases; the first: "
    assert making.summary() == f"{beginning}a cat sleeps | un chat dort"
    exact = Recombination([DOG, CAT], (SPACED, SPACED), 1, 1)
    list(exact.over([DOG, CAT]))
    assert exact.summary().startswith("2 new pairs made of their phrases; the first: ")
    without = Recombination([RED], (SPACED, SPACED), 3, 1)
    list(without.over([RED]))
    repeated = "3 repetitions of pairs without enough phrases"
    assert without.summary() == f"0 new pairs made of their phrases, and {repeated}"


def test_a_pair_whose_words_are_cut_otherwise_is_not_made():
    """Each letter is a word, and `xqs` is one: beside `s`, the letter x cannot replace 1."""
    one = Pair("a dog sleeps well", "p1qs", links="0-0 1-1 2-2 3-3")
    other = Pair("a cat sleeps", "pxq", links="0-0 1-1 2-2")
    new = Pair("a dog sleeps", "p1q", links="0-0 1-1 2-2")
    letters = re.compile("xqs|.").findall
    assert recombined([one, other], 1, words=(SPACED, letters)) == [one, one, other, new]


def test_text_without_spaces_stays_without_spaces():
    """Of Tibetan, whose syllables end with a mark: `ka` and `kha` change places."""
    tibetan = words_of_language(Language("bo-Tibt"))
    pairs = [
        Pair("a dog sleeps here", "ང་ཀ་ན་ད་", links="0-0 1-1 2-2 3-3"),
        Pair("a cat sleeps there", "ང་ཁ་ན་ར་", links="0-0 1-1 2-2 3-3"),
    ]
    assert "ང་ཁ་ན་ད་" in {pair.target for pair in recombined(pairs, 9, words=(SPACED, tibetan))}


@given(st.lists(st.sampled_from(["a", "bb", "c", "a."]), max_size=6), st.sampled_from(["", " "]))
def test_words_with_their_spaces_are_the_sentence(parts, between):
    text = between.join(parts)
    assert "".join(spaced_words(text, SPACED)) == text


@given(st.lists(st.booleans(), max_size=8), st.randoms(use_true_random=False))
def test_spliced_words_and_places_agree(replaced, random):
    """Words of one letter each, some of which are replaced by none to three words."""
    words = [chr(ord("a") + number) for number in range(len(replaced))]
    splices = [
        Splice(number, number + 1, tuple(f"{words[number]}{i}" for i in range(random.randint(0, 3))))
        for number, yes in enumerate(replaced)
        if yes
    ]
    random.shuffle(splices)
    new, places, begins = spliced(words, splices)
    assert [new[places[number]] for number in places] == [words[number] for number in places]
    assert sorted(places) == [number for number, yes in enumerate(replaced) if not yes]
    for begin, splice in zip(begins, splices, strict=True):
        assert new[begin : begin + len(splice.words)] == list(splice.words)
    assert len(new) == len(places) + sum(len(splice.words) for splice in splices)


def test_each_new_pair_of_the_copy_task_is_a_pair_of_the_task():
    """Its words have one translation each, in the same order, so every exchange is right."""
    pairs = [
        Pair(text, copy_task.translation(text), links=copy_task.links(text)) for text in copy_task.sentences(80, 1)
    ]
    made = set(recombined(pairs, 5)) - set(pairs)
    assert len(made) > 80
    assert all(copy_task.translation(pair.source) == pair.target for pair in made)
    assert all(copy_task.links(pair.source) == pair.links for pair in made)


def test_a_run_trains_on_given_and_new_pairs(corpus, tmp_path):
    links = str(corpus / "train.align")
    plain = prepared(guided(corpus, tmp_path, "plain", links))
    more = prepared(guided(corpus, tmp_path, "more", links, recombine=2))
    assert len(more.train) == 3 * len(plain.train)
    rows = np.arange(len(more.train))[:, None]
    sources = more.run.source.decode([list(more.train.source.gather(row)[0]) for row in rows])
    targets = more.run.target.decode([list(more.train.target.gather(row)[0]) for row in rows])
    assert [copy_task.translation(source) for source in sources] == targets
    assert set((corpus / "train.source").read_text(encoding="utf-8").splitlines()) < set(sources)


def test_another_count_or_seed_prepares_the_text_again(corpus, tmp_path):
    links = str(corpus / "train.align")
    first = config(corpus, tmp_path, guided={"links": links}, recombine=2)
    for changed, same in (({"recombine": 3}, False), ({"seed": 9}, False), ({"passes": 9}, True)):
        other = replace(first, training=replace(first.training, **changed))
        assert (cache_key(other) == cache_key(first)) == same


def test_new_pairs_need_links():
    with pytest.raises(ConfigError, match="recombine exchanges linked phrases: add --training.aligner true"):
        TrainingConfig(recombine=2)
