"""Sentence pairs from two files and from TSV: line counts, invalid and empty sides, alignments, fingerprints."""

from __future__ import annotations

import gzip
import os
from dataclasses import replace
from pathlib import Path

import pytest
from text_files import files, parallel, standard_input

from nmt.alignment.errors import AlignmentError
from nmt.config import CorpusConfig, PairsConfig
from nmt.text.errors import CorpusError
from nmt.text.pairs import Pair, PairReader


class TestTwoFiles:
    def test_pairs_line_by_line(self, tmp_path):
        reader = PairReader(parallel(tmp_path, b"a b\n  c\t d \r\n", "ä\nö ö".encode()))
        assert list(reader) == [Pair("a b", "ä"), Pair("c\t d", "ö ö")]
        assert list(reader) == list(reader), "each iteration starts again"

    @pytest.mark.parametrize(("source", "target"), [(3, 2), (2, 3), (5, 0), (0, 1)])
    def test_unequal_counts_name_both(self, tmp_path, source, target):
        reader = PairReader(parallel(tmp_path, b"s\n" * source, b"t\n" * target))
        with pytest.raises(CorpusError, match=rf"source has {source} lines?, .*target has {target} lines?: the same"):
            list(reader)

    def test_pairs_before_the_shorter_file_ends_are_correct(self, tmp_path):
        reader = iter(PairReader(parallel(tmp_path, b"1\n2\n3\n", b"1\n2\n")))
        assert [next(reader), next(reader)] == [Pair("1", "1"), Pair("2", "2")]
        with pytest.raises(CorpusError):
            next(reader)

    def test_a_dropped_pair_takes_its_alignment_along(self, tmp_path):
        pairs = parallel(tmp_path, b"a\n\nc\nd\n", b"A\nB\n\xff\nD\n", alignment=b"0-0\n1-1\n2-2\n\n")
        reader = PairReader(pairs, CorpusConfig(on_invalid="drop"))
        assert list(reader) == [Pair("a", "A", "0-0"), Pair("d", "D", "")]

    def test_alignment_count_is_checked(self, tmp_path):
        reader = PairReader(parallel(tmp_path, b"a\nb\n", b"A\nB\n", alignment=b"0-0\n"))
        with pytest.raises(CorpusError, match="source has 2 lines, .*target has 2 lines, .*alignment has 1 line"):
            list(reader)

    def test_standard_input_is_read_once(self, tmp_path, monkeypatch):
        standard_input(monkeypatch, b"a\nb\n")
        reader = PairReader(PairsConfig(source="-", **files(tmp_path, target=b"A\nB\n")))
        assert list(reader) == [Pair("a", "A"), Pair("b", "B")]
        with pytest.raises(CorpusError, match="read only once"):
            list(reader)
        with pytest.raises(CorpusError, match="more than once"):
            PairReader(PairsConfig(source="-", target="-"))

    def test_missing_pairs_are_refused(self):
        with pytest.raises(CorpusError, match="no sentence pairs are given"):
            PairReader(PairsConfig())


