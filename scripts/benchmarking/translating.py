"""Translation measured: whole commands and translators in their process, of ours and of the peers."""

from __future__ import annotations

import json
import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

WORKER = Path(__file__).with_name("worker.py")
REPOSITORY = WORKER.parent.parent.parent

SENTENCES = 64
"""Of a peer's batch; ours are cut by `search.batch_tokens` of the run."""

MARIAN = (
    "--quiet --models {model}/model.npz --vocabs {model}/pieces.spm {model}/pieces.spm --beam-size {beam} "
    "--normalize 1 --mini-batch {sentences} --maxi-batch 100 --maxi-batch-sort src --max-length-factor 2 "
    "--cpu-threads {threads}"
)
"""Marian's settings: score divided by length, as many worker threads as cores, each with batches of its own."""


@dataclass(frozen=True)
class System:
    """A trained model and the program that translates with it.

    Args:
        name: for the tables.
        kind: nmt, joeynmt or marian.
        python: of the environment that has the program.
        model: directory of the model.
        directory: for the files that are needed to run it.
    """

    name: str
    kind: str
    python: str
    model: Path
    directory: Path

    def command(self, beam: int, text: Path, output: Path) -> tuple[list[str], bool]:
        """The command line that translates a file, and whether it reads standard input and writes standard output."""
        if self.kind == "nmt":
            files = ["--input", str(text), "--output", str(output)]
            search = ["--beam-size", str(beam), "--length-penalty", "1"]
            return [self.python, "-m", "nmt", "translate", "--model", str(self.model), *files, *search], False
        if self.kind == "joeynmt":
            return [self.python, "-m", "joeynmt", "translate", str(self._joeynmt_settings(beam))], True
        options = [*self._marian_options(beam).split(), "--input", str(text), "--output", str(output)]
        return [self.python, "-m", "pymarian", "decode", *options], False

    def job(self, beam: int) -> dict[str, Any]:
        """What `worker.py` needs to load it."""
        if self.kind == "nmt":
            return {"kind": "nmt", "model": str(self.model), "beam": beam}
        if self.kind == "joeynmt":
            return {"kind": "joeynmt", "settings": str(self._joeynmt_settings(beam))}
        return {"kind": "marian", "options": self._marian_options(beam)}

    def _marian_options(self, beam: int) -> str:
        threads = len(os.sched_getaffinity(0))
        return MARIAN.format(model=self.model, beam=beam, sentences=SENTENCES, threads=threads)

    def _joeynmt_settings(self, beam: int) -> Path:
        """The configuration that the model was trained with, with this search; its files are those beside the model."""
        settings = yaml.safe_load((self.model / "config.yaml").read_text(encoding="utf-8"))
        settings["model_dir"] = str(self.model)
        for side in ("src", "trg"):
            settings["data"][side] = settings["data"][side] | {
                "voc_file": str(self.model / f"{side}_vocab.txt"),
                "tokenizer_cfg": {"model_file": str(self.model / "pieces.spm"), "pretokenizer": "none"},
            }
        settings["testing"] |= {"beam_size": beam, "beam_alpha": 1.0, "max_output_length": 100}
        settings["testing"] |= {"batch_size": SENTENCES, "batch_type": "sentence"}
        path = self.directory / f"joeynmt-beam{beam}.yaml"
        path.write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")
        return path


def run_command(system: System, beam: int, text: Path) -> dict[str, Any]:
    """The whole command on a file, from the start of its process to the end.

    Returns:
        Its seconds, peak memory in MiB, the lines that it wrote, and the command line.
    """
    output = system.directory / "output.txt"
    output.unlink(missing_ok=True)
    command, piped = system.command(beam, text, output)
    with open(system.directory / "command.log", "wb") as log, open(text, "rb") as source:
        begin = time.perf_counter()
        if piped:
            with open(output, "wb") as sink:
                process = subprocess.Popen(command, stdin=source, stdout=sink, stderr=log, env=environment())
        else:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment())
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}: see {system.directory}/command.log")
    lines = output.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    return {"seconds": seconds, "peak_mib": used.ru_maxrss / 1024, "lines": lines, "command": " ".join(command)}


def run_worker(system: System, beam: int, sentences: list[str], alone: int) -> dict[str, Any]:
    """The translator in a process: loaded, first sentence, so many one at a time, then all at once.

    Returns:
        Seconds of each stage, of the process up to the first translation, p50 and p95 of one sentence at a time, the
        translations, and the process's peak memory in MiB.
    """
    job = system.job(beam) | {"sentences": sentences, "warm": 5, "alone": alone, "batch": True}
    command = [system.python, str(WORKER), json.dumps(job)]
    found: dict[str, Any] = {}
    with open(system.directory / "worker.log", "wb") as log:
        begin = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment())
        assert process.stdout is not None
        for line in process.stdout:
            stage = json.loads(line) if line.startswith("{") else {}
            if "first" in stage:
                found["start_to_first_s"] = time.perf_counter() - begin
            found |= stage
    if process.wait() or "found" not in found:
        raise SystemExit(f"{system.name} ended with {process.returncode}: see {system.directory}/worker.log")
    found["p50_s"], found["p95_s"] = np.percentile(found["alone_s"], [50, 95]).tolist()
    return found


def environment() -> dict[str, str]:
    """Of the processes: our code on the path, TensorFlow quiet."""
    path = os.pathsep.join([str(REPOSITORY), *filter(None, [os.environ.get("PYTHONPATH")])])
    return os.environ | {"PYTHONPATH": path, "TF_CPP_MIN_LOG_LEVEL": "3"}
