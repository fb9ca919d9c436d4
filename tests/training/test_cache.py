"""The cache of prepared corpora: entries are made once, are complete, and stay below a limit."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from nmt.training.preparation.cache import ABANDONED, Cache

KEY = {"text": "0123", "settings": {"size": 8}}


class Maker:
    """Writes two files and counts its calls."""

    def __init__(self, content: str = "content") -> None:
        self.calls, self.content = 0, content

    def __call__(self, directory: Path) -> None:
        self.calls += 1
        (directory / "corpus").mkdir(parents=True)
        (directory / "corpus" / "ids").write_text(self.content)
        (directory / "shared.model").write_text("model")


@pytest.fixture
def cache(tmp_path) -> Cache:
    return Cache(tmp_path / "cache")


def names(directory: Path) -> list[str]:
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file())


def entries(cache: Cache) -> list[Path]:
    return sorted(cache.directory.iterdir())


def test_a_second_run_copies_the_entry(cache, tmp_path):
    make = Maker()
    assert [cache.fetch(KEY, make, tmp_path / name) for name in ("a", "b")] == [False, True]
    assert make.calls == 1
    for name in ("a", "b"):
        assert names(tmp_path / name) == ["corpus/ids", "shared.model"]
    (tmp_path / "a" / "corpus" / "ids").write_text("changed in one run")
    assert (tmp_path / "b" / "corpus" / "ids").read_text() == "content"
    cache.fetch(KEY, make, tmp_path / "c")
    assert (tmp_path / "c" / "corpus" / "ids").read_text() == "content"


def test_a_cache_of_another_user_is_read_and_not_written(cache, tmp_path, monkeypatch):
    """Its files are root's, so the time of the last use cannot be set and no entry can be made."""
    make = Maker()
    cache.fetch(KEY, make, tmp_path / "a")
    before = names(cache.directory)

    def refused(*_, **__):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("nmt.training.preparation.cache.os.utime", refused)
    assert cache.fetch(KEY, make, tmp_path / "b")
    monkeypatch.setattr("nmt.training.preparation.cache.os.access", lambda *_: False)
    assert not cache.fetch({"another": 1}, make, tmp_path / "c")
    assert names(tmp_path / "c") == names(tmp_path / "b") == ["corpus/ids", "shared.model"]
    assert names(cache.directory) == before


@pytest.mark.parametrize("other", [{"text": "0124"}, {"settings": {"size": 9}}, {"more": None}])
def test_another_key_is_another_entry(other, cache, tmp_path):
    make = Maker()
    cache.fetch(KEY, make, tmp_path / "a")
    assert not cache.fetch(KEY | other, make, tmp_path / "b")
    assert make.calls == 2


def test_an_entry_under_the_name_of_another_is_made_again(cache, tmp_path):
    cache.fetch(KEY, Maker("mine"), tmp_path / "a")
    (mine,) = entries(cache)
    cache.fetch(KEY | {"more": 1}, Maker("other"), tmp_path / "b")
    (other,) = set(entries(cache)) - {mine}
    mine.rename(cache.directory / "aside")
    other.rename(mine)
    assert not cache.fetch(KEY, Maker("mine"), tmp_path / "c")
    assert (tmp_path / "c" / "corpus" / "ids").read_text() == "mine"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_failed_preparation_leaves_nothing(error, cache, tmp_path):
    def fail(directory: Path) -> None:
        Maker()(directory)
        raise error

    with pytest.raises(error):
        cache.fetch(KEY, fail, tmp_path / "run")
    assert not (tmp_path / "run").exists()
    assert not cache.directory.exists()
    assert not cache.fetch(KEY, Maker(), tmp_path / "run")


KILLED = """
import os, signal, sys
from pathlib import Path
from nmt.training.preparation.cache import Cache

def make(directory):
    (directory / "corpus").mkdir(parents=True)
    (directory / "corpus" / "ids").write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)

Cache(Path(sys.argv[1])).fetch({"text": "0123", "settings": {"size": 8}}, make, Path(sys.argv[2]))
"""


def test_an_entry_of_a_killed_process_is_not_used_and_the_next_preparation_deletes_it(cache, tmp_path):
    command = [sys.executable, "-c", KILLED, str(cache.directory), str(tmp_path / "killed")]
    assert subprocess.run(command, cwd=Path(__file__).parents[2]).returncode == -signal.SIGKILL
    (left,) = entries(cache)
    assert not (tmp_path / "killed").exists()
    assert not cache.fetch(KEY, Maker("whole"), tmp_path / "run")
    assert (tmp_path / "run" / "corpus" / "ids").read_text() == "whole"
    assert not left.exists()
    assert len(entries(cache)) == 1


