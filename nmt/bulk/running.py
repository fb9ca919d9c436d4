"""A bulk translation from its settings to its summary."""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import apache_beam as beam
from apache_beam.io.filesystems import FileSystems
from apache_beam.options.pipeline_options import PipelineOptions, StandardOptions

from nmt.bulk.formats import suffix_of, write_file
from nmt.bulk.listing import delete_files, files_in, matching_files
from nmt.bulk.local import DeadWorkerError, run_locally
from nmt.bulk.pipeline import PLAN, BulkTranslate, Work, finished_shards
from nmt.bulk.shards import BAD_LINES, Source, text_columns
from nmt.errors import NmtError
from nmt.progress import LineProgress, report

JOB = "bulk.json"
"""The file in the output that identifies its job."""
POLL_SECONDS = 2.0
"""Seconds between two looks at the finished shards."""

_ERROR = re.compile(r"^(?:nmt\.[\w.]*Error): (.*?)(?: \[while running .*)?$", re.MULTILINE)
"""An error of nmt in the text of an error of Beam."""


@dataclass(frozen=True)
class Summary:
    """The outcome of a job."""

    lines: int
    shards: int
    done_before: int
    """Shards that an earlier command has written."""
    bad_lines: int
    """Lines of all .bad.jsonl files, from earlier commands too."""


def match_sources(patterns: Sequence[str], output: str, format: str, column: str | None) -> list[Source]:
    """The files that patterns such as `corpus/*.gz` name, in order.

    Args:
        patterns: paths of any file system that Beam knows.
        output: directory of the job.
        format: see `formats.suffix_of`.
        column: of Parquet files; None: their only column of text.

    Raises:
        NmtError: a pattern without files, a directory, two files of one name, or a Parquet file without such a column.
    """
    found: dict[str, Source] = {}
    for pattern in patterns:
        files = matching_files(absolute(pattern))
        if not files:
            raise NmtError(f"{pattern}: no such file")
        for file in files:
            path, name = file.path, file.path.rpartition("/")[2]
            if name in found and found[name].path != path:
                raise NmtError(f"{path}: {found[name].path} has the same name: translate them in two commands")
            source = Source(path, FileSystems.join(absolute(output), name), suffix_of(path, format))
            source = source._replace(size=file.size_in_bytes, changed=file.last_updated_in_seconds)
            found[name] = source._replace(column=_column(path, column)) if source.is_parquet else source
    return list(found.values())


def absolute(path: str) -> str:
    """A path that leads to one place from every directory."""
    return path if "://" in path else os.path.abspath(path)


def _column(path: str, given: str | None) -> str:
    """The column of a Parquet file that is translated."""
    columns = text_columns(path)
    if given in columns or (given is None and len(columns) == 1):
        return given or columns[0]
    names = ", ".join(columns) or "none"
    problem = "name one with --column" if given is None else f"there is no {given}"
    raise NmtError(f"{path}: its columns of text are {names}: {problem}")


def run_job(
    work: Work, fingerprint: str, sources: Sequence[Source], output: str, beam_options: Sequence[str], processes: int
) -> Summary:
    """Translates every source and returns when all shards are written. Shards that are written stay.

    Args:
        work: see `Work`.
        fingerprint: of the translator.
        sources: see `match_sources`.
        output: directory of the job.
        beam_options: command line of Beam, such as --runner; without a runner, this machine translates.
        processes: worker processes on this machine.

    Raises:
        NmtError: the output belongs to another job, worker processes ended without finishing a shard, or an error of a
            worker.
    """
    _require_same_job(work, fingerprint, sources, output)
    done_before = _count_finished(sources)
    options = PipelineOptions(list(beam_options), save_main_session=False)
    local = options.view_as(StandardOptions).runner is None

    def build(pipeline: Any) -> None:
        pipeline | beam.Create(list(sources)) | BulkTranslate(work)

    with _progress(sources, done_before):
        if local:
            _run_again(build, options, processes, sources)
        else:
            _run_elsewhere(build, options)
    lines, shards = _require_all(sources)
    return Summary(lines, shards, done_before, sum(map(_count_bad_lines, sources)))


