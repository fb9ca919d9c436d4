"""Packs: their members, and packs that replace others."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from corruptions import make_run

from nmt.config.reading import build_config
from nmt.config.relative_paths import path_settings
from nmt.run.arrays import save_arrays
from nmt.run.directory import Run
from nmt.run.errors import RunError
from nmt.run.manifest import Manifest
from nmt.run.model_card import UNKNOWN_LICENCE
from nmt.run.packing import members_of, without_paths, write_pack
from nmt.run.text_profile import load_profile
from nmt.run.verification import accept


def test_a_pack_is_on_the_disk_before_it_replaces_another_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or a power loss could leave an empty file in place of both."""
    run, pack = make_run(tmp_path / "run", 0), tmp_path / "model.nmt"
    write_pack(run, pack)
    synced: list[int] = []
    sync, replace = os.fsync, os.replace

    def watched_sync(descriptor: int) -> None:
        synced.append(os.fstat(descriptor).st_ino)
        sync(descriptor)

    def watched_replace(source: Path, target: Path) -> None:
        assert source.stat().st_ino in synced and zipfile.ZipFile(source).testzip() is None
        replace(source, target)

    monkeypatch.setattr("os.fsync", watched_sync)
    monkeypatch.setattr("os.replace", watched_replace)
    write_pack(run, pack)
    assert synced[-1] == tmp_path.stat().st_ino


def test_a_pack_has_the_files_that_translate_and_names_the_others(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", 0)
    (run.directory / ".hidden").write_text("four")
    (run.directory / "notes.txt").write_text("eight by")
    (run.directory / "corpus" / "deep").mkdir()
    (run.directory / "corpus" / "deep" / "file").write_text("one")
    packed = write_pack(run, tmp_path / "model.nmt", licence="free")
    with zipfile.ZipFile(tmp_path / "model.nmt") as archive:
        assert packed.members == {member.filename: member.file_size for member in archive.infolist()}
        assert b"Licence: free" in archive.read("README.md")
    files = ["README.md", "best.npz", "config.json", "manifest.json", "profile.json", "shared.model", "shortlist.npz"]
    assert sorted(packed.members) == files
    corpus = sum(path.stat().st_size for path in (run.directory / "corpus").rglob("*") if path.is_file())
    (checkpoint,) = run.checkpoints()
    assert packed.left_out == {"checkpoints/": checkpoint.stat().st_size, "corpus/": corpus, "notes.txt": 8}


@pytest.mark.parametrize("name", sorted(path_settings()))
def test_nothing_that_is_given_away_names_a_path(name: str) -> None:
    pair = {} if name.rpartition(".")[2] not in ("source", "target") else {"source": "/home/a", "target": "/home/b"}
    *_, group, last = name.split(".")
    outer = name.removesuffix(f"{group}.{last}").rstrip(".")
    fields = {group: {**pair, last: "/home/it"}}
    config = build_config({outer: fields} if outer else fields, None, {})
    assert "/home/it" in str(config) and "/home" not in str(without_paths(config))


def test_new_pairs_by_a_file_of_links_leave_settings_that_open_without_it() -> None:
    config = build_config({"training": {"recombine": 2, "guided": {"links": "/home/it"}}}, None, {})
    assert without_paths(config).training.recombine == 0
    learned = build_config({"training": {"recombine": 2, "aligner": True}}, None, {})
    assert without_paths(learned).training.recombine == 2


def test_settings_without_their_short_list_search_without_one(tmp_path: Path) -> None:
    """A pack has no training pairs to learn the list from, so it could not be used."""
    run = make_run(tmp_path / "run", 0)
    listed = replace(run, config=replace(run.config, search=replace(run.config.search, short_list=20)))
    for given, expected in ((True, 20), (False, 0)):
        members = members_of(listed, run.weights(), 0, "", "m", {"net": b"n"}, short_list=given)
        assert json.loads(members["config.json"])["search"]["short_list"] == expected


def test_equal_runs_give_equal_packs(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    write_pack(make_run(first / "run", 0), first / "model.nmt")
    shutil.copytree(first / "run", second / "run")
    os.utime(second / "run" / "profile.json", (0, 0))
    write_pack(Run.open(second / "run"), second / "model.nmt")
    assert (first / "model.nmt").read_bytes() == (second / "model.nmt").read_bytes()


def test_what_the_weights_do_not_need_may_be_left_out(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", 0)
    given = members_of(run, run.weights(), 0, "", "web", {"net": b"n"}, usage="open {name}", short_list=False)
    assert sorted(given) == ["README.md", "config.json", "manifest.json", "net", "profile.json", "shared.model"]
    assert b"open web\n" in given["README.md"] and UNKNOWN_LICENCE.encode() in given["README.md"]
    sums = Manifest.parse(given["manifest.json"], tmp_path, "").files
    assert sums == {
        name: (hashlib.sha256(content).hexdigest(),) for name, content in given.items() if name != "manifest.json"
    }


def test_a_run_with_an_aligner_gives_it_away(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", 0)
    save_arrays(run.directory / "aligner.npz", {"a": np.arange(3)})
    accept(run.directory)
    write_pack(run, tmp_path / "model.nmt")
    packed = Run.open(tmp_path / "model.nmt")
    assert packed.has_aligner and packed.has_weights and not run.is_pack and packed.is_pack
    assert packed.storage.arrays("aligner.npz")["a"].tolist() == [0, 1, 2]
    for refused in (packed.require_directory, packed.save_config, lambda: packed.averaged_checkpoints(1)):
        with pytest.raises(RunError, match=r"model\.nmt: is a pack, which"):
            refused()
    with pytest.raises(RunError, match="is a directory; name a file to write, such as"):
        write_pack(run, tmp_path)


@pytest.mark.parametrize("change", ["another", "none", "unlisted"])
def test_a_pack_whose_members_differ_from_its_manifest_is_refused(change: str, tmp_path: Path) -> None:
    write_pack(make_run(tmp_path / "run", 0), tmp_path / "model.nmt")
    with zipfile.ZipFile(tmp_path / "model.nmt") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    if change == "none":
        del members["manifest.json"]
    else:
        members |= {"profile.json": b"{}"} if change == "another" else {"cells.npz": b""}
    with zipfile.ZipFile(tmp_path / "bad.nmt", "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    message = {
        "another": r"profile\.json: damaged or changed, because it differs from manifest\.json: get the pack again",
        "none": r"bad\.nmt: not a run directory and not a pack of nmt pack, or a damaged pack$",
        "unlisted": r"cells\.npz: is not in manifest\.json: get the pack again, or make it again with nmt pack$",
    }[change]
    with pytest.raises(RunError, match=message):
        load_profile(tmp_path / "bad.nmt")
