"""PO files: pairs to train on, messages that are filled in, plural forms, broken files."""

from __future__ import annotations

import time
from pathlib import Path

import polib
import pytest
from documents import PO_HEADER, pairs, same, translate
from hypothesis import given
from hypothesis import strategies as st

from nmt.text.errors import CorpusError


def write(folder: Path, *messages: str, header: str = PO_HEADER, encoding: str = "utf-8") -> Path:
    path = folder / "messages.po"
    path.write_bytes((header + "\n\n".join(messages)).encode(encoding))
    return path


PLURAL = 'msgid "%d file"\nmsgid_plural "%d files"\nmsgstr[0] ""\nmsgstr[1] ""\n'


class TestPairs:
    def test_translated_messages(self, tmp_path):
        path = write(
            tmp_path,
            'msgctxt "menu"\nmsgid ""\n"Say \\"hello\\",\\n"\n"twice"\nmsgstr "Dis\\tbonjour"',
            'msgid "open"\nmsgstr ""',
            '#, fuzzy\nmsgid "shut"\nmsgstr "ouvrir"',
            'msgid "one file"\nmsgid_plural "files"\nmsgstr[0] "un fichier"\nmsgstr[1] "fichiers"',
            '#~ msgid "old"\n#~ msgstr "vieux"',
            'msgid "a\u2028b\x0bc"\nmsgstr "d"',
        )
        expected = [('Say "hello", twice', "Dis bonjour"), ("open", ""), ("shut", ""), ("one file", "un fichier")]
        assert pairs(path) == [*expected, ("files", "fichiers"), ("a b c", "d")]
        assert pairs(path, "fr", "en")[0] == ("Dis bonjour", 'Say "hello", twice')

    def test_one_plural_form(self, tmp_path):
        path = write(tmp_path, 'msgid "file"\nmsgid_plural "files"\nmsgstr[0] "fichiers"')
        assert pairs(path) == [("files", "fichiers")]

    def test_translations_into_another_language_are_refused(self, tmp_path):
        path = write(tmp_path, 'msgid "garden"\nmsgstr "jardin"')
        with pytest.raises(CorpusError, match="its translations are in fr, expected de: name another language"):
            pairs(path, "en", "de")


