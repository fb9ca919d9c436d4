"""The translator over a trained model: order, blank sentences, cut sentences, alignments, constraints."""

from __future__ import annotations

import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count, islice
from pathlib import Path

import copy_task
import numpy as np
import pytest
from same_translations import same

import nmt
from nmt.alignment.word_alignment import WordAlignment
from nmt.errors import NmtError
from nmt.text.errors import CorpusError
from nmt.text.pieces import UNK
from nmt.text.tokenizer import SegmentedSentence
from nmt.translation.glossary import Glossary, Term
from nmt.translation.request import Constraint
from nmt.translation.result import Translation
from nmt.translation.translator import Translator
from nmt.translation.unknown_words import copy_unknown_words

SENTENCES = copy_task.sentences(30, seed=5, longest=9)


@pytest.fixture(scope="module")
def directory(copier_run) -> Path:
    return copier_run


@pytest.fixture(scope="module")
def translator(directory) -> Translator:
    return Translator.load(directory)


def test_readme_example(directory):
    translator = nmt.Translator.load(directory)
    for translation in translator.translate(["ba ki ma", "le"]):
        assert translation.text == copy_task.translation(translation.source)
        assert translation.alignment.pharaoh() == copy_task.links(translation.source)


def test_a_given_target_is_cut_at_the_longest_translation(translator):
    """The alignment and the log-probability end at the cut; the text stays whole."""
    longest = int(translator.config.search.max_length_ratio * translator.config.search.max_source) + 10
    words = [copy_task.translation("ba")] * (longest + 50)
    whole, cut = translator.align(["ba ki", "ba ki"], [copy_task.translation("ba ki"), " ".join(words)])
    assert (whole.truncated, cut.truncated) == (False, True)
    assert cut.text == " ".join(words)
    assert len(cut.pieces) == longest + 1
    read = len(set(translator.run.target.segment(" ".join(words)).word_of_piece[:longest]))
    assert cut.alignment.target == tuple(words[:read])
    assert cut.alignment.weights.sum(axis=1).all()


def test_memory_of_a_long_pair_follows_what_the_model_reads(translator):
    """A matrix of all words would have 100 million weights per pair. Unknown words share one piece of a word model."""
    known, unknown = " ".join(["ba"] * 10_000), " ".join(["?"] * 10_000)
    tracemalloc.start()
    try:
        pairs = list(translator.align([known, unknown, known], [known, unknown, "\u200b " * 10_000]))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100e6
    assert all(pair.truncated for pair in pairs)


def test_half_precision_changes_few_translations(directory, translator):
    """The model is confident, so rounding rarely changes its choice."""
    half = Translator.load(directory, precision="mixed_bfloat16")
    assert half.fingerprint != translator.fingerprint
    found = [
        one.text == two.text for one, two in zip(*(t.translate(SENTENCES) for t in (translator, half)), strict=True)
    ]
    assert sum(found) >= 0.9 * len(found)


def test_each_sentence_gets_its_own_translation_in_order(translator):
    translations = list(translator.translate(SENTENCES))
    assert [t.source for t in translations] == SENTENCES
    right = [t.text == copy_task.translation(t.source) for t in translations if len(t.source.split()) <= 6]
    assert sum(right) >= 0.6 * len(right)
    for t in translations:
        assert t.alignment.source == tuple(t.source.split())
        assert t.alignment.target == tuple(t.text.split())
        assert t.log_probability < 0
        np.testing.assert_allclose(t.alignment.weights.sum(axis=1) + t.alignment.end_of_sentence, 1, atol=1e-5)


@pytest.mark.parametrize("beam_size", [1, 4])
def test_order_and_batch_mates_change_nothing(beam_size, translator):
    search = replace(translator.config.search, beam_size=beam_size)
    together = list(translator.translate(SENTENCES, search))
    turned = list(translator.translate(SENTENCES[::-1], search))[::-1]
    alone = list(translator.translate(SENTENCES, replace(search, batch_tokens=1)))
    for ours in (turned, alone):
        assert [same(a, b) for a, b in zip(together, ours, strict=True)] == [True] * len(SENTENCES)


