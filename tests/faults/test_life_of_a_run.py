"""The life of a run as hypothesis draws it: trained, killed, resumed, extended, refused, verified, translated."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import copy_task
import pytest
from campaigns import Workshop
from command_faults import SMALL, TRAINING
from hypothesis import HealthCheck, note, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from same_runs import require_same

EXAMPLES = int(os.environ.get("NMT_LIVES", "3"))
LINES = st.lists(st.text(st.sampled_from("abdegio \u00e9\u732b\u2028\t"), max_size=12), max_size=4)


class LifeOfARun(RuleBasedStateMachine):
    """Commands on one run. `trained` is the largest number of epochs that any command asked for."""

    workshop: Workshop
    whole: dict[int, Path]
    """Undisturbed runs by their number of epochs."""

    def __init__(self) -> None:
        super().__init__()
        self.place = self.workshop.folder("life")
        write_settings(self.place)
        self.epochs, self.finished = 0, False

    def nmt(self, words: str, **options: float) -> tuple[int, str]:
        """Runs a command; returns its exit code and messages, which are lines for a user."""
        note(f"nmt {words} {options}")
        ended = self.workshop.forks().run(words.split(), self.place, **options)
        assert "Traceback" not in ended.stderr, ended.stderr
        return ended.returncode, ended.stderr

    @rule(epochs=st.integers(1, 3))
    def train(self, epochs: int) -> None:
        self.epochs = max(self.epochs, epochs)
        code, said = self.nmt(f"train --config config.yaml --training.passes {self.epochs}")
        assert code == 0, said
        self.finished = True

    @rule(epochs=st.integers(1, 3), seconds=st.floats(0.2, 3))
    def kill(self, epochs: int, seconds: float) -> None:
        longer = max(self.epochs, epochs)
        words = f"train --config config.yaml --training.passes {longer}"
        code, _ = self.nmt(words, kill_after=seconds)
        assert code in (0, -9)
        if longer > self.epochs:
            self.finished = code == 0
        self.epochs = longer

    @precondition(lambda self: self.finished)
    @rule(setting=st.sampled_from(["model.units 12", "training.seed 7", "vocabulary.size 40", "corpus.max_pieces 5"]))
    def change(self, setting: str) -> None:
        code, said = self.nmt(f"train --config config.yaml --training.passes {self.epochs} --{setting}")
        assert code == 2
        assert setting.split()[0] in said

    @precondition(lambda self: self.finished)
    @rule(lines=LINES, limit=st.sampled_from(["", "--short-list 5", "--beam-size 2"]))
    def translate(self, lines: list[str], limit: str) -> None:
        copy_task.write_lines(self.place / "in", lines)
        code, said = self.nmt(f"translate --model run --input in --output out {limit}")
        assert code == 0, said
        assert (self.place / "out").read_bytes().count(b"\n") == len(lines)

    @invariant()
    def is_sound(self) -> None:
        """A run, finished or not, is as nmt wrote it; a finished one equals the undisturbed one."""
        if (self.place / "run" / "config.json").exists():
            code, said = self.nmt("verify run")
            assert code == 0, said
        if self.finished:
            require_same(self.place / "run", self.undisturbed())

    def undisturbed(self) -> Path:
        """A run of as many epochs that was never stopped."""
        if self.epochs not in self.whole:
            place = self.workshop.folder(f"whole-{self.epochs}")
            write_settings(place)
            words = f"train --config config.yaml --training.passes {self.epochs}".split()
            assert self.workshop.forks().run(words, place).returncode == 0
            self.whole[self.epochs] = place / "run"
        return self.whole[self.epochs]

    def teardown(self) -> None:
        shutil.rmtree(self.place)


def write_settings(place: Path) -> None:
    """Text and a configuration whose learning rate does not depend on the number of epochs."""
    copy_task.write_corpus(place, train=40, validation=4)
    training = TRAINING | {"schedule": {"learning_rate": 0.01, "warmup_steps": 2, "decay": "constant"}, "ema": 0.0}
    training |= {"validate_every": 2}
    fields = copy_task.merged(copy_task.fields(Path(".")), {"model": SMALL, "training": training})
    (place / "config.yaml").write_text(json.dumps(fields | {"name": "run", "directory": "."}))


@pytest.mark.slow
def test_lives_of_runs(library, tmp_path):
    workshop = Workshop(tmp_path)
    machine = type("Life", (LifeOfARun,), {"workshop": workshop, "whole": {}})
    try:
        run_state_machine_as_test(
            machine,
            settings=settings(
                max_examples=EXAMPLES,
                stateful_step_count=5,
                deadline=None,
                database=None,
                derandomize=True,
                suppress_health_check=list(HealthCheck),
                phases=[*settings.default.phases][:3],
            ),
        )
    finally:
        workshop.close()
