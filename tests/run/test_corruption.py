"""Damage to any file of a run or a pack: it is refused in one line, or nothing that is loaded has changed."""

from __future__ import annotations

import random
import re
import shutil
import zipfile
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from corruptions import (
    FILES,
    Damaged,
    damages,
    loaded,
    make_aligner,
    make_cache,
    make_guided_runs,
    make_prepared,
    make_runs,
)

from nmt.cli import main
from nmt.errors import NmtError
from nmt.run.manifest import read_manifest
from nmt.run.pack_storage import CARD


class Place(NamedTuple):
    """A run, its pack, the run without sums, an aligner; and what the first two are loaded as."""

    run: Damaged
    pack: Damaged
    old: Damaged
    aligner: Damaged
    whole: Any
    packed: Any


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Place:
    directory = tmp_path_factory.mktemp("corruption")
    run, pack = make_runs(directory)
    old, aligner = run.without_manifest(directory / "old"), make_aligner(directory)
    return Place(run, pack, old, aligner, loaded(run.path), loaded(pack.path))


def check(place: Place, together: int) -> Iterator[tuple[str, int]]:
    """Damages each file in each way; gives the refusals of each."""
    wholes = (place.run, place.whole), (place.pack, place.packed), (place.old, None)
    for damaged, whole in (*wholes, (place.aligner, place.aligner.load(place.aligner.path))):
        for name, attempt in damages(damaged, whole, together):
            yield name, attempt(random.Random(name))


def test_damage_is_refused_or_changes_nothing(place):
    assert sum(dict(check(place, 2)).values()) > 100


@pytest.mark.slow
def test_hundreds_of_damages_of_each_file_are_refused_or_change_nothing(place):
    assert sum(dict(check(place, 100)).values()) > 5000


@pytest.mark.slow
@pytest.mark.parametrize("make", [make_guided_runs, make_prepared, make_cache])
def test_damage_to_links_to_prepared_corpora_and_to_the_cache(make, tmp_path):
    """It is refused or changes nothing; the cache makes a damaged entry again."""
    damaged = make(tmp_path)
    whole = damaged.load(damaged.path)
    refused = sum(attempt(random.Random(name)) for name, attempt in damages(damaged, whole, 2))
    assert refused == 0 if make is make_cache else refused > 50


def test_a_checkpoint_whose_sums_are_wiped_out_is_refused(place):
    """Zeroes over the end of the file: no arrays are listed, and no comment."""
    name = "checkpoints/000000007.npz"
    whole = (place.run.path / name).read_bytes()
    end = whole.rindex(b"PK\5\6")
    assert place.run.answers(name, whole[: end + 4] + bytes(18) + whole[end + 22 :]) is None
    assert place.run.answers(name, whole[: end + 20] + bytes(len(whole) - end - 20)) is None


def test_other_weights_of_the_run_are_no_checkpoint(place):
    weights = (place.run.path / "best.npz").read_bytes()
    assert place.run.answers("checkpoints/000000007.npz", weights) is None


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_another_run_is_refused(name, place):
    path, other = place.run.path / name, (place.run.other / name).read_bytes()
    expected = place.whole if path.read_bytes() == other else None
    assert place.run.answers(name, other) == expected
    assert name in ("corpus/about.json", "corpus/target.lengths") or expected is None


def test_a_member_of_another_pack_is_refused(place, tmp_path):
    with zipfile.ZipFile(place.pack.path) as one, zipfile.ZipFile(place.pack.other) as two:
        for swapped in one.namelist():
            with zipfile.ZipFile(tmp_path / "mixed.nmt", "w") as mixed:
                for name in one.namelist():
                    mixed.writestr(name, (two if name == swapped else one).read(name))
            if swapped == CARD:  # which is not loaded
                assert loaded(tmp_path / "mixed.nmt") == place.packed
            else:
                with pytest.raises(NmtError, match=r"mixed\.nmt"):
                    loaded(tmp_path / "mixed.nmt")


def test_verify_reads_the_aligner_that_a_training_learned(place, tmp_path, capsys):
    run = shutil.copytree(place.run.path, tmp_path / "run")
    assert main(["verify", str(run)]) == 0
    files = int(re.search(r"run: (\d+) files and manifest", capsys.readouterr().out)[1])
    shutil.copytree(place.aligner.path, run / "aligner")
    assert main(["verify", str(run)]) == 0
    of_aligner = len(read_manifest(run / "aligner").files)
    assert f"{run}: {files + of_aligner} files and manifest.json, all as nmt wrote" in capsys.readouterr().out
    (run / "aligner/weights.npz").write_bytes(b"PK")
    assert main(["verify", str(run)]) == 2
    assert f"{run}/aligner/weights.npz: damaged or changed" in capsys.readouterr().err
