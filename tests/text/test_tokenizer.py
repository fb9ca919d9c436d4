"""Vocabularies: training, special ids, Unicode text, and the word of each piece."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt.config import VocabularyConfig
from nmt.text.errors import VocabularyError
from nmt.text.pieces import BOS, EOS, PAD, SPACE, UNK
from nmt.text.tokenizer import SegmentedSentence, Tokenizer

SYLLABLES = ("ba", "du", "ki", "lo", "me", "nu", "po", "ra", "si", "to")
LINES = [f"{a}{b}{c} {c}{a} {b}{b}" for a in SYLLABLES for b in SYLLABLES for c in SYLLABLES[:4]]
LINES += [
    f"{subject} {verb} {thing} {place}"
    for subject in ("the old man", "a young woman", "the children", "nobody")
    for verb in ("sees", "paints", "forgets", "carries")
    for thing in ("a red house", "the café", "two dogs", "日本語 books")
    for place in ("near the river .", "in the garden .", "today !")
]

ODD = st.sampled_from(
    [
        "\u3000",
        "\xa0",
        "\u200b",
        "\u200d",
        "\ufeff",
        "\x00",
        "\x01",
        "\x1c",
        "\x85",
        "\u2028",
        "\t",
        "\n",
        "▁",
        "⁇",
        "¨",
    ]
    + [
        "ﷺ",
        "½",
        "ｶﾞ",
        "e\u0301",
        "👨\u200d👩\u200d👧",
        "مرحبا",
        "日本語",
        "\u00ad",
        "\u202e",
        "<s>",
        "</s>",
        "<de>",
        "café",
    ]
)
ANY_TEXT = st.lists(st.one_of(st.text(max_size=5), ODD, st.sampled_from([" ", "  ", "the", "man"])), max_size=12).map(
    "".join
)


def config(**values) -> VocabularyConfig:
    return VocabularyConfig(**{"size": 120, "symbols": ("<de>",), "normalization": "nmt_nfkc", **values})


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train(LINES, config())


@pytest.fixture(scope="module")
def tokenizers(tokenizer) -> list[Tokenizer]:
    """A tokenizer of each kind and normalisation."""
    kinds = [Tokenizer.train(LINES, config(type=kind, size=500)) for kind in ("bpe", "char", "word")]
    return [
        tokenizer,
        *kinds,
        *(Tokenizer.train(LINES, config(normalization=n)) for n in ("identity", "nfkc_cf", "nfc")),
    ]


class TestTrain:
    def test_special_ids_come_first(self, tokenizer):
        assert tokenizer.pieces([PAD, UNK, BOS, EOS]) == ["<pad>", "<unk>", "<s>", "</s>"]
        assert tokenizer.size == 120

    @pytest.mark.parametrize("kind", ["unigram", "bpe"])
    def test_equal_sentences_give_equal_bytes(self, kind):
        first, second = (Tokenizer.train(iter(LINES), config(type=kind)) for _ in range(2))
        assert first == second and first.fingerprint == second.fingerprint
        assert first != Tokenizer.train(LINES[:-10], config(type=kind))

    def test_large_corpora_are_sampled_evenly_with_a_fixed_seed(self, monkeypatch):
        import sentencepiece

        monkeypatch.setattr("nmt.text.sentencepiece_training._TRAINING_SENTENCES", 200)
        lines = [f"word{i}" for i in range(1000)]
        tokenizers = []
        for seed in (1, 2):
            sentencepiece.set_random_generator_seed(seed)
            tokenizers.append(Tokenizer.train(lines, VocabularyConfig(type="word", size=5000)))
        assert tokenizers[0] == tokenizers[1]
        known = [i for i, ids in enumerate(tokenizers[0].encode(lines)) if ids != [UNK]]
        assert len(known) == 200 and min(known) < 100 and max(known) >= 900

    def test_kinds(self, tokenizers):
        unigram, bpe, char, word = tokenizers[:4]
        assert char.pieces(char.encode(["the man"])[0]) == list("▁the▁man")
        assert word.pieces(word.encode(["the man"])[0]) == ["▁the", "▁man"]
        for subword in (unigram, bpe):
            assert 2 <= len(subword.encode(["the man"])[0]) < len("▁the▁man")
        assert len({t.fingerprint for t in (unigram, bpe, char, word)}) == 4

    def test_size_argument_overrides_the_config(self):
        assert [Tokenizer.train(LINES, config(), size=size).size for size in (90, 0)] == [90, 120]

    @pytest.mark.parametrize("kind", ["unigram", "bpe"])
    @pytest.mark.parametrize("size", [5000, 10])
    def test_a_wrong_size_is_refused_with_both_bounds_and_both_work(self, kind, size):
        wrong = "more than this text allows" if size > 100 else "too few for the characters"
        message = rf"^{size} pieces are {wrong}.*: set --vocabulary.size to at least (\d+) and at most (\d+)"
        with pytest.raises(VocabularyError, match=message) as caught:
            Tokenizer.train(LINES, config(type=kind, size=size))
        bounds = [int(bound) for bound in re.search(message, str(caught.value)).groups()]
        assert [Tokenizer.train(LINES, config(type=kind, size=bound)).size for bound in bounds] == bounds
        for beyond in (bounds[0] - 1, bounds[1] + 1):
            with pytest.raises(VocabularyError):
                Tokenizer.train(LINES, config(type=kind, size=beyond))

    def test_too_few_pieces_for_much_text_are_refused_with_the_least_alone(self, monkeypatch):
        monkeypatch.setattr("nmt.text.sentencepiece_training._SMALL", len(LINES))
        monkeypatch.setattr("nmt.text.sentencepiece_training._LARGE", None)  # is not trained
        with pytest.raises(VocabularyError, match=r"set --vocabulary.size to at least \d+, or lower"):
            Tokenizer.train(LINES, config(size=10))

    def test_no_bound_is_stated_that_the_text_does_not_have(self, monkeypatch):
        monkeypatch.setattr("nmt.text.sentencepiece_training._LARGE", 100)
        with pytest.raises(VocabularyError, match=r"set --vocabulary.size to at least \d+, or lower"):
            Tokenizer.train(LINES, config(size=10))

    def test_a_stream_that_cannot_be_read_again_is_refused_with_the_known_bound(self):
        with pytest.raises(VocabularyError, match=r"set --vocabulary.target_size to at most \d+$"):
            Tokenizer.train(iter(LINES), config(), size=5000)

    @pytest.mark.parametrize("kind", ["unigram", "bpe"])
    @pytest.mark.parametrize(
        "text", [LINES, ["a"] * 20, ["01 10"] * 20, [chr(0x4E00 + i) + chr(0x5000 + i % 7) for i in range(300)]]
    )
    @pytest.mark.parametrize("size", [8, 9, 8000])
    def test_an_adapted_size_fits_any_text(self, kind, text, size):
        made = Tokenizer.train(text, VocabularyConfig(type=kind, size=size, adapt_size=True))
        assert made.decode(made.encode(text)) == text

    def test_a_size_that_fits_is_not_adapted(self):
        assert Tokenizer.train(LINES, config(adapt_size=True)) == Tokenizer.train(LINES, config())

    @pytest.mark.parametrize("kind", ["char", "word"])
    def test_char_and_word_models_may_have_fewer_pieces(self, kind):
        text = ["ab ba ab"]
        units = {"char": {"▁", "a", "b"}, "word": {"▁ab", "▁ba"}}[kind]
        tokenizer = Tokenizer.train(text, VocabularyConfig(type=kind, size=1000))
        assert set(tokenizer.pieces(range(4, tokenizer.size))) == units

    @pytest.mark.parametrize("kind", ["unigram", "bpe", "char", "word"])
    @pytest.mark.parametrize("text", [[], [""], [" \u3000", "\n"]])
    def test_no_text(self, kind, text):
        with pytest.raises(VocabularyError, match="no text"):
            Tokenizer.train(text, VocabularyConfig(type=kind))

    def test_errors_of_the_sentences_are_raised_unchanged(self):
        def broken():
            yield "a sentence"
            raise FileNotFoundError("train.de")

        with pytest.raises(FileNotFoundError, match="^train.de$"):
            Tokenizer.train(broken(), config())

    def test_symbols_are_one_piece_each(self):
        symbols = ("<de>", "a,b", 'x"y')
        tokenizer = Tokenizer.train(LINES, config(symbols=symbols))
        ids = tokenizer.encode(['<de> a,b x"y the<de>man'])[0]
        assert [p for p in tokenizer.pieces(ids) if p in symbols] == ["<de>", "a,b", 'x"y', "<de>"]
        assert tokenizer.decode([ids]) == ['<de> a,b x"y the<de>man']

    @pytest.mark.parametrize("symbols", [("",), ("a b",), ("\u3000",), ("▁x",), ("<s>",), ("<unk>",), ("a", "a")])
    def test_unusable_symbols(self, symbols):
        with pytest.raises(VocabularyError, match="vocabulary.symbols"):
            Tokenizer.train(LINES, config(symbols=symbols))

    def test_normalisation(self):
        text = ["ﬁne CAFÉ"]
        back = {}
        for name in ("nmt_nfkc", "nfkc_cf", "identity"):
            tokenizer = Tokenizer.train(LINES + text + ["fine café"], config(normalization=name))
            back[name] = tokenizer.decode(tokenizer.encode(text))[0]
        assert back == {"nmt_nfkc": "fine CAFÉ", "nfkc_cf": "fine café", "identity": "ﬁne CAFÉ"}

    def test_coverage_leaves_rare_characters_out(self):
        lines = ["abcdefgh abcdefgh"] * 100 + ["ж"]
        full, partial = (
            Tokenizer.train(lines, VocabularyConfig(type="char", size=50, character_coverage=coverage))
            for coverage in (1.0, 0.99)
        )
        assert UNK not in full.encode(["ж"])[0]
        assert UNK in partial.encode(["ж"])[0]
        assert UNK not in partial.encode(["abcdefgh"])[0]


class TestFile:
    def test_save_and_load(self, tokenizer, tmp_path):
        tokenizer.save(tmp_path / "pieces.model")
        loaded = Tokenizer.load(tmp_path / "pieces.model")
        assert loaded == tokenizer and hash(loaded) == hash(tokenizer)
        assert loaded.encode(LINES) == tokenizer.encode(LINES)

    @pytest.mark.parametrize("content", [b"", b"not a model", b"\x00" * 100])
    def test_damaged(self, content, tmp_path, capfd):
        path = tmp_path / "pieces.model"
        path.write_bytes(content)
        with pytest.raises(VocabularyError, match="pieces.model: not a SentencePiece model") as caught:
            Tokenizer.load(path)
        assert "\n" not in str(caught.value)
        assert capfd.readouterr().err == ""

    def test_cut_off(self, tokenizer, tmp_path):
        tokenizer.save(tmp_path / "pieces.model")
        whole = (tmp_path / "pieces.model").read_bytes()
        (tmp_path / "pieces.model").write_bytes(whole[: len(whole) // 2])
        with pytest.raises(VocabularyError, match="damaged"):
            Tokenizer.load(tmp_path / "pieces.model")

    @pytest.mark.parametrize("name", ["missing.model", "."])
    def test_no_file(self, name, tmp_path):
        with pytest.raises(VocabularyError, match="expected a SentencePiece model"):
            Tokenizer.load(tmp_path / name)

    def test_other_special_ids_are_refused(self):
        import io

        import sentencepiece

        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(LINES), model_writer=model, vocab_size=100, minloglevel=2
        )
        with pytest.raises(VocabularyError, match=r"\(-1, 0, 1, 2\), expected \(0, 1, 2, 3\)"):
            Tokenizer(model.getvalue())


class TestEncodeAndDecode:
    def test_round_trip(self, tokenizers):
        for tokenizer in tokenizers:
            assert tokenizer.decode(tokenizer.encode(LINES)) == LINES

    def test_empty(self, tokenizer):
        assert tokenizer.encode([]) == [] and tokenizer.decode([]) == []
        assert tokenizer.encode(["", " \u3000"]) == [[], []] and tokenizer.decode([[], []]) == ["", ""]

    def test_special_ids_have_no_text(self, tokenizer):
        ids = tokenizer.encode(["the man"])[0]
        assert tokenizer.decode([[BOS, *ids, EOS, PAD, PAD]]) == ["the man"]

    def test_names_of_special_pieces_in_text_are_text(self, tokenizer):
        for ids in tokenizer.encode(["<s> </s> <pad>", "the</s>man"]):
            assert not {PAD, BOS, EOS} & set(ids)

    def test_unknown_characters_stay_in_their_word(self, tokenizer):
        ids = tokenizer.encode(["the caжé today"])[0]
        assert ids.count(UNK) == 1
        assert tokenizer.decode([ids]) == ["the ca⁇é today"]

    def test_arrays_of_ids(self, tokenizer):
        import numpy as np

        ids = np.array(tokenizer.encode(["the man"]))
        assert tokenizer.decode(ids) == [tokenizer.join(ids[0]).text] == ["the man"]

    def test_pieces_join_the_word_before_and_open_the_word_behind(self):
        """Letters of scripts with case and digits join; apostrophes and brackets open, and a full stop does not."""
        letters = Tokenizer.train(
            ["it's 5 語 e\u0301 , ( ) 。"] * 3, config(type="char", normalization="identity", symbols=())
        )
        found = dict(
            zip(letters.pieces(range(letters.size)), zip(letters.joins, letters.opens, strict=True), strict=True)
        )
        assert found["t"] == found["5"] == (True, False)
        assert found["語"] == found["\u0301"] == (False, False)
        assert found["'"] == found["("] == found["。"] == found[SPACE] == (False, True)
        assert found[","] == found[")"] == (False, False)
        words = Tokenizer.train(["it' 's"] * 3, config(type="word", normalization="identity", symbols=()))
        assert [words.joins[words.index(f"{SPACE}{word}")] for word in ("it'", "'s")] == [False, False]
        assert [words.opens[words.index(f"{SPACE}{word}")] for word in ("it'", "'s")] == [True, False]

    @given(text=ANY_TEXT)
    def test_any_whitespace_is_a_space(self, tokenizers, text):
        for tokenizer in tokenizers:
            assert tokenizer.encode([text]) == tokenizer.encode([" ".join(text.split())])


def owners(segmented: SegmentedSentence, pieces: list[str]) -> dict[int, str]:
    """The normalised text of each word, from its pieces."""
    text: dict[int, str] = {}
    for piece, word in zip(pieces, segmented.word_of_piece, strict=True):
        text[word] = text.get(word, "") + piece
    return text


class TestSegment:
    def test_example(self, tokenizers):
        char = tokenizers[2]
        got = char.segment(" the  caf\u00e9\u3000\u200b to ")
        assert got.words == ["the", "café", "\u200b", "to"]
        assert got.text == " the  caf\u00e9\u3000\u200b to "
        assert char.pieces(got.ids) == list("▁the▁café▁to")
        assert got.word_of_piece == [0] * 4 + [1] * 5 + [3] * 3

    def test_a_lone_space_belongs_to_the_word_after_it(self, tokenizer):
        got = tokenizer.segment("the ж <de> man")
        pieces = tokenizer.pieces(got.ids)
        assert pieces.count("▁") >= 2
        for piece, word, following in zip(pieces, got.word_of_piece, got.word_of_piece[1:], strict=False):
            if piece == "▁":
                assert word == following

    def test_normalisation_may_add_spaces_inside_a_word(self, tokenizer):
        got = tokenizer.segment("a ﷺ man")  # one character that becomes four words
        assert got.words == ["a", "ﷺ", "man"]
        assert sorted(set(got.word_of_piece)) == [0, 1, 2]
        assert got.word_of_piece.count(1) == 8  # four spaces and four unknown runs

    @pytest.mark.parametrize("text", ["", " ", "\u200b", "\u2028\xa0", "▁▁"])
    def test_text_without_words_has_no_pieces(self, tokenizer, text):
        assert tokenizer.segment(text) == SegmentedSentence(text, text.split(), [], [])

    @settings(max_examples=300)
    @given(text=ANY_TEXT)
    def test_any_text(self, tokenizers, text):
        for tokenizer in tokenizers:
            got = tokenizer.segment(text)
            assert got.text == text and got.words == text.split()
            assert [got.ids] == tokenizer.encode([text])
            assert len(got.word_of_piece) == len(got.ids)
            assert got.word_of_piece == sorted(got.word_of_piece)
            assert all(0 <= word < len(got.words) for word in got.word_of_piece)
            assert not {PAD, BOS, EOS} & set(got.ids)

    @settings(max_examples=300)
    @given(words=st.lists(st.one_of(st.text(min_size=1, max_size=6), ODD), max_size=8))
    def test_each_word_has_its_pieces_as_if_alone(self, tokenizers, words):
        words = " ".join(words).split()
        identity, char = tokenizers[4], tokenizers[2]
        for tokenizer in (identity, char):
            together = tokenizer.segment(" ".join(words))
            alone = [tokenizer.segment(word).ids for word in words]
            if not any("▁" in word for word in words):  # SentencePiece takes this character for a space
                grouped = [
                    [i for i, w in zip(together.ids, together.word_of_piece, strict=True) if w == n]
                    for n in range(len(words))
                ]
                assert grouped == alone


class TestJoin:
    def test_example(self, tokenizers):
        char = tokenizers[2]
        of = {piece: i for i, piece in enumerate(char.pieces(range(char.size)))}
        ids = [BOS, of["▁"], of["t"], of["o"], of["▁"], of["▁"], UNK, of["a"], EOS, of["▁"], PAD]
        assert char.join(ids) == SegmentedSentence("to ⁇a", ["to", "⁇a"], ids, [0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1])

    @pytest.mark.parametrize("ids", [[], [PAD], [BOS, EOS]])
    def test_no_text(self, tokenizer, ids):
        assert tokenizer.join(ids) == SegmentedSentence("", [], ids, [0] * len(ids))

    @given(data=st.data())
    def test_any_ids(self, tokenizers, data):
        for tokenizer in tokenizers:
            ids = data.draw(st.lists(st.integers(0, tokenizer.size - 1), max_size=15))
            got = tokenizer.join(ids)
            assert [got.text] == tokenizer.decode([ids])
            assert got.ids == ids and got.words == got.text.split()
            assert got.word_of_piece == sorted(got.word_of_piece) and len(got.word_of_piece) == len(ids)
            assert all(0 <= word < max(1, len(got.words)) for word in got.word_of_piece)
            visible = {w for i, w in zip(ids, got.word_of_piece, strict=True) if tokenizer.decode([[i]]) != [""]}
            assert visible == set(range(len(got.words)))

    def test_segment_and_join_agree_on_a_known_sentence(self, tokenizers):
        for tokenizer in tokenizers:
            for line in LINES[::7]:
                there = tokenizer.segment(line)
                assert tokenizer.join(there.ids) == there._replace(text=line)

    @given(text=ANY_TEXT)
    def test_each_word_is_spelled_by_its_pieces(self, tokenizer, text):
        ids = tokenizer.encode([text])[0]
        got = tokenizer.join(ids)
        surfaces = owners(
            got, ["⁇" if i == UNK else piece for i, piece in zip(ids, tokenizer.pieces(ids), strict=True)]
        )
        assert [surfaces[n].replace("▁", "") for n in range(len(got.words))] == got.words
        assert unicodedata.normalize("NFC", got.text) == got.text or UNK in ids