def test_an_unfinished_entry_of_a_running_process_stays(cache, tmp_path):
    def make(directory: Path) -> None:
        cache.fetch(KEY | {"more": 1}, Maker(), tmp_path / "meanwhile")
        Maker()(directory)

    assert not cache.fetch(KEY, make, tmp_path / "run")
    assert names(tmp_path / "run") == ["corpus/ids", "shared.model"]


def test_without_locks_an_unfinished_entry_is_deleted_after_a_day(cache, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "fcntl", None)
    left = cache.directory / "0123-4567.part"
    left.mkdir(parents=True)
    cache.fetch(KEY, Maker(), tmp_path / "run")
    assert left.exists()
    long_ago = time.time() - ABANDONED - 60
    os.utime(left, (long_ago, long_ago))
    cache.fetch(KEY | {"more": 1}, Maker(), tmp_path / "other")
    assert not left.exists()


def damage_file(entry: Path) -> None:
    (entry / "corpus" / "ids").write_text("c0ntent")


def lose_file(entry: Path) -> None:
    (entry / "shared.model").unlink()


def cut_manifest(entry: Path) -> None:
    (entry / "manifest.json").write_text(json.dumps({"key": 1})[:5])


@pytest.mark.parametrize("damage", [damage_file, lose_file, cut_manifest])
def test_a_damaged_entry_is_made_again(damage, cache, tmp_path):
    make = Maker()
    cache.fetch(KEY, make, tmp_path / "a")
    damage(entries(cache)[0])
    assert not cache.fetch(KEY, make, tmp_path / "b")
    assert (tmp_path / "b" / "corpus" / "ids").read_text() == "content"
    assert cache.fetch(KEY, make, tmp_path / "c")
    assert len(entries(cache)) == 1


@pytest.mark.parametrize(
    "name", ["../../planted", "corpus/../../planted", "{absolute}", "linked/planted", "linked file"]
)
def test_a_name_that_leads_out_of_the_entry_is_refused(name, cache, tmp_path):
    """The manifest may come from anywhere: nothing outside of entry and run is read or written."""
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "planted").write_text("content")
    make = Maker()
    cache.fetch(KEY, make, tmp_path / "a")
    (entry,) = entries(cache)
    (entry / "linked").symlink_to(secret)
    (entry / "linked file").symlink_to(secret / "planted")
    for place in (cache.directory.parent, cache.directory):
        (place / "planted").write_text("content")
    name = name.format(absolute=secret / "planted")
    manifest = json.loads((entry / "manifest.json").read_text())
    manifest["files"][name] = manifest["files"]["corpus/ids"]
    (entry / "manifest.json").write_text(json.dumps(manifest))
    target = tmp_path / "deep" / "er" / "b"
    assert not cache.fetch(KEY, make, target)
    assert names(tmp_path / "deep") == ["er/b/corpus/ids", "er/b/shared.model"]
    assert make.calls == 2


@pytest.mark.parametrize(
    "text", ["[]", '{"key": KEY, "files": 1}', "[" * 100_000, '{"key": KEY, "files": {"corpus": "0"}}']
)
def test_a_manifest_of_another_form_is_made_again(text, cache, tmp_path):
    make = Maker()
    cache.fetch(KEY, make, tmp_path / "a")
    (entries(cache)[0] / "manifest.json").write_text(text.replace("KEY", json.dumps(KEY)))
    assert not cache.fetch(KEY, make, tmp_path / "b")
    assert make.calls == 2


def test_two_processes_that_make_the_same_entry_at_once_both_get_it(cache, tmp_path):
    together = threading.Barrier(2)

    def make(directory: Path) -> None:
        Maker()(directory)
        together.wait(10)

    found: dict[str, bool] = {}
    threads = [
        threading.Thread(target=lambda name=name: found.update({name: cache.fetch(KEY, make, tmp_path / name)}))
        for name in ("a", "b")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {"a": False, "b": False}
    assert all(names(tmp_path / name) == ["corpus/ids", "shared.model"] for name in found)
    assert len(entries(cache)) == 1
    assert cache.fetch(KEY, make, tmp_path / "c")


def test_the_entry_used_longest_ago_is_deleted_first(tmp_path):
    cache = Cache(tmp_path / "cache", limit=2500)

    def fetch(number: int) -> bool:
        there = cache.fetch({"number": number}, Maker("x" * 1000), tmp_path / "run")
        for age, entry in enumerate(sorted(entries(cache), key=lambda path: -path.stat().st_mtime)):
            os.utime(entry, (1e9 - age, 1e9 - age))  # a second apart, whatever the resolution of the clock
        return there

    assert [fetch(number) for number in (1, 2, 1, 3)] == [False, False, True, False]
    assert [fetch(number) for number in (1, 3, 2)] == [True, True, False]


def test_the_newest_entry_stays_whatever_its_size(tmp_path):
    cache = Cache(tmp_path / "cache", limit=10)
    assert not cache.fetch(KEY, Maker(), tmp_path / "a")
    assert cache.fetch(KEY, Maker(), tmp_path / "b")
