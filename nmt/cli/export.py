"""`nmt export`: a run as files for other programs."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path

from nmt.cli.flags import add_single_model_flags
from nmt.cli.loading import require_runs, say
from nmt.cli.parser import Parser
from nmt.errors import NmtError
from nmt.run.exported import PRECISIONS

DESCRIPTION = (
    "Writes a directory with the network in ONNX, the vocabularies, the settings and a model card. ONNX Runtime "
    "computes with it, without TensorFlow. Every kind of network can be exported."
)
EXAMPLE = "nmt export --model saved_models/mine --precision int8 --output mine.onnx"


def add_flags(parser: Parser) -> None:
    add_single_model_flags(parser)
    parser.add_argument("--output", required=True, metavar="DIR", help="directory to make, such as mine.onnx")
    parser.add_argument("--format", choices=["onnx"], default="onnx", help="format of the network (default: onnx)")
    parser.add_argument(
        "--precision", choices=PRECISIONS, default="float32", help="type of the weights (default: float32)"
    )
    parser.add_argument("--licence", default="", metavar="TEXT", help="licence of the model, for the model card")


def run(arguments: Namespace) -> None:
    """Writes the export, and says what is in it."""
    from nmt.run.directory import Run

    require_runs([arguments.model])
    if "\n" in arguments.licence:
        raise NmtError("--licence has several lines: expected one, such as CC BY 4.0")
    try:
        import onnx  # noqa: F401
        import onnxruntime  # noqa: F401
    except ImportError as error:
        raise NmtError(f"nmt export needs {error.name}: {sys.executable} -m pip install {error.name}") from None
    from nmt.exporting.export import export_onnx

    output = Path(arguments.output)
    sizes = export_onnx(
        Run.open(arguments.model), output, arguments.precision, arguments.checkpoints, arguments.licence
    )
    for name, size in sizes.items():
        print(f"{size / 2**20:8.2f} MiB  {name}")
    print(f"{sum(sizes.values()) / 2**20:8.2f} MiB  {output}")
    if not arguments.licence:
        say("the model card has no licence yet: give one with --licence, such as --licence 'CC BY 4.0'")
