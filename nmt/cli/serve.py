"""`nmt serve`: models over HTTP, with a page."""

from __future__ import annotations

from argparse import Namespace

from nmt.cli.loading import load_run, require_runs, say
from nmt.cli.parser import Parser, count
from nmt.errors import NmtError

DESCRIPTION = (
    "Serves models over HTTP: a page that translates while you type and shows the attention, and an interface for "
    "programs (/v1/openapi.json describes it). Only this machine can connect, unless --host says otherwise. "
    "It needs the extra serve: pip install nmt[serve]."
)
EXAMPLE = "nmt serve --model saved_models/mine --open"


def add_flags(parser: Parser) -> None:
    parser.add_argument(
        "--model",
        required=True,
        nargs="+",
        metavar="DIR",
        help="run directory of nmt train, or file of nmt pack; several are served beside each other, the first one "
        "by default; NAME=DIR gives a model another name than its directory's",
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1)")
    parser.add_argument("--port", type=count, default=8000, metavar="N", help="port; 0: a free one (default: 8000)")
    parser.add_argument("--open", action="store_true", help="open the page in a browser")


def run(arguments: Namespace) -> None:
    """Serves until it is interrupted."""
    try:
        from nmt.serving import limits, models, server
    except ImportError as error:
        raise NmtError(f"{error.name} is not installed: pip install nmt[serve]") from None
    require_runs([models.model_path(text) for text in arguments.model])
    served = models.served_models(arguments.model, lambda directory: load_run(str(directory)), limits.Limits())
    server.serve(served, arguments.host, arguments.port, say, arguments.open)
