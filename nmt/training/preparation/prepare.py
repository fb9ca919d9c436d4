"""From a configuration to a run that can be trained: vocabularies, encoded training pairs, validation pairs."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import sentencepiece

from nmt.alignment.links import AlignmentError
from nmt.alignment.pharaoh_and_naacl import parse_pharaoh
from nmt.alignment.pieces_to_words import piece_links
from nmt.batches.encoded_corpus import EncodedCorpus
from nmt.config import CorpusConfig, Precision, RunConfig, config_to_dict
from nmt.errors import NmtError
from nmt.files.atomic_writing import write_atomically
from nmt.files.locking import locked
from nmt.files.paths import output_directory
from nmt.progress import LineProgress
from nmt.run.directory import Run
from nmt.run.errors import RunError
from nmt.run.resuming import TEXT_FINGERPRINTS, differing_settings, require_resumable, text_changed, text_fingerprints
from nmt.run.vocabularies import load_vocabularies, save_vocabularies
from nmt.text.errors import CorpusError
from nmt.text.hold_out import WithoutHeldOut, hold_out
from nmt.text.pairs import Pair, PairReader
from nmt.text.tokenizer import Tokenizer
from nmt.training.preparation.cache import Cache
from nmt.training.transfer import open_origin
from nmt.translation.inference import windows
from nmt.version import __version__

CHUNK = 10_000
"""Pairs that are encoded by one call of SentencePiece."""

CACHE_FORMAT = 3
"""To be raised when the same text and settings give other files than before: what is in caches is then made again."""

VALIDATION = "corpus/validation.jsonl"
REPORT = "corpus/report.txt"
"""What was said of the pairs when they were prepared."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class Prepared:
    """What training needs from the disk."""

    run: Run
    train: EncodedCorpus
    validation: list[Pair]
    saved_passes: int = 0
    """`training.passes` of the run before it was opened; 0 for a new run."""


def prepare(config: RunConfig, precision: Precision, say: Say) -> Prepared:
    """Opens the run that `config` names, or sets it up.

    Args:
        config: as the user gave it.
        precision: policy to write into a new run.
        say: takes lines for the user.

    Raises:
        RunError: the directory holds a run with another model, corpus or vocabulary; or a run that is to be taken from
            is not there, or another network.
        CorpusError, VocabularyError: the pairs cannot be read, or give no such vocabulary.
        AlignmentError: the links that attention is to be trained with do not fit the pairs.
    """
    directory = Path(config.directory) / config.name
    if (directory / "config.json").exists():
        return _reopen(directory, config, say)
    if directory.exists() and any(directory.iterdir()) and not (directory / "corpus").exists():
        raise RunError(f"{directory} is not empty and not a run: give the run another name")
    _require_teachable(config)
    if config.training.initial:
        open_origin(config)
    if unread := [f"model.{name}" for name in config.model.unread]:
        say(f"this network does not read {', '.join(unread)}: what is said there changes nothing")
    config = replace(config, training=replace(config.training, precision=precision))
    cache, origin = Cache(Path(config.directory) / ".cache"), _origin(config)
    if cache.fetch(origin, lambda part: _make(part, config, origin, say), directory):
        say(f"this text was prepared before: vocabulary and pieces are taken from {cache.directory}")
        for line in (directory / REPORT).read_text(encoding="utf-8").splitlines():
            say(line)
    # The configuration is written last: a directory with one is complete.
    run = Run.create(directory, config, *load_vocabularies(directory, config.vocabulary.shared))
    return _prepared(run)


def _require_teachable(config: RunConfig) -> None:
    """Of new runs alone: those that were begun before it was asked for still translate."""
    hard = config.model.architecture != "transformer" and config.model.attention.window == "hard"
    if config.training.guided.links and hard:
        raise RunError(
            "training.guided.links teaches weights, but model.attention.window hard has one or none, which cannot be "
            "moved a little: choose another window"
        )


