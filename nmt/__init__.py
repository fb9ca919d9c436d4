"""Neural machine translation: bidirectional LSTM encoder, GRU decoder, additive attention, on Keras 3.

The public names are here and are loaded when they are first used, so that `import nmt` loads neither Keras nor
TensorFlow:

    config = nmt.load_config("data/demo/config.yaml", ["--training.passes", "5"])
    run = nmt.train(config)
    for translation in nmt.Translator.load(run.directory).translate(["a sentence"]):
        print(translation.text, translation.alignment.pharaoh())
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from nmt.version import __version__ as __version__

if TYPE_CHECKING:
    from nmt.aligning.aligner import Aligner
    from nmt.alignment.hard_links import Linking
    from nmt.config import (
        AttentionConfig,
        CheckpointConfig,
        ConfigError,
        CorpusConfig,
        DropoutConfig,
        GuidedConfig,
        ModelConfig,
        PairsConfig,
        RunConfig,
        ScheduleConfig,
        SearchConfig,
        TrainingConfig,
        TransformerConfig,
        VocabularyConfig,
    )
    from nmt.config.aligner import AlignerConfig
    from nmt.drawing import heatmap, save_figure, save_heatmap, show_heatmaps
    from nmt.drawing.page import widget
    from nmt.errors import NmtError
    from nmt.training.settings import load_config
    from nmt.training.trainer import train
    from nmt.translation.glossary import Glossary
    from nmt.translation.result import Translation
    from nmt.translation.translator import Translator
    from nmt.translation.two_directions import symmetrized

__all__ = [
    "Aligner",
    "AlignerConfig",
    "AttentionConfig",
    "CheckpointConfig",
    "ConfigError",
    "CorpusConfig",
    "DropoutConfig",
    "Glossary",
    "GuidedConfig",
    "Linking",
    "ModelConfig",
    "NmtError",
    "PairsConfig",
    "RunConfig",
    "ScheduleConfig",
    "SearchConfig",
    "TrainingConfig",
    "TransformerConfig",
    "Translation",
    "Translator",
    "VocabularyConfig",
    "heatmap",
    "load_config",
    "save_figure",
    "save_heatmap",
    "show_heatmaps",
    "symmetrized",
    "train",
    "widget",
]

_ROOMS = {
    "Aligner": "nmt.aligning.aligner",
    "AlignerConfig": "nmt.config.aligner",
    "Glossary": "nmt.translation.glossary",
    "Linking": "nmt.alignment.hard_links",
    "NmtError": "nmt.errors",
    "Translation": "nmt.translation.result",
    "Translator": "nmt.translation.translator",
    "heatmap": "nmt.drawing",
    "load_config": "nmt.training.settings",
    "save_figure": "nmt.drawing",
    "save_heatmap": "nmt.drawing",
    "show_heatmaps": "nmt.drawing",
    "symmetrized": "nmt.translation.two_directions",
    "train": "nmt.training.trainer",
    "widget": "nmt.drawing.page",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'nmt' has no attribute '{name}'")
    return getattr(importlib.import_module(_ROOMS.get(name, "nmt.config")), name)


def __dir__() -> list[str]:
    return sorted(["__version__", *__all__])
