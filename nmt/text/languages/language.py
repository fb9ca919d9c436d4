"""Language tags, and the properties of text that follow from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from nmt.config import CorpusConfig

_LANGUAGES_OF_SCRIPT = {
    "Arab": "ar ckb fa ps sd ug ur",
    "Armn": "hy",
    "Beng": "as bn",
    "Cyrl": "ba be bg ce cv kk ky mk ru tg tt uk",
    "Deva": "hi mai mr ne sa",
    "Ethi": "am ti",
    "Geor": "ka",
    "Grek": "el",
    "Gujr": "gu",
    "Guru": "pa",
    "Hani": "lzh yue zh",
    "Hebr": "he yi",
    "Jpan": "ja",
    "Khmr": "km",
    "Knda": "kn",
    "Kore": "ko",
    "Laoo": "lo",
    "Latn": "af ca ceb cs cy da de en eo es et eu fi fil fr ga gl hr ht hu id is it lb lt lv mg ms mt nb nl nn no oc "
    "pl pt ro sk sl so sq sv sw tl tr vi xh yo zu",
    "Mlym": "ml",
    "Mymr": "my shn",
    "Nkoo": "nqo",
    "Orya": "or",
    "Sinh": "si",
    "Syrc": "syr",
    "Taml": "ta",
    "Telu": "te",
    "Thaa": "dv",
    "Thai": "th",
    "Tibt": "bo dz",
}
"""Languages that are written in one script by nearly everyone. `Jpan` is Han with kana, `Kore` is Hangul."""
_SCRIPT_OF_LANGUAGE = {code: script for script, codes in _LANGUAGES_OF_SCRIPT.items() for code in codes.split()}

UNSPACED_SCRIPTS = frozenset(
    {"Hani", "Hans", "Hant", "Jpan", "Hira", "Kana", "Bopo", "Thai", "Laoo", "Khmr", "Mymr", "Tibt"}
    | {"Bali", "Cham", "Java", "Lana", "Tale", "Talu", "Tavt", "Yiii"}
)
"""Scripts whose words have no spaces between them."""
MANY_CHARACTERS = frozenset({"Hani", "Hans", "Hant", "Jpan", "Hira", "Kana", "Kore", "Hang", "Yiii"})
"""Scripts with thousands of characters."""


@dataclass(frozen=True)
class Language:
    """A language, by its BCP 47 tag."""

    tag: str = "und"

    @classmethod
    def of(cls, tag: str) -> Language:
        """The language of a tag in any case: `zh-hant` is `zh-Hant`. An empty tag is `und`."""
        first, *others = tag.split("-")
        cased = [s.title() if len(s) == 4 and s.isalpha() else s.upper() if len(s) == 2 else s.lower() for s in others]
        return cls("-".join([first.lower() or "und", *cased]))

    def __str__(self) -> str:
        return self.tag

    @property
    def code(self) -> str:
        """The language without script and region, such as `zh`; `und` if it is unknown."""
        return self.tag.partition("-")[0]

    @property
    def script(self) -> str:
        """The ISO 15924 code of the script, such as `Latn` or `Jpan`; "" if it is unknown."""
        named = [subtag for subtag in self.tag.split("-")[1:] if len(subtag) == 4 and subtag.isalpha()]
        return named[0] if named else _SCRIPT_OF_LANGUAGE.get(self.code, "")

    @property
    def direction(self) -> Literal["ltr", "rtl"]:
        """The direction of writing, as in HTML's attribute `dir`; `ltr` if the script is unknown."""
        from fontTools.unicodedata import script_horizontal_direction  # type: ignore[import-untyped]

        return "rtl" if script_horizontal_direction(self.script, "LTR") == "RTL" else "ltr"

    @property
    def is_unspaced(self) -> bool:
        """Whether the script writes words without spaces between them."""
        return self.script in UNSPACED_SCRIPTS

    @property
    def has_many_characters(self) -> bool:
        """Whether the script has thousands of characters."""
        return self.script in MANY_CHARACTERS


class Languages(NamedTuple):
    """The languages of a run."""

    source: Language
    target: Language


UNKNOWN = Languages(Language(), Language())
"""The languages of text that nobody has named."""


def languages_of(corpus: CorpusConfig) -> Languages:
    """The languages that a configuration names. Older runs name none, so theirs are `und`."""
    return Languages(Language.of(corpus.source_language), Language.of(corpus.target_language))
