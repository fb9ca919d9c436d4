"""How a model is trained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from nmt.config.checks import changed_fields, require, require_at_most, require_positive, require_rate
from nmt.config.fields import group, setting

Precision = Literal["auto", "float32", "mixed_float16", "mixed_bfloat16"]


@dataclass(frozen=True)
class ScheduleConfig:
    """The learning rate over the steps: linear warm-up, then decay."""

    learning_rate: float = setting(0.0015, "Highest learning rate, reached at the end of the warm-up.")
    warmup_steps: int = setting(200, "Steps of linear warm-up from zero; at most a fifth of all steps.")
    decay: Literal["constant", "cosine", "inverse_sqrt", "plateau"] = setting(
        "cosine",
        "Learning rate after the warm-up: constant; a cosine that ends at final_share at the last step; proportional "
        "to 1/sqrt(step); or halved after `plateau` validations without improvement.",
    )
    final_share: float = setting(0.05, "Share of the highest learning rate at which the cosine ends.")
    plateau: int = setting(2, "Validations without improvement before decay plateau halves the learning rate.")
    more_passes: Literal["stretch", "final_rate"] = setting(
        "stretch",
        "Schedule of a run resumed with more passes than planned. stretch: it spans all passes, so the rate can rise; "
        "final_rate: it stays as planned, and a cosine stays at its last rate.",
    )

    def __post_init__(self) -> None:
        require_positive(self, "learning_rate", "plateau")
        require(self.warmup_steps >= 0, "warmup_steps: expected 0 or more")
        require_at_most(self, learning_rate=1000, plateau=10**6, warmup_steps=10**9)
        require(0 <= self.final_share <= 1, "final_share: expected a number from 0 to 1")


@dataclass(frozen=True)
class CheckpointConfig:
    """Which checkpoints training keeps on disk."""

    every: int = setting(0, "Steps between two checkpoints; 0: one checkpoint per validation.")
    keep: int = setting(1, "Number of newest checkpoints kept; the best weights are kept in addition.")

    def __post_init__(self) -> None:
        require(self.every >= 0, "every: expected 0 or more steps")
        require_positive(self, "keep")
        require_at_most(self, every=10**9, keep=10**6)


@dataclass(frozen=True)
class GuidedConfig:
    """Guided alignment (Chen et al. 2016): attention learns from word links, beside the translation."""

    links: str = setting(
        "",
        "Word links of the training pairs in Pharaoh format, one line per pair, from a word aligner. They train "
        "attention and measure nothing. Empty: attention learns from translation alone.",
        "FILE",
    )
    weight: float = setting(
        0.1, "Weight of the cross-entropy between links and attention in the first epoch; the translation's is 1."
    )
    decay: float = setting(1.0, "Factor on this weight after each epoch.")

    def __post_init__(self) -> None:
        require_positive(self, "weight", "decay")
        require_at_most(self, weight=10**6)
        require(self.decay <= 1, f"decay is {self.decay}: expected 1 or less")


@dataclass(frozen=True)
class TrainingConfig:
    """How the model is trained."""

    initial: str = setting(
        "",
        "Run directory whose weights training starts from (fine-tuning). The network settings are taken from that run; "
        "the vocabulary may differ. Empty: weights are drawn at random.",
        "DIR",
    )
    passes: int = setting(18, "Largest number of epochs, which are passes over the training pairs.")
    minutes: float = setting(
        0.0,
        "Minutes that the whole training should take, for recipe auto: it times this machine once, chooses epochs, "
        "dropout and size of the network, and saves them in the run; 0: as long as the recipe takes.",
    )
    batch_tokens: int = setting(
        1200, "Largest batch: sentences times pieces of its longest sentence, source or target."
    )
    accumulate: int = setting(
        1,
        "Batches whose gradients are averaged for one update, which allows larger updates than memory holds at once. "
        "Steps count batches.",
    )
    window: int = setting(20000, "Pairs that are sorted by length together before they are cut into batches.")
    shapes: int = setting(
        0,
        "Largest number of batch shapes, for compilers that make a program per shape; 0: 24 on JAX, and the shapes "
        "with the least padding on TensorFlow, where one program takes any shape.",
    )
    schedule: ScheduleConfig = group(ScheduleConfig, "Learning rate.")
    clip_norm: float = setting(1.0, "Gradients are scaled down to this global norm; 0: no clipping.")
    weight_decay: float = setting(
        0.0,
        "Each update also multiplies the matrices by 1 - learning rate x weight_decay (decoupled weight decay), which "
        "keeps them small; 0: no decay.",
    )
    label_smoothing: float = setting(
        0.1, "Probability mass taken from the correct piece and spread evenly over the vocabulary."
    )
    guided: GuidedConfig = group(GuidedConfig, "Guided alignment.")
    aligner: bool = setting(
        False,
        "Learn word links from the training pairs first, as nmt aligner does, and guide attention with them; the "
        "weight and its decay are those of training.guided.",
    )
    recombine: int = setting(
        0,
        "New pairs for each training pair, in which linked phrases of other pairs replace some of its own; phrases "
        "between equal words are interchangeable. It takes the links of training.aligner or training.guided.links.",
    )
    ema: float = setting(
        0.999,
        "Decay of the exponential moving average of the weights, which validates and translates. It is smaller in the "
        "first steps, so the average spans at most a twentieth of the run; 0: no average.",
    )
    validate_every: int = setting(0, "Steps between two validations; 0: one validation at the end of each epoch.")
    metric: Literal["bleu", "chrf", "loss", "last"] = setting(
        "bleu",
        "Metric that selects the best weights and stops training early; last: the newest weights count as the best, "
        "which suits very few validation pairs. Training then never ends early.",
    )
    tokenize: str = setting(
        "auto",
        "sacreBLEU's tokenizer for BLEU, in validation and by default in nmt evaluate; auto: 13a for languages with "
        "spaces between words, zh for Chinese, ja-mecab and ko-mecab where sacrebleu[ja] and sacrebleu[ko] are "
        "installed, else char.",
    )
    patience: int = setting(
        6, "Validations of changed weights without improvement after which training ends; 0: train all epochs."
    )
    checkpoints: CheckpointConfig = group(CheckpointConfig, "Checkpoints on disk.")
    precision: Precision = setting(
        "auto",
        "Type of the matrix products; auto: chosen by the hardware's report and a short trial, then saved in the run.",
    )
    devices: int = setting(
        0,
        "Devices of this machine that share each batch; 0: all GPUs, or the processor of a machine without GPUs. "
        "Without GPUs, a larger number divides the processor, which only serves to try it out.",
    )
    seed: int = setting(
        1, "Seed of the initial weights, the order of the pairs, dropout, the held-out pairs and the new pairs."
    )
    deterministic: bool = setting(False, "The same seed gives the same weights to the bit; some operations are slower.")
    live_view: bool = setting(
        True,
        "Draw the training at each validation: history.png has its curves, run.html also sample translations, settings "
        "and the report on the text.",
    )
    log_every: int = setting(50, "Steps between two lines of progress if standard error is not a terminal.")

    @property
    def unread(self) -> list[str]:
        """Fields that differ from their defaults although this training does not read them."""
        readers = {
            "guided.weight": self.aligner or bool(self.guided.links),
            "guided.decay": self.aligner or bool(self.guided.links),
            "schedule.final_share": self.schedule.decay == "cosine",
            "schedule.plateau": self.schedule.decay == "plateau",
        }
        return changed_fields(self, [name for name, is_read in readers.items() if not is_read])

    def __post_init__(self) -> None:
        require_positive(self, "passes", "batch_tokens", "accumulate", "window", "log_every")
        require_rate(self, "label_smoothing", "ema")
        require(
            not (self.aligner and self.guided.links),
            "aligner learns links, and guided.links names other links: choose one of them",
        )
        require(
            self.recombine <= 0 or self.aligner or bool(self.guided.links),
            "recombine exchanges linked phrases: add --training.aligner true, which learns links, or "
            "--training.guided.links",
        )
        require(0 <= self.seed < 2**31, f"seed is {self.seed}: expected a number from 0 to {2**31 - 1}")
        not_negative = (
            "minutes",
            "shapes",
            "clip_norm",
            "weight_decay",
            "validate_every",
            "patience",
            "devices",
            "recombine",
        )
        for name in not_negative:
            require(getattr(self, name) >= 0, f"{name} is {getattr(self, name)}: expected 0 or more")
        highest = self.schedule.learning_rate * self.weight_decay
        require(highest < 1, f"weight_decay is {self.weight_decay}: expected less than 1 / schedule.learning_rate")
        require_at_most(
            self, passes=10**6, minutes=10**6, batch_tokens=10**9, accumulate=10**6, window=10**9, shapes=10**4
        )
        require_at_most(
            self, devices=10**4, clip_norm=10**9, validate_every=10**9, patience=10**9, log_every=10**9, recombine=10**4
        )
