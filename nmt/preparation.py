"""From a configuration to a run that can be trained: vocabularies, encoded training pairs, validation pairs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from nmt.alignment import piece_links
from nmt.batching import EncodedCorpus
from nmt.config import CorpusConfig, Precision, RunConfig
from nmt.corpus import Pair, PairReader, WithoutHeldOut, hold_out
from nmt.errors import NmtError
from nmt.inference import windows
from nmt.links import AlignmentError, parse_pharaoh
from nmt.run import Run, RunError, require_same, write_whole
from nmt.tokenizer import Tokenizer

CHUNK = 10_000
"""Pairs that are encoded by one call of SentencePiece."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class Prepared:
    """What training needs from the disk."""

    run: Run
    train: EncodedCorpus
    validation: list[Pair]


def prepare(config: RunConfig, precision: Precision, say: Say) -> Prepared:
    """Opens the run that `config` names, or sets it up.

    Args:
        config: as the user gave it.
        precision: policy to write into a new run.
        say: takes lines for the user.

    Raises:
        RunError: the directory holds a run with another model, corpus or vocabulary.
        CorpusError, VocabularyError: the pairs cannot be read, or give no such vocabulary.
        AlignmentError: the links that attention is to be trained with do not fit the pairs.
    """
    directory = Path(config.directory) / config.name
    if (directory / "config.json").exists():
        return _reopen(directory, config)
    if directory.exists() and any(directory.iterdir()) and not (directory / "corpus").exists():
        raise RunError(f"{directory} is not empty and not a run: give the run another name")
    config = replace(config, training=replace(config.training, precision=precision))
    guide = config.training.guided.links
    reader = PairReader(config.corpus.train, config.corpus, guide)
    validation, pairs = _split(config, reader)
    source, target = _vocabularies(config, pairs, say)
    say(reader.report.summary())
    corpus = directory / "corpus"
    lines = "".join(json.dumps(pair, ensure_ascii=False) + "\n" for pair in validation)
    write_whole(corpus / "validation.jsonl", lines.encode())
    if guide:
        say(f"attention is guided by the links of {guide}")
    train = _encode(corpus, config.corpus, pairs, source, target, say, bool(guide))
    if train.links is not None and not train.links.lengths.any():
        raise AlignmentError(f"{guide}: no training pair has a link: expected lines such as 0-0 1-2")
    if isinstance(pairs, WithoutHeldOut):
        say(
            f"{len(validation)} pairs kept aside for validation; "
            f"{pairs.removed - len(validation)} more share a side with one of them and are not trained on"
        )
    # The configuration is written last: a directory with one is complete.
    return Prepared(Run.create(directory, config, source, target), train, validation)


def _reopen(directory: Path, config: RunConfig) -> Prepared:
    run = Run.open(directory)
    require_same(run.config, config, directory)
    config = replace(config, training=replace(config.training, precision=run.config.training.precision))
    run = replace(run, config=config)
    run.save_config()
    text = (directory / "corpus" / "validation.jsonl").read_text(encoding="utf-8")
    validation = [Pair(*json.loads(line)) for line in text.split("\n") if line]
    return Prepared(run, EncodedCorpus(directory / "corpus"), validation)


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
    """Trains the vocabularies on the training pairs alone."""
    settings = config.vocabulary
    if settings.shared:
        shared = Tokenizer.train((side for pair in pairs for side in pair[:2]), settings)
        say(f"vocabulary: {shared.size} {settings.type} pieces for both languages")
        return shared, shared
    source = Tokenizer.train((pair.source for pair in pairs), settings)
    target = Tokenizer.train((pair.target for pair in pairs), settings, settings.target_size)
    say(f"vocabularies: {source.size} source and {target.size} target {settings.type} pieces")
    return source, target


def _encode(
    directory: Path,
    config: CorpusConfig,
    pairs: Iterable[Pair],
    source: Tokenizer,
    target: Tokenizer,
    say: Say,
    guided: bool,
) -> EncodedCorpus:
    """Encodes the training pairs chunk by chunk; long ones are dropped or cut as the configuration says."""
    long, limit = 0, config.max_pieces

    def chunks() -> Iterator[tuple[list[list[int]], ...]]:
        nonlocal long
        for chunk in windows(pairs, CHUNK):
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
    return corpus


def _piece_links(pair: Pair, source: Tokenizer, target: Tokenizer, limit: int) -> list[int]:
    """The pair's links between its first `limit` pieces, as `batching.link_rows` reads them."""
    found = parse_pharaoh(pair.links or "", "links").possible
    between = piece_links(found, source.segment(pair.source), target.segment(pair.target))
    return [place for link in between if max(link) < limit for place in link]
