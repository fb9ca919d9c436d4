"""Warnings about text that a model cannot read as its training text.

A model translates any text into a fluent sentence, even text in letters that it has never seen. The profile of the
training text shows such text. A file has at most one warning, because false alarms are worse than silence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from nmt.run.directory import Run
from nmt.text.cleaning.features import scripts_of
from nmt.text.lines import shown_name
from nmt.text.pieces import SPACE
from nmt.text.profile import MARKS, UNREADABLE, Punctuation, SideProfile, TextProfile, count_marks
from nmt.text.swapped_sides import Leaning, Vocabularies
from nmt.translation.source_text import LEAST_LETTERS, LOWER_CASED, is_lower_cased
from nmt.translation.translator import Translator

Side = Literal["source", "target"]

FIRST_LINES = 500
"""Lines after which a text is judged for the first time; it is judged again at its end."""

_FOREIGN = 2 / 3
"""Share of letters in scripts that the training text lacks."""
_LEAST_FOREIGN = 5
"""Letters of such scripts."""
_TIMES = 3
"""A text is unreadable from `UNREADABLE` more than this many times the training text's share on."""
_CASED, _CAPITALS = 0.01, 0.7
"""Shares of upper-case letters in text with ordinary case, at least, and in text in capitals."""
_LEAST_MARKS = 5
"""Commas and full stops from which their spaces count."""
_MOSTLY, _SELDOM = 0.9, 0.1
"""Shares of commas and full stops with a space before them in tokenised text, and in other text."""
_SHOWN = 60
"""Characters of an example."""


@dataclass
class _Findings:
    """The counts and examples of the lines that were read."""

    lines: int = 0
    letters: Counter[str] = field(default_factory=Counter)
    upper: int = 0
    lower: int = 0
    marks: Counter[tuple[str, bool]] = field(default_factory=Counter)
    """Marks at the ends of words, and whether a space is before them."""
    pieces: int = 0
    unreadable: int = 0
    unreadable_lines: int = 0
    tabs: int = 0
    """Lines with a tab."""
    leaning: Leaning = field(default_factory=Leaning)
    examples: dict[str, tuple[int, str]] = field(default_factory=dict)
    """The first line that shows something: its number and a part of it."""
    unit: str = "line"

    def note(self, kind: str, line: int, text: str) -> None:
        self.examples.setdefault(kind, (line, text))

    def example(self, kind: str) -> str:
        """The first line of a kind, for a message."""
        line, text = self.examples[kind]
        place = f" in {self.unit} {line}" if self.lines > 1 else ""
        return f"such as '{text[:_SHOWN]}{'...' * (len(text) > _SHOWN)}'{place}"


