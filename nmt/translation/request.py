"""A translation request: one sentence and everything that its translation depends on besides the model."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

from nmt.config import ConfigError, SearchConfig, config_from_dict, config_to_dict
from nmt.errors import NmtError
from nmt.text.markup import MarkupKind
from nmt.translation.glossary import GlossaryMode, Term
from nmt.translation.minimum_bayes_risk import Utility

SAMPLES = 16
"""Candidates of minimum-Bayes-risk decoding with sampling, unless the request says how many."""


SENTENCE_IDS = 2**63
"""Sentence ids are smaller than this number: a search reads them as int64."""


class RequestError(NmtError):
    """A request that cannot be answered; the message names the field and the fix."""


class Lexicon(dict[str, str]):
    """The word to write for each source word, checked once for all requests that share it.

    Raises:
        RequestError: the word to write is not one word without spaces around it.
    """

    def __init__(self, words: Mapping[str, str] | Iterable[tuple[str, str]] = ()) -> None:
        super().__init__(words)
        for word, copy in self.items():
            _require(copy.split() == [copy], f"lexicon (--lexicon) has {copy!r} for {word!r}: expected one word")


@dataclass(frozen=True)
class Constraint:
    """Text that the translation of a sentence must contain."""

    prefix: str = ""
    """The beginning of the translation; its last word may continue."""
    phrases: tuple[str, ...] = ()
    """Phrases that occur as whole words, in any order."""


@dataclass(frozen=True)
class TranslationRequest:
    """One sentence to translate. Commands, a server and a pipeline all translate through requests.

    Raises:
        RequestError: fields that contradict each other, or a value that no search can use.
    """

    text: str
    """The source sentence."""
    search: SearchConfig
    """The search. Requests with equal searches share batches."""
    prefix: str = ""
    """The beginning of the translation; its last word may continue."""
    phrases: tuple[str, ...] = ()
    """Phrases that occur in the translation as whole words, in any order; blank phrases are ignored."""
    lexicon: Mapping[str, str] = field(default_factory=Lexicon)
    """The one word to write for each source word that stands in for an unknown piece; needs `search.copy_unknown`.
    Many requests share a large `Lexicon`, which is checked once."""
    nbest: int | None = None
    """Number of translations; with `minimum_bayes_risk` the number of candidates. None: one translation, or
    `default_candidates`."""
    minimum_bayes_risk: Utility | None = None
    """The utility by which the candidate that agrees most with the others is chosen; None: no such choice."""
    sentence_id: int = 0
    """Samples depend on this number and on `search.seed`: equal numbers draw equal samples."""
    terms: tuple[Term, ...] = ()
    """Terms of a glossary; those that occur in the text should be translated by one of their forms."""
    glossary_mode: GlossaryMode = "prefer"
    """Whether the terms replace other words where they can, or one form of each must occur."""
    markup: MarkupKind | None = None
    """The kind of markup in the text, which the translation gets at the words that it encloses; None: the text is plain
    text, whatever it contains."""
    aligned: bool = True
    """Whether the translator's aligner makes the links, which takes time; otherwise attention does. Markup and copies
    of unknown words get the aligner's links in any case."""

    def __post_init__(self) -> None:
        sampling, count = self.search.method == "sample", self.candidates
        _require(count >= 1, f"nbest is {count}: expected 1 or more")
        _require(
            0 <= self.sentence_id < SENTENCE_IDS,
            f"sentence_id is {self.sentence_id}: expected 0 or more, and less than 2**63",
        )
        _require(
            sampling or count <= self.search.beam_size,
            f"nbest is {count}, more than the {self.search.beam_size} hypotheses of the beam: raise beam_size "
            f"(--beam-size) to {count}",
        )
        _require(
            self.minimum_bayes_risk is None or count >= 2,
            "minimum_bayes_risk (--mbr) chooses among several translations: set beam_size (--beam-size) or nbest "
            "(--nbest) to 2 or more",
        )
        _require(
            not (sampling and self.phrases),
            "phrases (--phrases) need beam search, and method is sample: leave out the phrases or --method sample",
        )
        _require(
            not (sampling and self.terms),
            "terms (--glossary) need beam search, and method is sample: leave out the glossary or --method sample",
        )
        _require(
            self.glossary_mode in get_args(GlossaryMode),
            f"glossary_mode is {self.glossary_mode!r}: expected prefer or require",
        )
        _require(
            self.markup in (None, *get_args(MarkupKind)),
            f"markup is {self.markup!r}: expected {', '.join(get_args(MarkupKind))} or none",
        )
        _require(
            not self.lexicon or self.search.copy_unknown,
            "lexicon (--lexicon) gives the words for copies: set copy_unknown (--copy-unknown) too",
        )
        if not isinstance(self.lexicon, Lexicon):
            object.__setattr__(self, "lexicon", Lexicon(self.lexicon))
        _require(
            self.search.split_sentences != "always"
            or ((count == 1 or self.minimum_bayes_risk is not None) and not (self.prefix or self.phrases)),
            "split_sentences (--split-sentences) always joins one translation of each sentence: leave it out with "
            "nbest (--nbest), prefix (--prefixes) and phrases (--phrases), which are for a whole line",
        )

    @property
    def candidates(self) -> int:
        """Number of translations that the search returns."""
        if self.nbest is not None:
            return self.nbest
        return default_candidates(self.search) if self.minimum_bayes_risk else 1

    def to_json(self) -> dict[str, Any]:
        """The request as plain values, ready for `json.dumps`."""
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        terms = [{"source": term.source, "forms": list(term.forms)} for term in self.terms]
        changed = {"search": config_to_dict(self.search), "phrases": list(self.phrases), "lexicon": dict(self.lexicon)}
        return values | changed | {"terms": terms}

    @classmethod
    def from_json(cls, values: Any, search: SearchConfig | None = None) -> TranslationRequest:
        """Reads the values that `to_json` wrote; only `text` is required.

        Args:
            values: a JSON object.
            search: settings for the fields that the object's `search` leaves out; None: the defaults.

        Raises:
            RequestError: a missing or unknown field, or a value of the wrong type.
        """
        _require(isinstance(values, Mapping), "request: expected a JSON object with text")
        known = {f.name for f in dataclasses.fields(cls)}
        unknown = sorted(map(str, set(values) - known))
        _require(not unknown, f"request: unknown field {', '.join(unknown)}: expected {', '.join(sorted(known))}")
        _require("text" in values, "request: text is missing")
        for name, (types, expected) in _TYPES.items():
            _require(
                name not in values or (isinstance(values[name], types) and not isinstance(values[name], bool)),
                f"request: {name} is {values.get(name)!r}: expected {expected}",
            )
        aligned = values.get("aligned", True)
        _require(isinstance(aligned, bool), f"request: aligned is {aligned!r}: expected true or false")
        utility, phrases, lexicon = (values.get(name) for name in ("minimum_bayes_risk", "phrases", "lexicon"))
        _require(
            utility is None or utility in get_args(Utility),
            f"request: minimum_bayes_risk is {utility!r}: expected bleu or chrf",
        )
        _require(
            all(isinstance(text, str) for text in [*(phrases or ()), *(lexicon or {}), *(lexicon or {}).values()]),
            "request: expected texts in phrases and lexicon",
        )
        given = {name: value for name, value in values.items() if name not in ("search", "phrases", "terms")}
        return cls(
            **given,
            search=_search(values.get("search", {}), search),
            phrases=tuple(phrases or ()),
            terms=tuple(map(_term, values.get("terms", ()))),
        )


