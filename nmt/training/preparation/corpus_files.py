"""The files of a prepared corpus: vocabularies, encoded training pairs, their profile, validation pairs, and a report.

The cache keeps these files, so a second run on the same text and settings copies them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sentencepiece

from nmt.config import RunConfig, config_to_dict
from nmt.files.atomic_writing import write_atomically
from nmt.progress import counted
from nmt.run.text_changes import TEXT_FINGERPRINTS, text_fingerprints
from nmt.run.vocabularies import save_vocabularies
from nmt.text.errors import CorpusError
from nmt.text.held_out_pairs import WithoutHeldOut, require_enough_left
from nmt.text.languages import words_of
from nmt.text.pairs import PairReader
from nmt.text.swapped_sides import Vocabularies
from nmt.training.preparation.encoding import PairEncoder
from nmt.training.preparation.profiling import Profiler, doubtful_sides, unreadable_text
from nmt.training.preparation.recombination import Recombination
from nmt.training.preparation.validation_pairs import save_validation_pairs, split_pairs
from nmt.training.preparation.vocabularies import make_vocabularies, run_of_vocabularies
from nmt.version import __version__

CACHE_FORMAT = 5
"""Version of the files: a new number makes the cache prepare every corpus again."""

ALIGNER_FORMAT = 1
"""Version of the links that `training.aligner` learns."""

RECOMBINED_FORMAT = 1
"""Version of the pairs that `training.recombine` makes."""

REPORT = "corpus/report.txt"
"""File with the lines that preparation printed about the pairs."""


def cache_key(config: RunConfig) -> dict[str, Any]:
    """Everything that the files depend on."""
    corpus = config.corpus
    key = {
        "format": CACHE_FORMAT,
        "nmt": __version__,
        "sentencepiece": sentencepiece.__version__,
        "corpus": config_to_dict(corpus) | {"train": "", "validation": ""},  # the text counts, wherever it lies
        "text": text_fingerprints(config),
        "vocabulary": config_to_dict(config.vocabulary) | _fingerprints(config),
        "seed": None if corpus.validation else config.training.seed,  # it decides which pairs are held out
    }
    if config.training.aligner:
        key["aligner"] = ALIGNER_FORMAT
    if config.training.recombine:
        key["recombined"] = [RECOMBINED_FORMAT, config.training.recombine, config.training.seed]
    return key


def _fingerprints(config: RunConfig) -> dict[str, str]:
    """Fingerprints of another run's vocabularies, wherever the run lies."""
    if not config.vocabulary.run:
        return {}
    run = run_of_vocabularies(config)
    return {"run": f"{run.source.fingerprint} {run.target.fingerprint}"}


def write_corpus_files(
    directory: Path, config: RunConfig, key: dict[str, Any], say: Callable[[str], None], learned: str = ""
) -> None:
    """Reads the pairs and writes all files.

    Args:
        key: `cache_key` before the pairs are read.
        say: takes lines for the user.
        learned: file of the links that an aligner has learned; empty: those of `training.guided.links`, if any.

    Raises:
        CorpusError: the pairs cannot be read, or have changed meanwhile.
        VocabularyError, AlignmentError: the pairs do not fit the settings.
    """
    reported: list[str] = []

    def report(line: str) -> None:
        reported.append(line)
        say(line)

    guide = learned or config.training.guided.links
    reader = PairReader(config.corpus.train, config.corpus, guide)
    validation, pairs = split_pairs(config, reader)
    if isinstance(pairs, WithoutHeldOut):
        require_enough_left(len(validation), reader.report.kept, ", or --recipe auto")
    if not config.vocabulary.run:
        about = "about " * config.vocabulary.adapt_size
        say(f"making a vocabulary of {about}{config.vocabulary.size:,} pieces")  # this can take minutes
    source, target = make_vocabularies(config, pairs, report)
    save_validation_pairs(directory, validation)
    write_atomically(directory / TEXT_FINGERPRINTS, json.dumps(key["text"], ensure_ascii=False).encode())
    save_vocabularies(directory, source, target, config.vocabulary.shared)
    if guide:
        report(f"attention is guided by the links of {'the aligner' if learned else guide}")
    encoder = PairEncoder(config.corpus, source, target, bool(guide))
    vocabularies = Vocabularies(encoder.source, encoder.target)
    profiler = Profiler(vocabularies, (config.corpus.source_language, config.corpus.target_language))
    refused = pairs.repeats if isinstance(pairs, WithoutHeldOut) else None
    count, seed = config.training.recombine, config.training.seed
    recombination = Recombination(pairs, words_of(config.corpus), count, seed, refused)
    encoder.write(directory / "corpus", recombination.over(profiler.over(pairs)), report)
    profile = profiler.save(directory)
    report(reader.report.summary())
    if config.training.recombine:
        report(recombination.summary())
    if isinstance(pairs, WithoutHeldOut):
        near = config.corpus.near_duplicates == "drop"
        duplicates = "near-duplicates of them" if near else "further pairs with their sources"
        report(
            f"held out for validation: {counted(len(validation), 'pair')}; "
            f"{pairs.removed - len(validation):,} {duplicates} are left out of training"
        )
    for line in (*doubtful_sides(validation, profile, vocabularies), *unreadable_text(profile, config.vocabulary.run)):
        report(line)
    write_atomically(directory / REPORT, "".join(f"{line}\n" for line in reported).encode(errors="backslashreplace"))
    if cache_key(config) != key:
        raise CorpusError("the pairs changed while they were read: start again")
