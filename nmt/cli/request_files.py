"""Translation requests from the files and flags of a command line."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from nmt.cli.files import count_lines
from nmt.cli.loading import CHOOSING, say
from nmt.cli.parser import refuse_idle
from nmt.config import SearchConfig
from nmt.errors import NmtError
from nmt.evaluation.bleu_tokenizer import tokenizer_of_run
from nmt.files.paths import can_be_read_again
from nmt.progress import counted
from nmt.text.lines import read_lines, shown_name

if TYPE_CHECKING:
    from nmt.text.markup import MarkupKind
    from nmt.text.tokenizer import Tokenizer
    from nmt.translation.glossary import Glossary, Term
    from nmt.translation.request import Lexicon, TranslationRequest
    from nmt.translation.result import Translation
    from nmt.translation.translator import Translator

SHOWN = 5
"""Terms that a warning names."""


class RequestFiles:
    """The files that requests are made of, read line by line together.

    Args:
        arguments: of the command line: `nbest`, `mbr`, `prefixes`, `phrases`, `lexicon`, `glossary`, `glossary_mode`,
            `markup`.
        source: the file of source sentences; - is standard input.
        markup: the kind of markup unless the command line says it.

    Raises:
        NmtError: the lexicon or the glossary has a line of another form, or flags have no effect beside each other.
    """

    def __init__(self, arguments: Namespace, source: str, markup: MarkupKind | None = None) -> None:
        _refuse_idle_flags(arguments)
        self.source, self._arguments = source, arguments
        self._prefixes, self._phrases = arguments.prefixes, arguments.phrases
        lexicon = _read_lexicon(arguments.lexicon) if arguments.lexicon else {}
        self._glossary = _load_glossary(arguments.glossary) if arguments.glossary else None
        self._unwritable: list[Term] = []
        self._terms = self._missing = 0
        self._named: list[str] = []
        self._markup: MarkupKind | None = None if arguments.markup == "none" else arguments.markup or markup
        self._shared: dict[str, Any] = {
            "markup": self._markup,
            "nbest": arguments.nbest or None,
            "minimum_bayes_risk": arguments.mbr or None,
            "lexicon": lexicon,
            "glossary_mode": arguments.glossary_mode,
        }

    def text_of(self, line: str) -> str:
        """The text of a line without its markup."""
        from nmt.text.markup import plain_text

        return plain_text(line, self._markup) if self._markup else line

    @property
    def paths(self) -> list[str]:
        """The files that are read."""
        named = self._prefixes, self._phrases, self._arguments.lexicon, self._arguments.glossary
        return [path for path in (self.source, *named) if path]

    def count_lines(self) -> dict[str, int | None]:
        """Number of lines of each file of constraints; None if it can be read only once."""
        return {path: count_lines(path) for path in (self._prefixes, self._phrases) if path}

    def check(self, search: SearchConfig, translator: Translator) -> None:
        """Sets the search of all requests, and refuses impossible requests before the first translation.

        Args:
            search: of every request.
            translator: constraints are checked against its target vocabulary if their files can be read twice.

        Raises:
            NmtError: flags that contradict the search, a constraint that the vocabulary cannot spell, or --mbr bleu
                with a tokenizer that is not installed.
        """
        from nmt.translation.request import TranslationRequest
        from nmt.translation.required_text import piece_constraint
        from nmt.translation.translator import require_utilities

        if search.method == "sample":
            refuse_idle(self._arguments, ["phrases", "glossary"], "is for a beam: leave it or --method sample out")
        self._shared["search"] = search
        require_utilities([TranslationRequest("", **self._shared)], tokenizer_of_run(translator.config))
        vocabulary = translator.run.target
        self._warn_of_terms(vocabulary)
        files: list[tuple[str, str | None, Callable[[str], Any]]] = [
            ("prefix", self._prefixes, str),
            ("phrases", self._phrases, _split_phrases),
        ]
        for name, path, parse in files:
            if path and can_be_read_again([path]):
                for number, text in enumerate(read_lines(path), start=1):
                    request = TranslationRequest("", **self._shared | {name: parse(text)})
                    piece_constraint(request, vocabulary, f"{path}:{number}")

    def of_lines(
        self, lines: Iterable[str], first: int, kinds: Sequence[MarkupKind] = (), numbers: Sequence[int] = ()
    ) -> Iterator[TranslationRequest]:
        """The requests for these lines.

        Args:
            lines: source sentences.
            first: index of the first line in its file; the lines of the other files begin there too.
            kinds: the kind of markup of each line, where auto leaves it open.
            numbers: the number of each line in messages; empty: lines are counted from 1.

        Raises:
            NmtError: another file has more or fewer lines.
        """
        from nmt.translation.request import TranslationRequest

        files = [path for path in (self._prefixes, self._phrases) if path]
        texts = {path: islice(read_lines(path), first, None) for path in files}
        problems = _TagProblems(self.source)
        for index, line in enumerate(lines, start=first):
            problems.note(numbers[index - first] if numbers else index + 1, line, self._markup)
            beside = {path: next(rest, None) for path, rest in texts.items()}
            _require_same_end(None in beside.values(), files)
            yield TranslationRequest(
                line,
                prefix=beside.get(self._prefixes) or "",
                phrases=_split_phrases(beside.get(self._phrases) or ""),
                sentence_id=index,
                terms=self._glossary.of(self.text_of(line)) if self._glossary else (),
                **self._shared | ({"markup": kinds[index - first]} if kinds and self._markup == "auto" else {}),
            )
        problems.say()
        _require_same_end(any(next(rest, None) is not None for rest in texts.values()), files)

    def note_terms(self, number: int, translation: Translation) -> None:
        """Counts the terms that the translation of a line lacks."""
        if self._glossary:
            count, missing = self._glossary.missing(self.text_of(translation.source), self.text_of(translation.text))
            self._terms += count
            missing = [term for term in missing if term not in self._unwritable]
            self._missing += len(missing)
            self._named += [f"'{term.source}' of line {number}" for term in missing[: SHOWN - len(self._named)]]

    def say_missing_terms(self) -> None:
        """Says how many terms the translations lack, and where."""
        if not self._missing:
            return
        some = ", ".join(self._named) + (", ..." if self._missing > SHOWN else "")
        remedy = "; --glossary-mode require demands them" if self._arguments.glossary_mode != "require" else ""
        say(
            f"{self._arguments.glossary}: {self._missing:,} of {counted(self._terms, 'term')} missing in the "
            f"translations: {some}{remedy}"
        )

    def _warn_of_terms(self, vocabulary: Tokenizer) -> None:
        """Warns once of the terms that no pieces of the target vocabulary can write."""
        self._unwritable = terms = self._glossary.unwritable(vocabulary) if self._glossary else []
        if terms:
            some = ", ".join(f"'{term.source}'" for term in terms[:SHOWN]) + (", ..." if len(terms) > SHOWN else "")
            count = "1 term is" if len(terms) == 1 else f"{len(terms)} terms are"
            say(
                f"{self._arguments.glossary}: {count} ignored, because the target vocabulary lacks characters of the "
                f"translation: {some}"
            )


class _TagProblems:
    """Counts the lines with tags that have no partner."""

    def __init__(self, name: str) -> None:
        self._name, self._lines, self._first = name, 0, ""

    def note(self, number: int, line: str, kind: MarkupKind | None) -> None:
        """Looks at a line."""
        from nmt.text.markup import parse_markup

        problems = parse_markup(line, kind).problems if kind and "<" in line else ()
        if problems:
            self._lines += 1
            self._first = self._first or f"line {number}, {problems[0]}"

    def say(self) -> None:
        """Warns once."""
        if self._lines:
            say(
                f"warning: {shown_name(self._name)}: {counted(self._lines, 'line')} with tags that have no partner, "
                f"such as in {self._first}; these tags are kept beside their words"
            )


def _refuse_idle_flags(arguments: Namespace) -> None:
    """Refuses settings of the search that constraints switch off, and settings of a glossary without a glossary."""
    if arguments.prefixes or arguments.phrases:
        refuse_idle(arguments, CHOOSING, "is for a search without --prefixes and --phrases: leave it or those out")
    if arguments.glossary:
        refuse_idle(arguments, CHOOSING, "is for a search without --glossary: leave one out")
    else:
        refuse_idle(arguments, ["glossary_mode"], "is for the terms of a glossary: give --glossary too")


def _require_same_end(differ: bool, files: Sequence[str]) -> None:
    if differ:
        raise NmtError(f"{' and '.join(files)}: expected as many lines as there are sentences")


def _split_phrases(line: str) -> tuple[str, ...]:
    """The phrases of a line, which have tabs between them."""
    return tuple(phrase for phrase in line.split("\t") if phrase.strip())


def _load_glossary(path: str) -> Glossary:
    from nmt.translation.glossary import Glossary

    return Glossary.load(path)


def _read_lexicon(path: str) -> Lexicon:
    """The lexicon of a file: a source word, a tab, and the word to write for it on each line.

    Raises:
        NmtError: a line of another form.
    """
    from nmt.translation.request import Lexicon

    lexicon: dict[str, str] = {}
    for number, line in enumerate(read_lines(path), start=1):
        word, tab, copy = line.partition("\t")
        if not tab or len(word.split()) != 1 or len(copy.split()) != 1:
            raise NmtError(f"{path}:{number}: expected one source word, a tab, and the one word to write for it")
        lexicon.setdefault(word.strip(), copy.strip())
    return Lexicon(lexicon)