class TestTranslation:
    def test_messages_are_filled_in_and_nothing_else_changes(self, tmp_path):
        path = write(
            tmp_path,
            '#: a.c:1\n#, c-format\nmsgid   "The %s is red."\nmsgstr ""',
            'msgid ""\n"one\\n"\n"two \\"x\\"\\n"\nmsgstr ""\n""',
            'msgid "done"\nmsgstr "fait"',
            '#, fuzzy\n#| msgid "x"\nmsgid "unsure"\nmsgstr "peut"',
            PLURAL,
            '#~ msgid "old"\n#~ msgstr ""',
        )
        output, document = translate(path, lambda text: text.replace("red", "röt"))
        expected = path.read_text("utf-8").replace('red."\nmsgstr ""', 'red."\nmsgstr "The %s is röt."')
        expected = expected.replace('msgstr ""\n""', 'msgstr ""\n"one\\n"\n"two \\"x\\"\\n"')
        expected = expected.replace('msgstr[0] ""', 'msgstr[0] "%d file"').replace('[1] ""', '[1] "%d files"')
        assert output.decode() == expected
        assert document.outcome.summary() == "3 units filled in; 2 had a translation (--all-units replaces them)"

    def test_everything_replaces_long_translations(self, tmp_path):
        path = write(tmp_path, 'msgid "a"\nmsgstr ""\n"b "\n"c"\n\n# end')
        assert translate(path, str.upper, everything=True)[0].decode() == PO_HEADER + 'msgid "a"\nmsgstr "A"\n\n# end'

    def test_plural_forms(self, tmp_path):
        three = PLURAL.strip() + '\nmsgstr[2] ""'
        output, document = translate(write(tmp_path, PLURAL.replace('msgstr[1] ""\n', ""), three), same)
        assert (
            output.decode()
            == PO_HEADER + 'msgid "%d file"\nmsgid_plural "%d files"\nmsgstr[0] "%d files"\n\n\n' + three
        )
        assert (
            "1 left untranslated: 1 with more than two plural forms, which a translator fills in (line 11)"
            in document.outcome.summary()
        )

    def test_a_message_with_a_plural_is_filled_whole_or_not_at_all(self, tmp_path):
        path = write(tmp_path, PLURAL)
        output, document = translate(path, lambda text: text.replace("%d files", "many"))
        assert output == path.read_bytes()
        assert "1 whose placeholders the translation lost (line 6)" in document.outcome.summary()

    def test_a_message_without_a_translation_does_not_take_that_of_the_next_one(self, tmp_path):
        path = write(tmp_path, 'msgid "a"', '# next\nmsgid "b"\nmsgstr ""')
        output, document = translate(path, str.upper)
        assert output == path.read_bytes()
        assert "1 without a place for a translation (msgstr) (line 6)" in document.outcome.summary()

    def test_line_ends_and_encoding_stay(self, tmp_path):
        header = PO_HEADER.replace("UTF-8", "ISO-8859-1")
        path = write(tmp_path, 'msgid "é"\nmsgstr ""\n', header=header, encoding="latin-1")
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
        output, _ = translate(path, same)
        assert output == path.read_bytes().replace(b'"\xe9"\r\nmsgstr ""', b'"\xe9"\r\nmsgstr "\xe9"')
        with pytest.raises(CorpusError, match="messages.po: its encoding ISO8859-1 lacks '€', which a translation has"):
            translate(path, lambda _: "€")

    @given(texts=st.lists(st.text(st.sampled_from('a %s"\\\n\t{}é\u2028<b>')), max_size=4, unique=True))
    def test_messages_come_back_as_translations(self, tmp_path_factory, texts):
        messages = [f'msgid "{polib.escape(text)}"\nmsgstr ""' for text in texts if text]
        path = write(tmp_path_factory.mktemp("any"), *messages)
        output, document = translate(path, same)
        assert document.outcome.filled == sum(bool(text.strip()) for text in texts)
        path.write_bytes(output)
        assert all(source == target for source, target in pairs(path))
        kept = [line for line in output.split(b"\n") if line.startswith(b"msgid")]
        assert kept[1:] == [message.split("\n")[0].encode() for message in messages]

    @pytest.mark.parametrize(
        ("message", "problem"),
        [
            ('msgid "a" b"\nmsgstr ""', r"line 6: broken PO file \(unescaped double quote found\): expected msgid"),
            ('msgid "a"\nnonsense\n', "line 7: broken PO file: expected msgid and msgstr"),
            ('msgstr "a"\nmsgstr "b"', "line 6: broken PO file"),
        ],
    )
    def test_broken_files_name_the_line(self, tmp_path, message, problem):
        path = write(tmp_path, message)
        for read in (lambda: pairs(path), lambda: translate(path, same)):
            with pytest.raises(CorpusError, match=f"^{path}, {problem}"):
                read()


class TestContent:
    """Only the file that is named is read, and only its header decides on its encoding."""

    def test_a_path_as_content_is_not_opened(self, tmp_path):
        other = write(tmp_path, 'msgid "secret"\nmsgstr "geheim"')
        (tmp_path / "trap.po").write_text(str(other))
        with pytest.raises(CorpusError, match="trap.po.*: broken PO file"):
            pairs(tmp_path / "trap.po")

    def test_a_message_with_a_declaration_is_no_header(self, tmp_path):
        message = 'msgid "Content-Type: text/html; charset=latin-1"\nmsgstr "é"'
        for header in (PO_HEADER, ""):
            assert pairs(write(tmp_path, message, header=header))[0][1] == "é"

    @pytest.mark.parametrize(
        "header",
        [
            "# é\n\n#, fuzzy\n" + PO_HEADER.replace("UTF-8", "latin-1"),
            'msgid ""\nmsgstr "Content-Type: text/plain; charset=latin-1\\n"\n\n',
            'msgid ""\r\nmsgstr ""\r\n"X: é\\n"\r\n"A: b\\nContent-Type: text/plain; charset=latin-1\\n"\r\n\r\n',
        ],
    )
    def test_headers(self, tmp_path, header):
        path = write(tmp_path, 'msgid "é"\nmsgstr "É"', header=header, encoding="latin-1")
        assert pairs(path) == [("é", "É")]

    def test_the_file_is_not_read_again_for_each_message(self, tmp_path):
        seconds = []
        for size in (1, 300):
            messages = (f'msgid "a{number}"\nmsgstr ""' for number in range(size))
            path = write(tmp_path, *messages, "# " + "long " * 400_000)
            start = time.process_time()
            translate(path, same)
            seconds.append(time.process_time() - start)
        assert seconds[1] < 100 * seconds[0]  # 300 times, if each message read the file
