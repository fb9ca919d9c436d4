"""The lines at the end of a training: why it ended, its best value, and advice if it has learned nothing."""

from __future__ import annotations

from collections.abc import Iterator

from nmt.batches.sharded_corpus import ShardedCorpus
from nmt.config import TrainingConfig
from nmt.progress import duration
from nmt.training.early_stopping import measure_of
from nmt.training.preparation.prepare import Prepared
from nmt.training.state import TrainingState
from nmt.training.unigram_baseline import count_pieces, unigram_loss

LEARNED_BLEU = 1.0
"""Validation BLEU that no model reaches without learning."""


def concluding_lines(prepared: Prepared, state: TrainingState) -> Iterator[str]:
    """The lines for the user about a finished training."""
    config, target = prepared.run.config.training, prepared.run.target
    yield farewell(state, config)
    validation = target.encode([pair.target for pair in prepared.validation])
    pairs = prepared.train
    if isinstance(pairs, ShardedCorpus):
        pieces = pairs.piece_counts[1, : target.size]
    else:
        pieces = count_pieces(pairs.target, target.size)
    if advice := advice_if_nothing_learned(state, config, unigram_loss(pieces, len(pairs), validation)):
        yield advice
    elif no_phrase_is_right(state, config):
        yield (
            "validation BLEU is 0 where no phrase of four words is right, as in short sentences: chrF measures such "
            "text better (--training.metric chrf)"
        )


def interruption_line(prepared: Prepared, state: TrainingState) -> str:
    """Where an interrupted training is saved, and how it goes on."""
    return f"interrupted; step {state.step} is saved in {prepared.run.directory}, the same command resumes the training"


def no_phrase_is_right(state: TrainingState, config: TrainingConfig) -> bool:
    """Whether the reported value is a BLEU of 0.00."""
    return measure_of(config.metric) == "bleu" and state.best is not None and round(state.best, 2) == 0


def farewell(state: TrainingState, config: TrainingConfig) -> str:
    """Why the training ended, after how many steps, and the best value."""
    epochs = f"{state.pass_index} epoch{'s' if state.pass_index > 1 else ''} done"
    early = f"no better {config.metric} in {config.patience} validations (a higher --training.patience goes on)"
    reason = early if state.stopped_early else epochs
    value = "last validation bleu" if config.metric == "last" else f"best validation {config.metric}"
    steps = f"{state.step:,} steps in {duration(state.seconds)} without validations"
    return f"training has ended: {reason}, {steps}; {value} {state.best:.2f}"


def advice_if_nothing_learned(state: TrainingState, config: TrainingConfig, baseline: float) -> str:
    """Advice for a finished training that has learned nothing; "" for others.

    Args:
        baseline: `unigram_loss` of the validation pairs.
    """
    more = f"--training.passes {4 * config.passes}" + " --training.patience 0" * state.stopped_early
    if config.initial and state.best_step == 0:
        return (
            f"no validation was better than the one before training, so the run translates as {config.initial} does: "
            f"give more text, or try {more}"
        )
    if state.best is None or state.best_loss is None or state.best_loss < baseline:
        return ""
    if config.metric in ("bleu", "last") and state.best >= LEARNED_BLEU:
        return ""
    return (
        f"training has not learned to translate: the validation loss of {state.best_loss:.2f} is not below "
        f"{baseline:.2f}, the loss of the frequencies of the target pieces alone: check that each line translates the "
        f"same line of the other side, give more text, or continue with {more}"
    )
