"""Where sentence pairs come from."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from nmt.config.checks import changed_fields, require, require_at_most, require_positive
from nmt.config.fields import group, setting

LANGUAGE_TAG = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*")

WordRule = Literal["auto", "spaces", "cut"]


@dataclass(frozen=True)
class PairsConfig:
    """One set of sentence pairs: two line-parallel files, one file with both sides, or a TensorFlow dataset.

    Empty: no pairs.
    """

    source: str = setting(
        "", "File of source sentences, one sentence per line; .gz and .zst files are read too.", "FILE"
    )
    target: str = setting("", "File of target sentences; line N translates line N of the source file.", "FILE")
    tsv: str = setting(
        "", "Instead of two files: one file with a pair per line and tabs between its columns (or .gz).", "FILE"
    )
    source_column: int = setting(1, "Column of the source sentence in the TSV file, counted from 1.")
    target_column: int = setting(2, "Column of the target sentence in the TSV file, counted from 1.")
    document: str = setting(
        "",
        "Instead of two files: a translation memory or a translated document: TMX, XLIFF or PO, by the end of its name "
        "(or .gz). source_language and target_language choose among the languages of a TMX file.",
        "FILE",
    )
    parquet: str = setting("", "Instead of two files: a Parquet file with two columns of text.", "FILE")
    parquet_source: str = setting(
        "", "Column of the source sentence in the Parquet file, such as en or translation.en; empty: the first column."
    )
    parquet_target: str = setting("", "Column of the target sentence, likewise; empty: the second column.")
    tfds: str = setting("", "Instead of files: a TensorFlow dataset, such as ted_hrlr_translate/pt_to_en.")
    split: str = setting("train", "Split of the TensorFlow dataset.")
    tfds_source: str = setting("", "Source feature of the TensorFlow dataset; empty: the first of its supervised keys.")
    tfds_target: str = setting(
        "", "Target feature of the TensorFlow dataset; empty: the second of its supervised keys."
    )
    tfds_directory: str = setting("", "Directory of prepared TensorFlow datasets; empty: the library's default.", "DIR")
    alignment: str = setting(
        "",
        "Gold word alignment in Pharaoh format, one line per pair. It measures the attention and never trains it; "
        "training.guided.links trains it.",
        "FILE",
    )

    def __post_init__(self) -> None:
        kinds = [
            bool(self.source or self.target),
            bool(self.tsv),
            bool(self.document),
            bool(self.parquet),
            bool(self.tfds),
        ]
        require(
            sum(kinds) <= 1,
            "pairs are given in more than one way: keep source and target, or tsv, or document, or parquet, or tfds",
        )
        missing = "target" if self.source else "source"
        require(bool(self.source) == bool(self.target), f"source and target go together: {missing} is missing")
        for name in ("source", "target", "tsv", "document", "parquet", "tfds", "alignment"):
            require("\0" not in getattr(self, name), f"{name} is not a file name: it contains a NUL character")
        require_positive(self, "source_column", "target_column")
        require_at_most(self, source_column=10**6, target_column=10**6)
        same = bool(self.tsv) and self.source_column == self.target_column
        require(not same, f"source_column and target_column are both {self.source_column}: expected two columns")

    @property
    def title(self) -> str:
        """The names of the files or the dataset, for messages."""
        if self.source:
            return f"{self.source} and {self.target}"
        return self.tsv or self.document or self.parquet or self.tfds

    def __bool__(self) -> bool:
        return bool(self.source or self.tsv or self.document or self.parquet or self.tfds)


@dataclass(frozen=True)
class CorpusConfig:
    """Where the sentence pairs come from and which of them are used."""

    train: PairsConfig = group(PairsConfig, "Pairs to train on.")
    validation: PairsConfig = group(
        PairsConfig, "Pairs to validate on. Without them, `held_out` pairs of the training set are held out."
    )
    prepared: str = setting(
        "",
        "Instead of pairs to train on: directory of nmt prepare, whose vocabulary and validation pairs are taken too.",
        "DIR",
    )
    temperature: float = setting(
        1.0,
        "Of a prepared corpus of several parts: 1 reads each pair once in an epoch; a higher temperature reads small "
        "parts more often and large parts less.",
    )
    source_language: str = setting(
        "", "Language of the source as a BCP 47 tag, such as en, pt-BR or zh-Hant; empty: by the script of the text."
    )
    target_language: str = setting("", "Language of the target, likewise.")
    source_words: WordRule = setting(
        "auto",
        "Words of the source in alignments. spaces: spaces separate them; cut: a model or rule of the language cuts "
        "the text into words; auto: cut if the language writes no spaces and the text has none.",
    )
    target_words: WordRule = setting("auto", "Words of the target in alignments, likewise.")
    held_out: int = setting(
        1000,
        "Training pairs held out for validation where no validation set is given. Pairs that nearly repeat a held-out "
        "pair leave the training set too, as in nmt hold-out.",
    )
    near_duplicates: Literal["drop", "keep"] = setting(
        "drop",
        "Treatment of training pairs that nearly repeat a held-out pair: drop them, so that validation measures unseen "
        "sentences; or keep all but those with an equal source, where little else would be left.",
    )
    max_pieces: int = setting(100, "Longest training sentence in pieces, on either side.")
    on_invalid: Literal["stop", "drop"] = setting(
        "stop", "Treatment of a line that is invalid UTF-8: stop and name the line, or drop the pair and count it."
    )
    on_malformed: Literal["stop", "drop"] = setting(
        "drop",
        "Treatment of a row that is no pair, such as a TSV line with too few columns: stop and name the line, or drop "
        "the row and count it. Text with more such rows than pairs is refused.",
    )
    on_empty: Literal["stop", "drop"] = setting("drop", "Treatment of a pair with an empty side.")
    on_long: Literal["drop", "truncate"] = setting("drop", "Treatment of a training pair longer than max_pieces.")

    @property
    def unread(self) -> list[str]:
        """Fields that differ from their defaults although nothing is held out."""
        return changed_fields(self, ["held_out", "near_duplicates"]) if self.validation else []

    def __post_init__(self) -> None:
        for name in ("source_language", "target_language"):
            tag = getattr(self, name)
            tagged = not tag or LANGUAGE_TAG.fullmatch(tag)
            require(bool(tagged), f"{name} is '{tag}': expected a BCP 47 tag such as en, pt-BR or zh-Hant")
        require(
            not (self.prepared and (self.train or self.validation)),
            "prepared is the directory of a corpus with its validation pairs: leave corpus.train and "
            "corpus.validation out",
        )
        require_positive(self, "held_out", "max_pieces", "temperature")
        require_at_most(self, held_out=10**9, max_pieces=10**6, temperature=1000)
