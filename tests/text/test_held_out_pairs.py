"""Held-out pairs: the choice, near-duplicates, and `nmt hold-out`."""

from __future__ import annotations

import gzip
import io
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt.cli import main
from nmt.text.errors import CorpusError
from nmt.text.held_out_pairs import WithoutHeldOut, hold_out
from nmt.text.near_duplicates import similarity_keys
from nmt.text.pairs import Pair


def near(one: str, other: str) -> bool:
    return not set(similarity_keys(one)).isdisjoint(similarity_keys(other))


def numbered(count: int) -> list[Pair]:
    return [Pair(f"s{i}", f"t{i}") for i in range(count)]


class TestNearDuplicates:
    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("Come in!", "come in"),
            ("Don't go.", "don’t go"),
            ("Der Hund beißt den Mann", "den Mann beißt der Hund?"),
            ("I like my old green car.", "I like my new green car."),
            ("I like my old car.", "I like my car."),
            ("I like my car.", "I like my old car."),
            ("I like my old car.", "Old, I like my car."),
            ("...", "..."),
            ("café noir", "cafe\u0301 noir"),
        ],
    )
    def test_one_different_word(self, one, other):
        assert near(one, other)

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("I like cars.", "I like cats."),
            ("I like old cars.", "I like cars."),
            ("I like my old green car.", "You like my new green car."),
            ("I like my old green car.", "I like my car."),
            ("no no no no yes", "no no no yes yes yes"),
            ("...", "!"),
            ("यह लड़की है", "यह लड़का है"),
        ],
    )
    def test_different_words(self, one, other):
        assert not near(one, other)

    @given(st.lists(st.sampled_from("abcd"), max_size=8), st.lists(st.sampled_from("abcd"), max_size=8))
    def test_near_duplicates_equal_a_count_of_words(self, one, other):
        """Bags of words are near if they are equal, or differ in one word and the longer sentence is long enough."""
        left, right = Counter(one), Counter(other)
        apart = max((left - right).total(), (right - left).total())
        long_enough = max(len(one), len(other)) >= 5
        expected = apart == 0 or (apart == 1 and long_enough)
        assert near(" ".join(one), " ".join(other)) == near(" ".join(other), " ".join(one)) == expected


class TestHoldOut:
    def test_the_seed_decides_the_pairs(self):
        pairs = numbered(500)
        chosen = hold_out(iter(pairs), 20, seed=1)
        assert chosen == hold_out(pairs, 20, seed=1) == hold_out(pairs[::-1], 20, seed=1)
        assert chosen[:7] == hold_out(pairs, 7, seed=1)
        assert len(set(chosen)) == 20 and set(chosen) <= set(pairs)
        assert set(chosen) != set(hold_out(pairs, 20, seed=2))

    def test_every_pair_is_equally_probable(self):
        counts = Counter(pair for seed in range(600) for pair in hold_out(numbered(12), 3, seed))
        assert len(counts) == 12
        assert all(100 < count < 200 for count in counts.values())  # 150 expected, deviation 10.6

    @given(st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from("uvwxyz")), max_size=30), st.integers(1, 5))
    def test_split_in_two_without_a_common_side(self, both_sides, count):
        pairs = [Pair(*both) for both in both_sides]
        sources = {pair.source for pair in pairs}
        if len(sources) <= count:
            few = (
                "only one source sentence" if len(sources) == 1 else f"only {len(sources)} different sources; hold out"
            )
            said = few if sources else "the text is empty"
            with pytest.raises(CorpusError, match=said):
                hold_out(pairs, count, seed=3)
            return
        held = hold_out(pairs, count, seed=3)
        assert len({pair.source for pair in held}) == count and set(held) <= set(pairs)
        rest = [p for p in pairs if all(p.source != h.source and p.target != h.target for h in held)]
        left = WithoutHeldOut(pairs, held)
        if not rest:
            with pytest.raises(CorpusError, match=f"all {len(pairs)} training pairs are near-duplicates of held-out"):
                list(left)
            return
        assert list(left) == rest == list(left)
        assert (left.kept, left.removed) == (len(rest), len(pairs) - len(rest))

    def test_near_duplicates_on_either_side_are_removed(self):
        held = [Pair("We saw a very big dog.", "Nous avons vu un chien.")]
        near_source, near_target = Pair("We saw a very big cat", "?"), Pair("!", "nous avons vu un grand chien")
        far = Pair("We saw dogs.", "Nous voyons")
        assert list(WithoutHeldOut([near_source, far, *held, near_target], held)) == [far]

    def test_near_duplicates_can_stay_without_the_sources_of_held_out_pairs(self):
        held, again = Pair("I like my old green car.", "a"), Pair("I like my old green car.", "b")
        near = Pair("I like my new green car.", "a")
        assert list(WithoutHeldOut([held, near, again], [held], near=False)) == [near]

    def test_sources_that_models_read_alike_are_one_source(self):
        """Composed or not, and with any spaces."""
        forms = ["caf\u00e9 noir", "cafe\u0301 noir", "caf\u00e9  noir", "caf\u00e9\u00a0noir"]
        pairs = [Pair(source, str(number)) for number, source in enumerate(["tea", *forms, "milk"])]
        for seed in range(9):
            held_out = hold_out(pairs, 2, seed)
            left = WithoutHeldOut(pairs, held_out, near=False)
            counts = [sum(pair.target in "1234" for pair in part) for part in (held_out, left)]
            assert counts in ([1, 0], [0, 4])

    def test_memory_does_not_grow_with_the_corpus(self):
        import tracemalloc

        def peak(count: int) -> int:
            tracemalloc.start()
            hold_out((Pair(f"source {i}", f"target {i}") for i in range(count)), 50, seed=1)
            size = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            return size

        assert peak(20000) < 2 * peak(1000)


