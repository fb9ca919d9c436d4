"""Looks for measured numbers in the documentation that do not come from docs/results.jsonl.

    python scripts/documentation/measured_numbers.py

prints each one with its page and line, and ends with exit code 1 if there is any. A number beside a unit or a metric
(BLEU, chrF, AER, MiB, ms, tokens per second, "3 times as fast" ...) counts as measured. Code does not count. A limit, a
default or a published number stands between <!-- given --> and <!-- / -->.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common.running import run_script
from documentation.fill import pages
from documentation.results import ROOT

GENERATED = re.compile(r"<!-- (result|table|commands|given)\b[^>]*-->.*?<!-- / -->", re.DOTALL)
CODE = re.compile(r"^( *)(```|~~~).*?^\1\2 *$|`[^`\n]*`", re.DOTALL | re.MULTILINE)
VALUE = r"\d[\d,]*(?:\.\d+)?"
MEASURED = re.compile(
    rf"{VALUE}\s*(?:points?\s+(?:of\s+)?)?(?:BLEU|chrF2?|AER|[KMG]i?B|ms|milliseconds?|GFLOP)\b"
    rf"|\b(?:BLEU|chrF2?|AER|error rate)\s+(?:is|was|of|are|rises? to|falls? to)?\s*(?:about\s+)?{VALUE}"
    rf"|{VALUE}\s+(?:(?:source|target)\s+)?(?:tokens?|sentences?|pairs?|lines?|pieces?)(?:\s*/\s*s|\s+(?:a|per)\s+second)\b"
    rf"|{VALUE}\s+times\s+(?:as\b|faster|slower|the\s+speed|JoeyNMT|Marian)"
    rf"|\b(?:mean|precision|recall|accuracy)\s+(?:is|was|of)\s+{VALUE}",
    re.IGNORECASE,
)


def measured_numbers(text: str) -> Iterator[tuple[int, str]]:
    """The line and the words of each measured number outside of generated parts."""

    def blank(found: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", found[0])

    text = CODE.sub(blank, GENERATED.sub(blank, text))
    for found in MEASURED.finditer(text):
        yield text.count("\n", 0, found.start()) + 1, " ".join(found[0].split())


def main() -> int:
    count = 0
    for page in pages():
        for line, words in measured_numbers(page.read_text(encoding="utf-8")):
            print(f"{page.relative_to(ROOT)}:{line}: {words}")
            count += 1
    return int(count > 0)


if __name__ == "__main__":
    sys.exit(run_script(main))
