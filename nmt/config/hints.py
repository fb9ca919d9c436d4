"""Hints for mistyped names."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable

MOST = 3
"""Known names that a hint has at most."""

_NAMES_OF_OTHERS = {
    "passes": ("epochs", "epoch", "num_epochs", "max_epochs", "max_epoch", "train_epochs", "num_train_epochs"),
    "batch_tokens": ("batch_size", "train_batch_size", "max_tokens", "batch"),
    "learning_rate": ("lr", "learn_rate"),
    "warmup_steps": ("warmup", "warmup_updates", "learning_rate_warmup"),
    "length_penalty": ("alpha", "lenpen", "beam_alpha", "normalize"),
    "beam_size": ("beam", "num_beams"),
    "nbest": ("n_best", "n_best_size", "num_return_sequences"),
    "devices": ("gpu", "gpus", "gpu_ids", "num_gpus", "gpu_ranks", "world_size"),
    "size": ("vocab_size", "src_vocab_size", "tgt_vocab_size"),
    "units": ("hidden", "hidden_size", "rnn_size", "num_units"),
    "embedding": ("emb_size", "embedding_dim", "embed_dim", "word_vec_size", "d_model"),
    "encoder_layers": ("layers", "num_layers", "enc_layers"),
    "feed_forward": ("ff_size", "ffn_dim", "transformer_ff"),
    "patience": ("early_stopping", "early_stop"),
    "precision": ("fp16", "bf16", "mixed_precision"),
}
"""Names that other toolkits have for settings of nmt."""
_OWN_NAME = {other: own for own, others in _NAMES_OF_OTHERS.items() for other in others}


def did_you_mean(name: str, names: Collection[str], prefix: str = "") -> str:
    """The end of a message about an unknown name: the known names that are probably meant.

    Known names with the same last part come first, such as `--model.units` for `--units`; then names of other toolkits,
    such as `--training.passes` for `--epochs`; then the most similar known name, if one is similar enough.

    Args:
        name: the unknown name.
        names: the known names.
        prefix: stands before a known name in the message.
    """
    last = _last_part(name)
    same = [other for other in names if _last_part(other) == last]
    if not same and last in _OWN_NAME:  # a similar name would mislead
        meant = [other for other in names if _last_part(other) == _OWN_NAME[last]]
    elif same:
        outermost = min(other.count(".") for other in same)
        least = [other for other in same if other.count(".") == outermost]
        meant = difflib.get_close_matches(name, least, n=MOST, cutoff=0)
    else:
        meant = difflib.get_close_matches(name, names, n=1)
    return f", did you mean {' or '.join(f'{prefix}{other}' for other in meant[:MOST])}?" if meant else ""


def expected_one_of(value: object, choices: Iterable[object]) -> str:
    """The end of a message about a value that is none of the choices."""
    names = [str(choice) for choice in choices]
    return f"expected one of {', '.join(names)}{did_you_mean(str(value), names).replace(',', ';', 1)}"


def _last_part(name: str) -> str:
    return name.removeprefix("--").rpartition(".")[2].replace("-", "_")
