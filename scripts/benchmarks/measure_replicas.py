"""Speed of training on several devices and with several workers of this machine, and a simulation of up to 64 devices.

    python scripts/benchmarks/measure_replicas.py --output replicas.json

`devices` trains on 1, 2 and 4 logical devices in one process, `processes` with 1, 2 and 4 workers. All make equal
updates by equal batches of generated pairs. So this machine does equal work, and more replicas show their overhead
alone. `processor_ms` is the processor time of all of them per update, which other programs disturb less than `ms`.
`parts` times an update on one device, and the optimizer's part, which every device repeats. `sums` times
sums of gradients between two workers. `simulate` computes the efficiency of 2 to 64 devices of their own from the
measured steps and sums; it takes all sizes of which the output has the parts. --stages chooses some of them.
TensorFlow's workers listen on every interface, so the script starts itself again in a network of its own (`unshare
-rn`, Linux), where loopback is the only one.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.benchmarking.machine import describe
from common.running import run_script
from nmt.backend.machine import processors
from nmt.errors import NmtError

STAGES = ("devices", "processes", "parts", "sums", "simulate")
COUNTS = (1, 2, 4)
LARGE = (2, 4, 8, 16, 32, 64)
RECIPES = {"default": "30k", "transformer": "30k-transformer", "large": "1m"}
"""Sizes of the model, and the recipes that have them."""
MIB = (1, 4, 16, 64)
"""Sizes of the sums between two workers."""
NETWORKS = {"1 Gbit/s": (1e9 / 8, 2e-4), "10 Gbit/s": (1e10 / 8, 5e-5), "100 Gbit/s": (1e11 / 8, 2e-5)}
"""Bytes per second of each link, and seconds of a message: assumptions of the simulation."""
WARM = 5
PORT = 43000


def main() -> None:
    arguments = parse()
    if arguments.job:
        print(json.dumps(work(Job(**json.loads(arguments.job)))))
        return
    if {"processes", "sums"} & set(arguments.stages) and [name for _, name in socket.if_nameindex()] != ["lo"]:
        enter_private_network()
    found = json.loads(arguments.output.read_text()) if arguments.output.exists() else {"machine": describe()}
    for stage in arguments.stages:
        globals()[stage](arguments, found)
        arguments.output.write_text(json.dumps(found, indent=1) + "\n")


def enter_private_network() -> None:
    """Starts this script again where loopback is the only interface."""
    enter = ["unshare", "-rn", "bash", "-c", 'ip link set lo up && exec "$@"', "_"]
    if not shutil.which(enter[0]) or subprocess.run([*enter, "true"], capture_output=True).returncode:
        raise NmtError(
            "unshare -rn is not allowed here, or ip is missing, and workers would listen on every interface: choose "
            "--stages devices parts"
        )
    os.execvp(enter[0], [*enter, sys.executable, *sys.argv])


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("replicas.json"), help="figures; kept stages are read")
    parser.add_argument("--stages", nargs="+", choices=STAGES, default=list(STAGES))
    parser.add_argument("--size", choices=RECIPES, default="default", help="model of the measurements")
    parser.add_argument("--updates", type=int, default=30, help="timed updates (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=1, help="alternating repetitions (default: %(default)s)")
    parser.add_argument("--job", default="", help=argparse.SUPPRESS)
    return parser.parse_args()


@dataclass(frozen=True)
class Job:
    """A measurement in a process of its own."""

    kind: str
    """train, parts or sums."""
    size: str = "default"
    updates: int = 0
    devices: int = 1
    """Logical devices of the process."""


def start(job: Job, workers: int = 1) -> dict[str, Any]:
    """The result of a job, of the first worker if there are several."""
    global PORT
    cluster = {"worker": [f"127.0.0.1:{PORT + index}" for index in range(workers)]}
    PORT += workers
    command, processes = [sys.executable, __file__, "--job", json.dumps(vars(job))], []
    for index in range(workers):
        task = {"cluster": cluster, "task": {"type": "worker", "index": index}}
        variables = {"TF_CONFIG": json.dumps(task)} if workers > 1 else {}
        environment = os.environ | {"CUDA_VISIBLE_DEVICES": "", "TF_CPP_MIN_LOG_LEVEL": "2"} | variables
        processes.append(subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True))
    printed = [process.communicate()[0] for process in processes]
    if any(process.returncode for process in processes):
        raise NmtError(f"{job} failed with {workers} workers")
    results = [json.loads(text.splitlines()[-1]) for text in printed]
    first: dict[str, Any] = results[0]
    if "processor_ms" in first:
        first["processor_ms"] = sum(each["processor_ms"] for each in results)
    return first


def devices(arguments: argparse.Namespace, found: dict[str, Any]) -> None:
    """Tokens per second of each number of logical devices."""
    _measure(arguments, found, "devices", lambda count: start(_training(arguments, devices=count)))


def processes(arguments: argparse.Namespace, found: dict[str, Any]) -> None:
    """Tokens per second of each number of workers."""
    _measure(arguments, found, "processes", lambda count: start(_training(arguments), workers=count))


def _training(arguments: argparse.Namespace, **more: int) -> Job:
    return Job("train", arguments.size, arguments.updates, **more)


def _measure(arguments: argparse.Namespace, found: dict[str, Any], stage: str, measure: Any) -> None:
    """Alternates between the counts, and keeps the median of all rounds."""
    rounds: dict[int, list[dict[str, Any]]] = {count: [] for count in COUNTS}
    for _ in range(arguments.rounds):
        for count, results in rounds.items():
            results.append(measure(count))
    rows = found.setdefault(stage, {})[arguments.size] = {}
    for count, results in rounds.items():
        seconds = [value for each in results for value in each["seconds"]]
        per_update = results[0]["tokens"] / len(results[0]["seconds"])
        row = {"ms": 1e3 * statistics.median(seconds)}
        row["processor_ms"] = statistics.median([each["processor_ms"] for each in results])
        rows[str(count)] = {name: round(value, 1) for name, value in row.items()}
        for name in row:
            rows[str(count)][f"{name}_overhead"] = round(100 * (row[name] / rows["1"][name] - 1), 1)
        rows[str(count)]["tokens_per_second"] = round(1e3 * per_update / row["ms"])
        print(f"{arguments.size}, {count} {stage}: {rows[str(count)]}", flush=True)


def parts(arguments: argparse.Namespace, found: dict[str, Any]) -> None:
    """Milliseconds of an update on one device and of its optimizer, and the bytes of the gradients."""
    values = found.setdefault("parts", {})[arguments.size] = start(Job("parts", arguments.size, arguments.updates))
    print(f"{arguments.size}, parts: {values}", flush=True)


def sums(arguments: argparse.Namespace, found: dict[str, Any]) -> None:
    """Milliseconds of a sum between two workers, by its MiB."""
    found["sums"] = start(Job("sums", updates=arguments.updates), workers=2)
    print(f"sums between two workers: {found['sums']}", flush=True)


def simulate(arguments: argparse.Namespace, found: dict[str, Any]) -> None:
    """Percent of the speed of as many devices that need not wait for each other.

    Every device has a batch of its own. An update lasts as long as the slowest device and the sum. The step of each
    device is drawn from the measured ones. The sum goes round a ring: each device sends 2 (n - 1) messages of 1 / n of
    the gradients (Patarasu and Yuan 2009).
    """
    draw = np.random.default_rng(1)
    networks = dict(NETWORKS)
    if "sums" in found:
        networks["two workers here"] = fitted(found["sums"])
    for size, measured in found.get("parts", {}).items():
        steps = np.array(measured["step_seconds"])
        for name, (bandwidth, latency) in networks.items():
            row: dict[str, float] = {}
            for count in LARGE:
                slowest = draw.choice(steps, (2000, count)).max(axis=1).mean()
                together = 2 * (count - 1) * (measured["bytes"] / count / bandwidth + latency)
                row[str(count)] = round(100 * float(steps.mean() / (slowest + together)), 1)
            found.setdefault("simulated", {}).setdefault(size, {})[name] = row
            print(f"{size}, {name}: {row}", flush=True)


def fitted(measured: dict[str, float]) -> tuple[float, float]:
    """Bytes per second and seconds of a message, by least squares of the relative errors."""
    sizes = np.array([float(mib) for mib in measured]) * 2**20
    seconds = np.array(list(measured.values())) / 1e3
    rows = np.stack([sizes, np.full(len(sizes), 2.0)], axis=1) / seconds[:, None]  # two devices: 2 messages of a half
    per_byte, latency = np.linalg.lstsq(rows, np.ones(len(sizes)), rcond=None)[0]
    return 1 / per_byte, max(0.0, float(latency))


def work(job: Job) -> dict[str, Any]:
    """The result of a job in this process."""
    import keras

    from nmt.backend.machine import configure_runtime
    from nmt.training.distribution.cluster import read_cluster
    from nmt.training.distribution.replicas import open_replicas

    replicas = open_replicas(job.devices, read_cluster())
    configure_runtime()
    keras.utils.set_random_seed(1)
    if job.kind == "sums":
        return {str(mib): time_sum(replicas, mib, job.updates) for mib in MIB}
    step, batches = prepare(job, replicas)
    if job.kind == "parts":
        return time_parts(step, batches, job.updates)
    seconds, tokens, processor = [], 0, 0.0
    for number in range(WARM + job.updates):
        if number == WARM:
            processor = time.process_time()
        batch, begin = next(batches), time.perf_counter()
        float(step(batch))
        if number >= WARM:
            seconds.append(time.perf_counter() - begin)
            counts = replicas.counts
            tokens += int(np.count_nonzero(batch.target_out)) if counts is None else int(float(counts[0]))
    used = 1e3 * (time.process_time() - processor) / job.updates
    replicas.agree(0)
    return {"seconds": seconds, "tokens": tokens, "processor_ms": used}


def prepare(job: Job, replicas: Any) -> tuple[Any, Iterator[Any]]:
    """The training step of a new model, and its batches without end: generated pairs of 5 to 30 pieces."""
    from nmt import load_config
    from nmt.batches.arrays import Sequences, make_batch
    from nmt.batches.plan import BatchPlan
    from nmt.network.losses.output_loss import slices_for
    from nmt.network.model import Seq2Seq
    from nmt.training.step import TrainStep
    from nmt.training.trainer import build_optimizer

    config, draw = load_config(recipe=RECIPES[job.size]), np.random.default_rng(1)
    pieces, training = config.vocabulary.size, config.training
    lengths = draw.integers(5, 31, 20_000)
    pairs = [Sequences.of([draw.integers(4, pieces, length) for length in lengths]) for _ in range(2)]
    plan = BatchPlan(lengths + 1, lengths + 1, training.batch_tokens, len(lengths), 1)
    with replicas.scope():
        model = Seq2Seq(config.model, pieces, pieces, seed=1, dtype="float32")
        model.build()
        optimizer = build_optimizer(model, training, 10_000, 8, replicas.count > 1)
    slices = slices_for(training.batch_tokens, pieces)
    step = TrainStep(model, optimizer, training.label_smoothing, slices, replicas)
    return step, (make_batch(*pairs, replicas.rows(rows)) for rows in plan.batches(0))


def time_parts(step: Any, batches: Iterator[Any], updates: int) -> dict[str, Any]:
    """Milliseconds of a whole update and of the optimizer alone, and the seconds of each whole update.

    All of them are processor time by the number of cores, because other programs disturb it less than the time.
    """
    import tensorflow as tf

    steps = []
    for number in range(WARM + updates):
        batch, begin = next(batches), time.process_time()
        float(step(batch))
        if number >= WARM:
            steps.append((time.process_time() - begin) / processors())
    variables = step.model.trainable_variables
    apply = tf.function(lambda *gradients: step.optimizer.apply(gradients, variables), autograph=False)
    gradients = [tf.ones_like(variable) * 1e-4 for variable in variables]
    size = sum(4 * int(np.prod(variable.shape)) for variable in variables)
    return {
        "step_ms": round(1e3 * statistics.median(steps), 1),
        "optimizer_ms": round(_milliseconds(lambda: apply(*gradients), updates, time.process_time) / processors(), 1),
        "bytes": size,
        "step_seconds": steps,
    }


def time_sum(replicas: Any, mib: int, updates: int) -> float:
    """Milliseconds of a sum of gradients over the replicas."""
    import tensorflow as tf

    strategy = getattr(replicas, "strategy", None)
    values = tf.ones([mib << 18])

    def one_replica() -> Any:
        added = tf.distribute.get_replica_context().all_reduce("SUM", [tf.identity(values)])
        return tf.reduce_max(added[0])

    with strategy.scope() if strategy else nullcontext():
        program = tf.function(lambda: strategy.run(one_replica), autograph=False)
        return round(_milliseconds(lambda: float(program()), updates), 2)


def _milliseconds(call: Any, repeats: int, clock: Any = time.perf_counter) -> float:
    """Median milliseconds of a call."""
    seconds = []
    for _ in range(WARM + repeats):
        begin = clock()
        call()
        seconds.append(clock() - begin)
    return 1e3 * statistics.median(seconds[WARM:])


if __name__ == "__main__":
    sys.exit(run_script(main))