def test_completed_batches_are_reported_before_their_sentences_are_yielded(translator):
    """With one sentence per batch; a blank sentence is in no batch."""
    reported: list[int] = []
    search = replace(translator.config.search, batch_tokens=1)
    found = translator.translate([*SENTENCES, " "], search, report=reported.append)
    next(found)
    assert reported == [1] * len(SENTENCES)


@pytest.mark.parametrize("beam_size", [1, 4])
def test_alignment_under_teacher_forcing_equals_the_alignment_of_the_search(beam_size, translator):
    found = list(translator.translate(SENTENCES, replace(translator.config.search, beam_size=beam_size)))
    forced = list(translator.align(SENTENCES, [t.text for t in found]))
    for ours, theirs in zip(found, forced, strict=True):
        assert ours.text == theirs.text
        np.testing.assert_allclose(ours.alignment.weights, theirs.alignment.weights, atol=1e-5)
        assert ours.alignment.links == theirs.alignment.links
        assert ours.log_probability == pytest.approx(theirs.log_probability, abs=1e-4)


def test_score_is_the_log_probability_over_the_length_penalty(translator):
    found = list(translator.translate(SENTENCES, replace(translator.config.search, length_penalty=0.7)))
    for t in found:
        length = len(t.text.split()) + 1  # each word is one piece, and the end counts
        assert t.score == pytest.approx(t.log_probability / ((5 + length) / 6) ** 0.7, rel=1e-5)


@pytest.mark.slow
def test_eight_threads_get_what_one_thread_gets(translator):
    """Each thread has a search of its own; two of them share a search, and one translates constrained sentences."""
    own = translator.config.search
    searches = [replace(own, beam_size=size) for size in (1, 2, 3, 3)]
    searches += [replace(own, method="sample", seed=seed) for seed in (1, 2)] + [replace(own, short_list=2), own]
    constraints = [Constraint("elo")] * len(SENTENCES)

    def texts(index: int) -> list[str]:
        found = translator.translate(SENTENCES, searches[index], constraints if index == 7 else None)
        return [translation.text for translation in found]

    with ThreadPoolExecutor(8) as threads:
        together = list(threads.map(texts, range(8)))
    assert together == [texts(index) for index in range(8)]


def test_search_of_the_run_is_the_default(translator):
    own = list(translator.translate(SENTENCES[:5]))
    assert all(map(same, own, translator.translate(SENTENCES[:5], translator.config.search)))


@pytest.mark.parametrize("blank", ["", "   ", "\t", "\u2028"])
def test_blank_sentence_has_a_blank_translation(blank, translator):
    first, middle, last = translator.translate(["ba", blank, "ki"])
    assert (middle.text, middle.source, middle.log_probability, middle.alignment.pharaoh()) == ("", blank, 0.0, "")
    assert (first.source, last.source) == ("ba", "ki")


def test_pair_with_a_blank_side_has_no_links(translator):
    pairs = list(translator.align(["ba", "", "ki", ""], ["", "abo", "iko", ""]))
    assert [pair.alignment.pharaoh() for pair in pairs] == ["", "", "0-0", ""]
    assert [pair.alignment.weights.shape for pair in pairs] == [(0, 1), (1, 0), (1, 1), (0, 0)]
    assert [pair.log_probability == 0 for pair in pairs] == [True, True, False, True]


def test_nothing_in_nothing_out(translator):
    assert list(translator.translate([])) == []
    assert list(translator.align([], [])) == []


def test_a_long_source_is_cut_and_marked_as_truncated(translator):
    search = replace(translator.config.search, max_source=3)
    short, long = translator.translate(["ba ki ma", "ba ki ma le"], search)
    assert (short.truncated, long.truncated) == (False, True)
    assert long.text == short.text
    assert long.source == "ba ki ma le"
    assert long.alignment.source == ("ba", "ki", "ma")
    np.testing.assert_allclose(long.alignment.weights, short.alignment.weights, atol=1e-5)


