"""Translation memories: pairs to train on, languages, inline markup, added translations, broken files."""

from __future__ import annotations

import codecs
import gzip
import re
import tracemalloc
from pathlib import Path
from xml.sax.saxutils import escape

import documents
import pytest
from documents import pairs, same, tmx, translate, tuv
from hypothesis import given
from hypothesis import strategies as st

from nmt.config import CorpusConfig, PairsConfig
from nmt.text.documents import declared_languages, read_pairs
from nmt.text.errors import CorpusError
from nmt.text.pairs import Pair, PairReader

UNIT = tuv("en", "The garden") + tuv("de", "Der Garten")


def write(folder: Path, content: bytes, name: str = "memory.tmx") -> Path:
    (folder / name).write_bytes(content)
    return folder / name


class TestPairs:
    def test_entities_inline_codes_and_line_breaks(self, tmp_path):
        source = 'A &amp; <bpt i="1">&lt;b&gt;</bpt>B<ept i="1">&lt;/b&gt;</ept>\n  &#67;<hi>D</hi><ph>{0}</ph>'
        path = write(tmp_path, tmx(tuv("en", source) + tuv("de", "<![CDATA[<x>]]> é")))
        assert pairs(path) == [("A & B CD", "<x> é")]

    def test_regions_belong_to_their_language(self, tmp_path):
        units = [tuv("en-US", "a") + tuv("de_DE", "A"), tuv("de", "B") + tuv("EN", "b")]
        assert pairs(write(tmp_path, tmx(*units, header='srclang="en"'))) == [("a", "A"), ("b", "B")]

    def test_named_languages_choose_and_the_exact_tag_wins(self, tmp_path):
        path = write(tmp_path, tmx(tuv("en", "a") + tuv("pt", "p") + tuv("pt-BR", "b") + tuv("fr", "f")))
        assert pairs(path, "fr", "pt-br") == [("f", "b")]
        assert pairs(path, "en-GB", "pt") == [("a", "p")]

    def test_another_script_is_another_language(self, tmp_path):
        path = write(tmp_path, tmx(tuv("en", "a") + tuv("zh-CN", "甲") + tuv("zh-Hant", "乙")))
        assert pairs(path, "en", "zh-TW") == [("a", "乙")]
        assert pairs(path, "en", "zh") == [("a", "甲")]

    def test_a_declared_encoding_of_two_bytes_in_text_of_one_is_ignored(self, tmp_path):
        content = tmx(tuv("en", "é") + tuv("fr", "è")).replace(b'"UTF-8"', b'"utf-16"')
        path = write(tmp_path, content)
        assert pairs(path) == [("é", "è")]
        assert translate(path, same, "en", "de")[0] == content.replace(b"</tu>", tuv("de", "é").encode() + b"</tu>")

    def test_old_language_attribute_and_a_unit_without_the_target(self, tmp_path):
        units = ['<tuv lang="en"><seg>a</seg></tuv><tuv lang="de"><seg>A</seg></tuv>', tuv("en", "b")]
        assert pairs(write(tmp_path, tmx(*units))) == [("a", "A"), ("b", "")]

    def test_text_like_a_declaration_declares_no_encoding(self, tmp_path):
        source = "Content-Type: text/html; charset=latin1"
        assert pairs(write(tmp_path, tmx(tuv("en", source) + tuv("fr", "é")))) == [(source, "é")]

    def test_tags_of_no_language(self, tmp_path):
        path = write(tmp_path, tmx(tuv("x-one", "a") + tuv("x-two", "b"), header='srclang="x-one"'))
        assert pairs(path) == [("a", "b")]
        assert declared_languages(str(path), documents.languages()) == documents.languages()

    @pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16", "UTF-16-LE", "ISO-8859-1", "Shift_JIS", "UTF-8-sig"])
    def test_encodings(self, tmp_path, encoding):
        text = "日本" if encoding == "Shift_JIS" else "é"
        content = tmx(tuv("en", "a") + tuv("fr", text), encoding=encoding)
        mark = codecs.BOM_UTF16_LE if encoding == "UTF-16-LE" else b""
        assert pairs(write(tmp_path, mark + content)) == [("a", text)]

    def test_the_reader_of_pairs_counts_malformed_units_by_line(self, tmp_path):
        bad = ["", "<tuv><seg>a</seg></tuv>", '<tuv xml:lang="en"><prop/></tuv>']
        path = write(tmp_path, gzip.compress(tmp := tmx(UNIT, *bad, UNIT, UNIT, tuv("en", "x"))), "memory.tmx.gz")
        reader = PairReader(PairsConfig(document=str(path)))
        assert list(reader) == [Pair("The garden", "Der Garten")] * 3
        report = reader.report
        assert (report.read, report.kept, report.empty, report.malformed) == (7, 3, 1, 3)
        assert report.malformed_examples[0] == f"{path}, line 7: a unit without variants (tuv)"
        assert report.malformed_examples[2].startswith(f"{path}, line 9: a variant (tuv) without a segment")
        assert tmp.splitlines()[8].strip() == b"<tu>" + bad[2].encode() + b"</tu>"
        with pytest.raises(CorpusError, match="line 7: a unit without variants"):
            list(PairReader(PairsConfig(document=str(path)), CorpusConfig(on_malformed="stop")))

    def test_empty_sides_name_their_line(self, tmp_path):
        path = write(tmp_path, tmx(UNIT, tuv("en", "") + tuv("de", "A")))
        with pytest.raises(CorpusError, match="memory.tmx, line 7: no sentence"):
            list(PairReader(PairsConfig(document=str(path)), CorpusConfig(on_empty="stop")))

    def test_declared_languages(self, tmp_path):
        path = str(write(tmp_path, tmx(tuv("en-US", "only"), UNIT)))
        assert declared_languages(path, documents.languages()) == documents.languages("en", "de")
        assert declared_languages(path, documents.languages("de")) == documents.languages("de", "en-US")


