"""scripts/benchmarks/measure_aligner.py prints costs and a comparison with other links."""

from __future__ import annotations

from argparse import Namespace

from commands import script

from benchmarks.measure_aligner import chosen_text, generated


def test_costs_and_a_comparison_are_printed(tmp_path):
    words = [("dog", "chien"), ("cat", "chat"), ("tree", "arbre"), ("house", "maison")]
    pairs = [(f"{a} {b}", f"{x} {y}") for a, x in words for b, y in words]
    for name, side in (("source", 0), ("target", 1)):
        (tmp_path / name).write_text("".join(f"{pair[side]}\n" for pair in pairs))
    (tmp_path / "gold").write_text("0-0 1-1\n" * len(pairs))
    (tmp_path / "other").write_text("0-1 1-0\n" * len(pairs))
    flags = "--train source target --source source --target target --gold gold --links other --output made"
    printed = script("benchmarks/measure_aligner", flags, tmp_path).stdout
    assert "nmt aligner: 32 pairs in " in printed and " MiB" in printed
    assert "made/aligner.links: AER = 0.000" in printed
    assert "other: AER = " in printed and "difference of AER: -" in printed


def test_numbered_gold_links_choose_the_measured_lines(tmp_path):
    """The measured pairs stand behind the others, which the aligner learns from too."""
    (tmp_path / "pairs.tsv").write_text("".join(f"s{n}\tt{n}\tnote\n" for n in range(1, 7)))
    (tmp_path / "gold.tsv").write_text("5\t0-0\n2\t0p0\n")
    flags = {"generated": None, "tsv": str(tmp_path / "pairs.tsv"), "numbered": str(tmp_path / "gold.tsv"), "pairs": 3}
    text = chosen_text(Namespace(**flags))
    assert text.measured == [("s2", "t2"), ("s5", "t5")] and text.gold == ["0p0", "0-0"]
    assert len(text.train) == 3 and not set(text.train) & set(text.measured)
    assert text == chosen_text(Namespace(**flags))
    text.write(tmp_path)
    assert (tmp_path / "all.target").read_text().splitlines()[3:] == ["t2", "t5"]
    assert (tmp_path / "measured.gold").read_text() == "0p0\n0-0\n"


def test_generated_pairs_are_translations_word_for_word():
    pairs = generated(200)
    assert pairs == generated(200) and len(pairs) == 200
    for source, target in pairs:
        words = source.split()
        assert 5 <= len(words) <= 25
        assert sorted(word[1:] for word in words) == sorted(word[1:] for word in target.split())
