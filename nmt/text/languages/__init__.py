"""The languages of a run: their tags, their scripts, and the properties that follow from the script.

A language is a BCP 47 tag, such as `ja` or `pt-BR`. A run records the tags of its source and its target. `und` is an
unknown language, and `und-Cyrl` an unknown language in Cyrillic letters.
"""

from nmt.text.languages.deciding import decide_languages
from nmt.text.languages.language import UNKNOWN, Language, Languages, languages_of
from nmt.text.languages.names import english_name
from nmt.text.languages.scripts import guess_language, main_script, script_counts
from nmt.text.languages.words import SPACED, Words, words_of

__all__ = [
    "SPACED",
    "UNKNOWN",
    "Language",
    "Languages",
    "Words",
    "decide_languages",
    "english_name",
    "guess_language",
    "languages_of",
    "main_script",
    "script_counts",
    "words_of",
]