class TestRefused:
    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (
                tmx(UNIT, tuv("fr", "x")),
                "line 7: has the language fr beside en and de: name both, with --corpus",
            ),
            (tmx(UNIT, header='srclang="*all*"'), "does not say which language is the source .en is among its"),
            (tmx(tuv("en", "a"), tuv("en", "b")), "no unit has text in en; the file's languages: en"),
            (tmx(UNIT)[:-20], r"line 6, column 101: broken XML \(the file ends too early\): mend it there, or export"),
            (tmx(UNIT).replace(b"</seg>", b"</sag>", 1), "line 6, column 45: broken XML .mismatched tag"),
            (tmx(tuv("en", "a &nbsp; b")), "line 6: unknown entity &nbsp;"),
            (tmx(tuv("en", "a \xff"), encoding="latin1").replace(b"latin1", b"UTF-8"), "line 6, .*broken XML"),
            (tmx(UNIT).replace(b"UTF-8", b"klingon"), "declares the unknown encoding klingon: convert it to UTF-8"),
            (tmx(UNIT).replace(b"UTF-8", b"undefined"), "declares the unknown encoding undefined: convert it to UTF-8"),
            (b"", "line 1, column 1: broken XML"),
            (b"<a>" * 1000, "line 1: more than 200 elements within each other"),
        ],
    )
    def test_files_that_cannot_be_read_are_one_line(self, tmp_path, content, message):
        with pytest.raises(CorpusError, match=f"^{tmp_path}/memory.tmx[:,] ?{message}"):
            pairs(write(tmp_path, content))

    @pytest.mark.parametrize(
        "declaration",
        [
            '<!ENTITY a "b">',
            '<!ENTITY a SYSTEM "file:///etc/passwd">',
            '<!ENTITY % a SYSTEM "http://localhost/x"> %a;',
            '<!ENTITY a "b"><!ENTITY c "&a;&a;&a;">',
        ],
    )
    def test_declared_entities_are_never_read(self, tmp_path, declaration):
        content = tmx(tuv("en", "&a;")).replace(b'SYSTEM "tmx14.dtd"', f"[{declaration}]".encode())
        with pytest.raises(CorpusError, match="line 2: declares the entity a, which is not read"):
            pairs(write(tmp_path, content))

    def test_default_attributes_of_a_dtd_are_not_read(self, tmp_path):
        declaration = f'[<!ATTLIST tuv xml:lang CDATA "de" long CDATA "{"x" * 50_000}">]'
        content = tmx("<tuv><seg>a</seg></tuv>" * 2_000, UNIT)
        path = write(tmp_path, content.replace(b'SYSTEM "tmx14.dtd"', declaration.encode()))
        tracemalloc.start()
        rows = list(read_pairs(str(path), documents.languages("en", "de")))
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert rows[0].problem.startswith("a variant (tuv) without a language")
        assert most < 10_000_000

    def test_documents_are_not_read_as_lines(self, tmp_path):
        path = str(write(tmp_path, tmx(UNIT)))
        with pytest.raises(CorpusError, match="a TMX file has both sides: give it as the document"):
            list(PairReader(PairsConfig(source=path, target=path)))
        with pytest.raises(CorpusError, match="has no pairs to read: expected a name that ends in .tmx"):
            list(PairReader(PairsConfig(document="pairs.csv")))
        with pytest.raises(CorpusError, match=r"missing.tmx: No such file or directory: expected a text file"):
            list(PairReader(PairsConfig(document="missing.tmx")))


