"""The configuration of a run: nested frozen dataclasses, which check their values.

Each setting is declared once, with its default and its help text (`nmt.config.fields`). YAML files and the flags of all
commands are read by these declarations. Only the standard library is imported here, so this needs no Keras.
"""

from nmt.config.checks import ConfigError
from nmt.config.conversion import config_from_dict, config_to_dict, network_settings
from nmt.config.corpus import CorpusConfig, PairsConfig
from nmt.config.model import AttentionConfig, DropoutConfig, ModelConfig, TransformerConfig
from nmt.config.run import RunConfig
from nmt.config.search import SearchConfig
from nmt.config.training import CheckpointConfig, GuidedConfig, Precision, ScheduleConfig, TrainingConfig
from nmt.config.vocabulary import VocabularyConfig

__all__ = [
    "AttentionConfig",
    "CheckpointConfig",
    "ConfigError",
    "CorpusConfig",
    "DropoutConfig",
    "GuidedConfig",
    "ModelConfig",
    "PairsConfig",
    "Precision",
    "RunConfig",
    "ScheduleConfig",
    "SearchConfig",
    "TrainingConfig",
    "TransformerConfig",
    "VocabularyConfig",
    "config_from_dict",
    "config_to_dict",
    "network_settings",
]
