"""The Unicode scripts of text, and the language that a script decides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from nmt.text.languages.language import Language

_SHARED = {"Zyyy", "Zinh", "Zzzz"}
"""Common, inherited and unknown characters: digits, punctuation, accents."""
_LEAST_KANA = 0.1
"""Share of kana among kana and Han from which text is Japanese. Ordinary Japanese has about one half."""
_LEAST_SHARE = 0.5
"""Share of all letters that the main script has."""
_LANGUAGE = {
    "Armn": "hy",
    "Geor": "ka",
    "Grek": "el",
    "Gujr": "gu",
    "Guru": "pa",
    "Hani": "zh",
    "Hebr": "he",
    "Jpan": "ja",
    "Khmr": "km",
    "Knda": "kn",
    "Kore": "ko",
    "Laoo": "lo",
    "Mlym": "ml",
    "Mymr": "my",
    "Orya": "or",
    "Sinh": "si",
    "Taml": "ta",
    "Telu": "te",
    "Thaa": "dv",
    "Thai": "th",
    "Tibt": "bo",
}
"""The language that nearly all text of a script is in. Scripts of several large languages are absent."""
_TRADITIONAL, _SIMPLIFIED = (
    set("這國們說時個來對會為學後過還發經開見問間門東車長馬"),
    set("这国们说时个来对会为学后过还发经开见问间门东车长马"),
)
"""Frequent Chinese characters that the two writings write differently."""


def script_counts(texts: Iterable[str]) -> Counter[str]:
    """The number of characters of each script, by ISO 15924 code. Digits, punctuation and accents do not count."""
    return _by_script(_characters(texts))


def main_script(counts: Counter[str]) -> str:
    """The script that at least half of the letters belong to; "" if there is none.

    Japanese mixes scripts, so Han with enough kana is `Jpan`. Hangul is `Kore`, with the Han that it may have.

    Args:
        counts: of `script_counts`.
    """
    joined = Counter(counts)
    kana, han, hangul = joined.pop("Hira", 0) + joined.pop("Kana", 0), joined.pop("Hani", 0), joined.pop("Hang", 0)
    east_asian = "Kore" if hangul > kana + han else "Jpan" if kana > _LEAST_KANA * (kana + han) else "Hani"
    joined[east_asian] += kana + han + hangul
    script, count = joined.most_common(1)[0]
    return script if count and count >= _LEAST_SHARE * joined.total() else ""


def guess_language(texts: Iterable[str]) -> Language:
    """The language of text, if its script decides the language; else `und` with the script, such as `und-Cyrl`.

    Chinese is `zh`, or `zh-Hant` if it has more traditional characters than simplified ones.
    """
    characters = _characters(texts)
    script = main_script(_by_script(characters))
    if script == "Hani":
        traditional, simplified = (sum(characters[c] for c in kind) for kind in (_TRADITIONAL, _SIMPLIFIED))
        return Language("zh-Hant" if traditional > simplified else "zh")
    if script in _LANGUAGE:
        return Language(_LANGUAGE[script])
    return Language(f"und-{script}" if script else "und")


def _characters(texts: Iterable[str]) -> Counter[str]:
    characters: Counter[str] = Counter()
    for text in texts:
        characters.update(text)
    return characters


def _by_script(characters: Counter[str]) -> Counter[str]:
    from fontTools.unicodedata import script  # type: ignore[import-untyped]

    counts: Counter[str] = Counter()
    for character, count in characters.items():
        if (name := script(character)) not in _SHARED:
            counts[name] += count
    return counts
