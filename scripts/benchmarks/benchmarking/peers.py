"""JoeyNMT and Marian on the same text and with the same pieces, each run by the Python of its own environment."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import statistics
import subprocess
from pathlib import Path
from typing import Any

from nmt.text.pieces import SPECIAL_PIECES
from nmt.text.tokenizer import Tokenizer

JOEYNMT = """\
name: benchmark
joeynmt_version: "2.3.0"
model_dir: "{model}"
use_cuda: False
fp16: False
random_seed: {seed}
data:
  train: "{directory}/train"
  dev: "{directory}/dev"
  dataset_type: plain
  src: &side
    lang: src
    max_length: 100
    level: bpe
    voc_file: "{directory}/vocab.txt"
    tokenizer_type: sentencepiece
    tokenizer_cfg: {{model_file: "{directory}/pieces.spm", pretokenizer: none}}
  trg:
    <<: *side
    lang: trg
  special_symbols: {{unk_token: <unk>, pad_token: <pad>, bos_token: <s>, eos_token: </s>,
                     unk_id: 0, pad_id: 1, bos_id: 2, eos_id: 3}}
testing: {{beam_size: 1, batch_size: 64, batch_type: sentence, eval_metrics: [bleu], max_output_length: 5}}
training:
  optimizer: adam
  learning_rate: 0.001
  clip_grad_norm: 1.0
  batch_size: {sentences}
  batch_type: sentence
  normalization: tokens
  scheduling: exponential
  decrease_factor: 0.99
  epochs: 100
  updates: {last}
  validation_freq: {validate}
  logging_freq: {every}
  early_stopping_metric: loss
  overwrite: True
  shuffle: True
  keep_best_ckpts: 1
model:
  initializer: xavier_uniform
  bias_initializer: zeros
  embed_initializer: normal
  embed_init_weight: 0.1
  tied_embeddings: False
  tied_softmax: False
  encoder: {{type: recurrent, rnn_type: lstm, embeddings: {{embedding_dim: 256, scale: False}}, hidden_size: 256,
             bidirectional: True, dropout: 0.3, num_layers: 1}}
  decoder: {{type: recurrent, rnn_type: gru, embeddings: {{embedding_dim: 256, scale: False}}, hidden_size: 512,
             dropout: 0.3, hidden_dropout: 0.3, num_layers: 1, input_feeding: True, init_hidden: bridge,
             attention: bahdanau}}
"""
"""Settings of JoeyNMT 2.3.0 with the sizes of `cases.SIZES["joeynmt"]`."""

MARIAN = (
    "--type s2s --enc-cell lstm --enc-cell-depth 1 --dec-cell gru --dec-cell-base-depth 2 --dim-emb 256 --dim-rnn 512 "
    "--cpu-threads {threads} --mini-batch {sentences} --learn-rate 0.001 --clip-norm 1 --max-length 100 "
    "--workspace 2000 --dropout-rnn 0.3 --label-smoothing 0.1 --disp-freq {every} --after-batches {last} --seed {seed} "
    "--train-sets {directory}/train.src {directory}/train.trg "
    "--vocabs {model}/pieces.spm {model}/pieces.spm --model {model}/model.npz --overwrite"
)
"""Command line of Marian 1.12."""

JOEYNMT_SPEED = re.compile(r"Step:\s*(\d+).*?Tokens per Sec:\s*([\d,]*\d(?:\.\d+)?)")
MARIAN_SPEED = re.compile(r"Up\.\s*([\d,]+)\s.*?:\s*([\d.,]+) words/s")
"""Update and speed in a line of the peer's log."""


def write_text(
    directory: Path, source: Path, target: Path, pieces: Path, validation: tuple[Path, Path] | None = None
) -> None:
    """Writes the pairs for the peers: plain lines, and the SentencePiece model of nmt, which both peers can read.

    Args:
        directory: directory to write into.
        source, target: files of the training pairs.
        pieces: a vocabulary that `nmt train` wrote, such as shared.model.
        validation: files of the validation pairs; None: the first training pairs, where the validation does not matter.
    """
    directory.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(pieces, directory / "pieces.spm")
    vocabulary = Tokenizer.load(pieces)
    names = [name for name in vocabulary.pieces(range(vocabulary.size)) if name not in SPECIAL_PIECES]
    ordered = ["<unk>", "<pad>", "<s>", "</s>", *names]  # JoeyNMT assigns ids in this order and requires these first
    (directory / "vocab.txt").write_text("\n".join(ordered) + "\n", encoding="utf-8")
    for side, path, held_out in zip(("src", "trg"), (source, target), validation or (None, None), strict=True):
        lines = path.read_text(encoding="utf-8").split("\n")
        dev = held_out.read_text(encoding="utf-8").split("\n") if held_out else lines[:64]
        for name, chosen in (("train", lines), ("dev", dev)):
            (directory / f"{name}.{side}").write_text("\n".join(chosen).rstrip("\n") + "\n", encoding="utf-8")


