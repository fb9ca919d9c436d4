"""Measurements of translation, for nmt and the peers: whole commands, and translators inside a process."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from benchmarks.benchmarking.machine import peak_memory

WORKER = Path(__file__).with_name("worker.py")
REPOSITORY = WORKER.parents[3]

POLL_SECONDS = 0.05
"""Time between two readings of a process's memory."""

SENTENCES = 64
"""Sentences per batch of a peer; nmt takes `search.batch_tokens` of its run."""

MARIAN = (
    "--quiet --models {model}/model.npz --vocabs {model}/pieces.spm {model}/pieces.spm --beam-size {beam} "
    "--normalize 1 --mini-batch {sentences} --maxi-batch 100 --maxi-batch-sort src --max-length-factor 2 "
    "--cpu-threads {threads}"
)
"""Settings of Marian: length-normalised scores, and one worker thread per core, each with batches of its own."""


@dataclass(frozen=True)
class System:
    """A trained model and the program that translates with it.

    Args:
        name: name in the tables.
        kind: nmt, joeynmt, marian or ctranslate2.
        python: the Python of the program's environment.
        model: directory of the model.
        directory: directory for the files that a run needs.
        precision: precision of the matrix products; only nmt has a choice.
        short_list: see `SearchConfig.short_list`; only nmt has one.
        steps: pieces of every translation, for a model without training; 0: the model decides. Only CTranslate2 has it.
    """

    name: str
    kind: str
    python: str
    model: Path
    directory: Path
    precision: str = "float32"
    short_list: int = 0
    steps: int = 0

    def command(self, beam: int, text: Path, output: Path) -> tuple[list[str], bool]:
        """The command line that translates a file, and whether it uses standard input and output."""
        if self.kind == "nmt":
            files = ["--source", str(text), "--output", str(output)]
            search = ["--beam-size", str(beam), "--length-penalty", "1", "--precision", self.precision]
            search += ["--short-list", str(self.short_list)]
            return [self.python, "-m", "nmt", "translate", "--model", str(self.model), *files, *search], False
        if self.kind == "joeynmt":
            return [self.python, "-m", "joeynmt", "translate", str(self._joeynmt_settings(beam))], True
        options = [*self._marian_options(beam).split(), "--input", str(text), "--output", str(output)]
        return [self.python, "-m", "pymarian", "decode", *options], False

    def job(self, beam: int) -> dict[str, Any]:
        """The fields with which `worker.py` loads the system."""
        if self.kind == "nmt":
            how = {"precision": self.precision, "short_list": self.short_list}
            return {"kind": "nmt", "model": str(self.model), "beam": beam} | how
        if self.kind == "joeynmt":
            return {"kind": "joeynmt", "settings": str(self._joeynmt_settings(beam))}
        if self.kind == "ctranslate2":
            threads = len(os.sched_getaffinity(0))
            return {
                "kind": "ctranslate2",
                "model": str(self.model),
                "beam": beam,
                "steps": self.steps,
                "threads": threads,
            }
        return {"kind": "marian", "options": self._marian_options(beam)}

    def _marian_options(self, beam: int) -> str:
        threads = len(os.sched_getaffinity(0))
        return MARIAN.format(model=self.model, beam=beam, sentences=SENTENCES, threads=threads)

    def _joeynmt_settings(self, beam: int) -> Path:
        """Writes the configuration of the trained model with this search and with the files beside the model."""
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


def versions(python: str, packages: list[str]) -> dict[str, str]:
    """Versions of packages in the environment of another Python."""
    program = "import importlib.metadata as m, json, sys; print(json.dumps({p: m.version(p) for p in sys.argv[1:]}))"
    return json.loads(subprocess.run([python, "-c", program, *packages], capture_output=True, check=True).stdout)


def run_command(system: System, beam: int, text: Path) -> dict[str, Any]:
    """Runs a whole command on a file, from the start of its process to the end.

    Returns:
        Seconds, peak memory in MiB, the translated lines, and the command line.
    """
    output = system.directory / "output.txt"
    command, piped = system.command(beam, text, output)
    with open(text if piped else os.devnull, "rb") as source, open(output if piped else os.devnull, "wb") as sink:
        found = _run(system, command, stdin=source, stdout=sink)
    lines = output.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    return found | {"lines": lines, "command": " ".join(command)}


def run_worker(system: System, beam: int, sentences: list[str], alone: int) -> dict[str, Any]:
    """Times a translator inside a process: loading, the first sentence, `alone` single sentences, all at once.

    Returns:
        The results of `worker.py`, percentiles 50 and 95 of the seconds per single sentence, and peak memory in MiB.
    """
    job = system.job(beam) | {"sentences": sentences, "warm": 5, "alone": alone}
    with tempfile.TemporaryFile() as output:
        used = _run(system, [system.python, str(WORKER), json.dumps(job)], stdin=subprocess.DEVNULL, stdout=output)
        output.seek(0)
        found = json.loads(output.read().splitlines()[-1])
    p50, p95 = np.percentile(found["alone_s"], [50, 95]).tolist()
    return found | {"p50_s": p50, "p95_s": p95, "peak_mib": used["peak_mib"]}


def _run(system: System, command: list[str], **files: Any) -> dict[str, float]:
    """Seconds and peak memory of a process that has nmt on its path.

    Raises:
        SystemExit: the process failed.
    """
    path = os.pathsep.join([str(REPOSITORY), *filter(None, [os.environ.get("PYTHONPATH")])])
    variables = os.environ | {"PYTHONPATH": path, "TF_CPP_MIN_LOG_LEVEL": "3"}
    peak, log = 0.0, system.directory / f"{system.kind}.log"
    with open(log, "wb") as errors:
        begin = time.perf_counter()
        process = subprocess.Popen(command, stderr=errors, env=variables, **files)
        ended = threading.Event()
        watch = threading.Thread(target=lambda: (process.wait(), ended.set()))
        watch.start()
        while not ended.wait(POLL_SECONDS):
            with contextlib.suppress(OSError, StopIteration):  # the process has just ended
                peak = max(peak, peak_memory(process.pid))
        seconds = time.perf_counter() - begin
        watch.join()
    if process.returncode:
        raise SystemExit(f"{' '.join(command)[:300]} ended with {process.returncode}: see {log}")
    return {"seconds": seconds, "peak_mib": peak}
