"""Everything that one run is made from, and how it is written down."""

from __future__ import annotations

from dataclasses import dataclass, field

from nmt.config.checks import require
from nmt.config.corpus import CorpusConfig
from nmt.config.model import ModelConfig
from nmt.config.search import SearchConfig
from nmt.config.training import TrainingConfig
from nmt.config.vocabulary import VocabularyConfig


@dataclass(frozen=True)
class RunConfig:
    """Everything that one run is made from; saved whole beside the weights."""

    name: str = "run"
    """Name of the run; its directory is `directory`/`name`."""
    directory: str = "saved_models"
    """Where run directories are."""
    corpus: CorpusConfig = field(default_factory=CorpusConfig)
    """Sentence pairs."""
    vocabulary: VocabularyConfig = field(default_factory=VocabularyConfig)
    """Pieces."""
    model: ModelConfig = field(default_factory=ModelConfig)
    """Network."""
    training: TrainingConfig = field(default_factory=TrainingConfig)
    """Training."""
    search: SearchConfig = field(default_factory=SearchConfig)
    """Search, also of the validation and the default of `nmt translate`."""

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
