"""How a model is trained."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from nmt.config.checks import require, require_positive, require_rate

Precision = Literal["auto", "float32", "mixed_float16", "mixed_bfloat16"]


@dataclass(frozen=True)
class ScheduleConfig:
    """The learning rate over the steps: linear warm-up, then decay."""

    learning_rate: float = 0.0015
    """Highest learning rate, reached at the end of the warm-up."""
    warmup_steps: int = 200
    """Steps of linear warm-up from zero; a fifth of all steps at most."""
    decay: Literal["constant", "cosine", "inverse_sqrt", "plateau"] = "cosine"
    """After the warm-up: stay; fall to `final_share` at the last step along a cosine; fall as 1/sqrt(step); or halve
    whenever `plateau` validations find nothing better."""
    final_share: float = 0.05
    """Share of the highest learning rate that the cosine ends at."""
    plateau: int = 2
    """Validations without a better metric after which the learning rate is halved, where it falls so."""

    def __post_init__(self) -> None:
        require_positive(self, "learning_rate", "plateau")
        require(self.warmup_steps >= 0, "warmup_steps: expected 0 or more")
        require(0 <= self.final_share <= 1, "final_share: expected a number from 0 to 1")


@dataclass(frozen=True)
class CheckpointConfig:
    """What is kept on disk while training."""

    every: int = 0
    """Steps between two checkpoints; 0: at each validation."""
    keep: int = 1
    """How many of the newest checkpoints are kept (the best weights are kept beside them)."""

    def __post_init__(self) -> None:
        require(self.every >= 0, "every: expected 0 or more steps")
        require_positive(self, "keep")


@dataclass(frozen=True)
class GuidedConfig:
    """Guided alignment (Chen et al. 2016): attention learns from word links beside the translation."""

    links: str = ""
    """Word links of the training pairs in Pharaoh format, a line a pair, as an aligner writes them; they train, and
    nothing is measured by them. Empty: attention learns from translating alone."""
    weight: float = 1.0
    """What the cross-entropy between links and attention counts beside the translation's in the first pass."""
    decay: float = 1.0
    """What the weight is multiplied by after each pass."""

    def __post_init__(self) -> None:
        require_positive(self, "weight", "decay")
        require(self.decay <= 1, f"decay is {self.decay}: expected 1 or less")


@dataclass(frozen=True)
class TrainingConfig:
    """How the model is trained."""

    initial: str = ""
    """Run directory whose weights training begins with, to adapt a trained model to other text (fine-tuning); the
    network is that run's, the vocabulary need not be. Empty: weights are drawn."""
    passes: int = 18
    """Passes over the training pairs at most."""
    batch_tokens: int = 1200
    """Largest batch: sentences times the length of its longest sentence, in pieces of the longer side."""
    accumulate: int = 1
    """Batches whose gradients are averaged for one update: an update on more text than memory holds at once. What
    counts steps counts batches."""
    window: int = 20000
    """Pairs that are sorted by length together before they are cut into batches."""
    shapes: int = 0
    """How many shapes batches have at most, for a compiler that makes a program for each; 0: on JAX 24, on TensorFlow,
    where one program takes any shape, as many as pad least."""
    schedule: ScheduleConfig = field(default_factory=ScheduleConfig)
    """Learning rate."""
    clip_norm: float = 1.0
    """Gradients are scaled down to this global norm; 0: never."""
    label_smoothing: float = 0.1
    """Probability mass taken from the right piece and spread evenly over the vocabulary."""
    guided: GuidedConfig = field(default_factory=GuidedConfig)
    """Guided alignment."""
    ema: float = 0.999
    """Decay of the exponential moving average of the weights, which is what validates and translates; less in the
    first steps, so that what is averaged is a twentieth of the run old at most; 0: none."""
    validate_every: int = 0
    """Steps between two validations; 0: at the end of each pass."""
    metric: Literal["bleu", "loss"] = "bleu"
    """What decides which weights are the best and when to stop early."""
    patience: int = 6
    """Validations without a better metric after which training ends; 0: never."""
    checkpoints: CheckpointConfig = field(default_factory=CheckpointConfig)
    """What is kept on disk."""
    precision: Precision = "auto"
    """Type of the matrix products; auto decides from what the hardware reports and a short trial, and the run saves
    what it was."""
    seed: int = 1
    """Seed of everything random: initial weights, order of the pairs, dropout."""
    deterministic: bool = False
    """Same seed, same weights to the bit (some operations are slower)."""
    log_every: int = 50
    """Steps between two lines of progress where standard error is not a terminal."""

    def __post_init__(self) -> None:
        require_positive(self, "passes", "batch_tokens", "accumulate", "window", "log_every")
        require_rate(self, "label_smoothing", "ema")
        require(0 <= self.seed < 2**31, f"seed is {self.seed}: expected a number from 0 to {2**31 - 1}")
        for name in ("shapes", "clip_norm", "validate_every", "patience"):
            require(getattr(self, name) >= 0, f"{name} is {getattr(self, name)}: expected 0 or more")
