"""Runs and packs of other people: nothing is executed, nothing is written elsewhere, and memory stays bounded."""

from __future__ import annotations

import hashlib
import io
import json
import tracemalloc
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from protocol_buffers import field, number

from nmt.cli import main
from nmt.config import ModelConfig, RunConfig, TransformerConfig
from nmt.errors import NmtError
from nmt.network.weights import WeightsError
from nmt.run.arrays import load_arrays, packed_arrays
from nmt.run.directory import Run
from nmt.run.errors import RunError
from nmt.run.manifest import Manifest
from nmt.run.model_card import model_card
from nmt.run.packing import write_pack
from nmt.text import model_sizes
from nmt.text.errors import VocabularyError
from nmt.text.model_sizes import require_sizes
from nmt.text.tokenizer import Tokenizer
from nmt.training.checkpoints import newest_checkpoint
from nmt.training.preparation.prepare import prepare
from nmt.training.preparation.validation_pairs import load_validation_pairs
from nmt.translation.loading import load_translator
from nmt.translation.short_list import KEPT, ShortList, _spread


@pytest.fixture
def pack(run, tmp_path) -> Path:
    run.save_weights({"seq2seq/a": np.zeros(3)})
    write_pack(run, tmp_path / "model.nmt")
    return tmp_path / "model.nmt"


def with_member(pack: Path, name: str, content: bytes, compression: int = zipfile.ZIP_STORED) -> Path:
    """A copy of a pack with another member, whose sum the manifest has."""
    with zipfile.ZipFile(pack) as archive:
        members = {one: archive.read(one) for one in archive.namelist() if one != "manifest.json"} | {name: content}
    sums = {one: (hashlib.sha256(member).hexdigest(),) for one, member in members.items()}
    with zipfile.ZipFile(pack.with_name("bad.nmt"), "w") as archive:
        for one, member in {**members, "manifest.json": Manifest(files=sums).as_bytes()}.items():
            archive.writestr(one, member, compression if one == name else zipfile.ZIP_STORED)
    return pack.with_name("bad.nmt")


@pytest.mark.parametrize("damage", ["missing", "damaged"])
def test_a_checkpoint_is_packed_without_best_weights(damage, run, tmp_path):
    run.save_checkpoint(1, {"seq2seq/a": np.ones(3), "adam/a": np.zeros(3), "place": np.array("{}")})
    if damage == "damaged":
        run.best.write_bytes(b"PK")
    command = ["pack", "--model", str(run.directory), "--output", str(tmp_path / "model.nmt")]
    assert main(command) == 2
    assert main([*command, "--checkpoints", "1"]) == 0
    packed = Run.open(tmp_path / "model.nmt")
    assert {name: array.tolist() for name, array in packed.weights().items()} == {"seq2seq/a": [1, 1, 1]}
    with zipfile.ZipFile(tmp_path / "model.nmt") as archive:
        assert b"| parameters | 3 |" in archive.read("README.md")


@pytest.mark.parametrize(("metric", "row"), [("last", "of the last validation"), ("bleu", "best of all validations")])
def test_the_card_names_the_validation_of_the_weights(metric, row, run):
    run.save_weights({"seq2seq/a": np.ones(3)})
    training = replace(run.config.training, metric=metric)
    changed = replace(run, config=replace(run.config, training=training))
    assert f"| weights | {row} |" in model_card(changed, {}, 0, "", "one.nmt")


@pytest.mark.parametrize("output", ["best.npz", "new/model.nmt", "../link/best.npz", "."])
def test_a_pack_replaces_no_file_of_its_run(output, run, tmp_path, capsys):
    run.save_weights({"seq2seq/a": np.zeros(3)})
    (tmp_path / "link").symlink_to(run.directory)
    before = {path: path.read_bytes() for path in run.directory.rglob("*") if path.is_file()}
    assert main(["pack", "--model", str(run.directory), "--output", str(run.directory / output)]) == 2
    assert "is in the run directory: name a file outside of" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in run.directory.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("name", ["../outside", "/tmp/outside", "a\\..\\b", "corpus/source.ids", "code.py", "x\ny"])
def test_a_pack_with_other_members_is_refused(name, pack, tmp_path):
    bad = with_member(pack, name, b"x")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(RunError, match=r"bad\.nmt: has a member .*, which no pack of nmt pack has$") as error:
        Run.open(bad)
    assert "\n" not in str(error.value)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_pack_that_would_unpack_to_a_multiple_of_its_size_is_refused(pack):
    with pytest.raises(RunError, match="has compressed members"):
        Run.open(with_member(pack, "README.md", bytes(10**6), zipfile.ZIP_DEFLATED))
    whole = bytearray(with_member(pack, "README.md", bytes(10**5)).read_bytes())
    entry = whole.rindex(b"PK\x01\x02")  # the manifest's entry now points to the largest member
    whole[entry + 20 : entry + 28] = (10**5).to_bytes(4, "little") * 2
    bad = pack.with_name("overlapping.nmt")
    bad.write_bytes(whole)
    with pytest.raises(RunError, match=r"overlapping\.nmt: .*a damaged pack|damaged: get the pack again"):
        Run.open(bad)


