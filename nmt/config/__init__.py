"""The configuration of a run: nested frozen dataclasses, checked when they are made.

Only the standard library is imported here, so that a configuration can be read and shown without Keras. The
docstrings below the fields are the help texts of the command line.
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
