"""From text to a directory that is ready to train: languages, words, and the pairs as ids."""

from __future__ import annotations

import filecmp
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, replace
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from nmt.aligning.cooccurrence import Cooccurrence
from nmt.aligning.directory import (
    CELLS,
    CORPUS,
    PREPARING,
    SIDES,
    TEXT,
    AlignerDirectory,
    corpus_of,
    is_aligner,
    open_directory,
    words_of_aligner,
)
from nmt.aligning.units import Units
from nmt.aligning.vocabulary import WordCounter, WordVocabulary
from nmt.batches.encoded_corpus import EncodedCorpus
from nmt.batches.windows import windows
from nmt.config import CorpusConfig, PairsConfig
from nmt.config.aligner import AlignerConfig
from nmt.errors import NmtError
from nmt.files.atomic_writing import replacing
from nmt.files.paths import can_be_read_again
from nmt.progress import LineProgress, counted
from nmt.run.arrays import save_arrays
from nmt.run.storage import DirectoryStorage
from nmt.text.formats import text_pairs
from nmt.text.languages import decide_languages, languages_of
from nmt.text.pairs import Pair, PairReader

_CHUNK = 10_000
"""Pairs that are encoded together, and pairs that decide on the languages."""
_OPEN = ("", "auto")
"""Values of settings that the text decides on."""
_FREE = {"symmetrize"}
"""Settings that may change when a training is resumed."""

Say = Callable[[str], None]
"""Takes a line for the user."""
T = TypeVar("T")


def readable_pairs(pairs: PairsConfig, directory: Path) -> PairsConfig:
    """These pairs in files that can be read again. `prepare` copies pairs of streams into the directory."""
    if pairs.tfds or can_be_read_again(
        [path for path in (pairs.source, pairs.target, pairs.tsv, pairs.document, pairs.parquet) if path]
    ):
        return pairs
    source, target = (str(directory / TEXT / f"{side}.txt") for side in SIDES)
    return PairsConfig(source=source, target=target)


def prepare(
    directory: Path,
    pairs: PairsConfig,
    config: AlignerConfig,
    say: Say,
    units: tuple[Units, Units] | None = None,
    corpus: CorpusConfig | None = None,
    interrupted: threading.Event | None = None,
) -> AlignerDirectory:
    """Opens the aligner that was begun in a directory, or sets it up. A preparation that fails leaves nothing.

    Args:
        pairs: are read several times; pairs of streams are copied into the directory.
        units: of a run, for pieces; None: words of the text.
        say: takes lines for the user.
        corpus: treatment of rows that are no pair; None: as by default.
        interrupted: ends the preparation when it is set.

    Raises:
        NmtError: the pairs cannot be read, or the directory holds other files, or an aligner of other text or settings.
        KeyboardInterrupt: `interrupted` was set.
    """
    if is_aligner(directory):
        reader = PairReader(_kept(pairs, config, directory), corpus or corpus_of(config))
        return _reopened(directory, config, reader.fingerprint(), units)
    begin(directory)
    try:
        made = _set_up(directory, pairs, config, say, units, corpus, interrupted or threading.Event())
    except BaseException:
        _remove_begun(directory)
        raise
    (directory / PREPARING).unlink()
    return made


def begin(directory: Path) -> None:
    """Marks a directory without an aligner as one whose files may be overwritten and removed.

    Raises:
        NmtError: it holds other files.
    """
    if is_aligner(directory):
        return
    if not (directory / PREPARING).exists() and directory.exists() and any(directory.iterdir()):
        raise NmtError(f"{directory}: is not empty and holds no aligner: name another directory")
    directory.mkdir(parents=True, exist_ok=True)
    (directory / PREPARING).touch()


def _remove_begun(directory: Path) -> None:
    """Removes the files of a preparation, and their mark at the end."""
    for place in sorted(directory.iterdir(), key=lambda place: place.name == PREPARING):
        if place.is_dir():
            shutil.rmtree(place)
        else:
            place.unlink()


def _set_up(
    directory: Path,
    pairs: PairsConfig,
    config: AlignerConfig,
    say: Say,
    units: tuple[Units, Units] | None,
    corpus: CorpusConfig | None,
    interrupted: threading.Event,
) -> AlignerDirectory:
    """Prepares a directory that `begin` marked; see `prepare`."""
    pairs = _kept(pairs, config, directory)
    reader = PairReader(pairs, corpus or corpus_of(config))
    fingerprint = reader.fingerprint()
    config = with_languages(config, reader)
    cut = words_of_aligner(config)
    for side, words in zip(SIDES, cut, strict=True):
        if words.name:
            say(f"words of the {side} are cut {words.name}")
    reader = PairReader(pairs, corpus or corpus_of(config))
    chosen: tuple[Units, Units] = units or _count_words(reader, config, interrupted)
    encoded = _encode(directory, reader, config, chosen, say, interrupted)
    say(reader.report.summary())
    _pair_words(directory, encoded, chosen, interrupted)
    made = AlignerDirectory(directory, config, chosen, len(encoded), fingerprint)
    made.create()
    return made


