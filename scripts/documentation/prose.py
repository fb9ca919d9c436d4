"""Measures the prose of the documentation: words beside the plan, reading grade, longest sentence.

    python scripts/documentation/prose.py

The grade is that of Flesch and Kincaid (1975): 0.39 words per sentence + 11.8 syllables per word - 15.59. Code in a
sentence counts as one short word; blocks, tables, headings and comments do not count.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

PLAN = {
    "README.md": 900,
    "docs/tutorials/first-model.md": 700,
    "docs/tutorials/attention-by-hand.md": 1100,
    "docs/tutorials/python.md": 500,
    "docs/how-to/own-text.md": 900,
    "docs/how-to/more-from-little-text.md": 700,
    "docs/how-to/prepare-a-corpus.md": 700,
    "docs/how-to/large-corpora.md": 500,
    "docs/how-to/translate.md": 700,
    "docs/how-to/bulk-translation.md": 400,
    "docs/how-to/align.md": 650,
    "docs/how-to/find-bad-pairs.md": 700,
    "docs/how-to/compare-and-tune.md": 450,
    "docs/how-to/several-machines.md": 500,
    "docs/how-to/serve.md": 600,
    "docs/how-to/export.md": 600,
    "docs/how-to/troubleshoot.md": 450,
    "docs/explanation/architecture.md": 700,
    "docs/explanation/attention-family.md": 900,
    "docs/explanation/how-search-works.md": 700,
    "docs/explanation/attention-as-evidence.md": 600,
    "docs/explanation/why-it-is-fast.md": 700,
    "docs/evidence/results.md": 820,
    "docs/evidence/what-did-not-help.md": 250,
    "docs/evidence/faults.md": 250,
    "docs/reference/files-of-a-run.md": 450,
    "docs/reference/demo-corpus.md": 600,
    "docs/reference/glossary.md": 350,
    "docs/reference/security.md": 350,
}
"""The pages with the words that each should have."""

_LEFT_OUT = [
    r"^ *```.*?^ *```$",  # blocks
    r"^\$\$.*?^\$\$$",  # formulas
    r"<!-- (?:table|commands|generated).*?<!-- / -->",  # generated tables
    r"<!--.*?-->",
    r"^\|.*?$",
    r"^#+ .*?$",
    r"^!\[.*?$",
]
_LIST_ITEM = re.compile(r"^ *(?:[*+-]|\d+\.) ", re.MULTILINE)
_SENTENCE_END = re.compile(r"(?<=[.!?:])[\"')*]*\s+|\n\s*\n")
_WORD = re.compile(r"[^\W\d_][\w'’-]*")


@dataclass(frozen=True)
class Prose:
    """The measures of a page."""

    words: int
    grade: float
    sentences: list[str]

    @property
    def longest(self) -> str:
        return max(self.sentences, key=count_words, default="")


def measure(markdown: str) -> Prose:
    """Words, grade and sentences of a page's prose."""
    found = sentences(markdown)
    words = [word for sentence in found for word in _WORD.findall(sentence)]
    per_sentence, per_word = len(words) / max(len(found), 1), sum(map(syllables, words)) / max(len(words), 1)
    return Prose(len(words), 0.39 * per_sentence + 11.8 * per_word - 15.59, found)


def sentences(markdown: str) -> list[str]:
    """The sentences of a page, each in one line; code and the addresses of links are left out."""
    for pattern in _LEFT_OUT:
        markdown = re.sub(pattern, "\n\n" if "^" in pattern else "", markdown, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", _LIST_ITEM.sub("\n\n", markdown))
    text = re.sub(r"`[^`]*`|\$[^$]*\$", "code", text)
    found = (" ".join(part.split()) for part in _SENTENCE_END.split(text))
    return [sentence for sentence in found if _WORD.search(sentence)]


def count_words(sentence: str) -> int:
    return len(_WORD.findall(sentence))


def syllables(word: str) -> int:
    """An estimate: groups of vowels, without a silent e at the end."""
    plain = re.sub(r"(?:[^laeiouyscgxz]es|[^td]ed|[^laeiouy]e)$", "", word.lower())
    return max(1, len(re.findall(r"[aeiouy]+", plain)))


def main() -> None:
    total = 0
    print(f"{'page':44} words  plan  grade  longest sentence")
    for page, plan in PLAN.items():
        path = ROOT / page
        if path.exists():
            prose = measure(path.read_text(encoding="utf-8"))
            total += prose.words
            print(f"{page:44} {prose.words:5} {plan:5}  {prose.grade:5.1f}  {count_words(prose.longest)}")
        else:
            print(f"{page:44}     - {plan:5}")
    print(f"{'all':44} {total:5} {sum(PLAN.values()):5}")


if __name__ == "__main__":
    main()
