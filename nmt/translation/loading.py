"""Trained runs and exported runs as translators. Keras is imported when a trained run is loaded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nmt.config import Precision, RunConfig
from nmt.run.directory import Run
from nmt.run.errors import RunError
from nmt.run.exported import is_export, read_export
from nmt.run.text_profile import load_profile
from nmt.text.languages.matching import may_be_same
from nmt.text.profile import TextProfile
from nmt.text.swapped_sides import are_exchanged
from nmt.translation.translator import Translator

if TYPE_CHECKING:
    from nmt.network.model import Seq2Seq
    from nmt.translation.inference.distributions import Averaging


def import_keras() -> None:
    """Imports Keras, its backend and the inference over its models, which takes seconds."""
    import nmt.translation.inference.model_inference  # noqa: F401


def config_of_run(directory: str | Path) -> RunConfig:
    """A run's configuration, without loading the model.

    Raises:
        RunError: the directory is not a run.
    """
    return Run.open(directory).config


def load_translator(
    directory: str | Path,
    *others: str | Path,
    averaging: Averaging = "probability",
    checkpoints: int = 0,
    precision: Precision = "float32",
    aligner: bool = True,
) -> Translator:
    """The translator of a run, or of an ensemble of several runs, or of exports.

    Exports load neither Keras nor TensorFlow. The first load of a run in a process configures TensorFlow's threads and
    memory, so that batches are translated side by side (`machine.configure_runtime`).

    Args:
        directory: the run or export; its configuration decides the search.
        others: more runs, or more exports, with equal vocabularies.
        averaging: of the runs' distributions at each step.
        checkpoints: use the mean of this many newest checkpoints; 0: use the best weights.
        precision: of the matrix products; their weights are stored in it.
        aligner: whether the word aligner that the first run may keep makes the links; otherwise attention does.

    Raises:
        RunError: a directory that is not a trained run, different vocabularies or languages, too few checkpoints, or
            exports with checkpoints or a precision.
    """
    paths = [Path(path) for path in (directory, *others)]
    runs = [Run.open(path) for path in paths]
    _require_same_vocabularies(runs)
    profile = load_profile(runs[0].directory, (runs[0].source.size, runs[0].target.size))
    _require_one_direction(runs, profile)
    if any(map(is_export, paths)):
        _require_exports(paths, checkpoints, precision)
        translator = _translator_of_exports(runs, averaging, profile)
    else:
        translator = _translator_of_runs(runs, averaging, checkpoints, precision, profile)
    if aligner:
        from nmt.aligning.run_aligner import load_run_aligner

        translator.aligner = load_run_aligner(runs[0].storage)
    return translator


def _translator_of_runs(
    runs: Sequence[Run], averaging: Averaging, checkpoints: int, precision: Precision, profile: TextProfile | None
) -> Translator:
    from nmt.backend.machine import configure_runtime
    from nmt.backend.precision import decide_precision

    configure_runtime()
    decided = decide_precision(precision)
    models = [_model(run, checkpoints, decided) for run in runs]
    return translator_of_models(runs[0], *models, averaging=averaging, profile=profile)


def _require_same_vocabularies(runs: Sequence[Run]) -> None:
    for other in runs[1:]:
        if (other.source, other.target) != (runs[0].source, runs[0].target):
            raise RunError(
                f"{other.directory} has other vocabularies than {runs[0].directory}: an ensemble needs the same; "
                f"train one of them with --vocabulary.run {runs[0].directory}"
            )


def _require_one_direction(runs: Sequence[Run], profile: TextProfile | None) -> None:
    """Refuses models of other languages, and models whose training texts have their sides exchanged."""
    first = runs[0]
    for other in runs[1:]:
        if not all(map(may_be_same, first.languages, other.languages)):
            raise RunError(
                f"{first.directory} is from {' to '.join(map(str, first.languages))}, and {other.directory} is from "
                f"{' to '.join(map(str, other.languages))}: an ensemble needs models of one direction"
            )
        theirs = load_profile(other.directory, (other.source.size, other.target.size)) if profile else None
        if profile and theirs and first.source == first.target and are_exchanged(profile, theirs):
            raise RunError(
                f"{other.directory} translates in the opposite direction of {first.directory}: an ensemble needs "
                "models of one direction"
            )


def require_loadable(path: Path, precision: Precision) -> None:
    """Refuses a run or an export whose files or format `load_translator` refuses, without loading its weights.

    Raises:
        RunError: see `load_translator`.
    """
    config_of_run(path)
    if is_export(path):
        _require_exports([path], 0, precision)
        read_export(path)


def _require_exports(paths: Sequence[Path], checkpoints: int, precision: Precision) -> None:
    """Refuses exports beside runs, and settings that an export has fixed."""
    for path in paths:
        if not is_export(path):
            raise RunError(f"{path}: is no export: an ensemble has runs alone or exports alone")
    if checkpoints:
        raise RunError(f"{paths[0]}: is an export, which has no checkpoints: leave --checkpoints out")
    if precision not in ("auto", "float32"):
        raise RunError(f"{paths[0]}: is an export, whose precision nmt export has decided: leave --precision out")


def _translator_of_exports(runs: Sequence[Run], averaging: Averaging, profile: TextProfile | None) -> Translator:
    from nmt.translation.inference.exported_inference import ExportedInference
    from nmt.translation.inference.exported_model import ExportedModel

    target = runs[0].target
    models = [ExportedModel(run.directory, target.size) for run in runs]
    engine = ExportedInference(*models, averaging=averaging, joins=target.joins, opens=target.opens)
    return Translator(runs[0], engine, profile)


def translator_of_models(
    run: Run, *models: Seq2Seq, averaging: Averaging = "probability", profile: TextProfile | None = None
) -> Translator:
    """The translator of models in memory, with the vocabularies and the search of a run.

    Without a profile of the training text, every text is read as it is.
    """
    from nmt.translation.inference.model_inference import ModelInference

    engine = ModelInference(*models, averaging=averaging, joins=run.target.joins, opens=run.target.opens)
    return Translator(run, engine, profile)


def _model(run: Run, checkpoints: int, precision: str) -> Seq2Seq:
    """The model of a run with its weights; stored weights need no more digits than the matrix products read.

    The weights are read and compared with the configuration before a model of its sizes is built.
    """
    from nmt.network.building import build_model, weight_shapes
    from nmt.network.weights import assign_arrays, require_shapes

    sizes = run.config.model, run.source.size, run.target.size
    expected = weight_shapes(*sizes)
    arrays = run.averaged_checkpoints(checkpoints, expected) if checkpoints else run.weights()
    where = str(run.directory if checkpoints else run.best)
    require_shapes({name: array.shape for name, array in arrays.items()}, expected, where)
    model = build_model(*sizes, dtype=precision.removeprefix("mixed_"))
    assign_arrays(model.trainable_variables, arrays, where)
    return model
