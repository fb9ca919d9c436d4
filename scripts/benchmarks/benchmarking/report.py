"""The results of the training benchmark as text, table and plot."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

Results = dict[str, list[dict[str, Any]]]

PARTS = ("encoder_ms", "decoder_ms", "output_and_loss_ms", "optimizer_ms")
TYPES = ("float32", "bfloat16", "float16")
KERNELS = {True: "cuDNN's kernel", False: "a loop"}
INPUT = ("update_from_memory_ms", "update_through_pipeline_ms")


def headline(machine: dict[str, Any]) -> str:
    """One paragraph about the machine, with its ceilings if they were measured."""
    packages = ", ".join(f"{name} {number}" for name, number in machine["packages"].items())
    processors = ", ".join(name for name in (machine.get("gpu"), machine["processor"]) if name)
    lines = [
        f"{processors}, {machine['cores']} cores, {machine['memory_gib']} GiB, {machine['date']}, "
        f"Python {machine['python']}, {packages}."
    ]
    if "float32_gflops" in machine:
        measured = [name for name in TYPES if f"{name}_gflops" in machine]
        products = ", ".join(f"{machine[f'{name}_gflops']:,.0f} GFLOP/s in {name}" for name in measured)
        memory = f"memory {machine['memory_gb_s']:.1f} GB/s read and written"
        lines.append(f"Ceilings: {machine['side']}-cube products {products}; {memory}.")
    return "\n".join([*lines, f"Command: {machine['command']}\n"])


def table(machine: dict[str, Any], results: Results) -> str:
    """Markdown: the machine, speeds, and the parts of an update if they were measured."""
    lines = [
        headline(machine),
        "| system | target tokens/s, median (range) | of the ceiling | peak memory | first update | padding |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for name, repeats in results.items():
        if not repeats:
            lines.append(f"| {name} | needs more memory than there is | | | | |")
            continue
        low, middle, high = spread(repeats, "tokens_per_s")
        cells = [name, f"{middle:,.0f} ({low:,.0f} to {high:,.0f})"]
        if "gflops" in repeats[0]:
            ceiling = machine.get(
                f"{next(kind for kind in TYPES if kind in name)}_gflops"
            )  # float16 is measured on GPUs only
            cells += [
                f"{spread(repeats, 'gflops')[1] / ceiling:.0%}" if ceiling else "",
                f"{spread(repeats, 'peak_memory_mib')[1]:,.0f} MiB",
                f"{spread(repeats, 'compile_s')[1]:.1f} s{_shapes_note(repeats[0])}",
                f"{spread(repeats, 'padding')[1]:.1%}",
            ]
        else:
            cells += [""] * 4
        lines.append(f"| {' | '.join(cells)} |")
    measured = {name: repeats for name, repeats in results.items() if repeats}
    kernels = _kernels(measured) if machine.get("gpu") else []
    return "\n".join([*lines, *kernels, *ratios(measured), *_parts(measured)])


def _shapes_note(case: dict[str, Any]) -> str:
    """The number of batch shapes, where the first update compiles more than one program."""
    return f", {case['shapes']} shapes" if case.get("shapes", 1) > 1 else ""


def _kernels(results: Results) -> list[str]:
    """Lines that name the kernel of the encoder's recurrence on a GPU."""
    lines = [
        f"* {name}: the encoder's recurrence is {KERNELS[repeats[0]['cudnn']]}"
        for name, repeats in results.items()
        if "cudnn" in repeats[0] and "transformer" not in name
    ]
    return ["", *lines]


def spread(repeats: list[dict[str, Any]], field: str) -> tuple[float, float, float]:
    """Smallest, median and largest value of a field."""
    values = [repeat[field] for repeat in repeats]
    return min(values), statistics.median(values), max(values)


def in_range(values: Sequence[float], digits: int) -> str:
    """A result of `spread` as a cell: median (range)."""
    low, middle, high = (f"{value:,.{digits}f}" for value in values)
    return f"{middle} ({low} to {high})"


def ratios(results: Results) -> list[str]:
    """Lines with the speed of nmt as a multiple of each peer's speed, at the peer's sizes."""
    lines = []
    for peer in ("JoeyNMT", "Marian"):
        for theirs, slow in results.items():
            for ours, fast in results.items():
                batch = theirs.split(", ")[-1]
                if theirs.startswith(peer) and f"{peer.lower()} sizes" in ours and ours.endswith(f", {batch}"):
                    ratio = spread(fast, "tokens_per_s")[1] / spread(slow, "tokens_per_s")[1]
                    lines.append(f"* {ours}: {ratio:.1f} times {theirs}")
    return ["", *lines] if lines else []


def _parts(results: Results) -> list[str]:
    """A table of the milliseconds of each part of an update."""
    rows = [
        f"| {name} | " + " | ".join(f"{spread(repeats, part)[1]:.1f}" for part in (*PARTS, *INPUT)) + " |"
        for name, repeats in results.items()
        if PARTS[0] in repeats[0]
    ]
    if not rows:
        return []
    head = (
        "| milliseconds | encoder | decoder | output and loss | optimizer | update from memory | through the pipeline |"
    )
    profiles = []
    for name, repeats in results.items():
        listed = ", ".join(f"{kind} {spent:.0f}" for kind, spent, _ in repeats[-1].get("operations", []))
        if listed:
            profiles.append(f"* {name}: thread milliseconds per update by operation: {listed}")
    return ["", head, "| --- " + "| ---: " * 6 + "|", *rows, "", *profiles]


def plot(results: Results, path: Path) -> None:
    """Draws speeds as bars, with the range of the repeats as a line on each bar."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    names = [name for name, repeats in results.items() if repeats][::-1]
    spreads = [spread(results[name], "tokens_per_s") for name in names]
    figure, axes = pyplot.subplots(figsize=(8, 0.8 + 0.45 * len(names)), layout="constrained")
    middles = [middle for _, middle, _ in spreads]
    ranges = [[m - low for low, m, _ in spreads], [high - m for _, m, high in spreads]]
    colors = ["#4477aa" if name.startswith("nmt") else "#bbbbbb" for name in names]
    axes.barh(names, middles, xerr=ranges, color=colors, capsize=3)
    axes.set_xlabel("target tokens per second, without padding")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