def joeynmt(python: str, directory: Path, updates: tuple[int, int], sentences: int, seed: int) -> dict[str, Any]:
    """Target tokens per second that JoeyNMT logs between the two updates."""
    every = _every(updates)
    never = every * 1_000_000  # JoeyNMT requires a multiple of it
    model = directory / "joeynmt_model"
    output = train_joeynmt(python, directory, model, updates[1], every, never, sentences, seed)
    return speed_between(JOEYNMT_SPEED.findall(output), updates, directory / "joeynmt.log")


def train_joeynmt(
    python: str,
    directory: Path,
    model: Path,
    last: int,
    every: int,
    validate: int,
    sentences: int = 64,
    seed: int = 1,
    seconds: float | None = None,
) -> str:
    """Trains JoeyNMT on the files of `write_text` and returns its log. Its exit code is ignored: see `_run`.

    Args:
        python: the Python of JoeyNMT's environment.
        directory: directory with the files of `write_text`.
        model: directory for the model; each validation writes a checkpoint.
        last, every, validate: updates in all, between two lines of the log, and between two validations.
        sentences: sentences per batch.
        seed: seed of the training.
        seconds: time after which the training is killed, with its best checkpoint as the result; None: no limit.
    """
    settings = JOEYNMT.format(
        directory=directory, model=model, last=last, every=every, validate=validate, sentences=sentences, seed=seed
    )
    configuration = directory / "joeynmt.yaml"
    configuration.write_text(settings, encoding="utf-8")
    command = [python, "-m", "joeynmt", "train", str(configuration), "--skip-test"]
    return _run(command, directory / "joeynmt.log", seconds)


def marian(python: str, directory: Path, updates: tuple[int, int], sentences: int, seed: int) -> dict[str, Any]:
    """Target words (pieces) per second that Marian logs between the two updates."""
    model = directory / "marian_model"
    (model / "model.npz").unlink(missing_ok=True)
    output = train_marian(python, directory, model, updates[1], _every(updates), sentences, seed)
    return speed_between(MARIAN_SPEED.findall(output), updates, directory / "marian.log")


def train_marian(
    python: str, directory: Path, model: Path, last: int, every: int, sentences: int = 64, seed: int = 1
) -> str:
    """Trains Marian on the files of `write_text` and returns its log; `model` gets model.npz and the pieces."""
    model.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(directory / "pieces.spm", model / "pieces.spm")
    threads = len(os.sched_getaffinity(0))
    options = MARIAN.format(
        directory=directory, model=model, last=last, every=every, sentences=sentences, seed=seed, threads=threads
    )
    program = "import sys, pymarian; pymarian.Trainer(sys.argv[1]).train()"
    return _run([python, "-c", program, options], directory / "marian.log")


def _every(updates: tuple[int, int]) -> int:
    """Updates between two lines of a peer's log."""
    return max(1, (updates[1] - updates[0]) // 4)


def _run(command: list[str], log: Path, seconds: float | None = None) -> str:
    """Runs a command and returns its log. The exit code is ignored: JoeyNMT fails if it wrote no checkpoint."""
    with open(log, "wb") as file, contextlib.suppress(subprocess.TimeoutExpired):
        subprocess.run(command, stdout=file, stderr=subprocess.STDOUT, check=False, timeout=seconds)
    return log.read_text(encoding="utf-8", errors="replace")


def speed_between(logged: list[tuple[str, str]], updates: tuple[int, int], log: Path) -> dict[str, Any]:
    """The mean speed between two updates.

    Args:
        logged: pairs of an update and the speed since the logged update before it.
        updates: the two updates.
        log: the log file, for the error message.

    Raises:
        RuntimeError: the log has no speed between the updates.
    """
    speeds = [
        float(speed.replace(",", "")) for step, speed in logged if updates[0] < int(step.replace(",", "")) <= updates[1]
    ]
    if not speeds:
        raise RuntimeError(f"no speed between updates {updates[0]} and {updates[1]} in {log}")
    return {"tokens_per_s": statistics.harmonic_mean(speeds)}
