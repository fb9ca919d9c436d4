"""The stages of `nmt prepare`. Each leaves files, and a repeated command goes on behind those that are there.

1. The digests of the input files.
2. Every block of rows is scanned: rows are counted, held-out pairs are chosen, a sample is drawn.
3. Languages, vocabularies and the profile are learned from the sample.
4. Every block is encoded, without held-out pairs and their near-duplicates.
5. The blocks are joined to shards, and the manifest is written.

Memory is bounded by blocks in work and by the sample. The files do not depend on the number of processes.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from nmt.batches.sharded_corpus import LENGTHS, LONGEST, PIECES, ShardedCorpus
from nmt.config import PairsConfig, RunConfig, config_from_dict, config_to_dict
from nmt.errors import NmtError
from nmt.files.atomic_writing import write_atomically
from nmt.files.digests import digest_file
from nmt.files.locking import locked
from nmt.files.paths import output_directory
from nmt.progress import LineProgress, counted
from nmt.run.prepared_manifest import (
    INPUTS,
    REPORT,
    SHARDS,
    VALIDATION,
    PreparedManifest,
    is_prepared,
    read_prepared,
)
from nmt.run.storage import DirectoryStorage
from nmt.run.text_profile import PROFILE, save_profile
from nmt.run.vocabularies import load_vocabularies, save_vocabularies, vocabulary_names
from nmt.text.errors import CorpusError
from nmt.text.formats import require_more_pairs
from nmt.text.held_out_pairs import WithoutHeldOut, require_enough_left, require_left_over, smallest_sources
from nmt.text.languages import languages_of, words_of
from nmt.text.pairs import CorpusReport, Pair
from nmt.text.row_blocks import row_blocks
from nmt.text.spread_sample import SpreadSample
from nmt.text.swapped_sides import SAMPLE, Vocabularies, measure_profile
from nmt.text.tokenizer import Tokenizer
from nmt.training.preparation.encoding import PairEncoder
from nmt.training.preparation.languages import with_languages
from nmt.training.preparation.profiling import doubtful_sides, unreadable_text
from nmt.training.preparation.shards import blocks
from nmt.training.preparation.shards.blocks import Job, block_name
from nmt.training.preparation.shards.inputs import Inputs
from nmt.training.preparation.shards.key import UNPREPARED, preparation_key, require_same
from nmt.training.preparation.shards.packing import EncodedBlock, Packer, remove_marks
from nmt.training.preparation.shards.parts import Part
from nmt.training.preparation.shards.reports import encoding_lines, reading_lines, require_pairs_of, sum_of
from nmt.training.preparation.shards.sample import VOCABULARY_PAIRS, Sample
from nmt.training.preparation.shards.work_files import load_values, require_sum, save_values
from nmt.training.preparation.shards.workers import Workers, started
from nmt.training.preparation.validation_pairs import pairs_as_lines, parse_pairs, read_validation_pairs
from nmt.training.preparation.vocabularies import make_vocabularies, with_vocabulary_of_run

_FIRST = 10_000
"""Pairs of the sample that decide on the languages."""
WORK, KEY, LEARNED = "work", "key.json", "learned.json"

Say = Callable[[str], None]
"""Takes a line for the user."""


def prepare_corpus(
    directory: Path, config: RunConfig, parts: Sequence[Part], processes: int, say: Say
) -> PreparedManifest:
    """Prepares a corpus, or goes on with an interrupted preparation.

    Args:
        directory: of the corpus; created if it is missing.
        config: its settings of corpus and vocabulary count, and the seed. `corpus.train` does not.
        parts: the text.
        processes: that scan and encode.
        say: takes lines for the user.

    Raises:
        NmtError: the text cannot be read or does not fit the settings, or the directory holds something else.
    """
    if config.corpus.max_pieces > LONGEST:
        raise NmtError(f"corpus.max_pieces is {config.corpus.max_pieces}: a prepared corpus takes {LONGEST} at most")
    config = with_vocabulary_of_run(config)
    units = [(part, unit) for part in parts for unit in part.units()]
    with claimed(directory):
        preparation = Preparation(directory, config, parts, units, say)
        if is_prepared(directory):
            return preparation.finished()
        preparation.begin()
        with started(processes, blocks.scan_state, *preparation.scan_arguments) as workers:
            preparation.scan(workers)
        preparation.learn()
        with started(processes, blocks.encoding_state, *preparation.encoding_arguments()) as workers:
            preparation.encode(workers)
        return preparation.pack()


@contextmanager
def claimed(directory: Path) -> Iterator[None]:
    """Keeps other processes from a directory, which is made if it is missing.

    Raises:
        NmtError: another process prepares this corpus, or the directory is a file.
    """
    if directory.is_file():
        raise NmtError(f"{directory} is a file: give another --output")
    taken = NmtError(f"another process prepares {directory}: wait for it, or end it")
    with output_directory(directory), locked(directory, taken):
        yield


@dataclass
class _Scan:
    """What a scan of all blocks has found."""

    names: list[list[str]]
    """Names of the blocks of each unit."""
    reports: list[CorpusReport]
    """Of each unit."""
    kept: dict[str, int]
    """Pairs of each block."""
    samples: dict[str, str]
    """SHA-256 of the sample of each block."""


class PreparationDirectory:
    """The directory of a corpus in preparation, and what the corpus is made from."""

    def __init__(
        self, directory: Path, config: RunConfig, parts: Sequence[Part], units: list[tuple[Part, PairsConfig]], say: Say
    ) -> None:
        self.directory, self.config, self.parts, self.units, self.say = directory, config, parts, units, say
        self._given = config
        self._work = directory / WORK
        self._anew = f"delete {directory} to prepare it anew"
        self._reported: list[str] = []
        self._inputs = Inputs(directory / INPUTS)
        self._reader = replace(config.corpus, source_words="spaces", target_words="spaces")

    def _report(self, line: str) -> None:
        self._reported.append(line)
        self.say(line)

    def finished(self) -> PreparedManifest:
        """The manifest of the corpus that is there, if this command would make it.

        Raises:
            NmtError: it was made from other text, or with other settings.
        """
        manifest = read_prepared(self.directory)
        require_same(self.directory, manifest.key, self._key())
        self._inputs.save()
        remove_marks(self.directory / SHARDS)  # a kill has left them behind the manifest, and the files of the work
        shutil.rmtree(self._work, ignore_errors=True)
        report = (self.directory / REPORT).read_bytes()
        manifest.require_whole(self.directory, REPORT, report)
        self.say(f"{self.directory} is prepared already, from this text and with these settings")
        for line in report.decode().splitlines():
            self.say(line)
        return manifest

    def _key(self) -> dict[str, Any]:
        return preparation_key(self._given, self.units, self._inputs)

    @property
    def _small(self) -> list[str]:
        """The names of the files that the sample decides."""
        return [*vocabulary_names(self.config.vocabulary.shared), VALIDATION, PROFILE]

    def _sums(self, names: Sequence[str]) -> dict[str, str]:
        return {name: digest_file(self.directory / name) for name in names}

    def begin(self) -> None:
        """Makes the directories, or finds the files of an interrupted preparation.

        Raises:
            NmtError: the directory holds other files, or a preparation of other text or with other settings.
        """
        key = self._work / KEY
        if key.exists():
            require_same(self.directory, load_values(key, self._anew), self._key())
            self.say(f"going on with the interrupted preparation in {self.directory}")
        else:
            if any(path.name not in (WORK, INPUTS) for path in self.directory.iterdir()):
                raise NmtError(f"{self.directory} is not empty and no prepared corpus: give another --output")
            self._work.mkdir(exist_ok=True)
            save_values(key, self._key())
        for folder in (self._work / "scan", self._work / "encoded", self.directory / SHARDS):
            folder.mkdir(exist_ok=True)
        self._inputs.save()


class Preparation(PreparationDirectory):
    """A corpus in preparation: its stages."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._found = _Scan([], [], {}, {})
        self._held_out: list[Pair] = []

    @property
    def scan_arguments(self) -> tuple[Any, ...]:
        """The arguments of `blocks.scan_state`."""
        corpus = self.config.corpus
        held_out = 0 if corpus.validation else corpus.held_out
        return self._work / "scan", self._reader, held_out, self.config.training.seed

    def _jobs(self, folder: str, skip: Callable[[str], bool]) -> Iterator[Job]:
        """The blocks of all units that `skip` does not skip. Units that were read to their end are not opened again."""
        before: dict[str, int] = {}
        languages = languages_of(self.config.corpus)
        for number, (part, unit) in enumerate(self.units):
            end = self._work / folder / f"{number:05d}.end"
            done = load_values(end) if end.exists() else -1
            if done >= 0 and all(skip(block_name(number, i)) for i in range(done)):
                before[part.name] = before.get(part.name, 0) + done
                continue
            count = 0
            for count, rows in enumerate(row_blocks(unit, blocks.ROWS, languages), start=1):
                before[part.name] = before.get(part.name, 0) + 1
                if not skip(block_name(number, count - 1)):
                    yield Job(number, count - 1, unit, rows, math.ceil(VOCABULARY_PAIRS / before[part.name]))
            save_values(end, count)

    def scan(self, workers: Workers) -> None:
        """Scans all blocks that are not scanned yet.

        Raises:
            NmtError: a file cannot be read, or has more malformed rows than pairs.
        """
        folder = self._work / "scan"
        progress = LineProgress(task="scanning", unit="pairs")
        for rows in workers.results(blocks.scan, self._jobs("scan", lambda name: (folder / f"{name}.json").exists())):
            progress.advance(rows)
        progress.clear()
        if progress.done:
            self.say(f"scanned {progress.done} rows, {progress.speed}")
        self._collect(folder)

    def _collect(self, folder: Path) -> None:
        """Sums up the blocks, and chooses the held-out pairs among their candidates."""
        candidates, left_over, held_out = list[Pair](), False, self.scan_arguments[2]
        for number in range(len(self.units)):
            names = [block_name(number, i) for i in range(load_values(folder / f"{number:05d}.end"))]
            reports = []
            for name in names:
                about = load_values(folder / f"{name}.json")
                reports.append(CorpusReport(**about["report"]))
                self._found.kept[name], self._found.samples[name] = about["report"]["kept"], about["sample"]
                if held_out:
                    more = [*candidates, *(Pair(*pair) for pair in about["held_out"])]
                    candidates, some = smallest_sources(more, held_out, self.config.training.seed)
                    left_over |= some or about["left_over"]
            report = sum_of(reports)
            require_more_pairs(report.malformed, report.read, report.first_malformed)
            self._found.names.append(names)
            self._found.reports.append(report)
        require_pairs_of({part.name: self._blocks_of(part) for part in self.parts}, self._found.kept)
        if held_out:
            require_left_over(candidates, held_out, left_over)
            require_enough_left(len(candidates), sum(self._found.kept.values()))
        self._held_out = candidates

    def learn(self) -> None:
        """Decides on languages, and learns vocabularies and profile from the sample."""
        learned = self._work / LEARNED
        if learned.exists():
            about = load_values(learned)
            for name, sum in about["files"].items():
                require_sum(self.directory / name, sum, f"delete {learned} and repeat the command")
            self.config = config_from_dict(RunConfig, about["config"])
            for line in about["report"]:
                self._report(line)
            return
        for part in self.parts:
            for line in reading_lines(part, self.units, self._found.reports, len(self.parts) > 1):
                self._report(line)
        blocks_of = {part.name: self._blocks_of(part) for part in self.parts}
        temperature = self.config.corpus.temperature
        found = self._found
        sample = Sample(self._work / "scan", self.parts, blocks_of, found.kept, found.samples, temperature)
        first: SpreadSample[Pair] = SpreadSample(_FIRST)
        for _ in first.over(sample):
            pass
        if not first.kept:
            raise CorpusError("there are no sentence pairs to train on: the text is empty")
        unit = self.units[0][1]
        config = replace(self.config, corpus=replace(self.config.corpus, train=unit))
        config = with_languages(config, self._report, first.kept)
        self.config = replace(config, corpus=replace(config.corpus, train=PairsConfig()))
        corpus = self.config.corpus
        validation = read_validation_pairs(corpus) if corpus.validation else self._held_out
        near = corpus.near_duplicates == "drop"
        pairs = sample if corpus.validation else WithoutHeldOut(sample, validation, near)
        if not self.config.vocabulary.run:
            of = f"{counted(len(sample), 'pair')} of the text"
            self.say(f"making a vocabulary of {self.config.vocabulary.size:,} pieces from {of}")
        source, target = make_vocabularies(self.config, pairs, self._report)
        save_vocabularies(self.directory, source, target, self.config.vocabulary.shared)
        write_atomically(self.directory / VALIDATION, pairs_as_lines(validation))
        self._learn_profile(pairs, validation, source, target)
        about = {"config": config_to_dict(self.config), "report": self._reported, "files": self._sums(self._small)}
        save_values(learned, about)

    def _blocks_of(self, part: Part) -> list[str]:
        """Names of the blocks of a part."""
        units = zip(self.units, self._found.names, strict=True)
        return [name for (owner, _), names in units for name in names if owner is part]

    def _learn_profile(self, pairs: Any, validation: Sequence[Pair], source: Tokenizer, target: Tokenizer) -> None:
        corpus, chosen = self.config.corpus, SpreadSample[Pair](SAMPLE)
        for _ in chosen.over(pairs):
            pass
        of_source, of_target = words_of(corpus)
        vocabularies = Vocabularies(source.with_words(of_source), target.with_words(of_target))
        languages = corpus.source_language, corpus.target_language
        profile = measure_profile([pair[:2] for pair in chosen.kept], vocabularies, languages)
        save_profile(self.directory, profile)
        of_another = unreadable_text(profile, self.config.vocabulary.run)
        for line in (*doubtful_sides(validation, profile, vocabularies), *of_another):
            self._report(line)

    def encoding_arguments(self) -> tuple[Any, ...]:
        """The arguments of `blocks.encoding_state`."""
        corpus = self.config.corpus
        models = tuple((self.directory / name).read_bytes() for name in vocabulary_names(self.config.vocabulary.shared))
        validation = [] if corpus.validation else parse_pairs((self.directory / VALIDATION).read_bytes())
        reader = replace(self._reader, train=PairsConfig(), validation=PairsConfig())
        return self._work / "encoded", reader, models, validation

    def encode(self, workers: Workers) -> None:
        """Encodes all blocks that are not encoded yet."""
        folder = self._work / "encoded"
        total = sum(report.read for report in self._found.reports)
        done = {path.stem for path in folder.glob("*.json")}
        left = total - sum(self._found.kept[name] for name in done)
        progress = LineProgress(left, task="encoding", unit="pairs")
        for rows in workers.results(blocks.encode, self._jobs("encoded", done.__contains__)):
            progress.advance(rows)
        progress.clear()
        if progress.done:
            self.say(f"encoded {progress.done} rows, {progress.speed}")

    def pack(self) -> PreparedManifest:
        """Joins the blocks to shards, and writes the manifest."""
        encoded = self._work / "encoded"
        about = {name: load_values(encoded / f"{name}.json") for name in chain.from_iterable(self._found.names)}
        source, target = load_vocabularies(DirectoryStorage(self.directory), self.config.vocabulary.shared)
        encoder = PairEncoder(self.config.corpus, source, target, guided=False)
        for line in encoding_lines(encoder, list(about.values()), len(self._held_out)):
            self._report(line)
        size = max(source.size, target.size)
        dtype = "uint16" if size <= 2**16 else "int32"
        packer = Packer(encoded, self.directory / SHARDS, dtype, size, self._anew)
        corpora, total = [], sum(one["pairs"] for one in about.values())
        progress = LineProgress(total, task="joining shards", unit="pairs")
        for part in self.parts:
            names = self._blocks_of(part)
            own = [EncodedBlock(name, *(about[name][part] for part in ("pairs", "ids", "sums"))) for name in names]
            if not any(block.pairs for block in own):
                raise NmtError(f"{part.name}: no training pair is left: see corpus.max_pieces and corpus.held_out")
            corpora.append(packer.pack(part.name, part.weight, own, progress))
        progress.clear()
        arrays = {LENGTHS: packer.lengths, PIECES: packer.pieces}
        ShardedCorpus.write_about(self.directory / SHARDS, dtype, corpora, arrays)
        lines = "".join(f"{line}\n" for line in self._reported)
        write_atomically(self.directory / REPORT, lines.encode(errors="backslashreplace"))
        return self._finish(packer, total)

    def _finish(self, packer: Packer, pairs: int) -> PreparedManifest:
        """Writes the manifest, when all other files are complete, and deletes the files of the work.

        Raises:
            CorpusError: the text has changed meanwhile.
        """
        key = load_values(self._work / KEY, self._anew)
        if self._key() != key:
            raise CorpusError("the pairs changed while they were read: delete the directory and start again")
        files = self._sums([*self._small, REPORT, *(f"{SHARDS}/{name}" for name in ("about.json", LENGTHS, PIECES))])
        files |= {f"{SHARDS}/{name}": digest for name, digest in packer.digests.items()}
        config = config_to_dict(self.config)
        settings = {
            "corpus": {name: value for name, value in config["corpus"].items() if name not in UNPREPARED},
            "vocabulary": config["vocabulary"],
            "training": {"tokenize": config["training"]["tokenize"]},
        }
        longest = packer.lengths[:, 1:3].max(axis=1) + 1
        manifest = PreparedManifest(key, settings, pairs, int((longest * packer.lengths[:, 3]).sum()), files)
        manifest.save(self.directory)
        remove_marks(self.directory / SHARDS)
        shutil.rmtree(self._work)
        return manifest
