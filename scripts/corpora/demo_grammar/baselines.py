"""Baselines that need no training: word for word and copying for translation, the diagonal for alignment."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

TEST_SETS = ("test", "combinations")
Links = set[tuple[int, int]]


def read_lines(folder: Path, name: str) -> list[str]:
    """The lines of a file of the corpus."""
    return (folder / name).read_text(encoding="utf-8").splitlines()


def parse_links(line: str) -> Links:
    """Links in Pharaoh format."""
    return {(int(i), int(j)) for i, j in (link.split("-") for link in line.split())}


def word_table(folder: Path) -> dict[str, str]:
    """For every English word of train the French word linked to it most often; ties go to the first in the alphabet."""
    counts: dict[str, Counter[str]] = {}
    columns = (read_lines(folder, f"train.{suffix}") for suffix in ("en", "fr", "align"))
    for english, french, links in zip(*columns, strict=True):
        source, target = english.split(), french.split()
        for i, j in parse_links(links):
            counts.setdefault(source[i], Counter())[target[j]] += 1
    return {word: min(linked, key=lambda form: (-linked[form], form)) for word, linked in counts.items()}


def diagonal(source_length: int, target_length: int) -> Links:
    """Every target word linked to the source word at the same relative position."""
    return {((2 * j + 1) * source_length // (2 * target_length), j) for j in range(target_length)}


def alignment_error_rate(predicted: list[Links], gold: list[Links]) -> float:
    """AER when every gold link is sure: 1 - 2 |A & S| / (|A| + |S|)."""
    shared = sum(len(p & g) for p, g in zip(predicted, gold, strict=True))
    return 1 - 2 * shared / (sum(map(len, predicted)) + sum(map(len, gold)))


def report_baselines(folder: Path) -> str:
    """A table of BLEU and AER on both test sets."""
    import sacrebleu

    table = word_table(folder)
    lines = ["set            word for word BLEU   copy BLEU   diagonal AER"]
    for name in TEST_SETS:
        english, french = read_lines(folder, f"{name}.en"), read_lines(folder, f"{name}.fr")
        glossed = [" ".join(table.get(word, word) for word in line.split()) for line in english]
        bleu = [sacrebleu.corpus_bleu(h, [french], tokenize="none", force=True).score for h in (glossed, english)]
        gold = [parse_links(line) for line in read_lines(folder, f"{name}.align")]
        lengths = [(len(e.split()), len(f.split())) for e, f in zip(english, french, strict=True)]
        error = alignment_error_rate([diagonal(*pair) for pair in lengths], gold)
        lines.append(f"{name:14s} {bleu[0]:18.1f}   {bleu[1]:9.1f}   {error:12.3f}")
    return "\n".join(lines)
