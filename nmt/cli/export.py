"""`nmt export`: a run as files for other programs."""

from __future__ import annotations

import importlib
from argparse import ArgumentTypeError, Namespace
from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from nmt.cli.flags import add_single_model_flags
from nmt.cli.info import file_size
from nmt.cli.loading import require_runs, say, say_if_unlisted
from nmt.cli.parser import Parser
from nmt.cli.quiet import quiet_start
from nmt.errors import NmtError, install_command
from nmt.run.exported import PRECISIONS

if TYPE_CHECKING:
    from nmt.config import SearchConfig

FORMATS = {
    "onnx": ("onnx", "onnxruntime"),
    "web": ("onnx", "onnxruntime"),
    "ctranslate2": ("ctranslate2",),
    "savedmodel": (),
}
"""Formats, each with the packages that it needs beside those of every installation."""

REFUSED = {
    "litert": "its converter refuses the loops of a recurrent encoder and of the search, and a file with TensorFlow's "
    "own operators needs TensorFlow on the phone: export in onnx, which ONNX Runtime computes on phones",
    "keras": "a .keras file names the classes of nmt and opens only beside nmt, which opens the run itself: export in "
    "savedmodel for a program that has TensorFlow alone",
}
"""Formats that a user may expect, each with the reason why it is no export."""

DESCRIPTION = (
    "Writes a directory with the network in the format of another program, the vocabularies, the settings and a model "
    "card. ONNX takes every kind of network, and ONNX Runtime computes it without TensorFlow. A web folder is "
    "an ONNX export with a page that translates in a browser and shows the attention. CTranslate2 takes "
    "Transformers without source words in the read-out. A SavedModel of TensorFlow searches inside its graph."
)
EXAMPLE = "nmt export --model saved_models/mine --precision int8 --output mine.onnx"


def add_flags(parser: Parser) -> None:
    add_single_model_flags(parser)
    parser.add_argument("--output", required=True, metavar="DIR", help="directory to make, such as mine.onnx")
    parser.add_argument(
        "--format", type=_format, choices=FORMATS, default="onnx", help="format of the network (default: onnx)"
    )
    parser.add_argument(
        "--precision", choices=PRECISIONS, help="type of the weights (default: int8 for web, float32 for others)"
    )
    parser.add_argument(
        "--runtime",
        metavar="DIR",
        help="for web: the unpacked npm package of ONNX Runtime (default: where scripts/web_runtime.sh puts it)",
    )
    parser.add_argument(
        "--licence",
        default="",
        metavar="TEXT",
        help="licence of the model, for the model card (default: that of a pack)",
    )


def _format(name: str) -> str:
    if name in REFUSED:
        raise ArgumentTypeError(f"there is no export in {name}: {REFUSED[name]}")
    return name


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
    from nmt.run.model_card import licence_of

    output = Path(arguments.output)
    precision = arguments.precision or ("int8" if arguments.format == "web" else "float32")
    settings = arguments.format, precision, arguments.checkpoints, arguments.licence, _runtime(arguments)
    run = Run.open(arguments.model)
    sizes = export_run(run, output, *settings)
    for name, size in (_of_folder(sizes) if arguments.format == "web" else sizes).items():
        print(f"{file_size(size):>11}  {name}")
    print(f"{file_size(sum(sizes.values())):>11}  {output}")
    if arguments.format == "web":
        say(f"to see the page: python3 -m http.server --bind 127.0.0.1 --directory {quote(str(output))} 8000")
        _say_missing_settings(run.config.search)
    elif arguments.format == "onnx":
        say_if_unlisted(run)
    if not arguments.licence and not licence_of(run):
        say("the model card has no licence yet: give one with --licence, such as --licence 'CC BY 4.0'")


def _say_missing_settings(search: SearchConfig) -> None:
    """Says which settings of the run's search the page does not have."""
    if search.method == "sample":
        say("the page searches with a beam, although search.method of this run is sample")
    if search.short_list:
        say("the page reads the whole vocabulary, although this run has a short list: log-probabilities differ")


def _runtime(arguments: Namespace) -> Path | None:
    """The directory of ONNX Runtime for browsers, if one is named."""
    if arguments.runtime and arguments.format != "web":
        raise NmtError("--runtime is for --format web: leave it out")
    return Path(arguments.runtime) if arguments.runtime else None


def _of_folder(sizes: Mapping[str, int]) -> dict[str, int]:
    """The sizes of a web folder in few lines: what a browser loads, and the rest."""
    kinds = {name: _kind_of(name) for name in sizes}
    return {
        kind: sum(size for name, size in sizes.items() if kinds[name] == kind) for kind in sorted({*kinds.values()})
    }


def _kind_of(name: str) -> str:
    """The line that a file of a web folder counts in."""
    if name.startswith("runtime/"):
        return "a browser loads ONNX Runtime"
    if name.endswith((".onnx", ".model")):
        return "a browser loads the model"
    return "a browser loads the page" if name.endswith((".html", ".css", ".js", "page.json")) else "for other programs"


def _require_packages(format: str) -> None:
    """Raises `NmtError` if a package is missing that writes this format."""
    for name in FORMATS[format]:
        try:
            importlib.import_module(name)
        except ImportError:
            extra = "ctranslate2" if format == "ctranslate2" else "onnx"
            raise NmtError(f"nmt export needs {' and '.join(FORMATS[format])}: {install_command(extra)}") from None