def test_longest_translation(translator):
    search = replace(translator.config.search, max_length_ratio=0.01)
    noise = " ".join(["ba"] * 40)
    (found,) = translator.translate([noise], search)
    assert len(found.text.split()) <= 11  # ceil(0.01 * 41 + 10)


def test_a_stream_is_read_one_chunk_at_a_time(translator, monkeypatch):
    monkeypatch.setattr(Translator, "chunk_size", 3)
    taken = []

    def endless():
        for number in count():
            taken.append(number)
            yield "ba"

    stream = translator.translate(endless())
    assert taken == []
    assert len(list(islice(stream, 4))) == 4
    assert taken == list(range(6))


def test_the_size_of_chunks_changes_nothing(translator, monkeypatch):
    whole = list(translator.translate(SENTENCES))
    forced = list(translator.align(SENTENCES, SENTENCES))
    monkeypatch.setattr(Translator, "chunk_size", 7)
    assert all(map(same, whole, translator.translate(SENTENCES)))
    assert all(map(same, forced, translator.align(SENTENCES, SENTENCES)))


def test_sides_of_different_lengths_are_refused(translator):
    for sources, targets in ((["ba"], []), (["ba"], ["abo", "iko"])):
        with pytest.raises(CorpusError, match="one side has more sentences than the other"):
            list(translator.align(sources, targets))


def test_phrases_need_a_beam(translator):
    sampling = replace(translator.config.search, method="sample")
    with pytest.raises(NmtError, match=r"phrases \(--phrases\) need beam search, and method is sample"):
        list(translator.translate(["ba"], sampling, constraints=[Constraint(phrases=("iko",))]))
    prefixed = translator.translate(["ba"], sampling, constraints=[Constraint("elo")])
    assert next(prefixed).text.split()[0] == "elo"


def test_constraints_are_in_the_translations(translator):
    asked = [Constraint(), Constraint("elo"), Constraint(phrases=("iko elo", "abo")), Constraint("abo abo", ("elo",))]
    found = list(translator.translate(SENTENCES[:4], constraints=asked))
    for translation, constraint in zip(found, asked, strict=True):
        assert f"{translation.text} ".startswith(f"{constraint.prefix} ".lstrip())
        assert all(f" {phrase} " in f" {translation.text} " for phrase in constraint.phrases)
    assert same(found[0], next(translator.translate(SENTENCES[:1])))


@pytest.mark.parametrize("beam_size", [pytest.param(1, marks=pytest.mark.slow), 2])
@pytest.mark.parametrize("mode", ["prefer", "require"])
def test_a_glossary_changes_its_terms_and_nothing_else(translator, beam_size, mode):
    """The glossary takes the translation of another word."""
    search = replace(translator.config.search, beam_size=beam_size)
    glossary = Glossary([Term("ba", (copy_task.translation("le"), "Ω")), Term("ki ki", ("Ω",))], mode)
    plain = list(translator.translate(SENTENCES, search))
    found = list(translator.translate(SENTENCES, search, glossary=glossary))
    changed = [after for after in found if "ba" in after.source.split()]
    obeyed = sum(copy_task.translation("le") in after.text.split() for after in changed)
    assert changed and obeyed >= (len(changed) if mode == "require" else 0.9 * len(changed))
    for before, after in zip(plain, found, strict=True):
        assert "ba" in after.source.split() or same(before, after)


def test_every_translation_of_a_list_has_the_required_terms(translator):
    glossary = Glossary([Term("ba", (copy_task.translation("le"), copy_task.translation("ki")))], "require")
    for translations in translator.translate_nbest(["ba ki ma", "ki"], nbest=2, glossary=glossary):
        for translation in translations:
            if translation.source == "ba ki ma" and translation.pieces[-1] == "</s>":
                assert {copy_task.translation("le"), copy_task.translation("ki")} & set(translation.text.split())


