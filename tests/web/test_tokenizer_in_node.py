"""SentencePiece in JavaScript encodes and decodes as the library does."""

from __future__ import annotations

import base64
import io
import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
from node_process import NODE, modules, run_node

from nmt.config import CorpusConfig, VocabularyConfig
from nmt.text.languages import words_of
from nmt.text.sentencepiece_training import single_spaced
from nmt.text.sentences import split_sentences
from nmt.text.tokenizer import Tokenizer

pytestmark = pytest.mark.skipif(NODE is None, reason="needs Node.js: apt-get install nodejs")

DEMO = Path(__file__).parents[2] / "data" / "demo"

ODD = """ﬁ Ａｂ① ½ é e\u0301 Ǆ İ ß \u00a0 \u3000 \u200b \ufeff \u00ad \u2581 ▁▁ \t \r \x1c \x85 \x00 \x7f 한글 ㈱ ｶﾞ が
が 😀 👩‍👩‍👧 ﷺ ア゛ ... … « » “ ” ' ’ <s> </s> <unk> <pad> ⁇ 漢字 ไทย עִבְרִית हिन्दी \U0010ffff \ud7ff \ue000"""
"""Characters that normalisation changes or removes, that vocabularies lack, and that look like special pieces."""


def fuzzed(count: int, seed: int = 1) -> list[str]:
    """Lines of demo words, parts of words, odd characters, repeated letters and gaps."""
    draw = random.Random(seed)
    words = [word for name in ("test.en", "test.fr") for word in (DEMO / name).read_text(encoding="utf-8").split()]

    def part() -> str:
        word = draw.choice(words)
        kinds = [
            word,
            word[: draw.randrange(len(word) + 1)],
            word.upper(),
            draw.choice(re.split("[ \n]", ODD)),
            draw.choice(word) * 7,
        ]
        return draw.choices([*kinds, chr(draw.randrange(1, 0xD800))], [8, 3, 1, 4, 1, 1])[0]

    def line() -> str:
        return "".join(part() + draw.choices(["", " ", "  "], [2, 6, 1])[0] for _ in range(draw.randrange(1, 12)))

    return ["", " ", *(line() for _ in range(count - 2))]


KINDS: dict[str, dict[str, Any]] = {
    "bpe": {"type": "bpe", "normalization": "nmt_nfkc", "symbols": ("<br>", "Ａ", "the")},
    "unigram": {"type": "unigram", "normalization": "nfc", "symbols": ("<br>",)},
    "char": {"type": "char", "normalization": "nmt_nfkc_cf"},
    "word": {"type": "word", "normalization": "identity", "character_coverage": 0.98},
}


def trained(changes: dict[str, Any], lines: Sequence[str]) -> Tokenizer:
    return Tokenizer.train(lines, VocabularyConfig(**{"size": 300, **changes}))


def of_bytes(lines: Sequence[str]) -> Tokenizer:
    """A vocabulary that writes a character that it lacks as bytes; nmt reads such a one, and never trains it."""
    model, special = io.BytesIO(), {"pad_id": 0, "unk_id": 1, "bos_id": 2, "eos_id": 3}
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=model,
        vocab_size=400,
        byte_fallback=True,
        minloglevel=2,
        remove_extra_whitespaces=False,
        **special,
    )
    return Tokenizer(model.getvalue())


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return modules(tmp_path_factory.mktemp("engine"))


IMPORTS = """
import { Tokenizer } from "./engine/tokenizer.js";
import { spacedWords } from "./engine/words.js";
"""
SCRIPT = """
const shown = ({ words, ids, wordOfPiece }) => [words, ids, wordOfPiece];
const read = (name) => new Tokenizer(Buffer.from(input.models[name], "base64"), spacedWords);
return Object.fromEntries(Object.keys(input.models).map((name) => [name, [read(name)].map((made) => ({
    encoded: input.lines.map((line) => made.encode(line)),
    decoded: input.ids[name].map((ids) => made.decode(ids)),
    segmented: input.lines.map((line) => shown(made.segment(line))),
    joined: input.ids[name].map((ids) => shown(made.join(ids))),
}))[0]]));
"""


def expected(one: Tokenizer, lines: list[str], ids: list[list[int]]) -> Iterator[tuple[str, list[Any], list[Any]]]:
    """What the library makes of lines and ids: a name, the inputs and the results."""
    yield "encoded", lines, one.encode(lines)
    yield "decoded", ids, one.decode(ids)
    if b"<0x00>" not in one._model:  # nmt cuts text by such a vocabulary, but does not align its bytes
        yield "segmented", lines, [[s.words, s.ids, s.word_of_piece] for s in map(one.segment, lines)]
        yield "joined", ids, [[s.words, s.ids, s.word_of_piece] for s in map(one.join, ids)]