def _count_finished(sources: Sequence[Source]) -> int:
    return sum(len(finished_shards(source)) for source in sources)


def _count_bad_lines(source: Source) -> int:
    count = 0
    for bad_lines in files_in(source.folder, BAD_LINES):
        with FileSystems.open(bad_lines.path) as file:
            count += file.read().count(b"\n")
    return count


def _run_again(
    build: Callable[[Any], None], options: PipelineOptions, processes: int, sources: Sequence[Source]
) -> None:
    """Runs on this machine, and again as long as a worker ends after some shards were finished."""
    done = -1
    while True:
        before, done = done, _count_finished(sources)
        try:
            with _one_line():
                run_locally(build, options, processes)
            return
        except DeadWorkerError as error:
            if _count_finished(sources) == done == before:
                raise NmtError(
                    f"{error}, twice without a finished shard: try fewer --processes or --shard-lines"
                ) from None
            report(f"{error}: the shards that it had begun are translated again")


def _run_elsewhere(build: Callable[[Any], None], options: PipelineOptions) -> None:
    with _one_line():
        pipeline = beam.Pipeline(options=options)
        build(pipeline)
        result = pipeline.run()
        state = result.wait_until_finish()
    if state not in (None, "DONE"):
        raise NmtError(f"the pipeline ended as {state}: its runner says why; repeat the command to go on")


@contextmanager
def _one_line() -> Iterator[None]:
    """Takes the error of a worker out of the error of Beam, which is a text of all its frames."""
    try:
        yield
    except DeadWorkerError:
        raise
    except Exception as error:
        found = _ERROR.findall(str(error))
        if not found:
            raise
        raise NmtError(found[-1]) from None


def _require_same_job(work: Work, fingerprint: str, sources: Sequence[Source], output: str) -> None:
    """Refuses an output with shards of another job; begins a new output."""
    files = [[source.path, source.size, source.changed] for source in sources]
    settings = asdict(work) | {"models": fingerprint, "sharing": 0}
    identity = json.loads(json.dumps({"settings": settings, "sources": files, "as": [s.suffix for s in sources]}))
    path = FileSystems.join(absolute(output), JOB)
    if FileSystems.exists(path):
        with FileSystems.open(path) as file:
            if json.loads(file.read()) != identity:
                raise NmtError(
                    f"{output}: holds the shards of another job, with another model, source or settings: repeat that "
                    "command, or name another --output"
                )
        return
    for folder in (absolute(output), *(source.folder for source in sources)):
        if not FileSystems.exists(folder):
            FileSystems.mkdirs(folder)
    write_file(path, lambda file: file.write(json.dumps(identity, indent=1).encode()))


def _require_all(sources: Sequence[Source]) -> tuple[int, int]:
    """The numbers of lines and shards, when every planned shard is there. Half-written files are removed then."""
    lines = shards = 0
    for source in sources:
        plan = _plan(source)
        if plan is None or len(finished_shards(source)) != plan["shards"]:
            raise NmtError(f"{source.folder}: shards are missing, or there are others: repeat the command")
        lines, shards = lines + plan["lines"], shards + plan["shards"]
    for source in sources:
        delete_files(files_in(source.folder, ".part"))  # of workers that were killed
    return lines, shards


def _plan(source: Source) -> dict[str, int] | None:
    path = FileSystems.join(source.folder, PLAN)
    if not FileSystems.exists(path):
        return None
    with FileSystems.open(path) as file:
        found: dict[str, int] = json.loads(file.read())
    return found


@contextmanager
def _progress(sources: Sequence[Source], before: int) -> Iterator[None]:
    """Shows how many shards are finished besides those `before`, of all sources whose shards are counted."""
    stop, status = threading.Event(), LineProgress(unit="shards")

    def watch() -> None:
        done = 0
        while not stop.wait(POLL_SECONDS):
            plans = [_plan(source) for source in sources]
            if all(plans):
                status.total = sum(plan["shards"] for plan in plans if plan) - before
            now = _count_finished(sources) - before
            status.advance(now - done)
            done = now
        status.clear()

    thread = threading.Thread(target=watch, name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
