"""The life of a run, and of an output file, as hypothesis draws it: commands, stops and faults in any order."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path
from typing import Any, ClassVar

import copy_task
import pytest
from campaigns import Workshop
from command_faults import ERRORS, SMALL, TRAINING, base
from hypothesis import HealthCheck, note, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from same_runs import require_same

EXAMPLES = int(os.environ.get("NMT_LIVES", "2"))
"""Lives of each machine. Hypothesis begins with the simplest one, of a single command."""
LINES = st.lists(st.text(st.sampled_from("abdegio \u00e9\u732b\u2028\t"), max_size=12), max_size=4)


class Commands(RuleBasedStateMachine):
    """Commands in a directory."""

    workshop: Workshop
    place: Path

    def nmt(self, words: str, **options: Any) -> tuple[int, str]:
        """Runs a command; returns its exit code and messages, which are lines for a user."""
        note(f"nmt {words} {options}")
        ended = self.workshop.forks().run(words.split(), self.place, **options)
        assert "Traceback" not in ended.stderr, ended.stderr
        return ended.returncode, ended.stderr

    def with_fault(self, words: str, fault: tuple[str, float]) -> int:
        """Runs a command that a fault may stop; returns its exit code."""
        kind, size = fault
        if kind in SIGNALS:
            code, said = self.nmt(words, kill_after=size, by=SIGNALS[kind])
            assert code in (0, SIGNALS[kind].code), said
        else:
            code, said = self.nmt(words, root=self.place, at=int(size), fault=ERRORS[kind])
            assert code in (0, 2), said
            assert (code == 2) == ("nmt: error: " in said), said
        return code

    def teardown(self) -> None:
        shutil.rmtree(self.place)


class Stop(int):
    """A signal, with the exit code of the command that it stops."""

    @property
    def code(self) -> int:
        return -self if self == signal.SIGKILL else 128 + signal.SIGINT


SIGNALS = {"SIGKILL": Stop(signal.SIGKILL), "SIGINT": Stop(signal.SIGINT)}
FAULTS = st.one_of(
    st.tuples(st.sampled_from([*SIGNALS]), st.floats(0.2, 3)),
    st.tuples(st.sampled_from(["ENOSPC", "EIO"]), st.integers(1, 60)),
)
"""A signal with the seconds to it, or an error with the number of the change of the disk that meets it."""


PACK = "pack --model run --output model.nmt"


class LifeOfARun(Commands):
    """Commands on one run. `epochs` is the largest number of epochs that any command asked for."""

    whole: dict[int, Path]
    """Undisturbed runs by their number of epochs."""

    def __init__(self) -> None:
        super().__init__()
        self.place = self.workshop.folder("life")
        write_settings(self.place)
        self.epochs, self.finished = 0, False

    @rule(epochs=st.integers(1, 3))
    def train(self, epochs: int) -> None:
        self.epochs = max(self.epochs, epochs)
        code, said = self.nmt(f"train --config config.yaml --training.passes {self.epochs}")
        assert code == 0, said
        self.finished = True

    @rule(epochs=st.integers(1, 3), fault=FAULTS)
    def stop(self, epochs: int, fault: tuple[str, float]) -> None:
        longer = max(self.epochs, epochs)
        code = self.with_fault(f"train --config config.yaml --training.passes {longer}", fault)
        if longer > self.epochs:
            self.finished = code == 0
        self.epochs = longer

    @rule(place=st.floats(0, 1, exclude_max=True))
    def damage(self, place: float) -> None:
        """The newest checkpoint loses a bit; training resumes from the one before it."""
        found = sorted((self.place / "run" / "checkpoints").glob("*.npz"))
        if len(found) < 2:
            return
        content = bytearray(found[-1].read_bytes())
        content[int(place * len(content))] ^= 1
        found[-1].write_bytes(content)
        code, said = self.nmt(f"train --config config.yaml --training.passes {self.epochs}")
        assert code == 0, said
        aside = found[-1].with_suffix(".damaged")
        assert aside.exists() and f"training resumes from {found[-2].name}" in said, said
        aside.unlink()
        self.finished = True

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

    @precondition(lambda self: self.finished)
    @rule(fault=st.none() | FAULTS)
    def tune(self, fault: tuple[str, float] | None) -> None:
        words = "tune --model run --source validation.source --target validation.target --save --beam-size 2"
        if fault is None:
            code, said = self.nmt(words)
            assert code == 0, said
        else:
            self.with_fault(words, fault)

    @precondition(lambda self: self.finished)
    @rule(fault=st.none() | FAULTS)
    def pack(self, fault: tuple[str, float] | None) -> None:
        """A pack that is there is whole, whatever stopped the command."""
        code = self.with_fault(PACK, fault) if fault else self.nmt(PACK)[0]
        assert fault or code == 0
        if (self.place / "model.nmt").exists():
            code, said = self.nmt("verify model.nmt")
            assert code == 0, said

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


class LifeOfAnOutput(Commands):
    """Translations of one text with `--resume`. Whatever stops them, the end is the text of an undisturbed command."""

    run: Path
    lines: ClassVar[list[str]] = [word for word in copy_task.WORDS for _ in range(60)]
    """Three blocks of lines, since only whole blocks are kept."""
    expected: dict[str, bytes]

    def __init__(self) -> None:
        super().__init__()
        self.place = self.workshop.folder("output")
        shutil.copytree(self.run, self.place / "run")
        copy_task.write_lines(self.place / "in", self.lines)
        self.words = "translate --model run --input in --output out --alignments links --resume --beam-size 1"

    @rule(fault=FAULTS)
    def stop(self, fault: tuple[str, float]) -> None:
        self.with_fault(self.words, fault)

    @rule()
    def finish(self) -> None:
        code, said = self.nmt(self.words)
        assert code == 0, said
        found = {name: (self.place / name).read_bytes() for name in ("out", "links")}
        assert found["out"].count(b"\n") == found["links"].count(b"\n") == len(self.lines)
        assert self.expected.setdefault("out", found["out"]) == found["out"]
        assert self.expected.setdefault("links", found["links"]) == found["links"]
        hidden = [path.name for path in self.place.iterdir() if path.name.startswith(".")]
        assert not hidden
        for name in found:
            (self.place / name).unlink()

    @rule(line=st.integers(0, 1400))
    def change_the_text(self, line: int) -> None:
        """Lines that another text left are refused, not continued."""
        if not (self.place / ".out.part").exists():
            return
        copy_task.write_lines(self.place / "in", [*self.lines[:line], "geg", *self.lines[line:]])
        code, said = self.nmt(self.words)
        copy_task.write_lines(self.place / "in", self.lines)
        assert code == 2 and said.count("nmt: error: ") == 1, said

    @invariant()
    def is_whole(self) -> None:
        """A file with the final name has all lines."""
        for name in ("out", "links"):
            if (self.place / name).exists():
                assert (self.place / name).read_bytes().count(b"\n") == len(self.lines)


def write_settings(place: Path) -> None:
    """Text and a configuration whose learning rate does not depend on the number of epochs."""
    copy_task.write_corpus(place, train=40, validation=4)
    training = TRAINING | {"schedule": {"learning_rate": 0.01, "warmup_steps": 2, "decay": "constant"}, "ema": 0.0}
    training |= {"batch_tokens": 100, "validate_every": 1}  # a shorter training has no validation more
    fields = copy_task.merged(copy_task.fields(Path(".")), {"model": SMALL, "training": training})
    (place / "config.yaml").write_text(json.dumps(fields | {"name": "run", "directory": "."}))


def run_lives(machine: type[RuleBasedStateMachine]) -> None:
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


@pytest.mark.slow
def test_lives_of_runs(workshop):
    run_lives(type("Life", (LifeOfARun,), {"workshop": workshop, "whole": {}}))


@pytest.mark.slow
def test_lives_of_outputs(workshop):
    fields = {"workshop": workshop, "run": base(workshop) / "run", "expected": {}}
    run_lives(type("Output", (LifeOfAnOutput,), fields))