def test_impossible_settings_and_constraints_are_refused(translator):
    with pytest.raises(NmtError, match="sentence 2: 'Ω' has characters that the target vocabulary does not have"):
        list(translator.translate(["ba", "ki"], constraints=[Constraint(), Constraint("Ω")]))
    with pytest.raises(NmtError, match=r"sentence 1: 'ba ba .*' has \d+ pieces, and the longest translation \d+;"):
        list(translator.translate(["ba"], constraints=[Constraint(" ".join(["ba"] * (translator.longest_target + 1)))]))
    with pytest.raises(NmtError, match="'nowhere' is no piece of the target vocabulary"):
        list(translator.translate(["ba"], replace(translator.config.search, suppress=("nowhere",))))
    with pytest.raises(NmtError, match="nbest is 3, more than the 2 hypotheses of the beam: raise beam_size .* to 3"):
        list(translator.translate_nbest(["ba"], replace(translator.config.search, beam_size=2), 3))


def test_suppressed_pieces_do_not_occur(translator):
    (usual,) = translator.translate(["ba ki"])
    search = replace(translator.config.search, suppress=(usual.pieces[0],))
    (other,) = translator.translate(["ba ki"], search)
    assert usual.pieces[0] not in other.pieces


def test_nbest_lists_begin_with_the_translation(translator):
    search = replace(translator.config.search, beam_size=4)
    for best, listed in zip(
        translator.translate(SENTENCES[:6], search), translator.translate_nbest(SENTENCES[:6], search, 4), strict=True
    ):
        assert same(best, listed[0])
        assert len({t.pieces for t in listed}) == len(listed) == 4


def test_samples_do_not_depend_on_chunks(translator, monkeypatch):
    search = replace(translator.config.search, method="sample", temperature=2.0)
    whole = [t.text for t in translator.translate(SENTENCES, search)]
    monkeypatch.setattr(Translator, "chunk_size", 7)
    assert [t.text for t in translator.translate(SENTENCES, search)] == whole
    tail = [found[0].text for found in translator.translate_nbest(SENTENCES[9:], search, 1, first=9)]
    assert tail == whole[9:]


@pytest.mark.parametrize(
    ("word", "source", "lexicon", "expected"),
    [
        ("⁇", "Zürich,", {}, "Zürich"),
        ("⁇,", "Zürich,", {}, "Zürich,"),
        ("l'⁇⁇", "Rhein", {}, "l'Rhein"),
        ("Zo⁇n", "Zoën", {}, "Zoën"),
        ("(A⁇b⁇c),", "Zoën", {}, "(Zoën),"),
        ("⁇-Brücke", "Rhein", {}, "Rhein-Brücke"),
        ("⁇", "Wien", {"Wien": "Vienna"}, "Vienna"),
        ("⁇.", "Wien.", {"Wien": "Vienna"}, "Vienna."),
        ("⁇", "…", {}, "…"),
        ("क⁇ा।", "राम", {}, "राम।"),  # a vowel sign belongs to the word
    ],
)
def test_unknown_pieces_become_copies(word, source, lexicon, expected):
    alignment = WordAlignment(("zu", source), ("a", word), [[0.9, 0.1], [0.2, 0.7]], [0.0, 0.1])
    translation = Translation("zu " + source, f"a {word}", -1.0, -1.0, alignment)
    pieces = SegmentedSentence(translation.text, ["a", word], [5, UNK], [0, 1])
    copied = copy_unknown_words(translation, pieces, lexicon)
    assert copied.text == f"a {expected}"
    assert copied.alignment.target == ("a", expected)
    assert copied.alignment.links == alignment.links


