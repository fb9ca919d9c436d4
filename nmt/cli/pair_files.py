"""The sentences that a command line names: pairs in two files, a TSV file or a document, or sources alone."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Iterator
from itertools import islice, tee
from typing import TYPE_CHECKING, Literal

from nmt.cli.files import count_lines, refuse_document, require_lines, require_same_length
from nmt.cli.flags import add_language_flags, settings_from_flags, with_dashes
from nmt.cli.loading import checked, languages_from_flags
from nmt.cli.parser import Parser, refuse_idle
from nmt.config import CorpusConfig, PairsConfig
from nmt.config.fields import settings_of
from nmt.config.flags import add_settings
from nmt.errors import NmtError
from nmt.files.paths import can_be_read_again
from nmt.progress import LineProgress
from nmt.text.formats import text_pairs
from nmt.text.languages import UNKNOWN
from nmt.text.lines import read_lines

if TYPE_CHECKING:
    from nmt.translation.translator import Translator

_DATASETS = ("tfds", "split", "tfds_source", "tfds_target", "tfds_directory")
"""Settings of TensorFlow datasets."""

_COLUMNS = ("parquet_source", "parquet_target")
"""Settings of Parquet files."""

_LANGUAGES = ("source_language", "target_language")
"""Flags that choose among the languages of a document."""

_FILES = tuple(
    setting.name for setting in settings_of(PairsConfig) if setting.path == "FILE" and setting.name != "alignment"
)
"""Settings that name a file of pairs, or of one side."""

_PARTS = (
    *(setting.name for setting in settings_of(PairsConfig) if setting.name not in (*_FILES, "alignment", "tfds")),
    *_LANGUAGES,
)
"""Settings that choose a part of the named text, or say something about it."""


def are_pairs_given(arguments: Namespace) -> bool:
    """Whether the command line names pairs, and more than sources alone."""
    return any(getattr(arguments, name, None) for name in (*_FILES, "tfds") if name != "source")


def is_text_given(arguments: Namespace) -> bool:
    """Whether the command line names any text."""
    return any(getattr(arguments, name, None) for name in (*_FILES, "tfds"))


def refuse_parts(arguments: Namespace) -> None:
    """Refuses the flags that say something about a text where the command line names none."""
    given = [name for name in _PARTS if hasattr(arguments, name)]
    refuse_idle(arguments, given, "is for text that the command line names: name it too, or leave the flag out")


def files_of(pairs: PairsConfig) -> list[str]:
    """The files of these pairs."""
    return [path for name in _FILES if (path := getattr(pairs, name))]


def add_pair_flags(parser: Parser, datasets: bool = False, languages: bool = False) -> None:
    """Flags that name sentence pairs. --input and --reference are other names of --source and --target.

    Args:
        parser: of a command.
        datasets: whether the pairs can come from a TensorFlow dataset.
        languages: see `pairs_from_flags`.
    """
    left_out = ("alignment",) if datasets else ("alignment", *_DATASETS)
    pairs = (setting for setting in settings_of(PairsConfig) if setting.name not in left_out)
    group = parser.add_argument_group("sentence pairs")
    add_settings(group, pairs, spell=with_dashes)
    add_language_flags(group, of_text=languages)
    parser.aliases |= {"--input": "--source", "--reference": "--target"}


def pairs_from_flags(arguments: Namespace, languages: bool = False) -> PairsConfig:
    """The pairs that the flags of `add_pair_flags` name.

    Args:
        arguments: of a command with these flags.
        languages: whether the flags of languages have an effect without a document too.

    Raises:
        NmtError: no pairs, pairs in two ways, or a flag without effect.
    """
    pairs, datasets = settings_from_flags(PairsConfig, arguments), hasattr(arguments, "tfds")
    if not pairs:
        more = ", or --tfds" if datasets else ""
        raise NmtError(f"no sentence pairs are given: name --source and --target, or --tsv, or --document{more}")
    if not pairs.document and not languages:
        refuse_idle(arguments, _LANGUAGES, "is for a document: give --document, or leave it out")
    if not pairs.tsv:
        refuse_idle(arguments, ["source_column", "target_column"], "is for a TSV file: give --tsv, or leave it out")
    if not pairs.parquet:
        refuse_idle(arguments, _COLUMNS, "is for a Parquet file: give --parquet, or leave it out")
    if datasets and not pairs.tfds:
        refuse_idle(arguments, _DATASETS[1:], "is for a TensorFlow dataset: give --tfds, or leave it out")
    return pairs


class GivenText:
    """The text that a command line names: sentence pairs, or sources alone.

    Args:
        arguments: of a command with the flags of `add_pair_flags`.
        pairs: whether the command needs pairs; otherwise --source alone is enough.
        languages: see `pairs_from_flags`.
        corpus: see `languages_from_flags`.

    Raises:
        NmtError: see `pairs_from_flags`.
    """

    def __init__(
        self,
        arguments: Namespace,
        pairs: bool = True,
        languages: bool = False,
        corpus: CorpusConfig | None = None,
    ) -> None:
        if pairs or are_pairs_given(arguments):
            self.pairs = pairs_from_flags(arguments, languages)
        elif arguments.source:
            refuse_idle(arguments, ["source_column", "target_column"], "is for a TSV file: give --tsv, or leave it out")
            refuse_idle(arguments, _COLUMNS, "is for a Parquet file: give --parquet, or leave it out")
            refuse_idle(arguments, _LANGUAGES, "is for a document: give --document, or leave it out")
            refuse_document(arguments.source, " (give it as --document for its pairs)")
            self.pairs = PairsConfig()
        else:
            raise NmtError("no sentences are given: name --source, with --target for pairs, or --tsv, or --document")
        self.languages = languages_from_flags(arguments, corpus) if self.pairs.document else UNKNOWN
        """The languages to take from a document."""
        self.paths: list[str] = [path for name in _FILES if (path := getattr(arguments, name))]
        """The files that are read."""

    @property
    def name(self) -> str:
        """The file of the source sentences, for messages."""
        return self.paths[0]

    @property
    def is_file(self) -> bool:
        """Whether the text can be read again: it comes from files alone."""
        return can_be_read_again(self.paths)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the arguments that choose a part of the file; none for two files."""
        if self.pairs.document:
            return _LANGUAGES
        if self.pairs.parquet:
            return _COLUMNS
        return ("source_column", "target_column") if self.pairs.tsv else ()

    def count(self) -> int | None:
        """The number of sentences, or None for a stream, which can be read only once.

        Raises:
            NmtError: two files with different numbers of lines, or a file that cannot be read.
        """
        if self.pairs.source or not self.pairs:
            return require_same_length({path: count_lines(path) for path in self.paths})
        if not self.is_file:
            return None
        return sum(
            1
            for _ in LineProgress(task=f"reading {self.name}", unit="pairs").over(
                text_pairs(self.pairs, self.languages)
            )
        )

    def sources(self, translator: Translator) -> Iterator[str]:
        """The sentences of --source, which has no translations, with a warning if the model cannot read them."""
        return checked(read_lines(self.name), translator, self.name)

    def sides(self) -> tuple[Iterator[str], Iterator[str]]:
        """The sources and the targets of the pairs. Read them at the same pace: pairs between the two are in memory."""
        sources, targets = tee(text_pairs(self.pairs, self.languages))
        return (source for source, _ in sources), (target for _, target in targets)

    def checked_sides(self, translator: Translator, done: int = 0) -> tuple[Iterator[str], Iterator[str]]:
        """The sides behind the first `done` pairs, with a warning if they do not look like the training text."""
        sources, targets = (islice(side, done, None) for side in self.sides())
        return self.checked(sources, translator, "source", done), self.checked(targets, translator, "target", done)

    def checked(
        self,
        sentences: Iterable[str],
        translator: Translator,
        side: Literal["source", "target"],
        done: int = 0,
        unit: str = "line",
    ) -> Iterator[str]:
        """The same sentences, of one side, with such a warning, which counts them by this unit."""
        name = getattr(self.pairs, side) or f"{self.name} ({side})"
        return checked(sentences, translator, name, side, done, unit)

    def test_set(self) -> tuple[list[str], list[str]]:
        """All sources and all targets.

        Raises:
            NmtError: different numbers of lines, or no line.
        """
        self.count()
        pairs = list(text_pairs(self.pairs, self.languages))
        require_lines(self.name, pairs)
        return [source for source, _ in pairs], [target for _, target in pairs]
