"""Files of other kinds: .zst, Parquet and remote ones; a missing package is one line."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import pytest

from nmt.config import CorpusConfig, PairsConfig
from nmt.errors import NmtError
from nmt.files.reading import file_state, is_remote, matching_files
from nmt.text.errors import CorpusError
from nmt.text.lines import digest_text, raw_chunks, read_lines
from nmt.text.pairs import CorpusReport, PairReader
from nmt.text.row_blocks import row_blocks

zstd = pytest.importorskip("backports.zstd")
fsspec = pytest.importorskip("fsspec")
arrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

LINES = ["one line", "zweite Zeile ü", "", "x" * 3000]


def test_zst_files_are_read(tmp_path: Path) -> None:
    content = "".join(f"{line}\n" for line in LINES).encode()
    path = tmp_path / "text.ZST"
    path.write_bytes(zstd.compress(content[:20]) + zstd.compress(content[20:]))  # two frames, as of pzstd
    assert list(read_lines(str(path))) == LINES
    assert b"".join(raw_chunks(str(path))) == content


def test_damaged_zst_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "text.zst"
    path.write_bytes(zstd.compress(b"line\n" * 10**5)[:-9])
    with pytest.raises(CorpusError, match=r"text\.zst: cut off or damaged after line \d+ .*: fetch it again"):
        list(read_lines(str(path)))
    path.write_bytes(b"plain text\n")
    with pytest.raises(CorpusError, match="is not compressed, whatever its name says: take .zst off its name"):
        list(read_lines(str(path)))


def test_remote_files_are_read() -> None:
    with fsspec.open("memory://folder/a.txt", "wb") as file:
        file.write(b"\xef\xbb\xbfone\r\ntwo\n")
    with fsspec.open("memory://folder/b.gz", "wb", compression="gzip") as file:
        file.write(b"three\n")
    assert list(read_lines("memory://folder/a.txt")) == ["one", "two"]
    assert list(read_lines("memory://folder/b.gz")) == ["three"]
    assert digest_text("memory://folder/a.txt") == hashlib.sha256(b"\xef\xbb\xbfone\r\ntwo\n").hexdigest()
    assert file_state("memory://folder/a.txt").size == 12
    names = matching_files("memory://folder/*")
    assert [name.rpartition("/")[2] for name in names] == ["a.txt", "b.gz"]
    assert all(map(is_remote, names))
    with pytest.raises(CorpusError, match="memory://none: .*expected a text file"):
        list(read_lines("memory://none"))
    with pytest.raises(NmtError, match="no file has such a name"):
        matching_files("memory://none/*")


def test_a_server_that_cannot_be_reached_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    account = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "c"}
    for name, value in {**account, "AWS_ENDPOINT_URL": "http://127.0.0.1:9"}.items():
        monkeypatch.setenv(name, value)
    for names in ("s3://bucket/folder/*.gz", "s3://bucket/*/a.gz", "s3://bucket/a.gz"):
        with pytest.raises(NmtError, match=r"^s3://bucket\S+: cannot be read: .*127\.0\.0\.1") as raised:
            file_state(*matching_files(names))
        assert "\n" not in str(raised.value)
    with pytest.raises(NmtError, match="strange://a: .*strange"):
        list(read_lines("strange://a"))


@pytest.mark.parametrize("missing", ["backports.zstd", "fsspec", "pyarrow.parquet"])
def test_a_missing_package_is_one_line_that_names_the_extra(missing, tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    pairs = {
        "backports.zstd": PairsConfig(source="a.zst", target="b"),
        "fsspec": PairsConfig(source="memory://a", target="memory://b"),
        "pyarrow.parquet": PairsConfig(parquet="a.parquet"),
    }[missing]
    monkeypatch.chdir(tmp_path)
    for name in ("a.zst", "b", "a.parquet"):
        (tmp_path / name).write_bytes(b"x\n")
    with pytest.raises(
        NmtError, match=rf"needs {missing.removesuffix('.parquet')}.*: .* -m pip install .* -e '\.\[corpora\]'$"
    ):
        list(PairReader(pairs))


def write_table(path: Path, **columns: object) -> str:
    parquet.write_table(arrow.table(columns), path, row_group_size=2)
    return str(path)


def test_parquet_pairs(tmp_path: Path) -> None:
    both = [{"en": "a b", "fr": "c d"}, {"en": "tab\tand\nline", "fr": "e"}, {"en": None, "fr": "f"}]
    path = write_table(tmp_path / "t.parquet", id=[1, 2, 3], translation=both, x=["p", "q", "r"])
    reader = PairReader(PairsConfig(parquet=path, parquet_source="translation.en", parquet_target="translation.fr"))
    assert [pair[:2] for pair in reader] == [("a b", "c d"), ("tab\tand line", "e")]  # as a line of a file
    assert reader.report.empty == 1
    assert [pair[:2] for pair in PairReader(PairsConfig(parquet=path, parquet_target="x"))][0] == ("a b", "p")
    with pytest.raises(CorpusError, match=r"no column of text named 'id': set parquet_source to one of: transl.*, x"):
        list(PairReader(PairsConfig(parquet=path, parquet_source="id")))
    with pytest.raises(CorpusError, match=r"t\.parquet: has no second column of text: set parquet_target"):
        list(PairReader(PairsConfig(parquet=write_table(tmp_path / "t.parquet", x=["p"]))))
    with pytest.raises(CorpusError, match=r"n\.parquet: has no column of text: expected two"):
        list(PairReader(PairsConfig(parquet=write_table(tmp_path / "n.parquet", id=[1]))))
    (tmp_path / "bad.parquet").write_bytes(b"no table")
    with pytest.raises(CorpusError, match=r"bad\.parquet: damaged, or not a Parquet file"):
        list(PairReader(PairsConfig(parquet=str(tmp_path / "bad.parquet"))))


def test_parquet_columns_with_dots_and_lists(tmp_path: Path) -> None:
    columns = {"tags": [["t"]], "text.en": ["a"], "text.fr": ["b"]}
    path = write_table(tmp_path / "t.parquet", **columns)
    assert [pair[:2] for pair in PairReader(PairsConfig(parquet=path))] == [("a", "b")]


def test_blocks_have_the_rows_and_their_places(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_bytes(b"a\tb\nno columns\nc\td\n\xff\te\nf\tg\n")
    pairs = PairsConfig(tsv=str(tmp_path / "t.tsv"))
    whole = PairReader(pairs)
    blocks = list(row_blocks(pairs, 2))
    assert [block.rows for block in blocks] == [2, 2, 1]
    reader, report = PairReader(pairs, CorpusConfig(on_invalid="drop")), CorpusReport()
    found = [pair[:2] for block in blocks for pair in reader.pairs_of(block.open(), report, whole=False)]
    assert found == [("a", "b"), ("c", "d"), ("f", "g")]
    assert (report.read, report.malformed, report.invalid) == (5, 1, 1)
    assert report.malformed_examples[0].startswith(f"{tmp_path}/t.tsv, line 2: 1 column, expected")
    with pytest.raises(CorpusError, match="line 4: not valid UTF-8"):
        list(whole)
    with pytest.raises(CorpusError, match="line 4: not valid UTF-8"):
        list(whole.pairs_of(blocks[1].open(), CorpusReport(), whole=False))
