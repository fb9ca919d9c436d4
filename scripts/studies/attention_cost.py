"""Measures time and memory of convolution, recurrence and attention by the length n and the width d of a sequence.

    python scripts/studies/attention_cost.py --output saved_models/attention_cost

The script measures one float32 sequence at a time without a GPU, in a compiled forward pass and in a forward and
backward pass. n varies at the first --width, and d at the first --length. Time is processor time; memory is the peak of
the tensors of a call, as TensorFlow counts them. The script writes four figures, measurements.json, and table.md into
OUTPUT. The table compares the measured exponents with the exponents of the operation counts.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.benchmarking.machine import describe
from common.running import run_script
from nmt import NmtError, save_figure
from nmt.cli.parser import Parser, positive
from nmt.cli.quiet import quiet_start
from studies.costs import report
from studies.costs.formulas import COSTS, PASSES, Case, Sizes, largest_tensor

LENGTHS = [256, 16, 32, 64, 128, 512, 1024, 2048]
WIDTHS = [128, 32, 64, 256, 512]


def parse() -> argparse.Namespace:
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("saved_models/attention_cost"), help="folder (%(default)s)")
    parser.add_argument("--length", nargs="+", type=positive, default=LENGTHS, metavar="N", help="n (%(default)s)")
    parser.add_argument("--width", nargs="+", type=positive, default=WIDTHS, metavar="D", help="d (%(default)s)")
    parser.add_argument(
        "--mechanisms", nargs="+", choices=COSTS, default=[*COSTS], metavar="NAME", help=", ".join(COSTS)
    )
    parser.add_argument("--heads", type=positive, default=8, help="heads of multi-head attention (%(default)s)")
    parser.add_argument("--reach", type=positive, default=10, help="D of local attention (%(default)s)")
    parser.add_argument("--repeats", type=positive, default=5, help="timings per case (%(default)s)")
    parser.add_argument(
        "--limit", type=positive, default=600, help="largest tensor in MiB; larger cases are left out (%(default)s)"
    )
    parser.add_argument("--memory-of", help=argparse.SUPPRESS)  # this script in a second process, which measures memory
    return parser.parse_args()


def check(options: argparse.Namespace) -> None:
    """Raises an NmtError that names an impossible option."""
    odd = [width for width in options.width if width % options.heads]
    if odd and "multi-head" in options.mechanisms:
        raise NmtError(f"--width {odd[0]}: {options.heads} heads do not divide it; choose another width, or --heads")
    for name in ("length", "width"):
        if len(set(getattr(options, name))) < 2:
            raise NmtError(f"--{name}: expected two different numbers or more, because the exponent needs two")


def sweeps_of(options: argparse.Namespace) -> list[report.Sweep]:
    """The sweep of n at the first width and the sweep of d at the first length; ascending."""
    lengths, widths = options.length, options.width
    by_length = [Case(length, widths[0]) for length in sorted(set(lengths))]
    return [
        report.Sweep("length", by_length),
        report.Sweep("width", [Case(lengths[0], width) for width in sorted(set(widths))]),
    ]


def jobs_of(options: argparse.Namespace) -> list[tuple[str, str, Case]]:
    """The mechanism, pass and case of every measurement."""
    sizes = Sizes(options.heads, options.reach)
    cases = dict.fromkeys(case for sweep in sweeps_of(options) for case in sweep.cases)
    return [
        (name, which, case)
        for name in options.mechanisms
        for which in PASSES
        for case in cases
        if largest_tensor(name, case, sizes) <= options.limit * 2**20
    ]


def measure_memory_in_process(jobs: list[tuple[str, str, Case]], sizes: Sizes) -> list[float]:
    """`measuring.measure_memory` in a process of its own, because counting memory slows the timings."""
    from studies.costs.measuring import SETTINGS

    command = [sys.executable, __file__, "--memory-of", json.dumps({"jobs": jobs, "sizes": sizes})]
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | SETTINGS)
    if result.returncode:
        raise NmtError(
            f"the process that measures memory failed: {(result.stderr.strip().splitlines() or ['killed'])[-1]}"
        )
    return json.loads(result.stdout.splitlines()[-1])


def print_memory(text: str) -> None:
    """Measures the memory of the jobs in this process and prints it as JSON."""
    from studies.costs import measuring

    read = json.loads(text)
    jobs = [(name, which, Case(*case)) for name, which, case in read["jobs"]]
    print(json.dumps(measuring.measure_memory(jobs, Sizes(*read["sizes"]))))


def run(options: argparse.Namespace) -> None:
    """Measures time and memory, and writes the results."""
    options.output.mkdir(parents=True, exist_ok=True)
    with quiet_start():
        from studies.costs import measuring
    sizes, jobs, begin = Sizes(options.heads, options.reach), jobs_of(options), time.perf_counter()

    def report_progress(text: str) -> None:
        print(f"{time.perf_counter() - begin:.0f} s: {text}", file=sys.stderr, flush=True)

    seconds = dict(zip(jobs, measuring.measure_times(jobs, sizes, options.repeats, report_progress), strict=True))
    memory = {job: [mib] for job, mib in zip(jobs, measure_memory_in_process(jobs, sizes), strict=True)}
    report_progress("memory measured")
    write(options, sizes, seconds, memory)


def write(options: argparse.Namespace, sizes: Sizes, seconds: report.Measurements, memory: report.Measurements) -> None:
    """Writes the tables, the numbers and the figures."""
    about = machine()
    sweeps = sweeps_of(options)
    parts = [about]
    for found, is_memory in ((seconds, False), (memory, True)):
        for which in PASSES:
            parts += [
                f"{'Memory' if is_memory else 'Time'}, {which}:",
                report.table(found, which, sweeps, sizes, is_memory),
            ]
        for sweep in sweeps:
            figure = report.draw(found, sweep, sizes, is_memory)
            save_figure(figure, options.output / f"{'memory' if is_memory else 'time'}-{sweep.by}.png")
    text = "\n\n".join(parts) + "\n"
    (options.output / "table.md").write_text(text, encoding="utf-8")
    numbers = [
        {"mechanism": name, "pass": which, "n": case.length, "d": case.width}
        | {"seconds": values, "mib": memory[name, which, case][0]}
        for (name, which, case), values in seconds.items()
    ]
    (options.output / "measurements.json").write_text(json.dumps(numbers, indent=1) + "\n", encoding="utf-8")
    print(text, end="")
    print(f"results: {options.output}/table.md, measurements.json, time-*.png, memory-*.png", file=sys.stderr)


def machine() -> str:
    """One paragraph: processor, versions, load, command."""
    found: dict[str, Any] = describe()
    packages = ", ".join(f"{name} {version(name)}" for name in ("keras", "tensorflow", "numpy"))
    load = f", load {os.getloadavg()[0]:.1f} at the end" if hasattr(os, "getloadavg") else ""
    return (
        f"{found['processor']}, {found['cores']} cores used{load}, {found['memory_gib']} GiB, {found['date']}, "
        f"Python {found['python']}, {packages}.\nCommand: {found['command']}"
    )


def main() -> None:
    """Runs the command line."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    options = parse()
    if options.memory_of:
        print_memory(options.memory_of)
        return
    check(options)
    run(options)


if __name__ == "__main__":
    sys.exit(run_script(main))
