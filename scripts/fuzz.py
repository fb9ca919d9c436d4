"""Fuzzes the parsers: inputs are mutated towards new branches of the code (atheris, libFuzzer).

    .venv/bin/pip install -e ".[test,serve,search,fuzz]"
    python scripts/fuzz.py --list
    python scripts/fuzz.py tmx yaml --seconds 120 --seed 1
    python scripts/fuzz.py all --seconds 60
    python scripts/fuzz.py tmx --case FILE

A failing input is made smaller and written below --found. It belongs in tests/fuzzing/found/TARGET/ once the code is
mended: the tests then repeat it. Exit code 1: something was found.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(REPOSITORY), str(REPOSITORY / "tests" / "fuzzing"), str(REPOSITORY / "scripts")]

from result_rows import HELP, Row, write_rows  # noqa: E402

SLOW = 20
"""Seconds after which an input counts as one that never ends."""
MEMORY = 3000
"""MiB that an input may take."""
LONGEST = 4096
"""Bytes of the longest input."""
RUNS_OF_SHRINKING = 2000
"""Runs that make an input smaller, at most. They end in half of `SLOW`, since all of them count as one input."""
IN_MEMORY = Path("/dev/shm")
"""Where the files of inputs are written, if it is there."""


class Fuzzed(NamedTuple):
    """The outcome of one target."""

    target: str
    inputs: int
    """Inputs that were tried."""
    found: list[str]
    """A line for each different failure."""
    seconds: float = 0
    """Time of the fuzzer."""


def main() -> int:
    arguments = _arguments()
    if arguments.child:
        return _fuzz_here(arguments.targets[0], Path(arguments.child), arguments.seconds, arguments.seed)
    from targets import TARGETS

    names = list(TARGETS) if arguments.targets == ["all"] else arguments.targets
    if unknown := [name for name in names if name not in TARGETS]:
        print(f"fuzz.py: error: no target {unknown[0]}: expected all, or some of {', '.join(TARGETS)}", file=sys.stderr)
        return 2
    if arguments.list:
        print("\n".join(TARGETS))
        return 0
    if arguments.case:
        return _replay(names[0], Path(arguments.case).read_bytes())
    outcomes = [_fuzz(name, arguments.seconds, arguments.seed, Path(arguments.found)) for name in names]
    print(f"{sum(one.inputs for one in outcomes)} inputs, {sum(len(one.found) for one in outcomes)} failures")
    write_rows(arguments.json, [_row(one) for one in outcomes])
    return int(any(one.found for one in outcomes))


def _row(outcome: Fuzzed) -> Row:
    found = len(outcome.found)
    return Row(f"fuzzing {outcome.target}", f"inputs of a fuzzer: {outcome.target}", None, max(outcome.inputs, found),
               found, outcome.seconds)  # fmt: skip


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", default=["all"], help="names of targets, or all")
    parser.add_argument("--list", action="store_true", help="print the names of the targets")
    parser.add_argument("--seconds", type=int, default=60, help="for each target (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the mutations (default: %(default)s)")
    parser.add_argument("--found", default="build/fuzzing", help="directory of failing inputs (default: %(default)s)")
    parser.add_argument("--case", help="a file to try once on the target")
    parser.add_argument("--json", metavar="FILE", help=HELP)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    return parser.parse_args()


def _fuzz(target: str, seconds: int, seed: int, found: Path) -> Fuzzed:
    """Fuzzes a target in a process of its own, which a crash of a C library may end."""
    with tempfile.TemporaryDirectory(prefix="fuzz-", dir=IN_MEMORY if IN_MEMORY.is_dir() else None) as name:
        (place := Path(name)).joinpath("work").mkdir()
        command = [sys.executable, __file__, target, "--child", name, "--seconds", str(seconds), "--seed", str(seed)]
        variables = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "", "PYTHONHASHSEED": "0"}
        variables["TMPDIR"] = name  # libFuzzer ends its process without any clearing up
        start = time.monotonic()
        with open(place / "log", "wb") as log:
            done = subprocess.run(command, stdout=log, stderr=log, env=variables)
        log_text = (place / "log").read_text(errors="replace")
        failures = list(_failures(place, target))
        if done.returncode and not failures:
            raise SystemExit(f"fuzz.py: error: {target}: the fuzzer ended with {done.returncode}:\n{log_text[-3000:]}")
        lines = [_keep(found / target, content, kind) for kind, content in failures]
        inputs = int((place / "inputs").read_text() or 0) if (place / "inputs").exists() else 0
    outcome = Fuzzed(target, inputs, lines, time.monotonic() - start)
    print(f"{target}: {inputs} inputs, {len(lines)} failures", *lines, sep="\n  ", flush=True)
    return outcome


def _failures(place: Path, target: str) -> Iterator[tuple[str, bytes]]:
    """The kind of each failure, and its input: made smaller, unless it ends the process."""
    for path in sorted(place.glob("failure-*.json")):
        failure = json.loads(path.read_text())
        yield failure["kind"], bytes.fromhex(failure["content"])
    for path in sorted(place.glob("artifact-*")):
        kind = path.name.split("-")[1]
        if kind in ("crash", "timeout", "oom"):
            yield f"{kind} of the process", path.read_bytes()


def _keep(directory: Path, content: bytes, kind: str) -> str:
    """Writes a failing input; returns the line about it."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / hashlib.sha256(content).hexdigest()[:8]
    path.write_bytes(content)
    return f"{kind}: python scripts/fuzz.py {directory.name} --case {path}"


