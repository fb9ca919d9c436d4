"""Flags that several commands have, and checks on them."""

from __future__ import annotations

import argparse
from argparse import Namespace
from pathlib import Path
from typing import TypeVar

from nmt.cli.loading import SEARCH
from nmt.cli.parser import Parser, as_flags, count, refuse_idle
from nmt.config import Precision, SearchConfig
from nmt.config.fields import settings_of
from nmt.config.flags import add_settings
from nmt.errors import NmtError

T = TypeVar("T")


def add_model_flags(parser: Parser, required: bool = True, precision: Precision = "float32") -> None:
    """Flags that name a trained model or an ensemble and say how to compute with it."""
    parser.add_argument(
        "--model",
        required=required,
        nargs="+",
        metavar="DIR",
        help="run directory of nmt train, file of nmt pack, or ONNX export; several with the same vocabularies form an "
        "ensemble",
    )
    _add_checkpoints_flag(parser)
    parser.add_argument(
        "--averaging",
        choices=["probability", "log_probability"],
        default="probability",
        help="quantity that an ensemble averages over its models (default: probability)",
    )
    parser.add_argument(
        "--precision",
        choices=["auto", "float32", "mixed_float16", "mixed_bfloat16"],
        default=precision,
        help=f"type of the matrix products; auto: the fastest type on this machine (default: {precision})",
    )


def add_single_model_flags(parser: Parser) -> None:
    """Flags that name one trained model whose weights are read."""
    parser.add_argument("--model", required=True, metavar="DIR", help="run directory of nmt train, or file of nmt pack")
    _add_checkpoints_flag(parser)


def _add_checkpoints_flag(parser: Parser) -> None:
    parser.add_argument(
        "--checkpoints",
        type=count,
        default=0,
        metavar="N",
        help="use the mean of the weights of the N newest checkpoints (default: the best weights)",
    )


def add_output_directory_flag(parser: Parser) -> None:
    parser.add_argument("--output", required=True, metavar="DIR", help="directory for the results")


def add_language_flags(group: argparse._ArgumentGroup, of_text: bool = False) -> None:
    """Flags that choose among the languages of a document.

    Args:
        of_text: whether they also decide how words of other text are cut.
    """
    for side in ("source", "target"):
        of_file = f"language of the {side} in a TMX file, such as en or pt-BR (default: the run's, or as the file says)"
        of_words = (
            f"language of the {side}, such as en or pt-BR; decides how words are cut, and which texts of a TMX file "
            "are read (default: by the script of the text, or as the file says)"
        )
        group.add_argument(f"--{side}-language", metavar="TAG", help=of_words if of_text else of_file)


def add_search_flags(parser: Parser) -> None:
    """A flag for each setting of the search, such as --beam-size, which is also --search.beam_size."""
    group = parser.add_argument_group("search", "The defaults are the settings that the model was trained with.")
    add_settings(group, settings_of(SearchConfig), spell=with_dashes, with_defaults=False)
    for setting in settings_of(SearchConfig):
        parser.aliases[f"--search.{setting.name}"] = f"--{with_dashes(setting.name)}"


def with_dashes(name: str) -> str:
    """The name of a setting, spelled as a flag."""
    return name.replace("_", "-")


def settings_from_flags(kind: type[T], arguments: Namespace) -> T:
    """A dataclass of settings, with the values of the flags that are given and the defaults of the others.

    Raises:
        NmtError: a refused value, with the name of its flag.
    """
    names = [setting.name for setting in settings_of(kind) if hasattr(arguments, setting.name)]
    with as_flags(kind):
        return kind(**{name: value for name in names if (value := getattr(arguments, name)) is not None})


def refuse_search_flags(arguments: Namespace) -> None:
    """Refuses flags of the search beside given translations."""
    refuse_idle(arguments, SEARCH, "is for a search: with --target or --tsv nothing is searched for")


def refuse_file(path: str) -> None:
    """Refuses an output directory that is a file."""
    if Path(path).exists() and not Path(path).is_dir():
        raise NmtError(f"{path}: is a file; name a directory to write into")