def assert_equal_to_the_library(engine: Path, vocabularies: dict[str, Tokenizer], lines: list[str]) -> None:
    draw = random.Random(2)

    def some_ids(one: Tokenizer) -> list[list[int]]:
        drawn = [[draw.randrange(one.size) for _ in range(draw.randrange(9))] for _ in lines]
        return [draw.choice(both) for both in zip(drawn, one.encode(lines), strict=True)]

    ids = {name: some_ids(one) for name, one in vocabularies.items()}
    models = {name: base64.b64encode(one._model).decode() for name, one in vocabularies.items()}
    found = run_node(engine, IMPORTS, SCRIPT, {"models": models, "lines": lines, "ids": ids})
    for name, one in vocabularies.items():
        for what, inputs, results in expected(one, lines, ids[name]):
            for given, wanted, got in zip(inputs, results, found[name][what], strict=True):
                assert got == wanted, (name, what, given)


@pytest.fixture(scope="module")
def vocabularies() -> dict[str, Tokenizer]:
    lines = (DEMO / "test.fr").read_text(encoding="utf-8").splitlines()[:300] + ["が 😀 ½ ①"] * 3
    return {name: trained(changes, lines) for name, changes in KINDS.items()} | {"bytes": of_bytes(lines)}


def test_a_few_lines_are_cut_and_joined_as_the_library_does(engine: Path, vocabularies: dict[str, Tokenizer]) -> None:
    assert_equal_to_the_library(engine, vocabularies, fuzzed(75))


@pytest.mark.slow
def test_ten_thousand_lines_are_cut_and_joined_as_the_library_does(
    engine: Path, vocabularies: dict[str, Tokenizer]
) -> None:
    assert_equal_to_the_library(engine, vocabularies, fuzzed(10_000, seed=2))


UNSPACED = ["古い庭は空です。", "私の妹は庭で寝ます 12.5 km", "パン屋は大きな家を二軒買った!", "㍿の庭", ""] * 2
DIVIDED = """
return [new Tokenizer(Buffer.from(input.model, "base64"), (text) => input.words[text])].flatMap((made) => [
    ...input.lines.map((line) => made.segment(line)), ...input.ids.map((ids) => made.join(ids)),
]).map(({ words, ids, wordOfPiece, divided }) => [words, ids, wordOfPiece, [...divided]]);
"""


def test_pieces_over_several_words_of_an_unspaced_language_are_divided(engine: Path) -> None:
    words = words_of(CorpusConfig(source_language="ja"))[0]
    one = trained({"type": "bpe", "size": 60, "normalization": "nmt_nfkc"}, UNSPACED).with_words(words)
    ids = one.encode(UNSPACED)
    texts = {*map(single_spaced, UNSPACED), *one.decode(ids)}
    values = {
        "model": base64.b64encode(one._model).decode(),
        "lines": UNSPACED,
        "ids": ids,
        "words": {text: words(text) for text in texts},
    }
    found = run_node(engine, IMPORTS, DIVIDED, values)
    expected = [*map(one.segment, UNSPACED), *map(one.join, ids)]
    assert any(sentence.divided for sentence in expected)
    for got, wanted in zip(found, expected, strict=True):
        assert got[:3] == [wanted.words, wanted.ids, wanted.word_of_piece]
        assert [(piece, pytest.approx(shares)) for piece, shares in got[3]] == [(p, list(s)) for p, s in wanted.divided]


LANGUAGES = """
import { splitSentences } from "./engine/source_text.js";
import { unspacedWords } from "./engine/words.js";
"""
CUT = "return input.map((tag) => [splitSentences('My cat sleeps. The dog eats.', tag), unspacedWords(tag)('a b')]);"


def test_a_tag_that_browsers_refuse_is_read_as_its_language(engine: Path) -> None:
    tags = ["en", "", "und", "en-a", "zh-Hant-TW"]
    assert all(CorpusConfig(source_language=tag) for tag in tags)
    assert run_node(engine, LANGUAGES, CUT, tags) == [[["My cat sleeps. ", "The dog eats."], ["a", "b"]]] * len(tags)


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ("Dr. Emma sleeps in the old garden.", 1),
        ("He saw Mrs. Smith. She smiled at him.", 2),
        ("M. Martin dort. Il est tard.", 2),
        ("Ich kenne Prof. Maier. Er ist alt, vgl. die Seite.", 2),
        ("The order came first. It was late.", 2),
    ],
)
def test_an_abbreviation_ends_no_sentence(engine: Path, line: str, count: int) -> None:
    parts = run_node(engine, LANGUAGES, "return splitSentences(input, 'en');", line)
    assert "".join(parts) == line and len(parts) == count


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ("Visit https://example.com/search?Query=Cats for more.", 1),
        ("Yahoo!Mail is fine.", 1),
        ("Was?Nein! Das geht nicht.", 2),
        ("The garden\u2028house\x85is near.", 1),
        ("He sleeps.\u3000She eats.", 2),
    ],
)
def test_a_sentence_ends_at_white_space_as_nmt_has_it(engine: Path, line: str, count: int) -> None:
    parts = run_node(engine, LANGUAGES, "return splitSentences(input, 'en');", line)
    assert parts == split_sentences(line, "en") and len(parts) == count


def test_text_without_spaces_between_words_needs_none_behind_a_sentence(engine: Path) -> None:
    line = "猫が寝ている。犬が食べる。 v1.2!OK"
    parts = run_node(engine, LANGUAGES, "return splitSentences(input, 'ja', true);", line)
    assert parts[0] == "猫が寝ている。" and parts[-1].endswith("v1.2!OK")
