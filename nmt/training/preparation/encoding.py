"""The training pairs as ids, and their links between pieces where attention is guided."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import compress
from pathlib import Path

from nmt.alignment.errors import AlignmentError
from nmt.alignment.pharaoh_and_naacl import parse_pharaoh
from nmt.alignment.pieces_to_words import piece_links
from nmt.batches.encoded_corpus import EncodedCorpus
from nmt.batches.windows import windows
from nmt.config import CorpusConfig
from nmt.errors import NmtError
from nmt.progress import LineProgress, counted
from nmt.text.languages import words_of
from nmt.text.pairs import Pair
from nmt.text.rewriting import Rewriting
from nmt.text.tokenizer import Tokenizer

CHUNK = 10_000
"""Pairs per call of SentencePiece."""


class PairEncoder:
    """Encodes training pairs; drops pairs with a side without pieces, and drops or cuts long pairs.

    Args:
        config: `max_pieces` and `on_long` decide on long pairs; languages decide on the words of links.
        source, target: vocabularies.
        guided: whether to encode the pairs' links too.
    """

    def __init__(self, config: CorpusConfig, source: Tokenizer, target: Tokenizer, guided: bool) -> None:
        of_source, of_target = words_of(config)
        self.config, self.guided = config, guided
        self.source, self.target = source.with_words(of_source), target.with_words(of_target)
        self.long = 0
        """Pairs read with more than `max_pieces` pieces on a side."""
        self.empty = 0
        """Pairs read with a side without pieces, such as one of zero-width characters alone."""
        self.rewriting = {side: Rewriting(side) for side in ("source", "target")}
        """What normalisation changes on each side."""

    def write(self, directory: Path, pairs: Iterable[Pair], report: Callable[[str], None]) -> None:
        """Writes an `EncodedCorpus`; `report` takes lines on long pairs and on text that normalisation changes.

        Raises:
            NmtError: every pair is too long.
            AlignmentError: no pair has a link.
        """
        limit = self.config.max_pieces
        chunks = (self.encoded(chunk) for chunk in windows(LineProgress(unit="pairs").over(pairs), CHUNK))
        # Links are positions below the limit. They have as many bytes as ids.
        largest = max(self.source.size, self.target.size, limit)
        corpus = EncodedCorpus.write(directory, chunks, largest, self.guided)
        if not len(corpus):
            raise NmtError(f"no training pair has at most {limit} pieces on each side: raise corpus.max_pieces")
        for line in self.report_lines():
            report(line)
        if corpus.links is not None and not corpus.links.lengths.any():
            raise AlignmentError("training.guided.links: no training pair has a link: expected lines such as 0-0 1-2")

    def report_lines(self) -> Iterator[str]:
        """Lines on pairs without pieces, on long pairs and on text that normalisation changes."""
        if self.empty:
            yield f"dropped: {counted(self.empty, 'training pair')} with a side without pieces"
        if self.long:
            done, limit = "dropped" if self.config.on_long == "drop" else "cut", self.config.max_pieces
            yield f"{done}: {counted(self.long, 'training pair')} longer than {limit} pieces (corpus.on_long)"
        for side, vocabulary in (("source", self.source), ("target", self.target)):
            if self.rewriting[side].lines:
                yield self.rewriting[side].report(vocabulary.keeps_characters)

    def encoded(self, chunk: list[Pair]) -> tuple[list[list[int]], ...]:
        """Source ids, target ids and, where attention is guided, links of the pairs that are kept."""
        limit = self.config.max_pieces
        self.rewriting["source"].note(self.source.rewritten([pair.source for pair in chunk]))
        self.rewriting["target"].note(self.target.rewritten([pair.target for pair in chunk]))
        sides = self.source.encode([p.source for p in chunk]), self.target.encode([p.target for p in chunk])
        lengths = [sorted(map(len, both)) for both in zip(*sides, strict=True)]
        self.empty += sum(not shorter for shorter, _ in lengths)
        self.long += sum(longer > limit for shorter, longer in lengths if shorter)
        cut = self.config.on_long == "truncate"
        kept = [shorter > 0 and (cut or longer <= limit) for shorter, longer in lengths]
        links = [[self._links(pair) for pair in chunk]] if self.guided else []
        return (
            *([ids[:limit] for ids in compress(side, kept)] for side in sides),
            *(list(compress(part, kept)) for part in links),
        )

    def _links(self, pair: Pair) -> list[int]:
        """Links between the pair's first `max_pieces` pieces, in the form that `batches.arrays.link_rows` reads."""
        found = parse_pharaoh(pair.links or "", "links").possible
        between = piece_links(found, self.source.segment(pair.source), self.target.segment(pair.target))
        return [position for link in between if max(link) < self.config.max_pieces for position in link]
