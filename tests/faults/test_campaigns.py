"""A few points of each campaign of faults; `scripts/faults.py` tries them by the thousand."""

from __future__ import annotations

from collections.abc import Iterator

import command_faults
import disk
import fake_translator
import file_damage
import kills
import pytest
import writer_faults
from campaigns import Campaign, Missed, Point, Workshop, conduct
from command_faults import Traced

from nmt.run.directory import Run
from nmt.serving.models import ServedModel
from soak import Soak

SEED = 1
POINTS = {
    **{"damage-run": 20, "damage-pack": 20, "damage-export": 8, "damage-aligner": 8, "damage-guided": 20},
    **{"damage-web": 8, "damage-ctranslate2": 8, "damage-prepared": 8, "writer-errors": 20},
}
"""Points of a campaign; of the others two."""


@pytest.fixture(scope="module")
def workshop(library, tmp_path_factory) -> Iterator[Workshop]:
    made = Workshop(tmp_path_factory.mktemp("workshop"))
    yield made
    made.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    "campaign",
    [*writer_faults.CAMPAIGNS, *file_damage.CAMPAIGNS, *command_faults.CAMPAIGNS, *kills.CAMPAIGNS],
    ids=lambda campaign: campaign.name,
)
def test_some_faults(campaign, workshop):
    outcome = conduct(campaign, workshop, SEED, most=POINTS.get(campaign.name, 2))
    assert outcome.tried == POINTS.get(campaign.name, 2)
    assert not outcome.found


@pytest.mark.slow
def test_mixed_commands_survive_several_faults_each(workshop):
    soak = Soak(workshop, SEED)
    soak.round()
    assert soak.counts["commands"] == len(command_faults.COMMANDS)
    assert soak.counts["faults"]


@pytest.mark.slow
def test_a_server_answers_while_its_run_is_replaced_file_by_file(workshop):
    """It loads every state that it meets, or keeps the model that it has; at the end it has the new one."""
    traced, place = Traced(workshop, "tune"), workshop.folder("served")
    disk.restore(traced.before, directory := place / "root")
    loaded = []

    def load(path):
        run = Run.open(path)
        loaded.append((run.weights(), run.config.search)[1])
        return fake_translator.Translator()

    model = ServedModel("run", directory / "run", load)
    model.load()
    replayed = disk.Disk(traced.before)
    for change in traced.changes:
        replayed.follow(change)
        _put(replayed.left_by_kill(), directory)
        for _ in range(2):
            model.load_if_replaced()
        assert model.state == "ready" and model.engine
    assert loaded[-1] == Run.open(traced.end / "run").config.search


def _put(files: disk.Files, directory) -> None:
    """Makes a directory equal to a state, and leaves equal files alone."""
    found = disk.snapshot(directory)
    for path, content in files.items():
        if content is None:
            (directory / path).mkdir(exist_ok=True)
        elif found.get(path) != content:
            (directory / path).write_bytes(content)
    for path in found.keys() - files.keys():
        (directory / path).unlink()


def test_a_failure_is_found_named_and_repeated(tmp_path):
    """A campaign goes on after a failure; the name of a point repeats it with the same seed."""

    def points(workshop, draw):
        for number in range(100):
            value = draw.randint(0, 9)
            yield Point(f"{number}", lambda place, value=value: _require_small(place, value))

    campaign, workshop, said = Campaign("digits", "digits", points, 50), Workshop(tmp_path), []
    outcome = conduct(campaign, workshop, SEED, say=said.append)
    assert outcome.tried == 50 and 0 < len(outcome.found) < 50
    assert len(said) == len(outcome.found)
    name, why = next(iter(outcome.found.items()))
    again = conduct(campaign, workshop, SEED, only=name, say=said.append)
    assert (again.tried, again.found) == (1, {name: why})
    assert conduct(campaign, workshop, SEED, seconds=-1).tried == 0


def test_a_fault_that_did_not_happen_is_not_counted(tmp_path):
    def check(number: int) -> None:
        if number % 2:
            raise Missed

    def points(workshop, draw):
        return (Point(f"{number}", lambda place, number=number: check(number)) for number in range(9))

    campaign, workshop = Campaign("misses", "misses", points, 3), Workshop(tmp_path)
    assert conduct(campaign, workshop, SEED).tried == 3
    assert conduct(campaign, workshop, SEED, most=9).tried == 5
    assert conduct(campaign, workshop, SEED, only="1").tried == 1


def _require_small(place, value: int) -> None:
    assert list(place.iterdir()) == []
    (place / "file").touch()
    assert value < 8, f"{value} is large"


def test_states_of_a_stop_are_the_files_before_with_some_changes(tmp_path):
    """A traced command begins with files, whose changes are undone by a loss of power too."""
    changes = [disk.Change("write", "a", offset=0, content=b"new"), disk.Change("fsync", "a")]
    found = {(number, kind): files["a"] for number, kind, files in disk.states({"a": b"old"}, changes)}
    assert found == {(0, "kill"): b"old", (1, "kill"): b"new"}
