"""XLIFF 1.2 and 2.0: pairs to train on, targets that are filled in, states, places in the file."""

from __future__ import annotations

from pathlib import Path

import pytest
from documents import languages, pairs, same, translate, xliff
from hypothesis import given
from hypothesis import strategies as st

from nmt.text.documents import open_document
from nmt.text.errors import CorpusError

XLIFF_2 = """<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="en"{target}>
<file id="f"><unit id="1">
{segments}
</unit></file></xliff>
"""
UNIT = "<trans-unit><source>garden</source><target>{}</target></trans-unit>"
TWO_LANGUAGES = f"""<xliff version="1.2">
<file source-language="en" target-language="fr">{UNIT.format("jardin")}</file>
<file source-language="en" target-language="de">{UNIT.format("Garten")}</file>
</xliff>
"""
STATE = 'state="needs-review-translation" state-qualifier="mt-suggestion"'


def write(folder: Path, content: str | bytes) -> Path:
    path = folder / "text.xlf"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


class TestPairs:
    def test_translated_units_of_version_1(self, tmp_path):
        path = write(
            tmp_path,
            xliff(
                '<source>The <g id="1">red</g> car<x id="2"/></source><target>La voiture <g id="1">rouge</g></target>',
                '<source>A</source><target state="new">A</target>',
                "<source>B</source>",
                "<source>C</source><target>C</target><alt-trans><source>c</source><target>x</target></alt-trans>",
                "<note>no source</note>",
            ),
        )
        assert pairs(path) == [("The red car", "La voiture rouge"), ("A", ""), ("B", ""), ("C", "C")]
        assert pairs(path, "fr", "en")[0] == ("La voiture rouge", "The red car")
        assert pairs(path, "en", "fr")[0] == ("The red car", "La voiture rouge")

    def test_translated_segments_of_version_2(self, tmp_path):
        segments = (
            '<segment><source>A <pc id="1">b</pc><ph id="2"/></source><target>X</target></segment>'
            '<segment state="initial"><source>B</source><target>B</target></segment>'
            "<ignorable><source> </source></ignorable>"
            '<segment state="final"><source>C</source><target>D</target></segment>'
        )
        path = write(tmp_path, XLIFF_2.format(target=' trgLang="fr"', segments=segments))
        assert pairs(path) == [("A b", "X"), ("B", ""), ("C", "D")]

    def test_a_code_between_two_words_parts_them(self, tmp_path):
        path = write(tmp_path, xliff('<source>One<x id="1"/>two <bx id="2"/>thr<ex id="2"/>ee<x id="3"/>.</source>'))
        assert pairs(path) == [("One two three.", "")]

    def test_units_for_another_language_have_an_empty_side(self, tmp_path):
        path = write(tmp_path, TWO_LANGUAGES)
        assert pairs(path, "en", "de") == [("garden", ""), ("garden", "Garten")]
        assert pairs(path, "fr", "en") == [("jardin", "garden"), ("", "")]
        with pytest.raises(CorpusError, match="no unit has text in en and es; the file's languages: en, fr, de"):
            pairs(path, "en", "es")
        with pytest.raises(CorpusError, match="line 3: has the language de beside en and fr: name both"):
            pairs(path)

    def test_regions_of_one_language_keep_their_order(self, tmp_path):
        path = write(
            tmp_path,
            xliff(
                "<source>colour</source><target>color</target>",
                attributes='source-language="en-GB" target-language="en-US"',
            ),
        )
        assert pairs(path, "en-GB", "en-US") == [("colour", "color")]


