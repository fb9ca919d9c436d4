"""The translation benchmark's numbers as tables."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nmt.evaluation import bleu
from nmt.tokenizer import Tokenizer


def quality(results: dict[str, dict[str, Any]], references: list[str], vocabulary: Path) -> dict[str, dict[str, float]]:
    """BLEU, words and pieces a sentence of each system's commands, and words and pieces of the references.

    Args:
        vocabulary: the SentencePiece model by which pieces are counted, end of sentence included.
    """
    pieces = Tokenizer.load(vocabulary)

    def lengths(lines: list[str]) -> dict[str, float]:
        return {
            "words": statistics.mean(len(line.split()) for line in lines),
            "pieces": statistics.mean(len(ids) + 1 for ids in pieces.encode(lines)),
        }

    found: dict[str, dict[str, float]] = {"reference": lengths(references)}
    for name, measured in results.items():
        lines = measured["whole"][-1]["lines"]
        differing = sum(a != b for a, b in zip(lines, measured["inside"][-1]["found"], strict=True))
        found[name] = lengths(lines) | {"bleu": bleu(lines, references).value, "differing": differing}
    return found


def tables(found: dict[str, Any]) -> str:
    """Markdown: the machine, speeds, latencies, quality, ratios and commands."""
    about, results, measured = found["machine"], found["results"], found["quality"]
    count = about["sentences"]
    packages = ", ".join(f"{name} {number}" for name, number in about["packages"].items())
    lines = [
        f"{about['processor']}, {about['cores']} cores, {about['memory_gib']} GiB, {about['date']}, "
        f"Python {about['python']}, {packages}.",
        f"Command: {about['command']}",
        "",
        f"All {count} sentences, median (range); tokens are pieces of the translation and its end.",
        "",
        "| system | sentences/s inside | tokens/s inside | command, s | sentences/s | peak memory |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, repeats in results.items():
        inside, whole = spread(repeats["inside"], "batch_s"), spread(repeats["whole"], "seconds")
        tokens = measured[name]["pieces"] * count
        lines.append(
            f"| {name} | {_rate(count, inside)} | {_rate(tokens, inside)} | {_range(whole, 1)} | {_rate(count, whole)} "
            f"| {spread(repeats['whole'], 'peak_mib')[0]:,.0f} MiB |"
        )
    lines += [
        "",
        "One sentence at a time, in milliseconds; seconds to load, and from the start of the command to its one line.",
        "",
        "| system | p50, ms | p95, ms | load, s | first sentence, s | command for one line, s |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, repeats in results.items():
        inside = repeats["inside"]
        cells = [_range([1e3 * seconds for seconds in spread(inside, key)], 0) for key in ("p50_s", "p95_s")]
        cells += [_range(spread(inside, key), 2) for key in ("loaded_s", "first_s")]
        cells.append(_range(spread(repeats["one_line"], "seconds"), 1) if repeats["one_line"] else "")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    lines += [
        "",
        f"Lengths a sentence; the references have {measured['reference']['words']:.1f} words and "
        f"{measured['reference']['pieces']:.1f} pieces.",
        "",
        "| system | BLEU | words | pieces | lines that command and process translate differently |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    lines += [
        f"| {name} | {measured[name]['bleu']:.1f} | {measured[name]['words']:.1f} | {measured[name]['pieces']:.1f} "
        f"| {measured[name]['differing']} |"
        for name in results
    ]
    commands = [f"* {name}: `{repeats['whole'][-1]['command']}`" for name, repeats in results.items()]
    return "\n".join([*lines, *ratios(results), "", *commands])


def spread(repeats: list[dict[str, Any]], field: str) -> tuple[float, float, float]:
    """Median, smallest and largest of a field."""
    values = [repeat[field] for repeat in repeats]
    return statistics.median(values), min(values), max(values)


def ratios(results: dict[str, dict[str, Any]]) -> list[str]:
    """How many times a peer's speed ours is, at the peer's sizes and with the same search."""
    lines = []
    for theirs, slow in results.items():
        peer, search = theirs.split(", ", 1)
        fast = results.get(f"nmt, {peer.lower()} sizes, {search}")
        if fast is None or peer == "nmt":
            continue
        times = (
            f"{spread(slow[kind], field)[0] / spread(fast[kind], field)[0]:.1f} times {what}"
            for kind, field, what in (
                ("inside", "batch_s", "inside"),
                ("whole", "seconds", "the command"),
                ("inside", "p50_s", "one at a time"),
            )
        )
        lines.append(f"* nmt at {peer}'s sizes against {peer}, {search}, speed: {', '.join(times)}")
    return ["", *lines] if lines else []


def _rate(count: float, seconds: Sequence[float]) -> str:
    """Things a second: median (range)."""
    middle, low, high = (count / value for value in seconds)
    return f"{middle:,.0f} ({high:,.0f} to {low:,.0f})"


def _range(values: Sequence[float], digits: int) -> str:
    middle, low, high = (f"{value:,.{digits}f}" for value in values)
    return f"{middle} ({low} to {high})"