class TestCommand:
    OUTPUTS = ("test.en", "test.fr", "rest.en.gz", "rest.fr")

    def run(self, folder: Path, *flags: str) -> int:
        names = ("--output-source", "--output-target", "--rest-source", "--rest-target")
        files = [word for name, file in zip(names, self.OUTPUTS, strict=True) for word in (name, str(folder / file))]
        return main(["hold-out", *flags, *files])

    @pytest.mark.parametrize("seed", range(4))
    def test_every_pair_is_held_out_kept_or_removed(self, tmp_path, capsys, seed):
        lines = [f"{'a' * i}\t{'b' * i}" for i in range(1, 41)]
        (tmp_path / "all.tsv").write_text("\n".join([*lines, *map(str.upper, lines), "\tempty"]) + "\n")
        assert self.run(tmp_path, "--tsv", str(tmp_path / "all.tsv"), "--pairs", "30", "--seed", str(seed)) == 0
        test = [(tmp_path / name).read_text().splitlines() for name in self.OUTPUTS[:2]]
        rest = gzip.decompress((tmp_path / "rest.en.gz").read_bytes()).decode().splitlines()
        assert len({*test[0]}) == 30
        assert [line.translate({97: "b", 65: "B"}) for line in test[0]] == test[1]
        aside = {line.lower() for line in test[0]}
        expected = [line.split("\t")[0] for line in (*lines, *map(str.upper, lines))]
        assert rest == [line for line in expected if line.lower() not in aside]
        assert (tmp_path / "rest.fr").read_text().count("\n") == len(rest)
        said = capsys.readouterr().err
        assert "81 pairs read, 80 kept; dropped: 1 with an empty side" in said
        assert f"{len(rest)} pairs left in " in said
        assert f"; {50 - len(rest)} other pairs left out for nearly repeating a held-out pair" in said

    @pytest.mark.parametrize(
        ("flags", "message"),
        [
            (("--pairs", "2"), "no sentence pairs are given"),
            (("--pairs", "2", "--target", "t"), "source and target go together: --source is missing"),
            (("--pairs", "0", "--tsv", "t"), "0: expected 1 or more"),
            (
                ("--pairs", "3", "--tsv", "t"),
                "3 pairs cannot be held out: .* only 3 different sources; hold out fewer, .* as 1 .nmt",
            ),
            (("--pairs", "2", "--tsv", "test.en"), "test.en: is named twice"),
            (("--pairs", "2", "--tsv", "t", "--target-column", "3"), "t, line 1: 2 columns, expected at least 3"),
            (("--pairs", "2", "--tsv", "-"), "standard input and pipes can be read only once"),
        ],
    )
    def test_refused_commands_leave_no_files(self, tmp_path, monkeypatch, capsys, flags, message):

        text = "a\tb\nc\td\ne\tf\n"
        (tmp_path / "t").write_text(text)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        monkeypatch.chdir(tmp_path)
        assert self.run(Path(), *flags) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert re.search(message, line)
        assert [path.name for path in tmp_path.iterdir()] == ["t"]

    def test_several_outputs_may_be_one_device(self, tmp_path):
        (tmp_path / "t").write_text("a\tb\nc\td\n")
        outputs = f"--output-source {tmp_path}/s --output-target {tmp_path}/t2 --rest-source /dev/null"
        command = f"hold-out --pairs 1 --tsv {tmp_path}/t {outputs} --rest-target /dev/null"
        assert main(command.split()) == 0
        assert (tmp_path / "s").read_text() in {"a\n", "c\n"}

    def test_a_directory_without_permission_is_named_as_given(self, capsys, tmp_path, monkeypatch):
        (tmp_path / "t").write_text("a\tb\nc\td\n")
        monkeypatch.setattr("nmt.files.outputs.open_bytes", _refused)
        assert self.run(tmp_path, "--pairs", "1", "--tsv", str(tmp_path / "t")) == 2
        assert f"error: {tmp_path}/test.en: Permission denied: choose" in capsys.readouterr().err

    def test_a_signal_right_after_opening_leaves_no_file(self, tmp_path, monkeypatch):
        (tmp_path / "t").write_text("a\tb\nc\td\n")

        def interrupted(path: Path, *_: object) -> None:
            path.touch()
            raise KeyboardInterrupt

        monkeypatch.setattr("nmt.files.outputs.open_bytes", interrupted)
        assert self.run(tmp_path, "--pairs", "1", "--tsv", str(tmp_path / "t")) == 130
        assert [path.name for path in tmp_path.iterdir()] == ["t"]

    def test_a_termination_signal_leaves_no_files(self, tmp_path):
        (tmp_path / "t").write_text("".join(f"{i}\t{i}\n" for i in range(300_000)))
        flags = [f"--{part}-{side}={part}" for part in ("output", "rest") for side in ("source", "target")]
        flags = [f"{flag}.{number}" for number, flag in enumerate(flags)]
        command = [sys.executable, "-m", "nmt", "hold-out", "--tsv", "t", "--pairs", "9", *flags]
        process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
        while process.poll() is None and not list(tmp_path.glob(".*.part")):
            time.sleep(0.01)
        process.terminate()
        _, said = process.communicate(timeout=60)
        assert (process.returncode, said) == (130, "nmt: interrupted\n")
        assert [path.name for path in tmp_path.iterdir()] == ["t"]


def _refused(*_: object, **__: object) -> None:
    raise PermissionError(13, "Permission denied")