def test_arrays_that_overlap_in_their_file_are_refused(tmp_path):
    """A megabyte of zeros, listed twenty times."""
    content = packed_arrays({"a": np.zeros(2**17)})
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        start = archive.start_dir
    entry = content[start : content.rindex(b"PK\x05\x06")]
    entries = b"".join(entry.replace(b"a.npy", b"%c.npy" % (97 + i)) for i in range(20))
    end = bytearray(content[content.rindex(b"PK\x05\x06") :])
    end[8:12], end[12:16] = (20).to_bytes(2, "little") * 2, len(entries).to_bytes(4, "little")
    path = tmp_path / "best.npz"
    path.write_bytes(content[:start] + entries + end)
    tracemalloc.start()
    with pytest.raises(RunError, match="damaged, or not a file of weights"):
        load_arrays(path)
    assert tracemalloc.get_traced_memory()[1] < 2 * len(content)
    tracemalloc.stop()


@pytest.mark.parametrize("content", [b"", b"PK", b"text\n", b"PK\x05\x06" + bytes(18)])
def test_a_file_that_is_no_pack_is_one_line(content, tmp_path):
    (tmp_path / "model.nmt").write_bytes(content)
    with pytest.raises(RunError, match=r"model\.nmt: not a run directory and not a pack"):
        Run.open(tmp_path / "model.nmt")


WIDE = {
    "rnn": ModelConfig(units=2**14, embedding=2**14),
    "transformer": ModelConfig(
        architecture="transformer",
        embedding=2**14,
        transformer=TransformerConfig(longest=2**16, positions="learned"),
    ),
}


@pytest.mark.parametrize("model", WIDE.values(), ids=WIDE)
@pytest.mark.parametrize("arrays", [{}, {"seq2seq/other": np.zeros(2)}])
def test_a_network_of_other_sizes_than_the_weights_is_never_built(model, arrays, tmp_path, tokenizer, monkeypatch):
    """The weights name no size that could be compared one by one; the network would need hundreds of gigabytes."""
    run = Run.create(tmp_path, RunConfig(model=model), tokenizer, tokenizer)
    run.save_weights(arrays)
    monkeypatch.setattr("nmt.network.building.build_model", None)
    with pytest.raises(WeightsError, match=r"best\.npz: has no array seq2seq/"):
        load_translator(tmp_path)
    run.save_checkpoint(1, arrays)
    with pytest.raises(RunError, match=r"000000001\.npz: has no array seq2seq/"):
        load_translator(tmp_path, checkpoints=1)


def test_a_checkpoint_of_other_sizes_is_refused_before_a_network_is_built(tmp_path, tokenizer):
    run = Run.create(tmp_path, RunConfig(model=WIDE["rnn"]), tokenizer, tokenizer)
    run.save_checkpoint(1, {"place": np.array("{}"), "seq2seq/other": np.zeros(2)})
    with pytest.raises(WeightsError, match=r"000000001\.npz: has no array seq2seq/"):
        newest_checkpoint(run, print)


@pytest.mark.parametrize(
    "state", ['{"step": "x"}', '{"step": -1}', '{"best": NaN}', '{"losses": null}', "[" * 10**5, '{"stopped_early": 1}']
)
def test_a_training_state_with_other_values_is_refused(state, run):
    run.save_checkpoint(1, {"place": np.array(state)})
    with pytest.raises(RunError, match="has no training state that this version of nmt can read"):
        newest_checkpoint(run, print)


def test_a_short_list_of_other_vocabularies_is_refused(run):
    size = run.source.size
    good = {"translations": np.zeros((size, KEPT), np.int32), "frequent": np.zeros(size, np.int32)}
    run.save_short_list(good)
    assert ShortList.of_run(run).frequent.shape == (size,)
    for name, array in (
        ("translations", good["translations"] + size),
        ("translations", good["translations"] - 1),
        ("translations", good["translations"].astype(float)),
        ("translations", good["translations"][:-1]),
        ("frequent", np.zeros(size + 1, np.int32)),
    ):
        run.save_short_list({**good, name: array})
        with pytest.raises(RunError, match="damaged; delete it"):
            ShortList.of_run(run)


