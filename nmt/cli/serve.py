"""`nmt serve`: models over HTTP, with a page."""

from __future__ import annotations

from argparse import Namespace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from nmt.cli.loading import NO_ALIGNER, add_aligner_flag, aligner_of, load_run, require_runs, say_if_unfinished
from nmt.cli.parser import Parser, count, positive
from nmt.config.fields import settings_of
from nmt.config.flags import add_settings
from nmt.errors import NmtError, install_command
from nmt.serving.limits import Limits

if TYPE_CHECKING:
    from nmt.translation.translator import Translator

DESCRIPTION = (
    "Serves models over HTTP: a page that translates while you type and shows the attention, and an interface for "
    "programs, which /v1/openapi.json describes. Clients of LibreTranslate work too. Only this machine can connect, "
    "unless --host says otherwise. Models are loaded in the background, and again when their files are replaced. "
    "nmt serve needs the packages of the extra serve: `pip install --constraint constraints.txt -e '.[serve]'`."
)
EXAMPLE = "nmt serve --model saved_models/mine --open"


def add_flags(parser: Parser) -> None:
    parser.add_argument(
        "--model",
        required=True,
        nargs="+",
        metavar="DIR",
        help="run directory of nmt train, file of nmt pack, or ONNX export; several are served beside each other, the "
        "first one by default; NAME=DIR gives a model another name than its directory's",
    )
    parser.add_argument(
        "--host", default="127.0.0.1", metavar="ADDRESS", help="address to listen on (default: 127.0.0.1)"
    )
    parser.add_argument("--port", type=count, default=8000, metavar="N", help="port; 0: a free one (default: 8000)")
    parser.add_argument("--open", action="store_true", help="open the page in a browser")
    parser.add_argument(
        "--workers",
        type=positive,
        default=1,
        metavar="N",
        help="processes that share the port; each loads the models (default: 1)",
    )
    parser.add_argument(
        "--drain-seconds",
        type=count,
        default=10,
        metavar="N",
        help="seconds that running requests have after SIGTERM (default: 10)",
    )
    parser.add_argument(
        "--precision",
        choices=["auto", "float32", "mixed_float16", "mixed_bfloat16"],
        default="auto",
        help="type of the matrix products; auto: the fastest type on this machine (default: auto)",
    )
    add_aligner_flag(parser, "links of every model")
    parser.add_argument("--log-requests", action="store_true", help="write a line about each request, without its text")
    _add_access_flags(parser)
    limits = parser.add_argument_group("limits", "A request beyond a limit is refused with the name of the limit.")
    add_settings(limits, settings_of(Limits), spell=lambda name: f"max-{name.replace('_', '-')}")


def _add_access_flags(parser: Parser) -> None:
    access = parser.add_argument_group("access")
    access.add_argument(
        "--token-file",
        metavar="FILE",
        help="file with tokens, one per line; the interface then needs Authorization: Bearer TOKEN",
    )
    access.add_argument(
        "--allow-host",
        nargs="+",
        default=[],
        metavar="NAME",
        help="names of this server; requests that name another host are refused",
    )
    access.add_argument(
        "--allow-origin",
        nargs="+",
        default=[],
        metavar="URL",
        help="origins of other pages that may use the interface (CORS), such as https://example.org",
    )


def run(arguments: Namespace) -> None:
    """Serves until it is interrupted."""
    try:
        from nmt.serving import access, models, server
    except ImportError as error:
        raise NmtError(f"nmt serve needs {error.name}: {install_command('serve')}") from None
    from nmt.translation import loading

    tokens = access.read_tokens(arguments.token_file) if arguments.token_file else ()
    hosts = tuple(map(access.read_host, arguments.allow_host))
    origins = tuple(map(access.read_origin, arguments.allow_origin))
    limits = _limits(arguments)
    paths = [models.model_path(text) for text in arguments.model]
    require_runs(paths)
    for path in paths:
        loading.require_loadable(Path(path), arguments.precision)  # reported now, and not when the model is loaded
    _require_aligner(arguments.aligner)
    settings = server.Settings(
        tuple(arguments.model),
        partial(load_model, precision=arguments.precision, aligner=arguments.aligner),
        arguments.host,
        arguments.port,
        arguments.workers,
        arguments.drain_seconds,
        arguments.log_requests,
        limits,
        access.Access(hosts, origins, tokens),
    )
    server.serve(settings, arguments.open)


def _limits(arguments: Namespace) -> Limits:
    """The limits of the flags.

    Raises:
        NmtError: an impossible value, with the name of its flag.
    """
    names = [setting.name for setting in settings_of(Limits)]
    try:
        return Limits(**{name: value for name in names if (value := getattr(arguments, name)) is not None})
    except NmtError as error:
        name, _, rest = str(error).partition(" ")
        raise NmtError(f"--max-{name.replace('_', '-')} {rest}") from None


def _require_aligner(path: str | None) -> None:
    """Raises `NmtError` for an aligner that cannot be loaded."""
    if path not in (None, NO_ALIGNER):
        from nmt.aligning.aligner import Aligner

        say_if_unfinished(Aligner.load(path))


def load_model(directory: Path, precision: str = "auto", aligner: str | None = None) -> Translator:
    """The translator of a run or pack.

    Args:
        aligner: see `aligner_of`; None: the one that the run keeps.
    """
    if aligner is None:
        return load_run(str(directory), precision=precision)
    translator = load_run(str(directory), precision=precision, aligner=False)
    translator.aligner = aligner_of(translator, aligner)
    return translator