@contextmanager
def claimed(directory: Path) -> Iterator[None]:
    """A run's directory, kept to this process: two trainings of one name, begun at once, would write over each other's
    text.

    Raises:
        RunError: another process has it, or it cannot be written into.
    """
    there = next(path for path in (directory, *directory.absolute().parents) if path.exists())
    if not os.access(there, os.W_OK):
        raise RunError(f"{there} cannot be written into: give another --directory for runs")
    if there.is_file():
        raise RunError(f"{there} is a file: give the run another --name or --directory")
    taken = RunError(f"{directory} is trained already, by another process: wait, or end that one")
    with output_directory(directory), locked(directory, taken):
        yield


def _reopen(directory: Path, config: RunConfig, say: Say) -> Prepared:
    run = Run.open(directory)
    require_resumable(run.config, config, directory)
    if text_changed(directory, config):
        say(
            f"the text is another one than when {directory} was begun, and is not read again: training goes on with "
            "the pairs of then; for those of now give the run another --name (with --training.initial it begins with "
            "these weights)"
        )
    for name, then, now in differing_settings(config_to_dict(run.config.search), config_to_dict(config.search)):
        say(f"the run translated with search.{name} {then}, as it was trained or tuned; from now on it is {now}")
    config = replace(config, training=replace(config.training, precision=run.config.training.precision))
    opened = _prepared(replace(run, config=config))
    opened.run.save_config()
    return replace(opened, saved_passes=run.config.training.passes)


def _prepared(run: Run) -> Prepared:
    """What a run has of its pairs."""
    try:
        text = (run.directory / VALIDATION).read_text(encoding="utf-8")
        validation = [Pair(*json.loads(line)) for line in text.split("\n") if line]
        if not validation:
            raise ValueError(f"{VALIDATION} is empty")
        return Prepared(run, EncodedCorpus(run.directory / "corpus"), validation)
    except (FileNotFoundError, ValueError, TypeError) as error:
        raise RunError(
            f"{run.directory / 'corpus'}: the run's copy of its sentence pairs is damaged or not all there: give a new "
            "run another --name (with --training.initial it begins with this one's weights)"
        ) from error


def _origin(config: RunConfig) -> dict[str, Any]:
    """All that the files of `_make` depend on."""
    corpus = config.corpus
    return {
        "format": CACHE_FORMAT,
        "nmt": __version__,
        "sentencepiece": sentencepiece.__version__,
        "corpus": config_to_dict(corpus) | {"train": "", "validation": ""},  # wherever the text is
        "text": text_fingerprints(config),
        "vocabulary": config_to_dict(config.vocabulary) | _fingerprints(config),
        "seed": None if corpus.validation else config.training.seed,  # it decides what is held out
    }


def _fingerprints(config: RunConfig) -> dict[str, str]:
    """Vocabularies that are taken from another run, wherever that is."""
    if not config.vocabulary.run:
        return {}
    run = _run_of_vocabularies(config)
    return {"run": f"{run.source.fingerprint} {run.target.fingerprint}"}


def _make(directory: Path, config: RunConfig, origin: dict[str, Any], say: Say) -> None:
    """Makes the files that a run is given: vocabularies, encoded training pairs, validation pairs.

    Raises:
        CorpusError: besides what cannot be read, a file that changed meanwhile.
    """
    said: list[str] = []

    def report(line: str) -> None:
        said.append(line)
        say(line)

    guide = config.training.guided.links
    reader = PairReader(config.corpus.train, config.corpus, guide)
    validation, pairs = _split(config, reader)
    if not config.vocabulary.run:
        say(f"making a vocabulary of {config.vocabulary.size} pieces")  # on much text this takes minutes
    source, target = _vocabularies(config, pairs, report)
    lines = "".join(json.dumps(pair, ensure_ascii=False) + "\n" for pair in validation)
    write_atomically(directory / VALIDATION, lines.encode())
    write_atomically(directory / TEXT_FINGERPRINTS, json.dumps(origin["text"], ensure_ascii=False).encode())
    save_vocabularies(directory, source, target, config.vocabulary.shared)
    if guide:
        report(f"attention is guided by the links of {guide}")
    _encode(directory / "corpus", config.corpus, pairs, source, target, report, bool(guide))
    report(reader.report.summary())
    if isinstance(pairs, WithoutHeldOut):
        report(
            f"{len(validation)} pairs kept aside for validation; "
            f"{pairs.removed - len(validation)} more have a side that is nearly one of theirs and are not trained on"
        )
    write_atomically(directory / REPORT, "".join(f"{line}\n" for line in said).encode())
    if _origin(config) != origin:
        raise CorpusError("the pairs changed while they were read: start again")