def test_paths_of_the_machine_are_not_in_a_pack(run, tmp_path):
    config = json.loads((run.directory / "config.json").read_text())
    for group in ("train", "validation"):
        config["corpus"][group] |= {"source": "/secret/a", "target": "/secret/b", "alignment": "/secret/c"}
    config["vocabulary"]["run"] = config["training"]["initial"] = config["training"]["guided"]["links"] = "/secret/d"
    config["directory"] = "/secret/e"
    (run.directory / "config.json").write_text(json.dumps(config))
    (run.directory / "manifest.json").unlink()
    opened = Run.open(run.directory)
    opened.save_weights({"seq2seq/a": np.zeros(3)})
    write_pack(opened, tmp_path / "model.nmt")
    assert b"secret" not in (tmp_path / "model.nmt").read_bytes()
    assert replace(Run.open(tmp_path / "model.nmt"), directory=run.directory).config.model == run.config.model


@pytest.mark.parametrize("name", ["history.csv", "tensorboard", "corpus", "corpus/source.ids"])
def test_training_continues_in_no_run_with_links_out_of_it(name, run, tmp_path):
    """Training writes history.csv, and a link there could name any file of the user."""
    outside, inside = tmp_path / "outside", run.directory / name
    outside.write_text("mine")
    inside.parent.mkdir(exist_ok=True)
    inside.symlink_to(outside)
    config = replace(run.config, name="run", directory=str(tmp_path))
    with pytest.raises(RunError, match=f"{name}: leads out of "):
        prepare(config, "float32", print)
    assert outside.read_text() == "mine"


def test_a_short_list_is_learned_from_no_link(run, tmp_path):
    (tmp_path / "outside").mkdir()
    (run.directory / "corpus").symlink_to(tmp_path / "outside")
    with pytest.raises(RunError, match="corpus: leads out of "):
        ShortList.of_run(run)


def test_one_endless_pair_needs_no_memory_for_its_links():
    lengths = np.array([10**7, 3, 10**7])
    assert _spread(lengths, lengths).tolist() == [1]
    assert _spread(lengths[:1], lengths[:1]).tolist() == []


@pytest.mark.parametrize("part", [b"\x96\x81ein", b"\xe2\x96\xc1haus"])
def test_a_vocabulary_with_pieces_that_are_no_text_is_refused(part, run):
    path = run.directory / "shared.model"
    whole = path.read_bytes()
    word = "▁ein".encode() if b"ein" in part else "▁haus".encode()
    assert word in whole
    path.write_bytes(whole.replace(word, part.rjust(len(word), b"a"), 1))
    (run.directory / "manifest.json").unlink()
    with pytest.raises(NmtError, match=r"shared\.model: not a SentencePiece model, or a damaged one"):
        Run.open(run.directory)


def peak_mib() -> int:
    """The most memory of this process since its last reset."""
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) // 1024


ABSURD = {
    "empty pieces": field(1, b"") * 1_500_000,
    "pieces of one byte": field(1, field(1, b"a")) * 1_100_000,
    "long pieces": field(1, bytes(200)) * 10**4 + field(1, b"") * 10**6,
    "input files": field(2, field(1, b"") * 3_000_000),
    "many settings": field(2, field(1, b"") * 30) * 10**5,
    "a piece of exabytes": number(1 << 3 | 2) + number(2**62) + b"a",
    "settings of gigabytes": field(1, bytes(200)) * 10**4 + number(2 << 3 | 2) + number(2**31 - 1) + b"a",
    "an endless number": b"\x08" + b"\xff" * (2 * 10**6 + 1),
    "an unfinished number": field(1, bytes(200)) * 10**4 + b"\x12\xff",
    "a table of gigabytes": field(3, field(2, b"\xff" * 40)),
}


@pytest.mark.parametrize("more", ABSURD.values(), ids=ABSURD)
def test_absurd_sizes_in_a_vocabulary_take_no_memory(more, tokenizer, tmp_path):
    tokenizer.save(tmp_path / "whole.model")
    content = (tmp_path / "whole.model").read_bytes() + more
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    before = peak_mib()
    with pytest.raises(VocabularyError, match=r"^bad\.model: not a SentencePiece model, or a damaged one"):
        Tokenizer(content, "bad.model")
    assert peak_mib() - before < 20


def test_a_vocabulary_of_most_pieces_has_plausible_sizes(monkeypatch):
    """With pieces of usual and of long text, and the settings of a training."""
    monkeypatch.setattr(model_sizes, "PIECES", 1000)
    pieces = field(1, bytes(20)) * 999 + field(1, bytes(200))
    others = field(2, bytes(10**6)) + number(9 << 3) + number(300) + number(9 << 3 | 1) + bytes(8)
    require_sizes(pieces + others + number(9 << 3 | 5) + bytes(4))
    with pytest.raises(ValueError, match="more pieces or settings than any vocabulary has"):
        require_sizes(pieces + others + field(1, b"a"))


@pytest.mark.parametrize("line", ["[" * 10**5, "[1, 2]", '["a"]', '["a", "b", 3]', "{}"])
def test_validation_pairs_that_are_no_text_are_damage(line, tmp_path):
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "validation.jsonl").write_text(line)
    with pytest.raises((ValueError, TypeError, RecursionError)):
        load_validation_pairs(tmp_path)
