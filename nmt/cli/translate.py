"""`nmt translate`: lines in, as many lines out."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import count, islice
from typing import TYPE_CHECKING, TextIO

from nmt.cli.document_translation import add_document_flags, refuse_document_flags, translate_document
from nmt.cli.files import count_lines, require_files_of_their_own, require_same_length
from nmt.cli.flags import add_model_flags, add_search_flags
from nmt.cli.loading import add_aligner_flag, add_processes_flag, checked, lines_of, loaded, say, say_if_cut
from nmt.cli.output_identity import output_identity
from nmt.cli.parser import Parser, positive, refuse_idle
from nmt.cli.request_files import RequestFiles
from nmt.errors import NmtError
from nmt.files.outputs import open_output
from nmt.files.paths import can_be_read_again
from nmt.files.resumable_outputs import ResumableOutputs, can_be_resumed
from nmt.progress import LineProgress, counted
from nmt.text.documents import document_kind
from nmt.text.lines import read_lines

if TYPE_CHECKING:
    from nmt.config import SearchConfig
    from nmt.translation.result import Translation
    from nmt.translation.translator import Translator

DESCRIPTION = (
    "Translates text, one sentence per line. The output has as many lines as the input, and an empty line stays empty. "
    "Without --source, it reads standard input, with a prompt if that is a terminal. If an interruption happens, whole "
    "blocks of 500 translated lines are kept, and --resume continues behind them. This needs plain files for --source "
    "and --output, without --nbest. PO, XLIFF, TMX and SRT files are translated as documents."
)
EXAMPLE = "nmt translate --model saved_models/mine --source new.en --output new.de"


def add_flags(parser: Parser) -> None:
    add_model_flags(parser, precision="auto")
    parser.add_argument(
        "--source",
        dest="input",
        metavar="FILE",
        help="sentences to translate; .gz files are read too, and - is standard input",
    )
    parser.add_argument(
        "--output", metavar="FILE", default="-", help="file for the translations (default: standard output)"
    )
    parser.add_argument(
        "--alignments", metavar="FILE", help="file for the word alignments of the translations, in Pharaoh format"
    )
    parser.add_argument("--resume", action="store_true", help="continue an interrupted translation")
    parser.add_argument(
        "--nbest",
        type=positive,
        metavar="N",
        help="write the N best translations of each line, as number ||| text ||| ... ||| score",
    )
    parser.add_argument(
        "--mbr",
        choices=["bleu", "chrf"],
        help="write the translation that agrees most with the other N best or N samples (minimum Bayes risk)",
    )
    parser.add_argument("--prefixes", metavar="FILE", help="file with the beginning of each translation, line by line")
    parser.add_argument(
        "--phrases",
        metavar="FILE",
        help="file with phrases that each translation contains, line by line, with tabs between phrases",
    )
    parser.add_argument(
        "--lexicon",
        metavar="FILE",
        help="dictionary for --copy-unknown: on each line a source word, a tab and its translation",
    )
    parser.add_argument(
        "--glossary",
        metavar="FILE",
        help="terms and their translations: on each line a source term, a tab and its translation; further forms of "
        "the translation stand behind one more tab, with | between them",
    )
    parser.add_argument(
        "--glossary-mode",
        choices=["prefer", "require"],
        default="prefer",
        help="prefer: the terms replace other words where they can; require: the terms must appear (default: prefer)",
    )
    _add_markup_flags(parser)
    add_processes_flag(parser)
    add_document_flags(parser)
    add_search_flags(parser)
    parser.aliases["--input"] = "--source"


def _add_markup_flags(parser: Parser) -> None:
    add_aligner_flag(parser, "links for --markup, --alignments and --copy-unknown")
    parser.add_argument(
        "--markup",
        choices=["auto", "html", "xliff", "none"],
        nargs="?",
        const="auto",
        help="keep tags such as <b>, placeholders such as {0} or %%s, addresses, numbers and emoji, and put them at "
        "their words; html: tags of HTML, xliff: codes of XLIFF and TMX, auto: by line (default: none, and auto for "
        "documents)",
    )


def run(arguments: Namespace) -> None:
    """Translates a document, or each line of a text."""
    path = "-" if arguments.input is None else arguments.input
    if document_kind(path):
        translate_document(arguments)
    else:
        refuse_document_flags(arguments)
        _translate_lines(arguments, path)


def _translate_lines(arguments: Namespace, path: str) -> None:
    """Checks the files and flags, then translates each line, in order."""
    from nmt.translation.translator import Translator

    _check_flags(arguments, path)
    requests = RequestFiles(arguments, path)
    outputs = [name for name in (arguments.output, arguments.alignments) if name]
    require_files_of_their_own(requests.paths, outputs)
    total = count_lines(path)
    require_same_length({path: total} | requests.count_lines())
    with ExitStack() as files:
        resumable = None
        if can_be_read_again(requests.paths) and can_be_resumed(outputs) and not _writes_lists(arguments):
            resumable = ResumableOutputs(outputs, arguments.resume, Translator.chunk_size)
        if arguments.resume and resumable is None:
            raise NmtError("--resume continues a file: give --source and --output, both plain files")
        if resumable is None:
            opened = [files.enter_context(open_output(name)) for name in outputs]
        translator, search = files.enter_context(loaded(arguments, lambda search: _needs_links(arguments, search)))
        requests.check(search, translator)
        done = 0
        if resumable is not None:
            inputs = [path, arguments.prefixes, arguments.phrases, arguments.lexicon, arguments.glossary]
            identity = output_identity(
                arguments, translator, search, inputs, ("nbest", "mbr", "glossary_mode", "markup", "aligner")
            )
            opened, done = files.enter_context(resumable.open(identity)), resumable.done
        writer = TranslationWriter(opened, _writes_lists(arguments))
        if arguments.input is None and sys.stdin.isatty():
            _interact(translator, requests, writer)
            return
        progress = lines_of(None if total is None else total - done)
        _stream(translator, requests, done, writer, progress)
    place = "standard output" if arguments.output == "-" else arguments.output
    more = f", {done + progress.count} in all" if done else ""
    say(f"{counted(progress.count, 'line')} in {progress.seconds:.1f} s ({progress.speed}){more}, written to {place}")


def _check_flags(arguments: Namespace, path: str) -> None:
    if arguments.alignments in ("-", arguments.output):
        raise NmtError(f"{arguments.alignments}: --alignments needs a file of its own")
    if arguments.resume and _writes_lists(arguments):
        raise NmtError("--resume counts lines, and an n-best list has several lines per sentence: leave one out")
    if not (arguments.alignments or _has_markup(arguments) or arguments.copy_unknown):
        why = "makes the links for --markup, --alignments and --copy-unknown: give one of them"
        refuse_idle(arguments, ["aligner"], why)
    if (arguments.prefixes or arguments.phrases) and path == "-":
        raise NmtError("--prefixes and --phrases go line by line with a file: give --source")
    if arguments.input is None and sys.stdin.isatty():
        refuse_idle(arguments, ["processes"], "is for text that is not typed: give --source")


def _has_markup(arguments: Namespace) -> bool:
    return arguments.markup in ("auto", "html", "xliff")


def _needs_links(arguments: Namespace, search: SearchConfig) -> bool:
    """Whether the output depends on links, which take time."""
    return bool(arguments.alignments or _has_markup(arguments) or search.copy_unknown)


def _writes_lists(arguments: Namespace) -> bool:
    """Whether n-best lists are written."""
    return bool(arguments.nbest) and not arguments.mbr


def _stream(
    translator: Translator, requests: RequestFiles, done: int, writer: TranslationWriter, progress: LineProgress
) -> None:
    """Translates the lines behind the first `done` lines."""
    if done:
        say(f"continuing behind line {done}")
    read = islice(read_lines(requests.source), done, None)
    lines = checked(read, translator, requests.source, before=done, text_of=requests.text_of)
    found = translator.answer(requests.of_lines(lines, done), report=progress.advance)
    for number, translations in enumerate(progress.over(found), start=done + 1):
        say_if_cut(translations[0], progress, number)
        requests.note_terms(number, translations[0])
        writer.write(number, translations)
        if number % translator.chunk_size == 0:  # so that an interruption leaves whole chunks
            writer.flush()
    requests.say_missing_terms()


def _interact(translator: Translator, requests: RequestFiles, writer: TranslationWriter) -> None:
    """Translates each sentence that is typed, until the end of the input."""
    say("one sentence per line; end with Ctrl-D")
    for number in count(1):
        print("> ", end="", file=sys.stderr, flush=True)
        line = sys.stdin.buffer.readline()
        if not line:
            print(file=sys.stderr)
            return
        try:
            sentence = line.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            say(f"not valid UTF-8 at byte {error.start + 1}: type the sentence again, or have the terminal send UTF-8")
            continue
        lines = checked([sentence], translator, "this sentence", text_of=requests.text_of)
        for translations in translator.answer(requests.of_lines(lines, number - 1)):
            if translations[0].truncated:
                say("the sentence is longer than the model takes; its end was cut off")
            writer.write(number, translations)
        writer.flush()


class TranslationWriter:
    """Writes translations as lines, and their links if there is a second file.

    Args:
        files: for the translations, and for their links in Pharaoh format.
        lists: whether to write n-best lists.
    """

    def __init__(self, files: Sequence[TextIO], lists: bool) -> None:
        self._files, self._lists = files, lists

    def write(self, number: int, translations: Sequence[Translation]) -> None:
        """Writes the translations of line `number`, counted from 1."""
        from nmt.translation.nbest import nbest_line

        for translation in translations:
            text = nbest_line(number - 1, translation) if self._lists else translation.text
            self._files[0].write(text + "\n")
            for links in self._files[1:]:
                links.write(translation.alignment.pharaoh() + "\n")

    def flush(self) -> None:
        for file in self._files:
            file.flush()
