"""The pipeline: sources -> shards -> finished shards."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apache_beam as beam
from apache_beam.io.filesystems import FileSystems
from apache_beam.metrics import Metrics
from apache_beam.utils.shared import Shared

from nmt.bulk.formats import BadLine, write_file, write_shard
from nmt.bulk.listing import files_in
from nmt.bulk.shards import Shard, Source, plan_shards
from nmt.config import SearchConfig, config_from_dict

NAMESPACE = "nmt"
"""Of the counters."""
PLAN = "plan.json"
"""The file in the directory of a source with the numbers of its lines and shards."""
SHOWN = 200
"""Characters of a bad line in its record."""


@dataclass(frozen=True)
class Work:
    """Everything that a worker needs; plain values, which every engine can send."""

    models: tuple[str, ...]
    """Runs, packs or exports; on any file system that Beam knows."""
    options: dict[str, Any]
    """Of `load_translator`."""
    search: dict[str, Any]
    """The fields of the search."""
    longest: int
    """Characters of the longest line that is translated."""
    shard_lines: int
    sharing: int = 0
    """Processes that share the processors of a machine; 0: one for each processor, as engines usually start them."""

    @property
    def search_settings(self) -> SearchConfig:
        """The settings of the search."""
        settings: SearchConfig = config_from_dict(SearchConfig, self.search)
        return settings


class PlanShards(beam.DoFn):
    """Source -> its shards that are not finished. Writes the plan of the source."""

    def __init__(self, shard_lines: int) -> None:
        self._shard_lines = shard_lines
        self._lines = Metrics.counter(NAMESPACE, "lines_read")
        self._skipped = Metrics.counter(NAMESPACE, "shards_done_before")

    def process(self, source: Source) -> Iterator[Shard]:
        done = finished_shards(source)
        lines = shards = 0
        for shard in plan_shards(source, self._shard_lines):
            lines, shards = lines + shard.lines, shards + 1
            self._lines.inc(shard.lines)
            if shard.path in done:
                self._skipped.inc()
            else:
                yield shard
        plan = json.dumps({"lines": lines, "shards": shards}).encode()
        write_file(FileSystems.join(source.folder, PLAN), lambda file: file.write(plan))


class TranslateShards(beam.DoFn):
    """Shard -> (path of the source, number of the shard), when it is written. A process loads the model once.

    The translator sorts the lines of a shard by length and cuts batches by tokens, as `nmt translate` does.
    """

    def __init__(self, work: Work) -> None:
        self._work, self._shared = work, Shared()
        self._lines = Metrics.counter(NAMESPACE, "lines_translated")
        self._bad = Metrics.counter(NAMESPACE, "bad_lines")
        self._shards = Metrics.counter(NAMESPACE, "shards_written")

    def setup(self) -> None:
        self._translator = self._shared.acquire(self._load)
        self._search = self._work.search_settings

    def _load(self) -> Any:
        from nmt.backend.machine import processors, share_processors

        share_processors(self._work.sharing or processors())
        return load_models(self._work)

    def process(self, shard: Shard) -> Iterator[tuple[str, int]]:
        lines, bad = _checked(shard, self._work.longest)
        translations = []
        for number, (line, found) in enumerate(zip(lines, self._translations(shard, lines), strict=True), shard.first):
            if found.truncated:
                most = self._search.max_source
                bad.append(_bad_line(shard, number, f"has more than {most} pieces, which the model takes", line))
            translations.append("" if found.truncated else found.text)
        write_shard(shard, translations, sorted(bad, key=lambda one: one.line))
        self._lines.inc(len(translations))
        self._bad.inc(len(bad))
        self._shards.inc()
        yield shard.source.path, shard.number

    def _translations(self, shard: Shard, lines: Sequence[str]) -> Iterator[Any]:
        from nmt.translation.request import TranslationRequest

        requests = (
            TranslationRequest(line, self._search, sentence_id=number, aligned=False)
            for number, line in enumerate(lines, shard.first - 1)
        )
        for found in self._translator.answer(requests):
            yield found[0]


class BulkTranslate(beam.PTransform):
    """Sources -> the finished shards of this job, as (path of the source, number of the shard)."""

    def __init__(self, work: Work) -> None:
        super().__init__()
        self._work = work

    def expand(self, sources: Any) -> Any:
        return (
            sources
            | "plan the shards" >> beam.ParDo(PlanShards(self._work.shard_lines))
            | "spread the shards" >> beam.Reshuffle()
            | "translate the shards" >> beam.ParDo(TranslateShards(self._work))
        )


def finished_shards(source: Source) -> set[str]:
    """The paths of the shards of a source that are finished."""
    return {file.path for file in files_in(source.folder, source.suffix)}


def load_models(work: Work) -> Any:
    """The translator of models on any file system. Remote ones are copied to this machine until it is prepared."""
    from nmt.translation.loading import load_translator

    with tempfile.TemporaryDirectory() as place:
        local = [local_copy(model, Path(place) / str(number)) for number, model in enumerate(work.models)]
        translator = load_translator(*local, **work.options)
        translator.prepare(work.search_settings)
        return translator


def local_copy(model: str, place: Path) -> str:
    """The path of a model on this machine: its own, or that of a copy.

    Args:
        model: a directory, or the file of a pack, such as gs://bucket/mine.nmt.
        place: where the copy goes.
    """
    if "://" not in model:
        return model
    files = [file.path for file in files_in(model)]
    if files:
        place.mkdir()
    else:
        files, place = [model], place.with_suffix(".nmt")
    for file in files:
        name = place / file.rpartition("/")[2] if place.is_dir() else place
        with FileSystems.open(file) as remote, open(name, "wb") as here:
            while block := remote.read(1 << 20):
                here.write(block)
    return str(place)


def _checked(shard: Shard, longest: int) -> tuple[list[str], list[BadLine]]:
    """The lines of a shard, with empty lines in place of those that cannot be translated, and these bad lines."""
    lines, bad = [], []
    for number, raw in enumerate(shard.read(), start=shard.first):
        text, reason = "", ""
        if raw is None:
            reason = "has no value"
        else:
            try:
                text = raw.decode("utf-8")
            except UnicodeDecodeError as error:
                reason = f"is not valid UTF-8 from its byte {error.start + 1} on"
        if len(text) > longest:
            reason = f"has {len(text)} characters, more than {longest}"
        if reason:
            bad.append(_bad_line(shard, number, reason, text or (raw or b"").decode("utf-8", "backslashreplace")))
        lines.append("" if reason else text)
    return lines, bad


def _bad_line(shard: Shard, number: int, reason: str, text: str) -> BadLine:
    return BadLine(shard.source.path, number, reason, text[:SHOWN])
