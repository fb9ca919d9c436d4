"""Fuzz targets for text: links, pairs, documents, glossaries, markup, vectors."""

from __future__ import annotations

import gzip
from functools import partial
from pathlib import Path

from oracle import read_or_refused, target

from nmt.alignment.pharaoh_and_naacl import format_pharaoh, parse_pharaoh, read_gold
from nmt.config import PairsConfig
from nmt.explaining.embeddings.word2vec_format import read_word2vec, write_word2vec
from nmt.text.documents import declared_languages, open_document, read_pairs
from nmt.text.formats import line_pairs, text_pairs
from nmt.text.languages import UNKNOWN
from nmt.text.lines import raw_lines, read_lines
from nmt.text.markup import parse_markup, plain_text
from nmt.translation.glossary import Glossary


def _lines(data: bytes) -> list[str]:
    return data.decode("utf-8", "replace").split("\n")


def check_pharaoh(data: bytes, place: Path) -> None:
    """Links that were read and written are the same links."""
    for line in _lines(data):
        if gold := read_or_refused(parse_pharaoh, line, "links:1"):
            assert parse_pharaoh(format_pharaoh(*gold), "links:1") == gold
    read_or_refused(partial(read_gold, base=1), _lines(data), "links")


def check_naacl(data: bytes, place: Path) -> None:
    """Sentences without links are there too, so a file of few lines may not ask for a billion sentences."""
    found = read_or_refused(partial(read_gold, sentences=50), _lines(data), "links", "naacl")
    assert found is None or len(found) == 50


def check_tsv(data: bytes, place: Path) -> None:
    """A pair for each line, however it is read."""
    (path := place / "pairs.tsv").write_bytes(data)
    count = read_or_refused(lambda: len(list(raw_lines(str(path)))))
    for read in (line_pairs, text_pairs):
        pairs = read_or_refused(lambda read=read: list(read(PairsConfig(tsv=str(path)))))
        assert pairs is None or len(pairs) == count


def check_lines(data: bytes, place: Path) -> None:
    """As many lines as a plain file has, compressed or not, and as a damaged .gz file."""
    plain, packed, damaged = place / "lines", place / "lines.gz", place / "damaged.gz"
    plain.write_bytes(data)
    packed.write_bytes(gzip.compress(data, 1))
    damaged.write_bytes(data)
    read = [read_or_refused(lambda path=path: list(read_lines(str(path)))) for path in (plain, packed, damaged)]
    assert read[0] == read[1]
    assert read[0] is None or len(read[0]) == data.count(b"\n") + (not data.endswith(b"\n") and data != b"")


def check_document(name: str, data: bytes, place: Path) -> None:
    """A document is read and filled in; the result is a document that can be read again."""
    (path := place / name).write_bytes(data)
    if not name.endswith(".srt"):
        read_or_refused(lambda: list(read_pairs(str(path), UNKNOWN)))
        read_or_refused(declared_languages, str(path), UNKNOWN)
    for everything, codes in ((False, False), (True, True)):
        document = read_or_refused(open_document, str(path), UNKNOWN, everything, codes)
        if document is None:
            continue
        texts = document.texts()
        assert len(document.kinds()) == len(texts)
        if not codes:
            for text in texts:
                assert "\n" not in text, "a sentence of several lines"
        filled = read_or_refused(document.filled, [text.upper() for text in texts])
        if filled is not None:
            path.write_bytes(filled)
            again = open_document(str(path), UNKNOWN, True, codes)
            assert not texts or again.units
        path.write_bytes(data)


def check_glossary(data: bytes, place: Path) -> None:
    """Each term occurs in its own source."""
    (path := place / "glossary.tsv").write_bytes(data)
    glossary = read_or_refused(Glossary.load, str(path))
    for term in glossary.terms if glossary else ():
        assert glossary.of(term.source), term


