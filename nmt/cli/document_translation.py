"""`nmt translate` of a document: a PO, XLIFF, TMX or SRT file, filled in."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from nmt.cli.files import require_files_of_their_own
from nmt.cli.flags import add_language_flags
from nmt.cli.loading import checked, languages_from_flags, lines_of, loaded, say, say_if_cut
from nmt.cli.parser import Parser, refuse_idle
from nmt.cli.request_files import RequestFiles
from nmt.errors import NmtError
from nmt.files.outputs import open_outputs
from nmt.text.documents import Document, document_kind, file_of_kind, open_document
from nmt.text.languages import Language
from nmt.text.languages.matching import may_be_same

if TYPE_CHECKING:
    from nmt.translation.translator import Translator

_ONLY_LINES = ("resume", "nbest", "alignments", "prefixes", "phrases")
"""Flags that count lines."""
_ONLY_DOCUMENTS = ("all_units", "source_language", "target_language")
_IDLE = {
    "PO": ("source_language", "target_language"),
    "SRT": ("all_units", "source_language", "target_language"),
    "XLIFF": ("source_language",),
}
"""Flags without effect on documents of a kind."""


def add_document_flags(parser: Parser) -> None:
    """Flags for documents."""
    group = parser.add_argument_group(
        "documents",
        "Input that ends in .po, .pot, .xliff, .xlf, .tmx or .srt (or .gz behind it) is a document. Its untranslated "
        "units are filled in, and the rest stays as it is.",
    )
    group.add_argument("--all-units", action="store_true", help="also replace the translations that are there")
    add_language_flags(group)


def refuse_document_flags(arguments: Namespace) -> None:
    """Refuses the flags for documents where lines are translated."""
    if kind := document_kind(arguments.output):
        one = file_of_kind(kind)
        raise NmtError(f"{arguments.output}: {one} is written from {one}: name another output")
    refuse_idle(arguments, _ONLY_DOCUMENTS, "is for documents: give a PO, XLIFF, TMX or SRT file, or leave it out")


def translate_document(arguments: Namespace) -> None:
    """Translates the document that the flags name, and reports the numbers of its units."""
    path = arguments.input
    _check_flags(arguments, document_kind(path))
    languages = languages_from_flags(arguments)
    document = open_document(path, languages, arguments.all_units, codes=arguments.markup != "none")
    _say_if_other_language(document, languages.target)
    requests = RequestFiles(arguments, path, markup="auto")
    require_files_of_their_own(requests.paths, [arguments.output])
    with open_outputs([arguments.output]) as (file,), loaded(arguments, lambda _: True) as (translator, search):
        requests.check(search, translator)
        file.write(document.filled(_translations(document, translator, requests)))
    place = "standard output" if arguments.output == "-" else arguments.output
    say(f"{document.outcome.summary()}; written to {place}")


def _check_flags(arguments: Namespace, kind: str) -> None:
    why = f"is for lines of text, and {arguments.input} is {file_of_kind(kind)}: leave it out"
    refuse_idle(arguments, _ONLY_LINES, why)
    refuse_idle(arguments, _IDLE.get(kind, ()), f"has no effect on {kind} files: leave it out")
    if arguments.output != "-" and document_kind(arguments.output) != kind:
        raise NmtError(f"{arguments.output}: the output of {file_of_kind(kind)} is {file_of_kind(kind)}: name it so")


def _say_if_other_language(document: Document, target: Language) -> None:
    """Warns of a document that is for translations into another language."""
    if not may_be_same(document.target, target):
        declared = f"{document.name} declares the target language {document.target}"
        say(f"{declared}, but its units are translated into {target}")


def _translations(document: Document, translator: Translator, requests: RequestFiles) -> list[str]:
    texts = document.texts()
    sources = checked(texts, translator, requests.source, unit="text", text_of=requests.text_of)
    lines = [unit.line for unit in document.units for _ in unit.texts]
    progress = lines_of(len(texts))
    asked = requests.of_lines(sources, 0, document.kinds(), lines)
    answers = translator.answer(asked, report=progress.advance)
    found = []
    for line, translations in zip(lines, progress.over(answers), strict=True):
        say_if_cut(translations[0], progress, line)
        requests.note_terms(line, translations[0])
        found.append(translations[0].text)
    requests.say_missing_terms()
    return found
