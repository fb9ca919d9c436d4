"""The results of the translation benchmark as tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.benchmarking.report import headline, in_range, spread
from nmt.evaluation.bleu_and_chrf import bleu
from nmt.text.tokenizer import Tokenizer

Results = dict[str, dict[str, Any]]
"""By system and search ("JoeyNMT, beam 5"): a list of results for each measurement, one result per repeat."""


def quality(results: Results, references: list[str], vocabulary: Path) -> dict[str, dict[str, float]]:
    """BLEU, words and pieces per sentence of each system's commands, and words and pieces of the references.

    The result also has the tokens of the translations inside a process, and the number of lines that differ between the
    process and the command.

    Args:
        results: the measurements.
        references: the reference translations.
        vocabulary: the SentencePiece model that counts pieces; the end of a sentence counts as a piece.
    """
    pieces = Tokenizer.load(vocabulary)

    def tokens(lines: list[str]) -> int:
        return sum(len(ids) + 1 for ids in pieces.encode(lines))

    def lengths(lines: list[str]) -> dict[str, float]:
        words = sum(len(line.split()) for line in lines)
        return {"words": words / len(lines), "pieces": tokens(lines) / len(lines)}

    found: dict[str, dict[str, float]] = {"reference": lengths(references)}
    for name, measured in results.items():
        whole, inside = measured["whole"][-1]["lines"], measured["inside"][-1]["found"]
        differing = sum(a != b for a, b in zip(whole, inside, strict=False))
        scores = {"bleu": bleu(whole, references).value, "tokens_inside": tokens(inside), "differing": differing}
        found[name] = lengths(whole) | scores
    return found


def tables(found: dict[str, Any]) -> str:
    """Markdown: the machine, speeds, latencies, lengths, ratios and commands."""
    results, measured = found["results"], found["quality"]
    first = next(iter(results.values()))
    inside, whole = first["inside"][-1], first["whole"][-1]
    commands = [f"* {name}: `{repeats['whole'][-1]['command']}`" for name, repeats in results.items()]
    lines = [
        headline(found["machine"]),
        f"{len(inside['found'])} sentences at once inside a process, {len(whole['lines'])} by a command: median "
        f"(range) of {len(first['inside'])} repeats. Tokens are pieces of the translations and ends of sentence.",
        "",
        *_speeds(results, measured),
        "",
        f"Percentiles over {len(inside['alone_s'])} sentences that are translated one at a time; then the seconds to "
        "load, of the first sentence, and of the whole command on one line.",
        "",
        *_latencies(results),
        "",
        f"Lengths per sentence; the references have {measured['reference']['words']:.1f} words and "
        f"{measured['reference']['pieces']:.1f} pieces. The last column counts the lines that the command and the "
        "process translate differently.",
        "",
        *_lengths(results, measured),
    ]
    return "\n".join([*lines, *ratios(results), "", *commands])


def _speeds(results: Results, measured: dict[str, dict[str, float]]) -> list[str]:
    lines = [
        "| system | inside, sentences/s | tokens/s | command, s | sentences/s | peak memory |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, repeats in results.items():
        inside, whole = spread(repeats["inside"], "batch_s"), spread(repeats["whole"], "seconds")
        cells = [
            _rate(len(repeats["inside"][-1]["found"]), inside, 1),
            _rate(measured[name]["tokens_inside"], inside, 0),
            in_range(whole, 1),
            _rate(len(repeats["whole"][-1]["lines"]), whole, 1),
            f"{spread(repeats['whole'], 'peak_mib')[1]:,.0f} MiB",
        ]
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
    """Lines with the speed of nmt as a multiple of each peer's speed, at its sizes and with the same search."""
    lines = []
    for theirs, slow in results.items():
        peer, search = theirs.split(", ", 1)
        for ours, fast in results.items():
            if not (ours.startswith(f"nmt, {peer.lower()} sizes, ") and ours.endswith(f", {search}")):
                continue
            times = (
                f"{spread(slow[kind], field)[1] / spread(fast[kind], field)[1]:.1f} times {what}"
                for kind, field, what in (
                    ("inside", "batch_s", "inside"),
                    ("whole", "seconds", "the command"),
                    ("inside", "p50_s", "one at a time"),
                )
            )
            lines.append(f"* {ours}, against {peer}, speed: {', '.join(times)}")
    return ["", *lines] if lines else []


def _rate(count: float, seconds: Sequence[float], digits: int) -> str:
    """A rate per second: median (range)."""
    return in_range(sorted(count / value for value in seconds), digits)
