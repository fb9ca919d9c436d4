"""Lines of text files: line ends, compression, standard input, invalid and damaged files."""

from __future__ import annotations

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st
from text_files import files, standard_input

from nmt.text.errors import CorpusError
from nmt.text.lines import read_lines


class TestReadLines:
    def test_only_newlines_end_a_line(self, tmp_path):
        text = "one\u2028still\x0bone\x85\x0c\x1c\rone\r\n\n two \nno end"
        path = files(tmp_path, text=text.encode())["text"]
        assert list(read_lines(path)) == ["one\u2028still\x0bone\x85\x0c\x1c\rone", "", " two ", "no end"]

    @given(lines=st.lists(st.text().map(lambda line: line.replace("\n", "").rstrip("\r")), max_size=6))
    def test_any_lines_come_back(self, tmp_path_factory, lines):
        path = tmp_path_factory.mktemp("any") / "text"
        path.write_bytes("".join(f"{line}\n" for line in lines).encode())
        expected = [lines[0].removeprefix("\ufeff"), *lines[1:]] if lines else []
        assert list(read_lines(str(path))) == expected

    def test_byte_order_mark_is_removed_at_the_start_only(self, tmp_path):
        path = files(tmp_path, text="\ufeffa\n\ufeffb".encode())["text"]
        assert list(read_lines(path)) == ["a", "\ufeffb"]

    def test_a_byte_order_mark_alone_is_no_line(self, tmp_path):
        assert list(read_lines(files(tmp_path, text=b"\xef\xbb\xbf")["text"])) == []
        assert list(read_lines(files(tmp_path, text=b"\xef\xbb\xbf\n")["text"])) == [""]

    def test_compressed(self, tmp_path):
        (tmp_path / "text.gz").write_bytes(gzip.compress("ä\nö\n".encode()))
        assert list(read_lines(str(tmp_path / "text.gz"))) == ["ä", "ö"]

    def test_standard_input_is_utf8_whatever_the_locale(self, monkeypatch):
        standard_input(monkeypatch, "ä\r\nö".encode())
        assert list(read_lines("-")) == ["ä", "ö"]

    def test_invalid_utf8_names_the_line(self, tmp_path):
        path = files(tmp_path, text="a\u2028b\nc\n".encode() + b"good \xff bad\n")["text"]
        with pytest.raises(CorpusError, match=f"^{path}, line 3: not valid UTF-8 from its byte 6 on: convert"):
            list(read_lines(path))

    @pytest.mark.parametrize("name", ["missing", "missing.gz", ".", "folder.gz"])
    def test_no_such_file(self, tmp_path, name):
        (tmp_path / "folder.gz").mkdir()
        path = str(tmp_path / name)
        with pytest.raises(CorpusError, match=f"^{path}: (No such file|Is a directory).*: expected a text file$"):
            list(read_lines(path))

    def test_a_mistyped_name_is_answered_with_the_similar_file(self, tmp_path):
        (tmp_path / "sent.en").touch()
        (tmp_path / "snet.e").mkdir()
        with pytest.raises(CorpusError, match=f"expected a text file; did you mean {tmp_path}/sent.en[?]$"):
            list(read_lines(str(tmp_path / "snet.en")))
        with pytest.raises(CorpusError, match="expected a text file$"):
            list(read_lines(str(tmp_path / "folder" / "sent.en")))

    def test_truncated_compressed_file(self, tmp_path):
        whole = gzip.compress("".join(f"line {i * i}\n" for i in range(9999)).encode())
        (tmp_path / "text.gz").write_bytes(whole[: len(whole) // 2])
        with pytest.raises(CorpusError, match=r"text.gz: cut off or damaged after line [1-9]\d+ "):
            list(read_lines(str(tmp_path / "text.gz")))

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"plain text", "is not compressed, whatever its name says"),
            (gzip.compress(b"text" * 99, mtime=0)[:12] + b"\xff" * 50, "cut off or damaged after line 0"),
        ],
    )
    def test_damaged_compressed_file(self, tmp_path, content, message):
        (tmp_path / "text.gz").write_bytes(content)
        with pytest.raises(CorpusError, match=f"text.gz: {message}"):
            list(read_lines(str(tmp_path / "text.gz")))

    @pytest.mark.parametrize("name", ["UTF-16", "UTF-32"])
    @pytest.mark.parametrize("order", ["LE", "BE"])
    def test_text_with_the_mark_of_another_encoding_is_named(self, tmp_path, name, order):
        path = files(tmp_path, text="\ufeffein Haus\nein Garten\n".encode(name + order))["text"]
        with pytest.raises(CorpusError) as error:
            list(read_lines(path))
        assert str(error.value) == (
            f"{path}, line 1: this is {name} text by its byte order mark, expected UTF-8: convert it with "
            f"iconv -f {name} -t utf-8 FILE > NEW"
        )

    def test_latin_1_has_its_remedy(self, tmp_path):
        path = files(tmp_path, text="ein Haus\nein grünes\n".encode("latin-1"))["text"]
        with pytest.raises(
            CorpusError, match=r"line 2: not valid UTF-8 from its byte 7 on.* iconv -f latin1 -t utf-8 FILE"
        ):
            list(read_lines(path))
