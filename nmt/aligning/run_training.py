"""An aligner for a run: it learns from the run's own training pairs, and the run keeps it."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np

from nmt.aligning.aligner import Aligner
from nmt.aligning.directory import TEXT, is_aligner
from nmt.aligning.preparation import begin
from nmt.aligning.run_aligner import run_aligner_arrays
from nmt.batches.encoded_corpus import EncodedCorpus
from nmt.config import PairsConfig
from nmt.config.aligner import AlignerConfig
from nmt.errors import NmtError
from nmt.files.atomic_writing import replacing
from nmt.run.arrays import packed_arrays
from nmt.run.directory import ALIGNER, Run
from nmt.run.errors import RunError
from nmt.run.exported import is_export
from nmt.run.manifest import replace_listed
from nmt.text.tokenizer import Tokenizer

WORK = "aligner-training"
"""The directory in a run where its aligner grows; deleted at the end."""

_CHUNK = 10_000
"""Pairs that are decoded together."""


def learn_for_run(
    run: Run,
    config: AlignerConfig,
    say: Callable[[str], None],
    interrupted: threading.Event | None = None,
    pairs: PairsConfig | None = None,
) -> bool:
    """Trains an aligner on the training pairs of a run, and keeps it in the run in place of an older one.

    Args:
        run: a trained run directory.
        config: settings; the languages are those of the run.
        say: takes lines for the user.
        interrupted: ends the training after the current batch when it is set; the next call resumes.
        pairs: other text to learn from; None: the pairs that the run was trained on.

    Returns:
        Whether the training is finished.

    Raises:
        NmtError: the run is a pack or an export, or has no training pairs.
    """
    run.require_directory()
    if is_export(run.directory):
        raise RunError(f"{run.directory}: is an export: give the run an aligner, and export it again")
    run.storage.require_inside()
    if run.has_aligner:
        say(f"{run.directory}: the new aligner will replace the one that this run has")
    work = run.directory / WORK
    pairs = pairs or training_text(run, work)
    aligner = Aligner.train(pairs, work, config.in_languages_of(run.config.corpus), None, say, interrupted)
    if aligner is None:
        return False
    content = packed_arrays(run_aligner_arrays(aligner))
    replace_listed(run.directory, ALIGNER, content)
    shutil.rmtree(work)
    say(f"{run.directory / ALIGNER}: {len(content) / 2**20:.2f} MiB; the links of this run now come from its aligner")
    return True


def training_text(run: Run, work: Path) -> PairsConfig:
    """The training pairs of a run as text, written into a directory once.

    Raises:
        NmtError: the run does not keep them, or they are damaged.
    """
    places = [work / TEXT / f"{side}.of-run.txt" for side in ("source", "target")]  # text from a pipe is beside them
    pairs = PairsConfig(source=str(places[0]), target=str(places[1]))
    if is_aligner(work) and all(map(Path.exists, places)):
        return pairs
    try:
        corpus = EncodedCorpus(run.directory / "corpus")
    except (OSError, NmtError):
        raise RunError(
            f"{run.directory}: has no training pairs (corpus/): name the text with --source and --target"
        ) from None
    run.storage.require_folder("corpus")
    corpus.require_ids(run.source.size, run.target.size)
    begin(work)
    (work / TEXT).mkdir(exist_ok=True)
    sides = (corpus.source, run.source), (corpus.target, run.target)
    with replacing(places) as parts, open(parts[0], "wb") as source, open(parts[1], "wb") as target:
        for first in range(0, len(corpus), _CHUNK):
            rows = np.arange(first, min(first + _CHUNK, len(corpus)))
            for (sequences, vocabulary), file in zip(sides, (source, target), strict=True):
                ids, lengths = sequences.gather(rows)
                file.writelines(_lines(vocabulary, ids, lengths))
    return pairs


def _lines(vocabulary: Tokenizer, ids: np.ndarray, lengths: np.ndarray) -> list[bytes]:
    """The text of some sentences."""
    sentences = np.split(ids, np.cumsum(lengths)[:-1])
    return [f"{text}\n".encode() for text in vocabulary.decode([one.tolist() for one in sentences])]
