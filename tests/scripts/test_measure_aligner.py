"""scripts/benchmarks/measure_aligner.py prints costs and a comparison with other links."""

from __future__ import annotations

from commands import script


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
