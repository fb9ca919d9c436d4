"""Fuzz targets for the cache, prepared corpora and the journal of a sweep."""

from __future__ import annotations

import hashlib
import json
import tempfile
from functools import cache, partial
from itertools import islice
from pathlib import Path

import numpy as np
from oracle import Target, read_or_refused, target

from nmt.batches.sharded_corpus import (
    ABOUT,
    LENGTHS,
    PIECES,
    CorpusShards,
    Shard,
    ShardedCorpus,
    count_lengths,
    encoded_pairs,
    write_synced,
)
from nmt.run.prepared_manifest import SHARDS, PreparedManifest, read_prepared
from nmt.training.preparation.cache import MANIFEST, Cache
from nmt.training.sweep.space import Space

SIDES = [[4, 5, 3], [6, 3], [3]], [[4, 3], [5, 6, 3], [7, 3]]


def check_cache(data: bytes, place: Path) -> None:
    """An entry with any manifest is used or made anew: its files are copied, and nothing else is read or written."""

    def make(directory: Path) -> None:
        directory.mkdir(exist_ok=True)
        (directory / "inner").mkdir(exist_ok=True)
        for name, content in CACHED.items():
            (directory / name).write_bytes(content)

    key = {"text": 1}
    (place / "outside").write_bytes(b"secret")
    cache = Cache(place / "cache")
    cache.fetch(key, make, place / "first")
    entry = next(path for path in cache.directory.iterdir() if path.suffix != ".part")
    (entry / MANIFEST).write_bytes(data)
    with tempfile.TemporaryDirectory(dir=place) as name:
        destination = Path(name) / "copy"
        found = cache.fetch(key, make, destination)
        copied = {str(path.relative_to(destination)): path for path in destination.rglob("*") if path.is_file()}
        assert copied.keys() <= CACHED.keys() | {MANIFEST}
        assert found or copied.keys() == CACHED.keys()
        assert all(path.read_bytes() == CACHED.get(name, data) for name, path in copied.items())


CACHED = {"source.ids": b"1234", "inner/report.txt": b"a report\n"}
"""The files of the entry."""


def check_prepared(data: bytes, place: Path) -> None:
    """A manifest that is accepted has the values that were written, perhaps with other spaces."""
    (place / SHARDS).mkdir(exist_ok=True)
    (place / "manifest.json").write_bytes(data)
    if manifest := read_or_refused(read_prepared, place):
        assert json.loads(manifest.content()) == json.loads(data)


@cache
def shards() -> dict[str, bytes]:
    """The files of a prepared corpus of two small corpora."""
    with tempfile.TemporaryDirectory() as name:
        directory, corpora = Path(name), []
        for number, (corpus, weight) in enumerate((("web", 1.0), ("news", 2.5))):
            ids, index = encoded_pairs(SIDES, "<u2")
            write_synced(directory / f"{number:05d}.ids", ids.tobytes())
            write_synced(directory / f"{number:05d}.index", index.tobytes())
            corpora.append(CorpusShards(corpus, weight, (Shard(f"{number:05d}", len(index), len(ids)),)))
        cells = count_lengths(index)
        lengths = np.concatenate([np.insert(cells, 0, number, axis=1) for number in range(2)])
        ShardedCorpus.write_about(directory, "uint16", corpora, {LENGTHS: lengths, PIECES: np.ones((2, 8), np.int64)})
        return {path.name: path.read_bytes() for path in directory.iterdir()}


def check_shards(name: str, data: bytes, place: Path) -> None:
    """A corpus that is accepted gives the batches of an epoch, or one of its files is named as damaged."""
    (directory := place / "shards").mkdir(exist_ok=True)
    for file, content in shards().items():
        (directory / file).write_bytes(data if file == name else content)
    corpus = read_or_refused(ShardedCorpus, directory, 1.5)
    if corpus is None:
        return
    corpus.require_ids(8, 8)
    read_or_refused(lambda: corpus.piece_counts.sum())
    read_or_refused(lambda: [corpus.batch(rows) for rows in islice(corpus.plan(64, 4, 1).batches(0), 5)])
    read_or_refused(corpus.sample, 2)


def check_journal(data: bytes, place: Path) -> None:
    """A study is continued, or its journal is refused. An incomplete last line is cut off."""
    from nmt.training.sweep.study import open_study

    (place / "study.log").write_bytes(data)
    study = read_or_refused(open_study, place / "space.yaml", SPACE, place, 1)
    if study is not None:
        study.trials  # noqa: B018  reads them


SPACE = Space({}, {"model.units": {"choices": [32, 64]}}, "loss")


@cache
def journal() -> bytes:
    """The journal of a study with a finished trial and an interrupted one."""
    from nmt.training.sweep.study import open_study

    with tempfile.TemporaryDirectory() as name:
        study = open_study(Path("space.yaml"), SPACE, Path(name), 1)
        finished, interrupted = study.ask(), study.ask()
        for trial in (finished, interrupted):
            SPACE.suggest(trial)
            trial.report(2.5, 1)
        study.tell(finished, 2.0)
        return (Path(name) / "study.log").read_bytes()


def _cache_manifest() -> bytes:
    files = {name: hashlib.sha256(content).hexdigest() for name, content in CACHED.items()}
    return json.dumps({"key": {"text": 1}, "files": files}).encode()


def _shards_target(name: str) -> Target:
    return Target(partial(check_shards, name), lambda: [shards()[name]])


MANIFEST_SEED = PreparedManifest({"format": 1}, {"corpus": {}}, 6, 20, {"report.txt": "0" * 64})
ESCAPES = b'{"files": {"../outside": "0", "/etc/hostname": "0", "inner/../source.ids": "1"}}'

TARGETS = {
    "cache": Target(check_cache, lambda: [_cache_manifest(), ESCAPES]),
    "prepared": target(check_prepared, MANIFEST_SEED.content()),
    "shards-about": _shards_target(ABOUT),
    "shards-lengths": _shards_target(LENGTHS),
    "shards-pieces": _shards_target(PIECES),
    "shards-index": _shards_target("00000.index"),
    "journal": Target(check_journal, lambda: [journal()]),
}
