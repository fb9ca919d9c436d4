"""Searches for hyper-parameters within a budget, with optuna: `pip install -e .[search]`.

    python scripts/search_hyperparameters.py --space data/demo/space.yaml --output saved_models/search --hours 8

The space is a YAML file: a configuration that all trials begin with, and ranges of the fields that vary (see
hyperparameters/space.py). Each trial is an `nmt train`; one that is behind the middle of the others at the same
validation is ended early. What is measured is kept: the same command goes on after an interruption, with the trials
that were under way, and a greater budget goes on with the search. It leaves trials.csv, trials.png and best.yaml,
which `nmt train --config` reads. Choices are made on the validation pairs alone.
"""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import sys
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from common.running import ended
from nmt.cli.parser import Parser, positive
from nmt.errors import NmtError
from nmt.progress import StatusLine
from nmt.training.processes import CommandRunner, shared_cores

if TYPE_CHECKING:
    from optuna import Study
    from optuna.trial import FrozenTrial

    from hyperparameters.space import Space


def _arguments() -> Namespace:
    parser = Parser(description=__doc__.partition("\n")[0], allow_abbrev=False)
    parser.add_argument("--space", required=True, type=Path, metavar="FILE", help="YAML file of what may vary")
    parser.add_argument("--output", required=True, type=Path, metavar="DIR", help="directory to write or go on in")
    parser.add_argument("--trials", type=positive, metavar="N", help="trials in all, those of earlier calls included")
    parser.add_argument("--hours", type=float, metavar="X", help="time after which no trial of this call begins")
    parser.add_argument("--jobs", type=positive, default=1, metavar="N", help="trials at once (default: 1)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the search (default: 1)")
    arguments = parser.parse_args()
    if arguments.trials is None and arguments.hours is None:
        raise NmtError("give a budget: --trials, --hours, or both")
    return arguments


def main() -> None:
    """Searches, reports, and says where the results are."""
    arguments = _arguments()
    try:
        import optuna
    except ImportError:
        raise NmtError("the search needs optuna: pip install -e .[search]") from None
    from hyperparameters.report import write_report
    from hyperparameters.space import read_space

    space, ticker = read_space(arguments.space), StatusLine()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = _study(arguments, space)
    ticker.print(f"{len(study.trials)} trials so far; how they go is in {arguments.output}/logs")
    _search(study, space, arguments, ticker)
    if not study.get_trials(False, (optuna.trial.TrialState.COMPLETE,)):
        raise NmtError("no trial came to its end: the same command goes on, with more --trials or --hours")
    places = write_report(study, space, arguments.output, arguments.space.stem)
    ticker.print(f"best {space.metric} {study.best_value:.2f}, in trial {study.best_trial.number}; train it with:")
    ticker.print(f"  nmt train --config {places[-1]}")
    ticker.print(f"all trials are in {places[0]}, drawn in {places[1]}")


def _search(study: Study, space: Space, arguments: Namespace, ticker: StatusLine) -> None:
    """Runs trials until the budget is spent."""
    import optuna

    from hyperparameters.trials import run_trial

    commands = CommandRunner(shared_cores(arguments.jobs))

    def end(number: int, frame: object) -> None:
        commands.stop()  # and with them the threads that watch them
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, end)

    def told(study: Study, trial: FrozenTrial) -> None:
        shown = {name: f"{value:.4g}" if isinstance(value, float) else value for name, value in trial.params.items()}
        result = trial.state.name.lower() if trial.value is None else f"{space.metric} {trial.value:.2f}"
        ticker.print(f"trial {trial.number}: {result}  {'  '.join(f'{name} {value}' for name, value in shown.items())}")

    finished = (optuna.trial.TrialState.COMPLETE, optuna.trial.TrialState.PRUNED)
    callbacks = [told]
    if arguments.trials:
        if len(study.get_trials(False, finished)) >= arguments.trials:
            return
        callbacks.append(optuna.study.MaxTrialsCallback(arguments.trials, finished))
    study.optimize(
        lambda trial: run_trial(trial, space, arguments.output, commands),
        timeout=None if arguments.hours is None else 3600 * arguments.hours,
        n_jobs=arguments.jobs,
        callbacks=callbacks,
    )


def _study(arguments: Namespace, space: Space) -> Study:
    """The study in the output directory, as far as it is; trials that were under way come first.

    Raises:
        NmtError: it is one of another space.
    """
    import optuna
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    arguments.output.mkdir(parents=True, exist_ok=True)
    storage = JournalStorage(JournalFileBackend(str(arguments.output / "study.log")))
    study = optuna.create_study(
        study_name="nmt",
        storage=storage,
        direction="maximize" if space.metric == "bleu" else "minimize",
        pruner=optuna.pruners.MedianPruner(n_startup_trials=4, n_warmup_steps=1),
        load_if_exists=True,
    )
    about = json.loads(json.dumps(dataclasses.asdict(space)))
    if study.user_attrs.get("space", about) != about:
        raise NmtError(
            f"{arguments.output} holds a search of another space, and what was measured there does not compare with "
            f"{arguments.space}: choose another --output, or take back what was changed"
        )
    study.set_user_attr("space", about)
    # With one seed for all calls each would begin with the same values.
    study.sampler = optuna.samplers.TPESampler(seed=arguments.seed + len(study.trials))
    states = optuna.trial.TrialState
    for trial in study.get_trials(states=(states.RUNNING,)):  # of a process that was killed
        study.tell(trial.number, state=states.FAIL)
    ended = [trial.params for trial in study.get_trials(states=(states.COMPLETE, states.PRUNED, states.WAITING))]
    for trial in study.get_trials(states=(states.FAIL,)):
        if trial.params and trial.params not in ended:
            study.enqueue_trial(trial.params)
            ended.append(trial.params)
    return study


if __name__ == "__main__":
    sys.exit(ended(main, "interrupted; the same command goes on"))
