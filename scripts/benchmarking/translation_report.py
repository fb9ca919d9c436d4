"""The translation benchmark's numbers as tables."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarking.report import headline, in_range, spread
from nmt.evaluation import bleu
from nmt.tokenizer import Tokenizer

Results = dict[str, dict[str, Any]]
"""By system and search ("JoeyNMT, beam 5"): lists of what the repeats of each measurement gave."""


def quality(results: Results, references: list[str], vocabulary: Path) -> dict[str, dict[str, float]]:
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
    """Markdown: the machine, speeds, latencies, lengths, ratios and commands."""
    results, measured = found["results"], found["quality"]
    commands = [f"* {name}: `{repeats['whole'][-1]['command']}`" for name, repeats in results.items()]
    lines = [
        headline(found["machine"]),
        f"All {found['sentences']} sentences, median (range); tokens are pieces of the translation and its end.",
        "",
        *_speeds(results, measured, found["sentences"]),
        "",
        f"{found['alone']} sentences one at a time, their percentiles in milliseconds; and seconds to load, of the "
        "first sentence after that, and of the whole command on one line.",
        "",
        *_latencies(results),
        "",
        f"Lengths a sentence; the references have {measured['reference']['words']:.1f} words and "
        f"{measured['reference']['pieces']:.1f} pieces. The last column: lines that the command and the process "
        "translate differently.",
        "",
        *_lengths(results, measured),
    ]
    return "\n".join([*lines, *ratios(results), "", *commands])


def _speeds(results: Results, measured: dict[str, dict[str, float]], count: int) -> list[str]:
    lines = [
        "| system | inside, sentences/s | tokens/s | command, s | sentences/s | peak memory |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, repeats in results.items():
        inside, whole = spread(repeats["inside"], "batch_s"), spread(repeats["whole"], "seconds")
        cells = [_rate(count, inside, 1), _rate(measured[name]["pieces"] * count, inside, 0)]
        cells += [in_range(whole, 1), _rate(count, whole, 1), f"{spread(repeats['whole'], 'peak_mib')[1]:,.0f} MiB"]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def _latencies(results: Results) -> list[str]:
    lines = [
        "| system | p50, ms | p95, ms | load, s | first sentence, s | command, s |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, repeats in results.items():
        inside = repeats["inside"]
        cells = [in_range([1e3 * seconds for seconds in spread(inside, field)], 0) for field in ("p50_s", "p95_s")]
        cells += [in_range(spread(inside, field), 2) for field in ("loaded_s", "first_s")]
        cells.append(in_range(spread(repeats["one_line"], "seconds"), 1) if repeats["one_line"] else "")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def _lengths(results: Results, measured: dict[str, dict[str, float]]) -> list[str]:
    head = ["| system | BLEU | words | pieces | differing |", "| --- | ---: | ---: | ---: | ---: |"]
    fields = ("bleu", "words", "pieces")
    return head + [
        f"| {name} | {' | '.join(f'{measured[name][field]:.1f}' for field in fields)} | {measured[name]['differing']} |"
        for name in results
    ]


def ratios(results: Results) -> list[str]:
    """How many times a peer's speed ours is, at the peer's sizes and with the same search."""
    lines = []
    for theirs, slow in results.items():
        peer, search = theirs.split(", ", 1)
        fast = results.get(f"nmt, {peer.lower()} sizes, {search}")
        if fast is None or peer == "nmt":
            continue
        times = (
            f"{spread(slow[kind], field)[1] / spread(fast[kind], field)[1]:.1f} times {what}"
            for kind, field, what in (
                ("inside", "batch_s", "inside"),
                ("whole", "seconds", "the command"),
                ("inside", "p50_s", "one at a time"),
            )
        )
        lines.append(f"* nmt at {peer}'s sizes against {peer}, {search}, speed: {', '.join(times)}")
    return ["", *lines] if lines else []


def _rate(count: float, seconds: Sequence[float], digits: int) -> str:
    """Things a second: median (range)."""
    return in_range(sorted(count / value for value in seconds), digits)
