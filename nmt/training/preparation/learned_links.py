"""Links of the training pairs, learned by an aligner before the training begins (`training.aligner`)."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from nmt.aligning.aligner import Aligner
from nmt.aligning.directory import CHECKPOINT, CORPUS
from nmt.aligning.run_aligner import run_aligner_arrays
from nmt.config import RunConfig
from nmt.config.aligner import AlignerConfig
from nmt.files.outputs import open_output
from nmt.progress import LineProgress, counted
from nmt.run.arrays import save_arrays
from nmt.run.directory import ALIGNER as RUN_ALIGNER
from nmt.run.directory import ALIGNER_FOLDER
from nmt.run.manifest import forget_folder
from nmt.text.formats import line_pairs
from nmt.text.languages import languages_of
from nmt.training.interruption import interruption

ALIGNER = ALIGNER_FOLDER
"""The directory of the aligner in a run."""
LINKS = "train.links"
"""The file of its links of the training pairs, in Pharaoh format."""


def learn_links(config: RunConfig, directory: Path, part: Path, say: Callable[[str], None]) -> str:
    """Trains an aligner on the training pairs and writes their links.

    The aligner grows in the run directory, so that an interrupted training resumes; the finished one is copied.

    Args:
        config: of the run; the languages are decided.
        directory: of the run.
        part: directory of the prepared files, which gets a copy of the aligner.
        say: takes lines for the user.

    Returns:
        The file of the links, a line for each row of the text.

    Raises:
        NmtError: the pairs cannot be read.
        KeyboardInterrupt: the training was interrupted.
    """
    corpus = config.corpus
    settings = AlignerConfig().in_languages_of(corpus)
    with interruption() as interrupted:
        aligner = Aligner.train(
            replace(corpus.train, alignment=""), directory / ALIGNER, settings, None, say, interrupted, corpus
        )
    if aligner is None:
        raise KeyboardInterrupt
    links = directory / ALIGNER / LINKS
    pairs = line_pairs(corpus.train, languages_of(corpus))
    progress = LineProgress(task="aligning", unit="pairs")
    cut = 0
    with open_output(str(links)) as output:
        for alignment in progress.over(aligner.align(pairs)):
            output.write(alignment.pharaoh() + "\n")
            cut += alignment.cut
    if cut:
        say(f"{counted(cut, 'pair')} with more than {settings.max_words} words on a side: later words have no links")
    unneeded = shutil.ignore_patterns(CORPUS, CHECKPOINT, LINKS)
    shutil.copytree(directory / ALIGNER, part / ALIGNER, ignore=unneeded, dirs_exist_ok=True)
    forget_folder(part / ALIGNER, CORPUS)
    return str(links)


def remove_scratch(directory: Path) -> None:
    """Deletes the files of a run's aligner that only its training needed."""
    forget_folder(directory / ALIGNER, CORPUS)
    shutil.rmtree(directory / ALIGNER / CORPUS, ignore_errors=True)
    (directory / ALIGNER / LINKS).unlink(missing_ok=True)


def keep_aligner(directory: Path) -> None:
    """Writes the part of the learned aligner that makes the links of a run, before the run has a manifest."""
    save_arrays(directory / RUN_ALIGNER, run_aligner_arrays(Aligner.load(directory / ALIGNER)))
