"""A few points of each campaign of faults; `scripts/faults.py` tries them by the thousand."""

from __future__ import annotations

import errno
import os
import subprocess
import sys

import command_faults
import disk
import file_damage
import kills
import pytest
import reloads
import writer_faults
from campaigns import UNDISTURBED, Campaign, Missed, Point, Workshop, alternating, conduct
from corruptions import DAMAGE
from mixed_commands import Soak
from writers import WRITERS

SEED = 1
POINTS = {f"damage-{kind}": len(DAMAGE) + 1 for kind in file_damage.KINDS}
"""Points of a damage: one of each kind, and one of files from another place."""
POINTS |= {f"damage-{kind}": 1 for kind in ("guided", "prepared", "cache")}
"""`tests/run/test_corruption.py` damages each of these files in each way."""
POINTS |= {f"reload-{name}": 2 for name in reloads.REPLACEMENTS} | {"writer-errors": 2 * len(WRITERS)}
"""Points of a campaign; of the others one. Campaigns of commands begin with different kinds of faults."""
SOME = ("prepare", "translate", "tune", "export", "pack")
"""Commands that are mixed here: one of each way of writing. Lives of runs mix trainings."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "campaign",
    [*writer_faults.CAMPAIGNS, *file_damage.CAMPAIGNS, *reloads.CAMPAIGNS, *command_faults.CAMPAIGNS, *kills.CAMPAIGNS],
    ids=lambda campaign: campaign.name,
)
def test_some_faults(campaign, workshop):
    outcome = conduct(campaign, workshop, SEED, most=POINTS.get(campaign.name, 1))
    assert outcome.tried == POINTS.get(campaign.name, 1)
    assert not outcome.found


@pytest.mark.slow
def test_mixed_commands_survive_several_faults_each(workshop):
    soak = Soak(workshop, SEED)
    soak.round(SOME)
    assert soak.counts["commands"] == len(SOME)
    assert soak.counts["faults"]


def test_a_few_points_have_all_kinds():
    """The kinds alternate until none is left; two campaigns that begin with different kinds need one point each."""
    points = ["a1", "a2", "a3", "b1", "b2"]
    assert alternating(points, lambda point: point[0]) == ["a1", "b1", "a2", "b2", "a3"]
    assert [alternating(points, lambda point: point[0], first)[0] for first in range(3)] == ["a1", "b1", "a1"]
    assert alternating([], str) == []


def test_the_date_of_a_report_may_change(tmp_path):
    """A campaign may run over midnight."""
    report = tmp_path / "compared" / "report.md"
    report.parent.mkdir()
    found = []
    for day, rest in ((27, "BLEU 5"), (28, "BLEU 5"), (28, "BLEU 6")):
        report.write_text(f"2026-11-{day}, {rest}")
        found.append(command_faults.read_files(tmp_path))
    assert found[0] == found[1] != found[2]


def test_a_failure_is_found_named_and_repeated(tmp_path):
    """A campaign goes on after a failure; the name of a point repeats it with the same seed."""

    def points(workshop, draw):
        for number in range(100):
            value = draw.randint(0, 9)
            yield Point(f"{number}", lambda place, value=value: _require_small(place, value))

    campaign, workshop, said = Campaign("digits", "digits", points, 50), Workshop(tmp_path), []
    outcome = conduct(campaign, workshop, SEED, say=said.append)
    assert outcome.planned == outcome.tried == 50 and 0 < len(outcome.found) < 50
    assert len(said) == len(outcome.found)
    name, why = next(iter(outcome.found.items()))
    again = conduct(campaign, workshop, SEED, only=name, say=said.append)
    assert (again.tried, again.found) == (1, {name: why})
    late = conduct(campaign, workshop, SEED, seconds=-1)
    assert (late.planned, late.tried) == (50, 0)


def test_a_campaign_whose_undisturbed_command_fails_has_found_that(tmp_path):
    def points(workshop, draw):
        raise ValueError("no run")
        yield

    said = []
    outcome = conduct(Campaign("broken", "broken", points, 50), Workshop(tmp_path), SEED, say=said.append)
    assert (outcome.tried, outcome.found) == (1, {UNDISTURBED: "ValueError: no run"})
    assert len(said) == 1


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


def test_opens_for_reading_are_recorded_and_refused(library, tmp_path):
    """The second of two, between which a file is written. A record has changes beside them."""
    (root := tmp_path / "root").mkdir()
    (root / "text").touch()
    program = "for name, mode in [('text', 'r'), ('new', 'w'), ('missing', 'r'), ('text', 'r')]:\n"
    program += "    try: open(name, mode).close()\n    except OSError as error: print(name, error.errno)"

    def run(**watch) -> str:
        variables = os.environ | disk.watched(library, root, reads=True, **watch)
        done = subprocess.run([sys.executable, "-c", program], cwd=root, env=variables, capture_output=True, text=True)
        return done.stdout

    assert run(record=tmp_path / "record") == f"missing {errno.ENOENT}\n"
    assert disk.read_opens(tmp_path / "record") == [disk.Change("open", "text")] * 2
    assert [change.kind for change in disk.read_changes(tmp_path / "record")] == ["create"]
    assert run(at=2, fault=errno.EMFILE) == f"missing {errno.ENOENT}\ntext {errno.EMFILE}\n"
