"""Requests and answers of version 1 of the interface. The OpenAPI description follows from these classes."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field


def _encodable(text: str) -> str:
    """JSON can write half of a surrogate pair, which is no character."""
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError("half of a surrogate pair is no character")
    return text


Unicode = Annotated[str, AfterValidator(_encodable)]
Text = Annotated[Unicode, Field(description="A sentence, or a paragraph.")]
Texts = Annotated[Text | Annotated[list[Text], Field(min_length=1)], Field(description="One text, or a list of texts.")]
ModelName = Annotated[Unicode | None, Field(description="Name of a loaded model; null: the first one.")]


class Message(BaseModel):
    """A request. Unknown fields are refused, and values are never converted."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Term(Message):
    """A term of a glossary with the forms of its translation."""

    source: Annotated[Unicode, Field(min_length=1)]
    forms: Annotated[list[Annotated[Unicode, Field(min_length=1)]], Field(min_length=1)]


class TranslateRequest(Message):
    """Texts to translate."""

    text: Texts
    model: ModelName = None
    target: Annotated[
        Texts | None,
        Field(
            description="Given translations, one for each text: they are scored and aligned, and nothing is searched."
        ),
    ] = None
    beam_size: Annotated[int | None, Field(ge=1, description="Hypotheses of the beam; null: the model's.")] = None
    n_best: Annotated[int, Field(ge=1, description="Translations of each text; they widen a beam of null.")] = 1
    prefix: Annotated[
        Unicode | list[Unicode],
        Field(description="Beginning of the translation of every text, or of each one; its last word may continue."),
    ] = ""
    phrases: Annotated[list[Unicode], Field(description="Phrases that every translation contains.")] = []
    terms: Annotated[list[Term], Field(description="Terms of a glossary.")] = []
    terms_required: Annotated[bool, Field(description="Whether a form of each term must occur.")] = False
    copy_unknown: Annotated[bool, Field(description="Replace unknown pieces by the aligned source word.")] = False
    lexicon: Annotated[
        dict[Unicode, Unicode], Field(description="The word to write for a source word; needs copy_unknown.")
    ] = {}
    erase: Annotated[
        list[Annotated[int, Field(ge=0)]],
        Field(description="Indices of source words to leave out; the words are those of `source_words`."),
    ] = []
    markup: Annotated[
        Literal["auto", "html", "xliff"] | None,
        Field(description="Tags and placeholders in the text, which the translation gets at their words; null: none."),
    ] = None
    alignment: Annotated[bool, Field(description="Whether the answer has the alignments.")] = False
    stream: Annotated[
        bool, Field(description="Answer line by line (NDJSON): one `TranslatedText` for each text, in order.")
    ] = False


class PairRequest(Message):
    """Texts with their translations."""

    text: Texts
    target: Annotated[Texts, Field(description="The translation of each text.")]
    model: ModelName = None


class ExplainRequest(Message):
    """A text whose source words are erased one at a time."""

    text: Text
    target: Annotated[Unicode | None, Field(description="The translation to explain; null: the model's own.")] = None
    method: Annotated[
        Literal["word", "attention"],
        Field(description="Erase a word from the sentence, or only from the decoder's attention."),
    ] = "word"
    model: ModelName = None


class Alignment(BaseModel):
    """Attention and links between the words of a pair. Words are counted from 0."""

    source: Annotated[list[str], Field(description="The source words that the model read.")]
    target: Annotated[list[str], Field(description="The words of the translation.")]
    weights: Annotated[list[list[float]], Field(description="[target words][source words]: attention, 4 decimals.")]
    end_of_sentence: Annotated[list[float], Field(description="[target words]: attention to the end of the source.")]
    links: Annotated[list[tuple[int, int]], Field(description="Pairs of a source word and a target word.")]
    linked_by: Annotated[
        Literal["attention", "aligner"],
        Field(description="What made the links: attention, or a word aligner."),
    ]


class Candidate(BaseModel):
    """A translation of a text."""

    text: str
    log_probability: Annotated[float, Field(description="Sum over all pieces, in nats.")]
    score: Annotated[float, Field(description="The ranking of the search.")]
    truncated: Annotated[bool, Field(description="Whether the text was longer than the model reads.")]
    word_log_probabilities: Annotated[
        list[float], Field(description="[words of the translation], in nats, without the end of the sentence.")
    ]
    alignment: Annotated[Alignment | None, Field(description="null unless requested.")] = None


class TranslatedText(BaseModel):
    """The translations of a text, best first."""

    source: Annotated[str, Field(description="The text that was translated, without the erased words.")]
    source_words: Annotated[list[str], Field(description="Its words, erased ones included.")]
    candidates: list[Candidate]


class TranslateAnswer(BaseModel):
    """The translations of each text, in the order of the request."""

    model: Annotated[str, Field(description="Name of the model that answered.")]
    translations: list[TranslatedText]


class Score(BaseModel):
    """The probability of a given translation."""

    log_probability: Annotated[float, Field(description="Sum over all pieces, in nats.")]
    pieces: list[str]
    piece_log_probabilities: list[float]
    words: list[str]
    word_log_probabilities: list[float]


class ScoreAnswer(BaseModel):
    """The score of each pair, in order."""

    model: str
    scores: list[Score]


class ExplainAnswer(BaseModel):
    """The nats that each target word loses when a source word is erased."""

    model: str
    translation: Candidate
    source: list[str]
    target: list[str]
    method: Literal["word", "attention"]
    log_probabilities: Annotated[list[float], Field(description="[target words], with the whole source.")]
    falls: Annotated[list[list[float]], Field(description="[target words][source words]: loss without the word.")]


class LanguageOfSide(BaseModel):
    """A language of a model."""

    tag: Annotated[str, Field(description="BCP 47 tag; und is an unknown language.")]
    direction: Literal["ltr", "rtl"]


class ModelDescription(BaseModel):
    """A model that the server answers with."""

    name: str
    state: Literal["loading", "ready", "failed"]
    source: LanguageOfSide | None = None
    target: LanguageOfSide | None = None
    architecture: str = ""
    attention: str = ""
    beam_size: int = 0
    max_source: Annotated[int, Field(description="Pieces of the longest source that the model reads.")] = 0


class ModelsAnswer(BaseModel):
    """The models, the first one answers by default, and the limits of requests."""

    models: list[ModelDescription]
    limits: dict[str, float]


class ErrorAnswer(BaseModel):
    """A refused request, in one line."""

    error: str
    limit: Annotated[str | None, Field(description="Name of the limit that the request exceeds.")] = None
    value: Annotated[float | None, Field(description="The limit.")] = None