_TYPES: dict[str, tuple[tuple[type, ...], str]] = {
    "text": ((str,), "a text"),
    "search": ((Mapping,), "an object of search settings"),
    "prefix": ((str,), "a text"),
    "phrases": ((list, tuple), "a list of texts"),
    "terms": ((list, tuple), "a list of terms"),
    "glossary_mode": ((str,), "prefer or require"),
    "markup": ((str, type(None)), "auto, html, xliff or null"),
    "lexicon": ((Mapping,), "an object of words and their copies"),
    "nbest": ((int, type(None)), "a whole number"),
    "sentence_id": ((int,), "a whole number"),
}
"""The types that JSON may have for a field, and how messages call them."""


def default_candidates(search: SearchConfig) -> int:
    """Number of candidates of minimum-Bayes-risk decoding: the whole beam, or 16 samples."""
    return SAMPLES if search.method == "sample" else search.beam_size


def _term(values: Any) -> Term:
    """A term of a request in JSON."""
    forms = values.get("forms") if isinstance(values, Mapping) and set(values) == {"source", "forms"} else None
    texts = [values["source"], *forms] if isinstance(forms, (list, tuple)) and forms else [""]
    _require(
        all(isinstance(text, str) and text.strip() for text in texts),
        f"request: terms has {values!r}: expected an object with source, a text, and forms, a list of texts",
    )
    return Term(values["source"], tuple(values["forms"]))


def _search(values: Mapping[str, Any], defaults: SearchConfig | None) -> SearchConfig:
    try:
        search: SearchConfig = config_from_dict(SearchConfig, {**config_to_dict(defaults or SearchConfig()), **values})
    except ConfigError as error:
        raise RequestError(f"request: search: {error}") from None
    return search


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise RequestError(message)