def _replay(target: str, content: bytes) -> int:
    from targets import TARGETS

    with tempfile.TemporaryDirectory() as place:
        TARGETS[target].check(content, Path(place))
    print("parsed, or refused as expected")
    return 0


def _fuzz_here(target: str, place: Path, seconds: int, seed: int) -> int:
    """Fuzzes in this process; failures are files in `place`."""
    import atheris

    with atheris.instrument_imports(include=["nmt"]):
        from targets import TARGETS, found_cases
    chosen = TARGETS[target]
    (corpus := place / "corpus").mkdir()
    for number, content in enumerate([*chosen.seeds(), *(path.read_bytes() for path in found_cases(target))]):
        (corpus / str(number)).write_bytes(content)
    work, tried, seen = place / "work", 0, set()

    def run(content: bytes) -> None:
        nonlocal tried
        tried += 1
        if tried < 256 or tried % 256 == 0:
            (place / "inputs").write_text(str(tried))
        kind = _failure(lambda data: chosen.check(data, work), content)
        if kind and kind not in seen:
            seen.add(kind)
            small = _shrunk(content, lambda data: _failure(lambda one: chosen.check(one, work), data) == kind)
            failure = json.dumps({"kind": kind, "content": small.hex()})
            (place / f"failure-{len(seen)}.json").write_text(failure)

    options = [f"-max_total_time={seconds}", f"-seed={seed}", f"-timeout={SLOW}", f"-rss_limit_mb={MEMORY}"]
    options += [f"-max_len={LONGEST}", f"-artifact_prefix={place}/artifact-", "-print_final_stats=0", "-verbosity=0"]
    atheris.Setup([sys.argv[0], *options, str(corpus)], run)
    atheris.Fuzz()
    return 0


def _failure(check: Callable[[bytes], None], content: bytes) -> str:
    """The kind of a failure: the error, and the place in nmt or in the target that raised it; empty without one."""
    try:
        check(content)
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        ours = [frame for frame in frames if str(REPOSITORY) in frame.filename] or frames
        last = ours[-1]
        return f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno} ({str(error)[:80]!a})"[:160]
    return ""


def _shrunk(content: bytes, fails: Callable[[bytes], bool]) -> bytes:
    """A smaller input that fails alike: parts are left out, halves first."""
    size, left, end = max(1, len(content) // 2), RUNS_OF_SHRINKING, time.monotonic() + SLOW / 2
    while size and left > 0:
        place = 0
        while place < len(content) and left > 0 and time.monotonic() < end:
            shorter, left = content[:place] + content[place + size :], left - 1
            if fails(shorter):
                content = shorter
            else:
                place += size
        size //= 2
    return content


if __name__ == "__main__":
    sys.exit(main())
