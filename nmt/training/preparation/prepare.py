"""From a configuration to a run that is ready to train: a new one is set up, an existing one is opened."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote

from nmt.batches.sharded_corpus import TrainingPairs
from nmt.config import Precision, RunConfig, config_from_dict, config_to_dict
from nmt.evaluation.bleu_and_chrf import require_tokenizer
from nmt.run.directory import Run
from nmt.run.errors import RunError
from nmt.run.exported import is_export
from nmt.run.manifest import discard_manifest
from nmt.run.resuming import differing_settings, require_resumable, with_saved_values
from nmt.run.storage import DirectoryStorage
from nmt.run.text_changes import text_changed
from nmt.run.training_pairs import training_pairs
from nmt.run.vocabularies import load_vocabularies
from nmt.text.pairs import Pair
from nmt.training.fine_tuning import open_initial_run
from nmt.training.preparation.cache import Cache
from nmt.training.preparation.corpus_files import REPORT, cache_key, write_corpus_files
from nmt.training.preparation.languages import with_languages
from nmt.training.preparation.learned_links import ALIGNER, keep_aligner, learn_links, remove_scratch
from nmt.training.preparation.prepared_corpus import with_prepared_settings, write_run_files
from nmt.training.preparation.profiling import exchanged_beside_initial
from nmt.training.preparation.validation_pairs import load_validation_pairs
from nmt.training.preparation.vocabularies import with_vocabulary_of_run

Say = Callable[[str], None]
"""Takes a line for the user."""


@dataclass(frozen=True)
class Prepared:
    """A run with its training and validation pairs."""

    run: Run
    train: TrainingPairs
    validation: list[Pair]
    saved_passes: int = 0
    """`training.passes` that the run had before it was opened; 0 for a new run."""


def prepare(config: RunConfig, precision: Precision, say: Say) -> Prepared:
    """Opens the run that `config` names, or sets it up.

    Args:
        config: the user's configuration.
        precision: saved in a new run; an existing run keeps its precision.
        say: takes lines for the user.

    Raises:
        RunError: the directory holds other files, or a run with another model, corpus or vocabulary; or the run of
            `training.initial` or `vocabulary.run` is missing or does not fit.
        CorpusError, VocabularyError: the pairs cannot be read, or do not give the configured vocabulary.
        AlignmentError: the links that guide attention do not fit the pairs.
        ConfigError: the prepared corpus was made with other settings of the text.
    """
    directory = Path(config.directory) / config.name
    config = _with_text_settings(config)
    if (directory / "config.json").exists():
        return _open(directory, config, say)
    return _set_up(directory, replace(config, training=replace(config.training, precision=precision)), say)


def follow(config: RunConfig) -> Prepared:
    """Opens the run that another process has set up with the same configuration and is training; writes nothing.

    Raises:
        RunError: the run is not there, or has other settings.
    """
    directory = Path(config.directory) / config.name
    if not (directory / "config.json").exists():
        raise RunError(
            f"{directory}: the run of the other workers is not there: all workers need the same --directory, on "
            "storage that they share"
        )
    run, config = Run.open(directory), _with_text_settings(config)
    config = config_from_dict(RunConfig, with_saved_values(config_to_dict(run.config), config_to_dict(config)))
    require_resumable(run.config, config, directory)
    config = replace(config, training=replace(config.training, precision=run.config.training.precision))
    return _load(replace(run, config=config))


def _with_text_settings(config: RunConfig) -> RunConfig:
    """The configuration with the settings of its prepared corpus, if it names one."""
    return with_prepared_settings(config) if config.corpus.prepared else config


def _set_up(directory: Path, config: RunConfig, say: Say) -> Prepared:
    """Makes a new run; its config.json is written last, so that a directory with one is complete."""
    if directory.exists() and any(directory.iterdir()) and not any(map(Path.exists, _begun(directory))):
        raise RunError(f"{directory} is not empty and not a run: give the run another name")
    _require_teachable(config)
    if not config.corpus.prepared:
        config = with_vocabulary_of_run(config)
        if config.corpus.temperature != 1:
            raise RunError("corpus.temperature is for a prepared corpus: give --corpus.prepared, or leave it out")
    initial = open_initial_run(config) if config.training.initial else None
    if unread := [f"corpus.{name}" for name in config.corpus.unread]:
        say(f"with validation pairs, nmt does not use {', '.join(unread)}: these settings have no effect")
    if unread := [f"model.{name}" for name in config.model.unread]:
        say(f"this network does not use {', '.join(unread)}: these settings have no effect")
    if unread := [f"training.{name}" for name in config.training.unread]:
        say(f"this training does not use {', '.join(unread)}: these settings have no effect")
    discard_manifest(directory)
    if config.corpus.prepared:
        write_run_files(directory, config, say)
    else:
        config = with_languages(config, say, initial=initial.config.corpus if initial else None)
        _write_from_text(directory, config, say)
    vocabularies = load_vocabularies(DirectoryStorage(directory), config.vocabulary.shared)
    prepared = _load(Run.create(directory, config, *vocabularies))
    if initial:
        for line in exchanged_beside_initial(prepared.validation, initial):
            say(line)
    return prepared


def _write_from_text(directory: Path, config: RunConfig, say: Say) -> None:
    """Prepares the text of a new run, or takes the files from the cache."""
    cache, key = Cache(Path(config.directory) / ".cache"), cache_key(config)

    def write(part: Path) -> None:
        links = learn_links(config, directory, part, say) if config.training.aligner else ""
        write_corpus_files(part, config, key, say, links)

    prepared_before = cache.fetch(key, write, directory)
    remove_scratch(directory)
    if config.training.aligner:
        keep_aligner(directory)
    if prepared_before:
        say(f"this text has been prepared before: vocabulary and pieces are taken from {cache.directory}")
        for line in (directory / REPORT).read_text(encoding="utf-8").splitlines():
            say(line)


def _begun(directory: Path) -> list[Path]:
    """The directories that an interrupted preparation leaves."""
    return [directory / "corpus", directory / ALIGNER]


def _require_teachable(config: RunConfig) -> None:
    """Refuses settings that wait for what never comes; older runs of this kind still open and translate."""
    if (config.training.guided.links or config.training.aligner) and config.model.attends_hard:
        name = "guided.links" if config.training.guided.links else "aligner"
        raise RunError(
            f"training.{name} trains attention weights, but model.attention.window hard makes them 0 or 1, "
            "without a gradient: choose another window"
        )
    if config.training.metric == "last" and config.training.schedule.decay == "plateau":
        raise RunError(
            "training.schedule.decay plateau halves the learning rate when validations get no better, but "
            "training.metric last compares none: choose another decay or metric"
        )


def _open(directory: Path, config: RunConfig, say: Say) -> Prepared:
    """Opens an existing run with those settings of `config` that may change, and saves them."""
    run = Run.open(directory)
    if is_export(directory):
        raise RunError(f"{directory}: is an export, which cannot be trained: train the run that it was made from")
    run.storage.require_inside()  # training writes into all parts of the run
    config = config_from_dict(RunConfig, with_saved_values(config_to_dict(run.config), config_to_dict(config)))
    if config.training.tokenize != "auto":
        require_tokenizer(config.training.tokenize)
    require_resumable(run.config, config, directory)
    if text_changed(directory, config):
        say(
            f"the text has changed since {directory} was begun, and this run keeps its old pairs: a higher "
            "--training.passes trains longer on them, and another --name trains on the new text (with "
            f"--training.initial {quote(str(directory))} it begins with these weights)"
        )
    if config.training.precision not in ("auto", run.config.training.precision):
        say(f"training.precision of this run is {run.config.training.precision} and stays so")
    for name, old, new in differing_settings(config_to_dict(run.config.search), config_to_dict(config.search)):
        say(f"search.{name} of this run was {old}, as trained or tuned; from now on it is {new}")
    config = replace(config, training=replace(config.training, precision=run.config.training.precision))
    opened = _load(replace(run, config=config))
    run.storage.require_folder("corpus")
    opened.run.save_config()
    return replace(opened, saved_passes=run.config.training.passes)


def _load(run: Run) -> Prepared:
    """Opens the pairs of a run.

    Raises:
        NmtError: they are damaged or incomplete, or have ids that the vocabularies lack.
    """
    try:
        validation = load_validation_pairs(run.directory)
        corpus = None if run.config.corpus.prepared else training_pairs(run.directory, run.config)
    except (FileNotFoundError, ValueError, TypeError, RecursionError) as error:
        raise RunError(
            f"{run.directory / 'corpus'}: the run's copy of its sentence pairs is damaged or incomplete: give a new "
            f"run another --name (with --training.initial {quote(str(run.directory))} it begins with the weights of "
            "this run)"
        ) from error
    if corpus is None:
        corpus = training_pairs(run.directory, run.config)
    corpus.require_ids(run.source.size, run.target.size)
    return Prepared(run, corpus, validation)