class InputCheck:
    """Compares a text with the training text of a run, while its lines are read.

    Args:
        translator: of the run; without a profile nothing is compared.
        name: of the text, for the warning.
        say: takes the warning.
        side: the side of the run that the text was given as.
        before: lines of the text before the first that is read here.
        unit: the name of a line, for the warning.
        text_of: the text of a line, without its markup.
    """

    def __init__(
        self,
        translator: Translator,
        name: str,
        say: Callable[[str], None],
        side: Side = "source",
        before: int = 0,
        unit: str = "line",
        text_of: Callable[[str], str] = str,
    ) -> None:
        self._text_of = text_of
        self._profile, self._name, self._say, self._side = translator.profile, shown_name(name), say, side
        self._translator, self._run = translator, translator.run
        self._before, self._found = before, _Findings(unit=unit)

    def over(self, lines: Iterable[str]) -> Iterator[str]:
        """Hands the lines on unchanged. A warning comes before the 500th line is handed on, or after the last."""
        profile = self._profile
        if profile is None:
            yield from lines
            return
        waiting: list[str] = []
        warned = False
        for number, line in enumerate(lines, start=1):
            if not warned:
                waiting.append(self._text_of(line))
                if len(waiting) == FIRST_LINES:
                    self._add(waiting, profile)
                    waiting = []
                    warned = number == FIRST_LINES and self._warn(profile)
            yield line
        if waiting:
            self._add(waiting, profile)
        if not warned and self._found.lines:
            self._warn(profile)

    def _warn(self, profile: TextProfile) -> bool:
        """Gives the gravest warning, if the lines that were read give a reason; returns whether it does."""
        warning = next(self._warnings(profile), None)
        if warning:
            self._say(f"warning: {self._name}: {warning}")
        return warning is not None

    def _add(self, lines: Sequence[str], profile: TextProfile) -> None:
        found, side = self._found, self._own(profile)
        vocabulary = getattr(self._run, self._side)
        unreadable = vocabulary.unreadable
        read = [self._translator.source_text.convert(line) for line in lines] if self._is_source else lines
        leanings = found.leaning.add(read, profile, Vocabularies(self._run.source, self._run.target))
        rows = zip(lines, vocabulary.encode_with_surfaces(read), leanings, strict=True)
        for number, (line, cut, leaning) in enumerate(rows, self._before + found.lines + 1):
            if "\t" in line.strip():
                found.tabs += 1
                found.note("tabs", number, line.strip())
            letters = scripts_of(line)
            found.letters.update(letters)
            if letters.keys() - side.scripts:
                found.note("foreign", number, line.strip())
            if strange := [text.strip(SPACE) for piece, text in cut if unreadable[piece]]:
                found.note("unreadable", number, next(filter(None, strange), line.strip()))
                found.unreadable, found.unreadable_lines = found.unreadable + len(strange), found.unreadable_lines + 1
            found.pieces += len(cut)
            if (leaning > 0) == (self._is_source) and leaning:
                found.note("exchanged", number, line.strip())
            self._add_form(number, line)
        found.lines += len(lines)

    def _add_form(self, number: int, line: str) -> None:
        """Adds the case and the punctuation of a line."""
        found = self._found
        upper, lower = sum(map(str.isupper, line)), sum(map(str.islower, line))
        found.upper, found.lower = found.upper + upper, found.lower + lower
        for kind, count in (("upper", upper), ("lower", lower)):
            if count:
                found.note(kind, number, line.strip())
        for mark, counts in count_marks(line).items():
            found.marks[mark, True] += counts.separate
            found.marks[mark, False] += counts.attached
            for kind, times in (("separate", counts.separate), ("attached", counts.attached)):
                if times and mark in ",.":
                    found.note(kind, number, line.strip())

    @property
    def _is_source(self) -> bool:
        return self._side == "source"

    def _own(self, profile: TextProfile) -> SideProfile:
        return profile.source if self._is_source else profile.target

    def _warnings(self, profile: TextProfile) -> Iterator[str]:
        """The reasons to warn, the gravest first."""
        side = self._own(profile)
        yield from self._columns()
        yield from self._exchanged(profile)
        yield from self._foreign(side)
        yield from self._unreadable(side)
        yield from self._case(side)
        yield from self._punctuation(side)

    def _columns(self) -> Iterator[str]:
        found = self._found
        if found.tabs > found.lines / 2:
            yield (
                f"{found.tabs} of {found.lines} {found.unit}s have columns with tabs between them, "
                f"{found.example('tabs')}: a {found.unit} is one sentence; take the column of the sentences alone, "
                "such as with cut -f 1"
            )

    def _exchanged(self, profile: TextProfile) -> Iterator[str]:
        found = self._found
        if found.leaning.looks_exchanged(self._side, profile):
            other = "target" if self._is_source else "source"
            yield (
                f"this looks like the {other} language of the run, {found.example('exchanged')}: are the two sides "
                "swapped? The model translates only from its source to its target language"
            )

    def _foreign(self, side: SideProfile) -> Iterator[str]:
        found = self._found
        foreign = Counter({script: count for script, count in found.letters.items() if script not in side.scripts})
        if foreign.total() >= max(_LEAST_FOREIGN, _FOREIGN * found.letters.total()):
            script = foreign.most_common(1)[0][0].title()
            yield (
                f"{foreign.total()} of {found.letters.total()} letters are {script} or of another script that the "
                f"{self._side} side of the training text does not have, {found.example('foreign')}: {self._effect}"
            )

    def _unreadable(self, side: SideProfile) -> Iterator[str]:
        found = self._found
        if found.unreadable > (UNREADABLE + _TIMES * _usual_share(side, self._run)) * found.pieces:
            some = f"{found.unreadable_lines} of {found.lines} {found.unit}s have" if found.lines > 1 else "it has"
            yield (
                f"{some} characters or words that the vocabulary does not have, {found.example('unreadable')}: "
                f"{self._effect}"
            )

    @property
    def _effect(self) -> str:
        """The effect of text that the vocabulary does not have."""
        if self._is_source:
            return "the model cannot read them, so do not rely on their translations"
        return "the model cannot write them"

    def _case(self, side: SideProfile) -> Iterator[str]:
        found = self._found
        share = found.upper / max(found.upper + found.lower, 1)
        if is_lower_cased(side) and share > LOWER_CASED:
            lowers = self._is_source and self._translator.source_text.lowers
            done = "nmt reads it in lower case" if lowers else "write it in lower case too"
            yield f"the training text is in lower case, this is not, {found.example('upper')}: {done}"
        if found.upper + found.lower < LEAST_LETTERS or side.upper_share < _CASED:
            return
        if not found.upper:
            yield (
                f"this is in lower case, the training text is not, {found.example('lower')}: write it with "
                "upper-case letters"
            )
        elif share > _CAPITALS > side.upper_share:
            yield (
                f"this is in capital letters, the training text is not, {found.example('upper')}: write it with "
                "upper-case and lower-case letters"
            )

    def _punctuation(self, side: SideProfile) -> Iterator[str]:
        found, own = self._found, side.separate_share
        counts = sum((Punctuation(found.marks[m, True], found.marks[m, False]) for m in ",."), Punctuation())
        if counts.separate + counts.attached < _LEAST_MARKS or not self._has_marks(side):
            return
        if own > _MOSTLY and counts.share < _SELDOM:
            separates = self._translator.source_text.separates if self._is_source else ()
            marks = " ".join(mark for mark in MARKS if mark in separates)
            done = f"nmt puts a space before {marks} at the ends of words" if marks else ""
            rest = "tokenise the rest as the training text was" if done else "tokenise it as the training text was"
            yield (
                f"the training text is tokenised ('garden .'), this is not, {found.example('attached')}: "
                f"{done}{'; ' * bool(done)}{rest}"
            )
        elif own < _SELDOM and counts.share > _MOSTLY:
            yield (
                f"this is tokenised ('garden .'), the training text is not, {found.example('separate')}: write it "
                "without spaces before punctuation"
            )

    @staticmethod
    def _has_marks(side: SideProfile) -> bool:
        counts = sum((side.marks.get(mark, Punctuation()) for mark in ",."), Punctuation())
        return counts.separate + counts.attached >= _LEAST_MARKS


def _usual_share(side: SideProfile, run: Run) -> float:
    """The usual share of unknown pieces. A training text that another run's vocabulary cannot read excuses little."""
    return min(side.unreadable_share, UNREADABLE) if run.config.vocabulary.run else side.unreadable_share