def check_markup(data: bytes, place: Path) -> None:
    """The parts of a line are the line."""
    for line in _lines(data)[:20]:
        for kind in ("auto", "html", "xliff"):
            parsed = parse_markup(line, kind)
            assert "".join(item.raw for item in parsed.items) == line
            parsed.encode(plain_text(line, kind))


def check_word2vec(data: bytes, place: Path) -> None:
    """Vectors that were read and written are the same."""
    (path := place / "vectors.txt").write_bytes(data)
    if found := read_or_refused(read_word2vec, path):
        if not found[0]:
            return
        write_word2vec(path, *found)
        again = read_word2vec(path)
        assert again[0] == found[0]
        assert again[1].tobytes() == found[1].tobytes() or not (found[1] == found[1]).all()


TMX = (
    b'<?xml version="1.0"?><tmx version="1.4"><header srclang="en"/><body><tu><tuv xml:lang="en"><seg>A &amp; '
    b'<bpt i="1">&lt;b&gt;</bpt>B<ept i="1"/></seg></tuv><tuv xml:lang="de"><seg>C</seg></tuv></tu>'
    b'<tu><tuv xml:lang="en"><seg>No <hi>target</hi> {0}</seg></tuv></tu></body></tmx>'
)
XLIFF_1 = (
    b'<xliff version="1.2"><file source-language="en" target-language="fr"><body><trans-unit id="1"><source>The '
    b'<g id="1">red</g> car<x id="2"/></source></trans-unit><trans-unit id="2"><source>B</source><target state="new">'
    b"C</target><note/></trans-unit></body></file></xliff>"
)
XLIFF_2 = (
    b'<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="en" trgLang="fr"><file id="f">'
    b'<unit id="1"><segment><source>A <pc id="1">b</pc><ph id="2"/></source></segment><ignorable><source> </source>'
    b'</ignorable><segment state="initial"><source>B</source><target>B</target></segment></unit></file></xliff>'
)
PO = (
    b'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n"Language: fr\\n"\n\n'
    b'#, fuzzy\nmsgctxt "menu"\nmsgid "Say \\"hi\\" %s\\n"\n"twice"\nmsgstr ""\n\n'
    b'msgid "%d file"\nmsgid_plural "%d files"\nmsgstr[0] ""\nmsgstr[1] ""\n\n#~ msgid "old"\n#~ msgstr "vieux"\n'
)
SRT = (
    b"1\n00:00:01,000 --> 00:00:02,500\n- <i>Hello</i> there.\n- Who are you?\n\n"
    b"2\n00:00:03,000 --> 00:00:04,500\nA sentence that goes on\nand ends. {\\an8}\n\n"
)


TARGETS = {
    "pharaoh": target(check_pharaoh, b"0-0 1-2 3p4\n1-1\n"),
    "naacl": target(check_naacl, b"1 3 2 S\n2 1 1 P 0.5\n"),
    "tsv": target(check_tsv, b"a b\tc d\ne\tf\n\n", b"\xef\xbb\xbfa\tb\tc\r\n"),
    "lines": target(check_lines, b"one\ntwo\r\n\xc3\xa9\n", gzip.compress(b"one\ntwo\n", 9, mtime=0)),
    "tmx": target(partial(check_document, "memory.tmx"), TMX),
    "xliff": target(partial(check_document, "text.xliff"), XLIFF_1, XLIFF_2),
    "po": target(partial(check_document, "messages.po"), PO),
    "srt": target(partial(check_document, "film.srt"), SRT),
    "glossary": target(check_glossary, "US dollar\tdollar\tdollars|dollar\n猫\tchat\n".encode()),
    "markup": target(check_markup, b'A <b class="x">bold</b> &amp; {0} %s<br/>\n<g id="1">a</g><ph id="2"/>\n'),
    "word2vec": target(check_word2vec, b"2 3\na 0.1 0.2 0.3\nb 1e-4 -2 3\n"),
}
