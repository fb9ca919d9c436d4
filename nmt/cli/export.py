"""`nmt export`: a run as files for other programs."""

from __future__ import annotations

import importlib
import sys
from argparse import Namespace
from pathlib import Path

from nmt.cli.flags import add_single_model_flags
from nmt.cli.loading import require_runs, say
from nmt.cli.parser import Parser
from nmt.cli.quiet import quiet_start
from nmt.errors import NmtError
from nmt.run.exported import PRECISIONS

FORMATS = {"onnx": ("onnx", "onnxruntime"), "ctranslate2": ("ctranslate2",), "savedmodel": ()}
"""Formats, each with the packages that it needs beside those of every installation."""

DESCRIPTION = (
    "Writes a directory with the network in the format of another program, the vocabularies, the settings and a model "
    "card. ONNX takes every kind of network, and ONNX Runtime computes it without TensorFlow. CTranslate2 takes "
    "Transformers without source words in the read-out. A SavedModel of TensorFlow searches inside its graph."
)
EXAMPLE = "nmt export --model saved_models/mine --precision int8 --output mine.onnx"


def add_flags(parser: Parser) -> None:
    add_single_model_flags(parser)
    parser.add_argument("--output", required=True, metavar="DIR", help="directory to make, such as mine.onnx")
    parser.add_argument("--format", choices=FORMATS, default="onnx", help="format of the network (default: onnx)")
    parser.add_argument(
        "--precision", choices=PRECISIONS, default="float32", help="type of the weights (default: float32)"
    )
    parser.add_argument("--licence", default="", metavar="TEXT", help="licence of the model, for the model card")


def run(arguments: Namespace) -> None:
    """Writes the export, and says what is in it."""
    from nmt.run.directory import Run
    from nmt.translation.loading import import_keras

    require_runs([arguments.model])
    if "\n" in arguments.licence:
        raise NmtError("--licence has several lines: expected one, such as CC BY 4.0")
    _require_packages(arguments.format)
    if arguments.format == "savedmodel":
        with quiet_start():
            import_keras()
    from nmt.exporting.export import export_run

    output = Path(arguments.output)
    settings = arguments.format, arguments.precision, arguments.checkpoints, arguments.licence
    sizes = export_run(Run.open(arguments.model), output, *settings)
    for name, size in sizes.items():
        print(f"{size / 2**20:8.2f} MiB  {name}")
    print(f"{sum(sizes.values()) / 2**20:8.2f} MiB  {output}")
    if not arguments.licence:
        say("the model card has no licence yet: give one with --licence, such as --licence 'CC BY 4.0'")


def _require_packages(format: str) -> None:
    """Raises `NmtError` if a package is missing that writes this format."""
    for name in FORMATS[format]:
        try:
            importlib.import_module(name)
        except ImportError:
            raise NmtError(f"nmt export needs {name}: {sys.executable} -m pip install {name}") from None