@pytest.mark.parametrize(
    ("links", "by", "expected"),
    [
        ({(0, 1)}, "aligner", "zu"),
        ({(0, 1)}, "attention", "Wien"),
        (set(), "aligner", "Wien"),
        ({(2, 1)}, "aligner", "a"),
    ],
)
def test_an_aligner_s_links_decide_on_copies(links, by, expected):
    """Attention decides where attention makes the links, or where the aligner has none for the word."""
    weights = [[0.9, 0.1, 0.0], [0.2, 0.7, 0.0]]
    alignment = WordAlignment(("zu", "Wien", "a"), ("b", "⁇"), weights, [0.0, 0.1], frozenset(links), by)
    translation = Translation("zu Wien a", "b ⁇", -1.0, -1.0, alignment)
    pieces = SegmentedSentence(translation.text, ["b", "⁇"], [5, UNK], [0, 1])
    assert copy_unknown_words(translation, pieces, {}).text == f"b {expected}"


def test_a_copy_leaves_text_without_spaces_as_it_is():
    words = ("ボブ", "は", "⁇", "です", "。")
    alignment = WordAlignment(("Bob", "is", "Zoë"), words, np.eye(5, 3)[[0, 1, 2, 1, 4]], np.zeros(5))
    translation = Translation("Bob is Zoë", "ボブは⁇です。 ", -1.0, -1.0, alignment)
    pieces = SegmentedSentence(translation.text, list(words), [5, 6, UNK, 7], [0, 1, 2, 3], divided=((3, (0.5, 0.5)),))
    copied = copy_unknown_words(translation, pieces, {})
    assert copied.text == "ボブはZoëです。 "
    assert copied.alignment.target == ("ボブ", "は", "Zoë", "です", "。")


def test_copies_in_a_translation(translator):
    """The output bias forces unknown pieces; each is replaced by the source word that it attends to."""
    bias = translator.inference.models[0].output_bias
    usual = np.array(bias.value)
    bias.assign(np.where(np.arange(len(usual)) == UNK, 30.0, usual))
    search = replace(translator.config.search, beam_size=1)
    try:
        plain, copied = (
            next(translator.translate(["ba ki ma"], replace(search, copy_unknown=copy))) for copy in (False, True)
        )
    finally:
        bias.assign(usual)
    assert "⁇" in plain.text
    assert set(copied.text.split()) <= {"ba", "ki", "ma"}
    assert copied.alignment.target == tuple(copied.text.split())


def test_symmetrized_pairs_have_the_links_of_both_directions(translator, monkeypatch):
    """The other direction aligns each pair with its sides exchanged, chunk by chunk; its links are exchanged again."""
    monkeypatch.setattr(Translator, "chunk_size", 2)
    asked = []

    class Reverse:
        def align(self, sources, targets, linking):
            asked.append((sources, targets))
            assert linking == nmt.Linking(rule="argmax")
            for pair in translator.align(targets, sources):
                words = pair.alignment
                links = frozenset({(len(words.target) - 1, 0)})  # its last source word, our first
                weights = np.zeros((len(words.source), len(words.target)), np.float32)
                turned = WordAlignment(words.target, words.source, weights, weights.sum(axis=1), links)
                yield replace(pair, source=pair.text, text=pair.source, alignment=turned)

    sources, targets = ["ba ki ma", "le", "me ko"], ["abo iko omo", "elo", "emo oko"]
    plain = list(translator.align(sources, targets))
    union = list(nmt.symmetrized(iter(plain), Reverse(), "union", nmt.Linking(rule="argmax")))
    assert asked == [(targets[:2], sources[:2]), (targets[2:], sources[2:])]
    for before, after in zip(plain, union, strict=True):
        last = len(before.alignment.target) - 1
        assert after.alignment.links == before.alignment.links | {(0, last)}
        np.testing.assert_array_equal(after.alignment.weights, before.alignment.weights)
        assert (after.text, after.log_probability) == (before.text, before.log_probability)