def _split(config: RunConfig, reader: PairReader) -> tuple[list[Pair], Iterable[Pair]]:
    """Validation pairs and training pairs; the latter can be read again and again."""
    if config.corpus.validation:
        validation = list(PairReader(config.corpus.validation, config.corpus))
        if not validation:
            raise NmtError("the validation set holds no pairs: leave corpus.validation out, or give another")
        return validation, reader
    validation = hold_out(reader, config.corpus.held_out, config.training.seed)
    return validation, WithoutHeldOut(reader, validation)


def _vocabularies(config: RunConfig, pairs: Iterable[Pair], say: Say) -> tuple[Tokenizer, Tokenizer]:
    """Trains the vocabularies on the training pairs alone, or takes those of another run."""
    settings = config.vocabulary
    if settings.run:
        run = _run_of_vocabularies(config)
        say(f"vocabularies: those of {settings.run}, {run.source.size} source and {run.target.size} target pieces")
        return run.source, run.target
    if settings.shared:
        shared = Tokenizer.train((side for pair in LineProgress().over(pairs) for side in pair[:2]), settings)
        say(f"vocabulary: {shared.size} {settings.type} pieces for both languages")
        return shared, shared
    source = Tokenizer.train((pair.source for pair in LineProgress().over(pairs)), settings)
    target = Tokenizer.train((pair.target for pair in LineProgress().over(pairs)), settings, settings.target_size)
    say(f"vocabularies: {source.size} source and {target.size} target {settings.type} pieces")
    return source, target


def _run_of_vocabularies(config: RunConfig) -> Run:
    """The run whose vocabularies are taken."""
    run = Run.open(Path(config.vocabulary.run))
    shared = run.config.vocabulary.shared
    if shared != config.vocabulary.shared:
        raise RunError(f"vocabulary.run: vocabulary.shared is {shared} in {run.directory}: set it so here too")
    return run


def _encode(
    directory: Path,
    config: CorpusConfig,
    pairs: Iterable[Pair],
    source: Tokenizer,
    target: Tokenizer,
    say: Say,
    guided: bool,
) -> None:
    """Encodes the training pairs chunk by chunk; long ones are dropped or cut as the configuration says."""
    long, limit = 0, config.max_pieces

    def chunks() -> Iterator[tuple[list[list[int]], ...]]:
        nonlocal long
        for chunk in windows(LineProgress().over(pairs), CHUNK):
            parts = [source.encode([p.source for p in chunk]), target.encode([p.target for p in chunk])]
            fits = [max(map(len, both)) <= limit for both in zip(*parts, strict=True)]
            long += fits.count(False)
            if guided:
                parts.append([_piece_links(pair, source, target, limit) for pair in chunk])
            if config.on_long == "truncate":
                yield (*([ids[:limit] for ids in side] for side in parts[:2]), *parts[2:])
            else:
                yield tuple([i for i, fit in zip(part, fits, strict=True) if fit] for part in parts)

    # Places of pieces stand in as many bytes as ids.
    corpus = EncodedCorpus.write(directory, chunks(), max(source.size, target.size, limit), guided)
    if not len(corpus):
        raise NmtError(f"no training pair is left within {config.max_pieces} pieces: raise corpus.max_pieces")
    if long:
        done = "dropped" if config.on_long == "drop" else "cut"
        say(f"{long} training pairs longer than {config.max_pieces} pieces were {done} (corpus.on_long)")
    if corpus.links is not None and not corpus.links.lengths.any():
        raise AlignmentError("training.guided.links: no training pair has a link: expected lines such as 0-0 1-2")


def _piece_links(pair: Pair, source: Tokenizer, target: Tokenizer, limit: int) -> list[int]:
    """The pair's links between its first `limit` pieces, as `batching.link_rows` reads them."""
    found = parse_pharaoh(pair.links or "", "links").possible
    between = piece_links(found, source.segment(pair.source), target.segment(pair.target))
    return [place for link in between if max(link) < limit for place in link]