class TestFingerprint:
    def test_fingerprint_depends_on_bytes_and_not_on_names(self, tmp_path):
        one = parallel(tmp_path, b"a\nb\n", b"A\nB\n", alignment=b"0-0\n0-0\n")
        (tmp_path / "copy").mkdir()
        same = parallel(tmp_path / "copy", b"a\nb\n", b"A\nB\n", alignment=b"0-0\n0-0\n")
        before = PairReader(one).fingerprint()
        assert PairReader(same).fingerprint() == before
        for field in ("source", "target", "alignment"):
            path = Path(getattr(one, field))
            content = path.read_bytes()
            path.write_bytes(content + b"\n")
            assert PairReader(one).fingerprint() != before
            path.write_bytes(content)
        assert PairReader(one).fingerprint() == before

    def test_documents_count_only_where_they_are_used(self, tmp_path):
        """Runs of version 0.1 saved fingerprints without documents, and their text has not changed."""
        assert "document" not in PairReader(parallel(tmp_path, b"a\n", b"A\n")).fingerprint()
        unit = b'<tu><tuv xml:lang="en"><seg>a</seg></tuv><tuv xml:lang="de"><seg>A</seg></tuv></tu>'
        found = []
        for name, content in (("a.tmx", unit), ("b.tmx", unit), ("c.tmx", unit + unit)):
            path = files(tmp_path, **{name: b'<tmx><header srclang="en"/><body>' + content + b"</body></tmx>"})[name]
            found.append(PairReader(PairsConfig(document=path)).fingerprint())
        assert found[0] == found[1] != found[2]

    def test_fingerprint_depends_on_the_columns(self, tmp_path):
        (tmp_path / "pairs.tsv").write_bytes(b"a\tA\n")
        tsv = PairsConfig(tsv=str(tmp_path / "pairs.tsv"))
        assert PairReader(tsv).fingerprint() != PairReader(replace(tsv, source_column=2, target_column=1)).fingerprint()

    def test_streams_and_missing_files_have_no_fingerprint(self, tmp_path):
        with pytest.raises(CorpusError, match="nowhere: No such file or directory: expected a text file"):
            PairReader(PairsConfig(source="nowhere", target="nowhere")).fingerprint()
        with pytest.raises(CorpusError, match="standard input can be read only once"):
            PairReader(PairsConfig(source="-", **files(tmp_path, target=b"A\n"))).fingerprint()
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(CorpusError, match="pipe can be read only once, the pairs are needed again: use files"):
            PairReader(PairsConfig(source=str(tmp_path / "pipe"), **files(tmp_path, target=b"A\n"))).fingerprint()

    def test_alignments_that_do_not_fit_their_pairs_are_refused(self, tmp_path):
        for links, message in ((b"SURE", "alignment, line 2: 'SURE' is no link"), (b"0-1", "alignment, line 2: ")):
            reader = PairReader(parallel(tmp_path, b"a b\nb\n", b"A B\nB\n", alignment=b"0-1 1-0\n" + links + b"\n"))
            with pytest.raises(AlignmentError, match=message):
                list(reader)


class TestInvalidAndEmpty:
    SOURCE = b"a\nb\xff\n\nd\n\xfe\n \t\ng\n"
    TARGET = b"A\nB\nC\n\xe2\x80\nE\nF\nG\n"

    def test_invalid_stops_by_default(self, tmp_path):
        reader = PairReader(parallel(tmp_path, self.SOURCE, self.TARGET))
        with pytest.raises(
            CorpusError, match="source, line 2: not valid UTF-8 from its byte 2 on.*on_invalid drop leave"
        ):
            list(reader)

    def test_invalid_and_empty_pairs_are_dropped_and_counted(self, tmp_path):
        reader = PairReader(parallel(tmp_path, self.SOURCE, self.TARGET), CorpusConfig(on_invalid="drop"))
        assert list(reader) == [Pair("a", "A"), Pair("g", "G")]
        report = reader.report
        assert (report.read, report.kept, report.empty, report.invalid) == (7, 2, 2, 3)
        places = [f"{tmp_path}/{place}" for place in ("source, line 2", "target, line 4", "source, line 5")]
        assert report.examples == places
        assert report.summary() == (
            f"7 pairs read, 2 kept; dropped: 2 with an empty side, 3 not valid UTF-8 ({'; '.join(places)})"
        )

    def test_report_of_clean_pairs_and_of_the_last_complete_iteration(self, tmp_path):
        reader = PairReader(parallel(tmp_path, b"a\nb\n", b"A\nB\n"))
        next(iter(reader))
        assert reader.report.read == 0
        for _ in range(2):
            list(reader)
            assert reader.report.summary() == "2 pairs read, 2 kept"

    def test_a_column_of_numbers_in_place_of_sentences_is_reported(self, tmp_path):
        (tmp_path / "pairs.tsv").write_text("id\tEnglish\n1\tThe cat\n2\tThe dog\n3\tNo. 4\n")
        reader = PairReader(PairsConfig(tsv=str(tmp_path / "pairs.tsv")))
        list(reader)
        advice = "3 sources have no letters: check the files, and the columns of a TSV file"
        assert reader.report.summary() == f"4 pairs read, 4 kept; {advice}"

    def test_many_invalid_lines_are_counted_not_listed(self, tmp_path):
        pairs = parallel(tmp_path, b"\xff\n" * 50, b"A\n" * 50)
        reader = PairReader(pairs, CorpusConfig(on_invalid="drop"))
        assert list(reader) == []
        assert reader.report.invalid == 50 and len(reader.report.examples) == 3
        assert reader.report.summary().endswith("line 3, ...)")

    @pytest.mark.parametrize(
        ("source", "target", "where"), [(b"a\n \n", b"A\nB\n", "source"), (b"a\nb", b"A\n\n", "target")]
    )
    def test_empty_can_stop(self, tmp_path, source, target, where):
        reader = PairReader(parallel(tmp_path, source, target), CorpusConfig(on_empty="stop"))
        with pytest.raises(CorpusError, match=f"{where}, line 2: no sentence: .*corpus.on_empty"):
            list(reader)