def _kept(pairs: PairsConfig, config: AlignerConfig, directory: Path) -> PairsConfig:
    """These pairs in files that can be read again: pairs of streams are copied into the directory.

    Raises:
        NmtError: they cannot be read, or an aligner was begun with other text from a stream.
    """
    readable = readable_pairs(pairs, directory)
    if readable is pairs:
        return pairs
    places = [Path(readable.source), Path(readable.target)]
    (directory / TEXT).mkdir(exist_ok=True)
    with replacing(places) as parts:
        with open(parts[0], "wb") as source, open(parts[1], "wb") as target:
            for one, two in text_pairs(pairs, languages_of(corpus_of(config))):
                source.write(f"{one}\n".encode())
                target.write(f"{two}\n".encode())
        begun = is_aligner(directory) and all(map(Path.exists, places))
        if begun and not all(filecmp.cmp(*both, shallow=False) for both in zip(parts, places, strict=True)):
            raise _other_text(directory)
    return readable


def with_languages(config: AlignerConfig, pairs: Iterable[Pair]) -> AlignerConfig:
    """The settings with languages and kinds of words that the first pairs decide."""
    first = list(islice(pairs, _CHUNK))
    sides = [pair.source for pair in first], [pair.target for pair in first]
    return config.in_languages_of(decide_languages(corpus_of(config), *sides))


def _until(interrupted: threading.Event, items: Iterable[T]) -> Iterator[T]:
    """The items; KeyboardInterrupt when the event is set."""
    for item in items:
        if interrupted.is_set():
            raise KeyboardInterrupt
        yield item


def _count_words(
    reader: PairReader, config: AlignerConfig, interrupted: threading.Event
) -> tuple[WordVocabulary, WordVocabulary]:
    cut, counters = words_of_aligner(config), (WordCounter(), WordCounter())
    for pair in LineProgress(task="counting words", unit="pairs").over(_until(interrupted, reader)):
        for counter, words, sentence in zip(counters, cut, pair[:2], strict=True):
            counter.add(words(sentence))
    source, target = (
        WordVocabulary(counter.most_frequent(config.words), words) for counter, words in zip(counters, cut, strict=True)
    )
    return source, target


def _encode(
    directory: Path,
    reader: PairReader,
    config: AlignerConfig,
    units: tuple[Units, Units],
    say: Say,
    interrupted: threading.Event,
) -> EncodedCorpus:
    """Writes the pairs as ids, without pairs that are too long.

    Raises:
        NmtError: no pair is left.
    """
    long = 0

    def chunks() -> Iterator[tuple[list[list[int]], list[list[int]]]]:
        nonlocal long
        for chunk in windows(LineProgress(unit="pairs").over(_until(interrupted, reader)), _CHUNK):
            encoded = [(units[0].segment(pair.source).ids, units[1].segment(pair.target).ids) for pair in chunk]
            kept = [both for both in encoded if all(0 < len(ids) <= config.max_words for ids in both)]
            long += len(encoded) - len(kept)
            yield [source for source, _ in kept], [target for _, target in kept]

    corpus = EncodedCorpus.write(directory / CORPUS, chunks(), max(one.size for one in units))
    if long:
        limit = f"{config.max_words} {config.unit}s"
        say(f"{counted(long, 'pair')} with more than {limit} on a side, or none, teach nothing")
    if not len(corpus):
        raise NmtError("no pairs are left to learn from: expected pairs with words on both sides")
    return corpus


def _pair_words(
    directory: Path, corpus: EncodedCorpus, units: tuple[Units, Units], interrupted: threading.Event
) -> None:
    """Writes the pairs of words that occur together."""
    rows = LineProgress(len(corpus), unit="pairs", task="pairing words").over(np.arange(len(corpus))[:, None])
    sentences = ((corpus.source.gather(row)[0], corpus.target.gather(row)[0]) for row in _until(interrupted, rows))
    found = Cooccurrence.of(sentences, *(one.size for one in units))
    save_arrays(directory / CELLS, {"keys": found.keys})


def _reopened(
    directory: Path, config: AlignerConfig, fingerprint: dict[str, Any], units: tuple[Units, Units] | None
) -> AlignerDirectory:
    """The aligner that an earlier command began, with the settings that may change.

    Raises:
        NmtError: it was begun with other settings, other text, or the vocabularies of another run; or its pairs are
            damaged.
    """
    found = open_directory(directory)
    DirectoryStorage(directory).require_folder(CORPUS)
    if units and units != found.units:
        raise NmtError(f"{directory}: this aligner was begun with vocabularies of another run: name another directory")
    for field in fields(AlignerConfig):
        old, new = getattr(found.config, field.name), getattr(config, field.name)
        if old != new and field.name not in _FREE and new not in _OPEN:
            raise NmtError(
                f"{directory}: this aligner was begun with {field.name} {old!r}, now it is {new!r}: give the old "
                "value, name another directory, or delete this one to begin again"
            )
    if found.text != fingerprint:
        raise _other_text(directory)
    changed = replace(found, config=replace(found.config, **{name: getattr(config, name) for name in _FREE}))
    if changed.config != found.config:
        changed.save_settings()
    return changed


def _other_text(directory: Path) -> NmtError:
    return NmtError(
        f"{directory}: this aligner was begun with other text: name another directory, or delete this one to begin "
        f"again; nmt aligner --model {directory} aligns other text"
    )