def test_links_of_other_words_count_for_the_words_with_their_characters():
    """One direction read 大きい|家。|犬, the other 大きい家|。犬; 大きい家 is linked to `big`, 。犬 to `dog`."""
    forward = WordAlignment(
        ("big", "dog"), ("大きい", "家。", "犬"), np.ones((3, 2)), np.zeros(3), frozenset({(0, 0), (1, 2)})
    )
    backward = WordAlignment(
        ("大きい家", "。犬"), ("big", "dog"), np.ones((2, 2)), np.zeros(2), frozenset({(0, 0), (1, 1)})
    )

    class Reverse:
        def align(self, sources, targets, linking):
            return [replace(pair, alignment=backward)]

    pair = Translation("big dog", "大きい家。犬", -1.0, -1.0, forward)
    said: list[str] = []
    both = [
        next(nmt.symmetrized([pair], Reverse(), method, say=said.append)).alignment.links
        for method in ("intersection", "union")
    ]
    assert both == [{(0, 0), (1, 2)}, {(0, 0), (0, 1), (1, 1), (1, 2)}]
    assert not said


def test_directions_that_read_different_text_are_not_merged(translator):
    """The pairs keep their links, and the first of them is named."""

    class Reverse:
        def align(self, sources, targets, linking):
            for source, target in zip(sources, targets, strict=True):
                of_source = (*source.split(), "end") if source == "abo" else tuple(source.replace("k", "-").split())
                shape = len(target.split()), len(of_source)
                words = WordAlignment(of_source, tuple(target.split()), np.zeros(shape), np.zeros(shape[0]))
                yield replace(translator.align([target], [source])[0], alignment=words)

    pairs = list(translator.align(["ba", "ba", "ba"], ["abo", "abo iko", "iko"]))
    said: list[str] = []
    found = list(nmt.symmetrized(pairs, Reverse(), "intersection", say=said.append))
    assert [bool(pair.alignment.links) for pair in found] == [False, True, True]
    assert found[1:] == pairs[1:]
    assert len(said) == 1
    assert said[0].startswith("warning: line 2: the two directions read different text")


def test_the_log_probability_is_over_all_pieces_and_the_end(translator):
    found, blank = translator.translate(["ba ki ma", " "])
    assert (len(found.pieces), len(blank.pieces)) == (len(translator.run.target.segment(found.text).ids) + 1, 0)
    (forced,) = translator.align(["ba"], ["abo iko omo"])
    assert len(forced.pieces) == len(translator.run.target.segment("abo iko omo").ids) + 1


def test_links_follow_the_requested_rule_and_step(translator):
    """A threshold of one half allows one link in a row; with step read, a word has the attention of the next step."""
    pair = ("ba ki ma le", "abo iko omo elo")
    ((plain,), (strict,), (later,)) = (
        list(translator.align(pair[:1], pair[1:], linking))
        for linking in (nmt.Linking(), nmt.Linking("threshold", threshold=0.5), nmt.Linking(step="read"))
    )
    weights = plain.alignment.weights
    assert strict.alignment.links == {(int(s), int(t)) for t, s in np.argwhere(weights >= 0.5)}
    np.testing.assert_array_equal(later.alignment.weights[:-1], weights[1:])  # each word is one piece
    assert later.alignment.weights[-1].sum() + later.alignment.end_of_sentence[-1] == pytest.approx(1, abs=1e-5)


def test_links_of_a_search_follow_the_requested_rule(translator):
    linking = nmt.Linking("threshold", side="source", threshold=0.4)
    found = list(translator.translate(SENTENCES[:6], linking=linking))
    forced = list(translator.align(SENTENCES[:6], [t.text for t in found], linking))
    assert [t.alignment.links for t in found] == [t.alignment.links for t in forced]
    for t in found:
        shares = t.alignment.weights / np.maximum(t.alignment.weights.sum(axis=0), 0.05)
        near = np.abs(shares - 0.4) < 1e-4
        expected = {(int(s), int(t)) for t, s in np.argwhere(shares >= 0.4)}
        assert near.any() or expected >= t.alignment.links