class TestTranslation:
    @pytest.mark.parametrize(
        ("before", "after"),
        [
            ("<source>A</source>", f"<source>A</source><target {STATE}>a</target>"),
            ("<source>A</source>\n  <note/>", f"<source>A</source><target {STATE}>a</target>\n  <note/>"),
            ("\n  <source>A</source>\n", f"\n  <source>A</source>\n  <target {STATE}>a</target>\n"),
            (
                "<source>A</source><seg-source><mrk>A</mrk></seg-source>",
                f"<source>A</source><seg-source><mrk>A</mrk></seg-source><target {STATE}>a</target>",
            ),
            ("<source>A</source><target/>", f"<source>A</source><target {STATE}>a</target>"),
            (
                "<source>A</source><target note=\"a state='x'\" state='new' id='2'>A</target>",
                "<source>A</source><target note=\"a state='x'\" state=\"needs-review-translation\" id='2' "
                'state-qualifier="mt-suggestion">a</target>',
            ),
            (
                '<source> <g id="1">A &lt; B</g></source>',
                f'<source> <g id="1">A &lt; B</g></source><target {STATE}> <g id="1">a &lt; b</g></target>',
            ),
            ('<source>A <x id="1"/> B</source>', None),
            ("<source>A</source><target>B</target>", None),
            ('<source>A</source><target state="signed-off">B</target>', None),
            ("<source> </source>", None),
        ],
    )
    def test_the_target_of_version_1(self, tmp_path, before, after):
        output, _ = translate(write(tmp_path, xliff(before)), str.lower)
        assert output == xliff(after or before)

    def test_units_that_must_not_be_translated(self, tmp_path):
        content = (
            xliff("<source>A</source>", "<source>B</source><target/>")
            .replace(b'<trans-unit id="1">', b'<group translate="no"><trans-unit id="1">')
            .replace(b"</source></trans-unit>", b"</source></trans-unit></group>", 1)
            .replace(b'id="2"', b'approved="yes" id="2"')
        )
        assert translate(write(tmp_path, content), same, everything=True)[0] == content

    def test_units_for_another_language_stay(self, tmp_path):
        path = write(tmp_path, TWO_LANGUAGES)
        output, document = translate(path, str.upper, "en", "de", everything=True)
        assert output.decode() == TWO_LANGUAGES.replace("<target>Garten", f"<target {STATE}>GARDEN")
        assert "1 left untranslated: 1 for translations into fr (line 2)" in document.outcome.summary()
        assert translate(path, str.upper, "en", "es", everything=True)[1].outcome.filled == 2

    @pytest.mark.parametrize("newline", ["\n", "\r\n"])
    def test_line_breaks_within_codes_stay_within_their_sentence(self, tmp_path, newline):
        source = 'Press <ph id="1"\nequiv="x"/> now\n   and go<!-- not\nread --> on\nor <ph>a\nb</ph> wait'
        path = write(tmp_path, xliff(f"<source>{source}</source>").replace(b"\n", newline.encode()))
        document = open_document(str(path), languages("en", "fr"), False, codes=True)
        assert document.texts() == [
            'Press <ph id="1"\nequiv="x"/> now and go<!-- not\nread --> on',
            "or <ph>a\nb</ph> wait",
        ]

    def test_text_that_must_not_be_translated_is_left_to_the_markup(self, tmp_path):
        protected = ['<mrk mtype="protected">The garden</mrk>', '<pc id="1" translate="no">The garden</pc>']
        path = write(tmp_path, xliff(*(f"<source>{text}</source>" for text in protected)))
        assert open_document(str(path), languages("en", "fr"), False, codes=True).texts() == protected
        assert translate(path, same)[1].outcome.summary().startswith("0 units filled in; 2 left")

    def test_the_target_language_is_added_once(self, tmp_path):
        content = xliff("<source>A</source>", "<source>B</source>", attributes='source-language="en"')
        output, _ = translate(write(tmp_path, content), same, "en", "fr")
        assert output.count(b'<file original="a" datatype="plaintext" source-language="en" target-language="fr">') == 1
        assert translate(write(tmp_path, content), same)[0].count(b"target-language") == 0

    def test_version_2(self, tmp_path):
        before = (
            "<segment>\n <source>A</source>\n</segment>\n<segment state='initial'><source>B</source><target/></segment>"
        )
        after = (
            '<segment state="translated">\n <source>A</source>\n <target>a</target>\n</segment>\n'
            '<segment state="translated"><source>B</source><target>b</target></segment>'
        )
        output, document = translate(write(tmp_path, XLIFF_2.format(target="", segments=before)), str.lower, "en", "fr")
        assert output.decode() == XLIFF_2.format(target=' trgLang="fr"', segments=after)
        assert document.outcome.filled == 2

    def test_prefixes_of_elements(self, tmp_path):
        content = xliff("<source>A</source>").decode().replace("<source>", "<x:source>").replace("/source", "/x:source")
        output, _ = translate(write(tmp_path, content), str.lower)
        assert f"</x:source><x:target {STATE}>a</x:target>" in output.decode()

    def test_units_are_counted_by_what_becomes_of_them(self, tmp_path):
        content = xliff(
            "<source>Click {name}</source>",
            '<source>Two <x id="1"/> parts</source>',
            "<source>{n, plural, one {# file} other {# files}}</source>",
            "<source>Done</source><target>Fini</target>",
            "<source>Lines\n\n of text</source>",
        )
        output, document = translate(write(tmp_path, content), lambda text: text.replace("{name}", "X").lower())
        assert document.outcome.summary() == (
            "1 unit filled in; 1 had a translation (--all-units replaces them); 3 left untranslated: "
            "2 with markup inside the text (line 5), 1 whose placeholders the translation lost (line 4)"
        )
        assert b">lines\n\n of text</target>" in output

    @given(texts=st.lists(st.text(st.sampled_from("a b<&>\"'é\n]")), min_size=1, max_size=4))
    def test_sources_come_back_as_targets(self, tmp_path_factory, texts):
        from xml.sax.saxutils import escape

        content = xliff(*(f"<source>{escape(text)}</source>" for text in texts))
        path = write(tmp_path_factory.mktemp("any"), content)
        output, document = translate(path, same)
        assert document.outcome.filled == sum(bool(text.strip()) for text in texts)
        assert all(source == target for source, target in pairs(write(path.parent, output)))

    def test_broken_files_name_the_line(self, tmp_path):
        with pytest.raises(CorpusError, match=r"text.xlf, line 4, column \d+: broken XML"):
            translate(write(tmp_path, xliff("<source>A</target>")), same)
