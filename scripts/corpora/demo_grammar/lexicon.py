"""The lexicon: full-form TSV tables read into records, and lookups by semantic kind."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from .words import FrenchWord

Row = dict[str, str]

THINGS = ("object", "clothes", "furniture", "vehicle", "text", "instrument")
PEOPLE = ("person", "profession")
KIND_GROUPS = {
    "thing": THINGS,
    "person": PEOPLE,
    "living": (*PEOPLE, "animal"),
    "any": (*THINGS, *PEOPLE, "animal", "plant", "building", "room", "place", "food"),
}


def expand_kinds(column: str) -> frozenset[str]:
    """The kinds (or single nouns) that a comma-separated column allows, groups such as ``thing`` spelled out."""
    listed = [item for item in column.split(",") if item != "-"]
    return frozenset(kind for item in listed for kind in KIND_GROUPS.get(item, (item,)))


@dataclass(frozen=True)
class Noun:
    """A common noun with both numbers on both sides."""

    english: str
    plural: str
    french: str
    french_plural: str
    feminine: bool
    aspirated: bool
    kind: str

    @property
    def mass(self) -> bool:
        """Whether the noun has no plural."""
        return self.plural == "-"

    def fits(self, kinds: frozenset[str]) -> bool:
        """Whether a selection names this noun or its kind."""
        return self.kind in kinds or self.english in kinds


@dataclass(frozen=True)
class Adjective:
    """An adjective with its four forms, its form before a vowel and its place in the noun phrase."""

    english: str
    comparative: str
    forms: tuple[str, str, str, str]  # masculine, feminine, masculine plural, feminine plural
    before_vowel: str
    precedes: bool
    attributive: bool  # never a predicate
    aspirated: bool
    kinds: frozenset[str]

    def agree(self, feminine: bool, plural: bool, sources: tuple) -> FrenchWord:
        """The form that agrees with a noun."""
        before_vowel = "" if feminine or plural else self.before_vowel
        return FrenchWord(self.forms[feminine + 2 * plural], sources, before_vowel, self.aspirated)


@dataclass(frozen=True)
class Verb:
    """A verb with its forms, its government and the kinds of its subject and object.

    English ``look for`` or French ``se souvenir``, ``avoir besoin`` are one verb: only one word of each is inflected.
    """

    english: str
    third: str
    past: str
    past_participle: str
    gerund: str
    french: str
    present: tuple[str, ...]
    imperfect: tuple[str, ...]
    participle: str
    auxiliary: str
    frame: str
    preposition: str
    aspect: str
    subject: frozenset[str]
    object: frozenset[str]

    @property
    def particles(self) -> list[str]:
        """The words after the inflected English word: ``for`` in look for."""
        return self.english.split()[1:]

    @property
    def reflexive(self) -> bool:
        """Whether the French verb is pronominal."""
        return self.french.startswith(("se ", "s' "))

    @property
    def infinitive(self) -> str:
        """The French infinitive without its reflexive pronoun or its noun."""
        return self.french.split()[1 if self.reflexive else 0]

    @property
    def noun(self) -> str:
        """The bare noun of a French light verb: ``besoin`` in avoir besoin."""
        return "" if self.reflexive else " ".join(self.french.split()[1:])

    def agree(self, feminine: bool, plural: bool) -> str:
        """The agreeing past participle; one in -s has no plural of its own."""
        form = self.participle + "e" * feminine
        return form if not plural or form.endswith("s") else form + "s"


@dataclass(frozen=True)
class Name:
    """A proper name: a person, a city or a country."""

    english: str
    french: str
    feminine: bool
    kind: str  # "name", "cityname" or "country"


class Lexicon:
    """All tables of the lexicon."""

    def __init__(self, folder: Path) -> None:
        self.tables = {path.stem: read_table(path) for path in sorted(folder.glob("*.tsv"))}
        self.nouns = [as_noun(row) for row in self.tables["nouns"]]
        self.adjectives = [as_adjective(row) for row in self.tables["adjectives"]]
        self.verbs = [as_verb(row) for row in self.tables["verbs"]]
        self.names = [Name(r["english"], r["french"], r["gender"] == "f", r["kind"]) for r in self.tables["names"]]

    def size(self) -> int:
        """The number of entries, one per lemma."""
        return sum(len(rows) for rows in self.tables.values())

    def rows(self, table: str, **columns: str) -> list[Row]:
        """The rows of a table with given values."""
        return [row for row in self.tables[table] if all(row[key] == value for key, value in columns.items())]

    def verb(self, english: str, frame: str) -> Verb:
        """One particular verb."""
        return self.verbs_by_key[english, frame]

    @cached_property
    def verbs_by_key(self) -> dict[tuple[str, str], Verb]:
        """Verbs by English lemma and frame."""
        return {(verb.english, verb.frame): verb for verb in self.verbs}

    @cached_property
    def everyday_verbs(self) -> frozenset[Verb]:
        """The most frequent verbs of every frame: the first few rows of each."""
        frames = sorted({verb.frame for verb in self.verbs})
        by_frame = [[verb for verb in self.verbs if verb.frame == frame] for frame in frames]
        return frozenset(verb for verbs in by_frame for verb in verbs[: max(4, len(verbs) // 4)])

    @cached_property
    def determiners(self) -> dict[str, Row]:
        """Determiners by English form."""
        return {row["english"]: row for row in self.tables["determiners"]}


def read_table(path: Path) -> list[Row]:
    """The rows of a TSV file with a header line."""
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def as_noun(row: Row) -> Noun:
    """A noun from its row."""
    forms = (row["english"], row["plural"], row["french"], row["french_plural"])
    return Noun(*forms, row["gender"] == "f", row["initial"] == "aspirated", row["kind"])


def as_adjective(row: Row) -> Adjective:
    """An adjective from its row."""
    return Adjective(
        english=row["english"],
        comparative=row["comparative"].replace("-", ""),
        forms=(row["masculine"], row["feminine"], row["masculine_plural"], row["feminine_plural"]),
        before_vowel=row["before_vowel"].replace("-", ""),
        precedes=row["position"] == "before",
        attributive=row["use"] == "attributive",
        aspirated=row["initial"] == "aspirated",
        kinds=expand_kinds(row["kinds"]),
    )


def as_verb(row: Row) -> Verb:
    """A verb from its row."""
    read: dict[str, Any] = dict(row)
    read["present"], read["imperfect"] = tuple(row["present"].split()), tuple(row["imperfect"].split())
    read["preposition"] = row["preposition"].replace("-", "")
    read["subject"], read["object"] = expand_kinds(row["subject"]), expand_kinds(row["object"])
    return Verb(**read)
