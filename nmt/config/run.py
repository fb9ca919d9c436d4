"""All settings of a run."""

from __future__ import annotations

from dataclasses import dataclass

from nmt.config.checks import require
from nmt.config.corpus import CorpusConfig
from nmt.config.fields import group, setting
from nmt.config.model import ModelConfig
from nmt.config.search import SearchConfig
from nmt.config.training import TrainingConfig
from nmt.config.vocabulary import VocabularyConfig


@dataclass(frozen=True)
class RunConfig:
    """All settings of a run, saved in the run directory.

    Example:
        >>> config = nmt.RunConfig(name="mine", model=nmt.ModelConfig(units=128))
        >>> config.model.units, config.search.beam_size
        (128, 5)
    """

    name: str = setting("run", "Name of the run; its directory is `directory`/`name`.")
    directory: str = setting("saved_models", "Directory that contains the run directories.")
    corpus: CorpusConfig = group(CorpusConfig, "Sentence pairs.")
    vocabulary: VocabularyConfig = group(VocabularyConfig, "Pieces that sentences are cut into.")
    model: ModelConfig = group(ModelConfig, "Network.")
    training: TrainingConfig = group(TrainingConfig, "Training.")
    search: SearchConfig = group(SearchConfig, "Search, in validation and as the default of nmt translate.")

    def __post_init__(self) -> None:
        plain = self.name not in ("", ".", "..") and "/" not in self.name and "\0" not in self.name
        require(plain, f"name is '{self.name}': expected a plain folder name")
        require(
            self.vocabulary.shared or self.model.tie != "all",
            "model.tie is 'all' but the vocabularies are separate: set vocabulary.shared to true, or tie to 'target'",
        )
        require(
            not self.training.guided.links or self.model.attends,
            "training.guided.links guides attention, but model.attention.score is none: choose a score",
        )
        require(
            not self.training.aligner or self.model.attends,
            "training.aligner guides attention, but model.attention.score is none: choose a score",
        )
