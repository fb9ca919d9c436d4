"""Validation: loss, BLEU and alignment error rate of the averaged weights on the validation pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from nmt.alignment.pharaoh_and_naacl import parse_pharaoh
from nmt.config import SearchConfig
from nmt.drawing import drawable, heatmap, pixels
from nmt.evaluation.alignment_error_rate import alignment_score
from nmt.evaluation.bleu_and_chrf import bleu, chrf
from nmt.evaluation.bleu_tokenizer import tokenizer_of_run
from nmt.network.model import Seq2Seq
from nmt.network.weights import assign_arrays
from nmt.run.directory import Run
from nmt.text.pairs import Pair
from nmt.translation.loading import translator_of_models
from nmt.translation.required_text import suppressed_pieces
from nmt.translation.result import Translation
from nmt.translation.translator import Translator

MOST_IMAGE_WORDS = 150
"""The most words of a side of the alignment image: a larger image takes hundreds of megabytes and is not readable."""

SAMPLES, MOST_SAMPLE_PIECES, SAMPLED_FROM = 4, 40, 200
"""Number of sample translations, pieces of the longest side of such a pair, and pairs that they are chosen from."""


class Validation:
    """The validation pairs, and a float32 model of its own that holds the averaged weights.

    With a second model, the weights in training stay in place while the averaged ones are measured.

    Args:
        run: the run in training.
        model: built model; its weights are overwritten.
        pairs: validation pairs, at least one.

    Raises:
        NmtError: `search.suppress` names a piece that the vocabulary lacks.
    """

    def __init__(self, run: Run, model: Seq2Seq, pairs: Sequence[Pair]) -> None:
        self.model, self.pairs = model, pairs
        self.translator = translator_of_models(run, model)
        suppressed_pieces(run.config.search, run.target)  # refused now, before the first epoch

    def measure(self, weights: dict[str, np.ndarray]) -> dict[str, float]:
        """`measure` with these weights, from `averaged_arrays`."""
        assign_arrays(self.model.trainable_variables, weights, "moving averages")
        return measure(self.translator, self.pairs)

    def samples(self) -> list[tuple[int, str, Translation]]:
        """Greedy translations of the first short pairs: number of the pair from 0, reference, translation."""
        run = self.translator.run
        chosen: list[tuple[int, Pair]] = []
        for number, pair in enumerate(self.pairs[:SAMPLED_FROM]):
            pieces = max(len(run.source.encode([pair.source])[0]), len(run.target.encode([pair.target])[0]))
            if 0 < pieces <= MOST_SAMPLE_PIECES and len(chosen) < SAMPLES:
                chosen.append((number, pair))
        found = self.translator.translate([pair.source for _, pair in chosen], greedy(self.translator))
        return [(number, pair.target, one) for (number, pair), one in zip(chosen, found, strict=True)]

    def alignment_image(self) -> np.ndarray | None:
        """The alignment of the first pair, uint8 [height, width, 4]; None for a pair too long to draw."""
        pair, run = self.pairs[0], self.translator.run
        if max(len(run.source.words(pair.source)), len(run.target.words(pair.target))) > MOST_IMAGE_WORDS:
            return None
        alignment = next(self.translator.align([pair.source], [pair.target])).alignment
        if not drawable(alignment):
            return None
        return pixels(heatmap(alignment))


def measure(translator: Translator, pairs: Sequence[Pair]) -> dict[str, float]:
    """Scores of a model on validation pairs.

    Returns:
        `loss` in nats per target token, `bleu` and `chrf` of greedy translations, and `aer` where the pairs have gold
        links.
    """
    sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
    forced = list(translator.align(sources, targets))
    texts = [translation.text for translation in translator.translate(sources, greedy(translator))]
    measured = {
        "loss": mean_loss(forced, translator.run.target.encode(targets)),
        "bleu": bleu(texts, targets, tokenizer_of_run(translator.config)).value,
        "chrf": chrf(texts, targets).value,
    }
    if pairs[0].alignment is not None:
        gold = [parse_pharaoh(pair.alignment or "", f"validation pair {i + 1}") for i, pair in enumerate(pairs)]
        measured["aer"] = alignment_score([pair.alignment.links for pair in forced], gold).aer
    return measured


def greedy(translator: Translator) -> SearchConfig:
    """The run's search settings with greedy search, which validation uses."""
    return replace(translator.config.search, method="beam", beam_size=1, short_list=0)


def mean_loss(forced: Sequence[Translation], targets: Sequence[Sequence[int]]) -> float:
    """Cross-entropy of aligned pairs in nats, per target piece that was scored, ends of sentences included.

    `Translator.align` cuts a target that is longer than any translation, and scores an end of sentence at the cut. This
    end is not part of the target, so it does not count.

    Args:
        forced: results of `Translator.align`.
        targets: ids of their whole targets.
    """
    total, pieces = 0.0, 0
    for pair, ids in zip(forced, targets, strict=True):
        scored = pair.piece_log_probabilities
        was_cut = 0 < len(scored) <= len(ids)
        total += pair.log_probability - (scored[-1] if was_cut else 0.0)
        pieces += len(scored) - was_cut
    return -total / max(pieces, 1)