class TestTranslation:
    def test_a_variant_is_added_like_the_source_and_an_empty_one_is_filled(self, tmp_path):
        spread = '\n      <tuv xml:lang="en">\n        <seg>Red &lt; blue</seg>\n      </tuv>\n    '
        content = tmx(spread, tuv("en", "b") + '<tuv xml:lang="fr-FR"><seg/></tuv>', tuv("en", "c") + tuv("fr", "C"))
        output, document = translate(write(tmp_path, content), str.upper, "en", "fr")
        assert document.outcome.summary().startswith("2 units filled in; 1 had a translation")
        added = '\n      <tuv xml:lang="fr">\n        <seg>RED &lt; BLUE</seg>\n      </tuv>'
        expected = content.decode().replace("blue</seg>\n      </tuv>", f"blue</seg>\n      </tuv>{added}")
        assert output.decode() == expected.replace("<seg/>", "<seg>B</seg>")

    def test_enclosing_codes_stay_and_a_unit_with_codes_inside_is_left(self, tmp_path):
        inside = tuv("en", 'The <bpt i="1">b</bpt>red<ept i="1">/b</ept> garden')
        around = tuv("en", ' <bpt i="1">b</bpt>garden<ept i="1">/b</ept> ')
        content = tmx(inside, around)
        output, document = translate(write(tmp_path, content), str.upper, "en", "fr")
        added = around.replace('"en"', '"fr"').replace("garden", "GARDEN")
        assert output.decode() == content.decode().replace(around, around + added)
        assert "1 left untranslated: 1 with markup inside the text (line 6)" in document.outcome.summary()

    def test_an_indented_segment_is_one_text(self, tmp_path):
        segment = "\n      This is a long\n      sentence.\n    "
        path = write(tmp_path, tmx(tuv("en", segment), tuv("en", "a\nb\n\n c")))
        output, document = translate(path, str.upper, "en", "fr")
        assert document.texts() == ["This is a long sentence.", "a", "b", "c"]
        assert tuv("fr", "\n      THIS IS A LONG SENTENCE.\n    ") in output.decode()
        path = write(tmp_path, tmx(tuv("en", segment)).replace(b"<seg>", b'<seg xml:space="preserve">'))
        assert translate(path, same, "en", "fr")[1].texts() == ["This is a long", "sentence."]

    def test_another_region_or_script_is_another_language_to_fill(self, tmp_path):
        unit = tuv("en", "a") + tuv("zh-CN", "甲")
        output, _ = translate(write(tmp_path, tmx(unit)), str.upper, "en", "zh-TW", everything=True)
        assert output == tmx(unit + tuv("zh-TW", "A"))
        unit = tuv("en", "a") + tuv("pt-PT", "p") + tuv("pt", "q")
        output, _ = translate(write(tmp_path, tmx(unit)), str.upper, "en", "pt-BR", everything=True)
        assert output == tmx(unit.replace("q", "A"))

    def test_units_without_the_source_language_are_counted_or_refused(self, tmp_path):
        path = write(tmp_path, tmx(tuv("en", "a"), tuv("de", "b"), "<tuv><seg>c</seg></tuv>"))
        summary = translate(path, same, "en", "fr")[1].outcome.summary()
        assert summary.startswith("1 unit filled in; 2 left untranslated: 1 without text in en (line 7), 1 that cannot")
        with pytest.raises(
            CorpusError, match="no unit has text in es, .*; the file's languages: en, de: give --source"
        ):
            translate(path, same, "es", "fr")

    def test_everything_and_the_language_to_add(self, tmp_path):
        path = write(tmp_path, tmx(tuv("en", "a") + tuv("fr", "X")))
        assert translate(path, str.upper, "", "fr", everything=True)[0] == tmx(tuv("en", "a") + tuv("fr", "A"))
        with pytest.raises(CorpusError, match="the language to add is unknown: give --target-language"):
            translate(path, same)
        path = write(tmp_path, tmx(UNIT, header='srclang="*all*"'))
        with pytest.raises(CorpusError, match="does not say which language is the source: give --source-language"):
            translate(path, same, "", "fr")

    @pytest.mark.parametrize("encoding", ["UTF-16", "ISO-8859-1"])
    def test_the_encoding_stays(self, tmp_path, encoding):
        content = tmx(tuv("en", "é"), encoding=encoding)
        output, _ = translate(write(tmp_path, content), lambda text: text + "€", "en", "fr")
        written = "é€" if encoding == "UTF-16" else "é&#8364;"
        assert output == tmx(tuv("en", "é") + tuv("fr", written), encoding=encoding)

    LETTERS = st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="\ufffe\uffff")
    SEGMENT = st.lists(
        st.one_of(
            st.text(LETTERS).map(escape),
            st.sampled_from(["&lt;b&gt;", "%s", "{0}", "&#13;", "\n", "\r\n", "<![CDATA[<]]>", "<!-- c -->", "<?p?>"]),
            st.sampled_from(['<ph x="1"/>', '<bpt i="1">&lt;</bpt>', "<ept/>", "<hi>b</hi>", "<it><sub>s</sub></it>"]),
        ),
        max_size=4,
    ).map("".join)

    @given(segments=st.lists(SEGMENT, min_size=1, max_size=4))
    def test_only_the_added_variants_differ(self, tmp_path_factory, segments):
        """Filled with themselves, texts come back and the rest is as it was. Blank translations change nothing."""
        content = tmx(*(tuv("en", segment) for segment in [*segments, "a"]))
        path = write(tmp_path_factory.mktemp("any"), content)
        output, document = translate(path, same, "en", "fr")
        assert re.sub(rb'<tuv xml:lang="fr">.*?</tuv>', b"", output, flags=re.DOTALL) == content
        filled = [(source, target) for source, target in pairs(write(path.parent, output)) if target]
        assert len(filled) == document.outcome.filled == len(document.units)
        assert all(source == target for source, target in filled)
        assert translate(write(path.parent, content), lambda _: " ", "en", "fr")[0] == content
