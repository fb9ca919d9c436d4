"""The languages of a run: named by the user, or decided by the script of the training text."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice

from nmt.config import CorpusConfig, PairsConfig, RunConfig, VocabularyConfig
from nmt.evaluation.bleu_and_chrf import require_tokenizer
from nmt.evaluation.bleu_tokenizer import SPACED, missing_analyser, tokenizer_of_run
from nmt.text.documents import declared_languages
from nmt.text.errors import CorpusError
from nmt.text.languages import Language, decide_languages, languages_of, main_script, script_counts, words_of
from nmt.text.languages.matching import known
from nmt.text.pairs import Pair, PairReader

_PAIRS_READ = 10_000
"""Pairs at the beginning of the text that decide on its languages."""
_SIDES = ("source", "target")


def with_languages(
    config: RunConfig,
    say: Callable[[str], None],
    first: Sequence[Pair] | None = None,
    initial: CorpusConfig | None = None,
) -> RunConfig:
    """The configuration of a new run with both languages, the rules for their words and BLEU's tokenizer.

    Args:
        config: a language that it leaves empty is the one that a document of pairs declares; without one, the first
            10,000 pairs decide.
        first: pairs that decide in place of the first 10,000.
        initial: of the run that training begins with. It has the languages that neither user nor document names.
        say: takes a line on the languages, a line for a language whose script differs from the text's, and a line if
            the files are named after the languages of the other sides.

    Raises:
        CorpusError: the pairs cannot be read, or can be read only once, or there are none.
        EvaluationError: sacreBLEU lacks the tokenizer.
    """
    texts = _first_texts(config.corpus) if first is None else _sides(first)
    named = _with_initial(_with_declared(config.corpus), initial)
    corpus = decide_languages(named, *texts)
    languages, words = languages_of(corpus), words_of(corpus)
    given = [named.source_language, named.target_language]
    guessed = [side for side, tag in zip(_SIDES, given, strict=True) if not tag]
    cut = [f"; words of the {side} are cut {rule.name}" for side, rule in zip(_SIDES, words, strict=True) if rule.name]
    tokenize = tokenizer_of_run(replace(config, corpus=corpus))
    require_tokenizer(tokenize)
    about = [_reason(guessed), *cut, _about_bleu(tokenize, languages.target)]
    say(f"languages: {languages.source} to {languages.target}{''.join(about)}")
    for side, language, text in zip(_SIDES, languages, texts, strict=True):
        found = main_script(script_counts(text))
        if side not in guessed and found and language.script and not _same_script(language.script, found):
            say(
                f"warning: corpus.{side}_language is {language}, but most of the {side} text is in the script {found}: "
                "are source and target exchanged?"
            )
    if not guessed and _endings(config.corpus.train) == (languages.target.code, languages.source.code):
        files = f"{config.corpus.train.source} and {config.corpus.train.target}"
        say(
            f"warning: corpus.source_language is {languages.source} and corpus.target_language is {languages.target}, "
            f"but the files are {files}: are source and target exchanged?"
        )
    return replace(
        config,
        corpus=corpus,
        vocabulary=_with_normalization(config.vocabulary),
        training=replace(config.training, tokenize=tokenize),
    )


def _with_normalization(vocabulary: VocabularyConfig) -> VocabularyConfig:
    """The settings with the normalisation that `auto` is, unless another run has the vocabularies."""
    open_ = vocabulary.normalization == "auto" and not vocabulary.run
    return replace(vocabulary, normalization="nfc") if open_ else vocabulary


def _about_bleu(tokenize: str, target: Language) -> str:
    if tokenize == SPACED:
        return ""
    missing = "" if tokenize.endswith("mecab") else missing_analyser(target)
    return f"; BLEU counts by sacreBLEU's tokenizer {tokenize}" + f" ({missing} has a better one)" * bool(missing)


def _with_declared(corpus: CorpusConfig) -> CorpusConfig:
    """The settings with the languages that a document of pairs declares where the user names none."""
    if not corpus.train.document:
        return corpus
    found = declared_languages(corpus.train.document, languages_of(corpus))
    declared = ["" if language == Language() else language.tag for language in found]
    return replace(
        corpus,
        source_language=corpus.source_language or declared[0],
        target_language=corpus.target_language or declared[1],
    )


def _with_initial(corpus: CorpusConfig, initial: CorpusConfig | None) -> CorpusConfig:
    """The settings with the languages of the initial run where they are open and no file is named after another."""
    if initial is None:
        return corpus
    tags = [corpus.source_language, corpus.target_language]
    for place, (language, ending) in enumerate(zip(languages_of(initial), _endings(corpus.train), strict=True)):
        other = re.fullmatch("[a-z]{2,3}", ending) and ending != language.code
        if not tags[place] and known(language.tag) and not other:
            tags[place] = language.tag
    return replace(corpus, source_language=tags[0], target_language=tags[1])


def _first_texts(corpus: CorpusConfig) -> tuple[Sequence[str], Sequence[str]]:
    """Source and target sentences of the first pairs; without gold links, whose words are not yet known."""
    reader = PairReader(replace(corpus.train, alignment=""), corpus)
    reader.require_files()
    first = list(islice(reader, _PAIRS_READ))
    if not first:
        raise CorpusError(f"{corpus.train.title}: there are no sentence pairs to train on: the text is empty")
    return _sides(first)


def _sides(pairs: Sequence[Pair]) -> tuple[Sequence[str], Sequence[str]]:
    return [pair.source for pair in pairs], [pair.target for pair in pairs]


def _reason(guessed: Sequence[str]) -> str:
    if not guessed:
        return ""
    side = f"the {guessed[0]} " if len(guessed) == 1 else ""
    flags = " and ".join(f"--corpus.{side}_language" for side in guessed)
    return f", {side}by the script of the text; another language is named with {flags}"


def _endings(train: PairsConfig) -> tuple[str, str]:
    """The ends of the names of source and target: `en` and `fr` of train.en and train.fr.gz, none for other pairs."""
    source, target = (re.sub(r"\.(gz|zst)$", "", name).rpartition(".")[2] for name in (train.source, train.target))
    return source, target


def _same_script(one: str, other: str) -> bool:
    """Whether text of one script can be text of the other; Chinese has three codes, and Japanese may lack kana."""
    chinese = {"Hani", "Hans", "Hant", "Jpan"}
    return one == other or {one, other} <= chinese
