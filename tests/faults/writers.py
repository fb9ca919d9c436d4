"""Writes files with the writers of the package that need neither Keras nor TensorFlow, in a directory that is named.

Each function may find any state that a stop of an earlier call has left, and ends with the same files.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from nmt.files.atomic_writing import write_atomically
from nmt.files.resumable_outputs import ResumableOutputs
from nmt.run.checkpoints import list_checkpoints, load_checkpoint, save_checkpoint
from nmt.run.errors import RunError
from nmt.run.history import read_history, write_history

if TYPE_CHECKING:
    from nmt.text.tokenizer import Tokenizer

LINES, BLOCK = 7, 2
STEPS = 4
LANGUAGE = [f"w{n % 7} w{n % 5} x{n}" for n in range(30)]
SENTENCES = [[4, 5, 6], [5], [4] * 5]


def write_outputs(directory: Path) -> None:
    """Two files that belong together line by line, as `nmt translate --resume --output --alignments` writes them."""
    outputs = ResumableOutputs([str(directory / name) for name in ("first.txt", "second.txt")], True, BLOCK)
    with outputs.open("the command") as files:
        for line in range(outputs.done, LINES):
            for file in files:
                file.write(f"{line} of {Path(file.name).name.strip('.').removesuffix('.part')}\n")
                if line % BLOCK == BLOCK - 1:
                    file.flush()


def write_run(directory: Path) -> None:
    """A history and checkpoints, one row and one file after the other, as a training writes them."""
    for step in range(_newest(directory) + 1, STEPS + 1):
        rows = [row for row in read_history(directory / "history.csv") if int(row["step"]) < step]
        write_history(directory / "history.csv", [*rows, {"step": step, "loss": 1 / step}])
        save_checkpoint(directory / "checkpoints", step, {"weights": np.full(3, step, np.float32)}, keep=2)


def _newest(directory: Path) -> int:
    """The step of the newest checkpoint that can be read; damaged newer ones are removed."""
    for path in reversed(list_checkpoints(directory / "checkpoints")):
        try:
            return int(load_checkpoint(path)["weights"][0])
        except RunError:
            path.unlink()
    return 0


def write_samples(directory: Path) -> None:
    """Translations of a sentence at four steps, of which two are kept."""
    from nmt.alignment.word_alignment import WordAlignment
    from nmt.run import samples

    alignment = WordAlignment(("a",), ("b",), np.ones((1, 1), np.float32), np.zeros(1, np.float32))
    for step in range(1, STEPS + 1):
        before = [one for one in samples.read_samples(directory / samples.SAMPLES) if one.step < step]
        new = samples.Sample(step, 0, "b", f"b{step}", -0.5, alignment)
        samples.write_samples(directory / samples.SAMPLES, samples.thinned([*before, new], 2))


def write_corpus(directory: Path) -> None:
    """Encoded pairs, which are read before they are written again."""
    from nmt.batches.encoded_corpus import EncodedCorpus
    from nmt.errors import NmtError

    try:
        found = EncodedCorpus(directory / "corpus")
    except NmtError:
        found = EncodedCorpus.write(directory / "corpus", [(SENTENCES, SENTENCES)] * 2, 8)
    assert [found.source.gather(np.array([n]))[0].tolist() for n in range(len(found))] == SENTENCES * 2


def fill_cache(directory: Path) -> None:
    """Two files from the cache, which is filled with them."""
    from nmt.training.preparation.cache import Cache

    def make(part: Path) -> None:
        write_corpus(part)
        (part / "text").write_text("text")

    Cache(directory / "cache").fetch({"text": "0123"}, make, directory / "run")


def write_model(directory: Path) -> None:
    """A run with its manifest, whose weights are replaced by better ones, and its pack."""
    from nmt.config import RunConfig, VocabularyConfig
    from nmt.run.directory import CONFIG, Run
    from nmt.run.packing import write_pack

    path = directory / "run"
    if (path / CONFIG).exists():
        run = Run.open(path)
    else:
        path.mkdir(exist_ok=True)
        run = Run.create(path, RunConfig(vocabulary=VocabularyConfig(size=60)), _vocabulary(), _vocabulary())
    for step in range(int(run.weights()["weights"][0]) if run.has_weights else 1, 3):
        run.save_weights({"weights": np.full(3, step, np.float32)})
    write_pack(run, directory / "model.nmt")


@cache
def _vocabulary() -> Tokenizer:
    from nmt.config import VocabularyConfig
    from nmt.text.tokenizer import Tokenizer

    return Tokenizer.train(LANGUAGE, VocabularyConfig(type="word", size=60))


def prepare(directory: Path) -> None:
    """A prepared corpus."""
    from nmt.config import PairsConfig, RunConfig, config_from_dict
    from nmt.training.preparation.shards.parts import PLAIN, Part
    from nmt.training.preparation.shards.preparing import prepare_corpus

    if not (text := directory / "text.tsv").exists():
        write_atomically(text, "".join(f"{line}\t{line.upper()}\n" for line in LANGUAGE).encode())
    fields = {"corpus": {"held_out": 5, "near_duplicates": "keep"}, "vocabulary": {"type": "char", "size": 40}}
    config = config_from_dict(RunConfig, fields)
    prepare_corpus(directory / "prepared", config, [Part(PLAIN, PairsConfig(tsv=str(text)))], 1, lambda line: None)


WRITERS = {
    "outputs": write_outputs,
    "run": write_run,
    "samples": write_samples,
    "corpus": write_corpus,
    "cache": fill_cache,
    "model": write_model,
    "prepared": prepare,
}
LEAVES_PARTS = ("cache", "model")
"""Writers with temporary names that no other writer takes: a killed one leaves files of such names."""
TIMES = "inputs.json"
"""The file of a prepared corpus with the times of others."""

if __name__ == "__main__":
    WRITERS[sys.argv[1]](Path(sys.argv[2]))
