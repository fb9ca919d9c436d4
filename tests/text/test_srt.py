"""Subtitles: times stay, texts are translated and broken into lines anew."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from documents import same, translate
from hypothesis import given
from hypothesis import strategies as st

from nmt.text.documents.srt import reflow
from nmt.text.errors import CorpusError


def cue(number: int, text: str) -> str:
    return f"{number}\n00:00:{number:02d},000 --> 00:00:{number + 1:02d},500\n{text}\n\n"


def write(folder: Path, *texts: str) -> Path:
    path = folder / "film.srt"
    path.write_bytes("".join(cue(number, text) for number, text in enumerate(texts, 1)).encode())
    return path


@pytest.mark.parametrize(
    ("text", "sentences", "written"),
    [
        ("A house.", ["A house."], "A HOUSE."),
        ("This is\na house.", ["This is a house."], "THIS IS A HOUSE."),
        ("- Yes.\n- No.", ["Yes.", "No."], "- YES.\n- NO."),
        ("-Yes.\n-No.", ["-Yes.", "-No."], "-YES.\n-NO."),
        ("{\\an8}<i>Far\naway</i>", ["Far away"], "{\\an8}<i>FAR AWAY</i>"),
        ("<i>Far</i>\n<i>away</i>", ["Far", "away"], "<i>FAR</i>\n<i>AWAY</i>"),
        ("It is <i>far</i>", ["It is <i>far</i>"], None),
        (
            "The old garden behind the house is empty and\nnobody goes there in the evening.",
            ["The old garden behind the house is empty and nobody goes there in the evening."],
            "THE OLD GARDEN BEHIND THE HOUSE IS EMPTY\nAND NOBODY GOES THERE IN THE EVENING.",
        ),
    ],
)
def test_cues(tmp_path, text, sentences, written):
    path = write(tmp_path, text, "", "last")
    output, document = translate(path, str.upper)
    assert document.texts() == [*sentences, "last"]
    assert output.decode() == cue(1, written or text) + cue(2, "") + cue(3, "LAST")


def test_line_ends_and_byte_order_mark_stay(tmp_path):
    path = write(tmp_path, "one\ntwo", "x")
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n").rstrip())
    assert translate(path, str.upper)[0] == path.read_bytes().replace(b"one\r\ntwo", b"ONE TWO").replace(b"x", b"X")
    longer = "a word " * 8
    assert longer[:27].encode() + b"\r\n" in translate(path, lambda _: longer)[0]
    assert b"\n" not in translate(path, lambda _: longer)[0].replace(b"\r\n", b"")


@given(
    texts=st.lists(st.text(st.sampled_from("ab é-<i>/{}\n")).map(lambda text: re.sub(r"\n\s*", "\n", text)), max_size=4)
)
def test_numbers_and_times_stay(tmp_path_factory, texts):
    path = write(tmp_path_factory.mktemp("any"), *texts)
    output, document = translate(path, same)
    assert output.decode().split() == path.read_bytes().decode().split()
    times = [line for line in output.splitlines() if b" --> " in line]
    assert times == [line for line in path.read_bytes().splitlines() if b" --> " in line]
    assert translate(path, lambda _: "")[0] == path.read_bytes()


@given(words=st.lists(st.text("ab", min_size=1, max_size=12), min_size=1, max_size=20), width=st.integers(12, 42))
def test_reflowed_lines_are_few_short_and_whole(words, width):
    lines = reflow(" ".join(words), width)
    assert " ".join(lines).split() == words
    assert all(len(line) <= width for line in lines)
    assert len(lines) == len(reflow(" ".join(words), max(map(len, lines))))
    widest = max(map(len, lines))
    assert widest == max(map(len, words)) or len(reflow(" ".join(words), widest - 1)) > len(lines)


def test_a_tag_is_not_broken():
    assert reflow('<font color="red">aaaa bbbb</font>', 4) == ['<font color="red">aaaa', "bbbb</font>"]


def test_text_outside_cues_names_its_line(tmp_path):
    path = write(tmp_path, "one", "two")
    path.write_bytes(b"\n\nno cue\n\n" + path.read_bytes())
    with pytest.raises(CorpusError, match=f"^{path}, line 3: broken subtitles: expected a number"):
        translate(path, same)
    path.write_bytes(b"words\n")
    with pytest.raises(CorpusError, match="line 1: broken subtitles"):
        translate(path, same)
    path.write_bytes(b"1\n00:00:01,000 --> 00:00:02,000\n\xff\n")
    with pytest.raises(CorpusError, match="line 3: not valid UTF-8: convert the file to UTF-8"):
        translate(path, same)


@pytest.mark.parametrize(
    "content", ["1" * 20_000, "1:" * 10_000, "1\n" * 10_000, "0:0:0 " + "-" * 20_000, "0:0:0" + " " * 20_000]
)
def test_nonsense_is_refused_at_once(tmp_path, content):
    (tmp_path / "film.srt").write_text(content)
    start = time.process_time()
    with pytest.raises(CorpusError, match="line 1: broken subtitles"):
        translate(tmp_path / "film.srt", same)
    assert time.process_time() - start < 0.5


def test_heads_of_cues(tmp_path):
    """Without a number, without an empty line before, with an empty line inside, with dots, with places."""
    content = (
        "00:00:01.0 --> 00:00:02.0 X1:0 X2:9\nat\n10:20:30 sharp\n2\n0:0:3,0 --> 0:0:4,0\na\n\nb\n\n"
        "3\n\n00:00:05,000 --> 00:00:06,000\n\nc\n\n\n4\n00:00:07,000 --> 00:00:08,000"
    )
    (tmp_path / "film.srt").write_text(content)
    output, document = translate(tmp_path / "film.srt", str.upper)
    assert document.texts() == ["at 10:20:30 sharp", "a b", "c"]
    assert [unit.line for unit in document.units] == [2, 6, 14]
    expected = (
        content.replace("at\n10:20:30 sharp", "AT 10:20:30 SHARP").replace("a\n\nb", "A B").replace("\nc\n", "\nC\n")
    )
    assert output.decode() == expected


@pytest.mark.parametrize("head", ["2\n00:00:03,000 -> 00:00:04,000\n", "00:00:03,000\n"])
def test_a_broken_head_names_its_line(tmp_path, head):
    path = write(tmp_path, "one")
    path.write_bytes(path.read_bytes() + head.encode() + b"two\n")
    with pytest.raises(CorpusError, match="line 5: broken subtitles"):
        translate(path, same)