class TestTsv:
    def read(self, folder: Path, content: bytes, name: str = "pairs.tsv", **values) -> list[Pair]:
        (folder / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return list(PairReader(PairsConfig(tsv=str(folder / name), **values)))

    def test_columns(self, tmp_path):
        content = "\ufeff1\tHallo\tx\tHello\r\n2\tTschüss\ty\tBye\n".encode()
        expected = [Pair("Hallo", "Hello"), Pair("Tschüss", "Bye")]
        assert self.read(tmp_path, content, source_column=2, target_column=4) == expected
        assert self.read(tmp_path, content, source_column=4, target_column=2) == [
            Pair(p.target, p.source) for p in expected
        ]
        assert self.read(tmp_path, content, "pairs.tsv.gz", source_column=2, target_column=4) == expected
        assert self.read(tmp_path, content)[0] == Pair("1", "Hallo")

    def test_quotes_are_ordinary_characters(self, tmp_path):
        content = b'"open\t"shut"\n""\t\'\n'
        assert self.read(tmp_path, content) == [Pair('"open', '"shut"'), Pair('""', "'")]

    def test_a_line_with_too_few_columns_is_dropped_with_its_links_and_counted(self, tmp_path):
        (tmp_path / "pairs.tsv").write_bytes(b"a\tA\nno tab\nc\tC\n\tD\n")
        pairs = PairsConfig(tsv=str(tmp_path / "pairs.tsv"), **files(tmp_path, alignment=b"0-0\n7-7\n\n\n"))
        reader = PairReader(pairs)
        assert list(reader) == [Pair("a", "A", "0-0"), Pair("c", "C", "")]
        report = reader.report
        assert (report.read, report.kept, report.empty, report.malformed) == (4, 2, 1, 1)
        place = f"{tmp_path}/pairs.tsv, line 2"
        assert f"4 pairs read, 2 kept; dropped: 1 with an empty side, 1 malformed ({place}: 1 " in report.summary()

    def test_malformed_lines_are_counted_not_listed(self, tmp_path):
        (tmp_path / "pairs.tsv").write_bytes(b"no tab\n" * 50 + b"a\tA\n" * 50)
        reader = PairReader(PairsConfig(tsv=str(tmp_path / "pairs.tsv")))
        assert len(list(reader)) == 50
        assert reader.report.malformed == 50 and len(reader.report.malformed_examples) == 3

    def test_a_line_with_too_few_columns_can_stop(self, tmp_path):
        (tmp_path / "pairs.tsv").write_bytes(b"a\tA\nb\tB\nno tab\n")
        reader = PairReader(PairsConfig(tsv=str(tmp_path / "pairs.tsv")), CorpusConfig(on_malformed="stop"))
        with pytest.raises(CorpusError, match=r"tsv, line 3: 1 column, expected at least 2 .*on_malformed drop leaves"):
            list(reader)

    def test_a_wrong_column_is_refused(self, tmp_path):
        """A file whose rows are mostly malformed is read with wrong settings, and this shows before its end."""
        with pytest.raises(CorpusError, match=r"tsv, line 1: 2 columns, expected at least 3 .*2 of 3 rows are"):
            self.read(tmp_path, b"a\tb\nd\te\nd\te\tf\n", target_column=3)
        with pytest.raises(CorpusError, match=r"1000 of 1000 rows are malformed"):
            self.read(tmp_path, b"a b\n" * 2500)

    def test_blank_line_is_an_empty_pair(self, tmp_path):
        (tmp_path / "pairs.tsv").write_bytes(b"a\tA\n\n\tC\nd\tD\n")
        reader = PairReader(
            PairsConfig(tsv=str(tmp_path / "pairs.tsv"), **files(tmp_path, alignment=b"0-0\n2\n3\n0p0\n"))
        )
        assert list(reader) == [Pair("a", "A", "0-0"), Pair("d", "D", "0p0")]
        assert reader.report.empty == 2

    def test_only_the_columns_used_must_be_valid(self, tmp_path):
        assert self.read(tmp_path, b"a\tA\t\xff\n") == [Pair("a", "A")]
        with pytest.raises(CorpusError, match="pairs.tsv, line 1: not valid UTF-8"):
            self.read(tmp_path, b"a\t\xff\n")
