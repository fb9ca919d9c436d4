"""Translations of the sentences of a paragraph, joined to the translation of the paragraph."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from threading import Lock

import numpy as np

from nmt.alignment.hard_links import BY_ATTENTION
from nmt.alignment.word_alignment import WordAlignment
from nmt.text.languages.words import Words
from nmt.translation.inference.protocol import Report
from nmt.translation.result import Translation


def join_translations(text: str, sentences: Sequence[Translation], source: Words, target: Words) -> Translation:
    """The translation of a paragraph.

    A space stands between two translations, and nothing if the target is unspaced. Newlines between two sentences of
    the source stand between their translations instead. Other white space of the source is never written: many programs
    take some of it for the end of a line. Log-probabilities and scores are sums. The alignment has the words of all
    sentences, each aligned within its own sentence.

    Args:
        text: the source paragraph.
        sentences: translations of its sentences; their sources joined are the text.
        source, target: cut both languages into words.
    """
    pairs = [pair for pair in sentences if pair.text or pair.source.strip()]
    written = "".join(pair.text + _gap(pair, bool(target.name)) for pair in pairs)
    return Translation(
        source=text,
        text=written.strip(),
        log_probability=sum(pair.log_probability for pair in pairs),
        score=sum(pair.score for pair in pairs),
        alignment=_joined_alignment(pairs, source),
        truncated=any(pair.truncated for pair in pairs),
        pieces=tuple(piece for pair in pairs for piece in pair.pieces),
        piece_log_probabilities=tuple(value for pair in pairs for value in pair.piece_log_probabilities),
        word_log_probabilities=tuple(value for pair in pairs for value in pair.word_log_probabilities),
    )


def _gap(pair: Translation, unspaced: bool) -> str:
    """The white space behind a translation."""
    newlines = pair.source[len(pair.source.rstrip()) :].count("\n")
    return "\n" * newlines or ("" if unspaced or not pair.text else " ")


def _joined_alignment(pairs: Sequence[Translation], words: Words) -> WordAlignment:
    """The alignments of the sentences along the diagonal, without attention between sentences."""
    sources = [_all_source_words(pair, words) for pair in pairs]
    targets = [pair.alignment.target for pair in pairs]
    weights = np.zeros((sum(map(len, targets)), sum(map(len, sources))), np.float32)
    links = set()
    row = column = 0
    for pair, source in zip(pairs, sources, strict=True):
        height, width = pair.alignment.weights.shape
        weights[row : row + height, column : column + width] = pair.alignment.weights
        links |= {(s + column, t + row) for s, t in pair.alignment.links}
        row, column = row + height, column + len(source)
    return WordAlignment(
        tuple(chain.from_iterable(sources)),
        tuple(chain.from_iterable(targets)),
        weights,
        np.concatenate([np.zeros(0, np.float32), *(pair.alignment.end_of_sentence for pair in pairs)]),
        frozenset(links),
        pairs[0].alignment.linked_by if pairs else BY_ATTENTION,
    )


def _all_source_words(pair: Translation, words: Words) -> tuple[str, ...]:
    """The source words, with those behind the cut of a long sentence: later sentences are counted behind them."""
    read = pair.alignment.source
    return read + tuple(words(pair.source)[len(read) :] if pair.truncated else ())


class LineReport:
    """Turns a report of finished sentences into a report of finished lines. Any thread may call it."""

    def __init__(self, report: Report, lines: int, sentences: int) -> None:
        self._report, self._lines, self._sentences = report, lines, sentences
        self._done, self._lock = 0, Lock()

    def __call__(self, sentences: int) -> None:
        with self._lock:
            before = self._done * self._lines // self._sentences
            self._done += sentences
            after = self._done * self._lines // self._sentences
        self._report(after - before)
