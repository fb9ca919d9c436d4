"""`nmt bulk-translate`: very much text on Apache Beam, from one machine to many."""

from __future__ import annotations

import importlib.util
import logging
import tempfile
import time
from argparse import Namespace
from pathlib import Path

from nmt.cli.files import refuse_document
from nmt.cli.flags import add_model_flags, add_search_flags
from nmt.cli.loading import load, options_of, say
from nmt.cli.parser import Parser, positive, refuse_idle
from nmt.config import config_to_dict
from nmt.errors import NmtError
from nmt.progress import counted

FORMATS = ("auto", "text", "gz", "zst", "parquet")

DESCRIPTION = (
    "Translates very much text, one sentence per line, in a pipeline of Apache Beam: on this machine, or on Dataflow, "
    "Flink or Spark. Each source file becomes a directory of shards in --output, in order, with as many lines. Lines "
    "that cannot be translated stay empty, and .bad.jsonl files list them. Repeat an interrupted command: finished "
    "shards are not translated again. Options of Beam go behind --."
)
EXAMPLE = "nmt bulk-translate --model mine.onnx --source 'corpus/*.zst' --output translated --processes 4"


def add_flags(parser: Parser) -> None:
    add_model_flags(parser, precision="auto")
    parser.add_argument(
        "--source",
        required=True,
        nargs="+",
        metavar="FILE",
        help="text, .gz, .zst or .parquet files, or patterns such as 'corpus/*.gz', on any file system that Beam knows",
    )
    parser.add_argument("--output", required=True, metavar="DIR", help="directory for the shards")
    parser.add_argument(
        "--format",
        choices=FORMATS,
        default="auto",
        help="format of the shards; auto: that of the source (default: auto)",
    )
    parser.add_argument("--column", metavar="NAME", help="column of Parquet files (default: their only column of text)")
    parser.add_argument(
        "--shard-lines", type=positive, default=5000, metavar="N", help="lines of a shard (default: 5000)"
    )
    parser.add_argument(
        "--longest",
        type=positive,
        default=5000,
        metavar="N",
        help="characters of the longest line that is translated (default: 5000)",
    )
    parser.add_argument(
        "--processes", type=positive, default=1, metavar="N", help="worker processes on this machine (default: 1)"
    )
    parser.add_argument("beam", nargs="*", metavar="-- BEAM_OPTION ...", help="options of Beam, such as --runner")
    add_search_flags(parser)


def run(arguments: Namespace) -> None:
    """Checks the command line, runs the pipeline and prints its counters."""
    if importlib.util.find_spec("apache_beam") is None:
        raise NmtError(
            "apache_beam is not installed: bash scripts/beam.sh makes an environment for it, because it needs other "
            "versions of packages"
        )
    if arguments.beam and not arguments.beam[0].startswith("-"):
        raise NmtError(
            f"{arguments.beam[0]}: options of Beam begin with -; the files to translate are named by --source"
        )
    is_local = not any(option.startswith("--runner") for option in arguments.beam)
    if not is_local:
        refuse_idle(arguments, ["processes"], "is for this machine: the runner decides the number of its workers")
    if is_local:
        logging.disable(logging.CRITICAL)  # errors are raised; warnings are of packages for clouds that are missing
    for path in arguments.source:
        refuse_document(path)
    from nmt.bulk.pipeline import Work, local_copy
    from nmt.bulk.running import absolute, match_sources, run_job

    sources = match_sources(arguments.source, arguments.output, arguments.format, arguments.column)
    models = tuple(map(absolute, arguments.model))
    with tempfile.TemporaryDirectory() as place:
        arguments.model = [local_copy(model, Path(place) / str(number)) for number, model in enumerate(models)]
        try:
            translator, search = load(arguments)
        except ModuleNotFoundError as error:
            if error.name not in ("keras", "tensorflow"):
                raise
            name = models[0].rstrip("/").rpartition("/")[2]
            raise NmtError(
                f"{models[0]}: is a run, and {error.name} is not installed beside Apache Beam: export the run where it "
                f"was trained, with nmt export --model {models[0]} --output {name}.onnx"
            ) from None
    work = Work(
        models=models,
        options=options_of(arguments) | {"aligner": search.copy_unknown},  # nothing else needs links
        search=config_to_dict(search),
        longest=arguments.longest,
        shard_lines=arguments.shard_lines,
        sharing=arguments.processes if is_local else 0,
    )
    fingerprint = translator.fingerprint
    del translator  # the workers load their own
    began = time.monotonic()
    done = run_job(work, fingerprint, sources, arguments.output, arguments.beam, arguments.processes)
    before = f", {done.done_before:,} of them before" if done.done_before else ""
    bad = f"; {counted(done.bad_lines, 'bad line')} in .bad.jsonl files" if done.bad_lines else ""
    say(
        f"{counted(done.lines, 'line')} in {counted(done.shards, 'shard')}{before}, in "
        f"{time.monotonic() - began:.1f} s{bad}; written to {arguments.output}"
    )
