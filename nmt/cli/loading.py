"""What the commands share: the models and the search that a command line names, progress, messages."""

from __future__ import annotations

import dataclasses
from argparse import Namespace
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nmt.cli.parser import as_flags, refuse_idle
from nmt.cli.quiet import quiet_start
from nmt.config import RunConfig, SearchConfig
from nmt.errors import NmtError
from nmt.progress import LineProgress, report

if TYPE_CHECKING:
    from nmt.translation.translator import Translation, Translator


SEARCH = tuple(field.name for field in dataclasses.fields(SearchConfig))
"""Fields of the search, each of which is a flag."""

SAMPLING = ("temperature", "top_k", "top_p", "seed")
"""Fields of the search that a beam does not read."""

CHOOSING = ("diversity", "prune")
"""Fields of the search that a beam without constraints alone reads."""


def _search_flags(arguments: Namespace) -> dict[str, Any]:
    """The fields of the search that the command line gives."""
    given = {name: getattr(arguments, name) for name in SEARCH if getattr(arguments, name) is not None}
    return {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}


def load(arguments: Namespace) -> tuple[Translator, SearchConfig]:
    """The model or ensemble, and its own search with what the command line says over it."""
    given = _search_flags(arguments)
    with as_flags(SearchConfig):
        SearchConfig(**given)  # checked before the seconds that loading takes
    translator = load_models(arguments)
    with as_flags(SearchConfig):
        search = replace(translator.config.search, **given)
    if search.method == "beam":
        refuse_idle(arguments, SAMPLING, "is for drawing translations: give --method sample too")
    else:
        refuse_idle(arguments, ("beam_size", *CHOOSING), "is for a beam: leave it or --method sample out")
    if search.short_list:
        if not translator.run.short_list.exists():
            say("learning the short list from the training pairs, once for this run")
        translator.prepare(search)
    return translator, search


def load_models(arguments: Namespace) -> Translator:
    """The model or ensemble that a command line names."""
    if len(arguments.model) == 1:
        refuse_idle(arguments, ["averaging"], "is for an ensemble: leave it out, or give --model two runs or more")
    return load_run(
        *arguments.model,
        averaging=arguments.averaging,
        checkpoints=arguments.checkpoints,
        precision=arguments.precision,
    )


def load_run(*directories: str, **how: Any) -> Translator:
    """The translator of these runs, see `Translator.load`."""
    for directory in directories:
        if not Path(directory).is_dir():
            what = "is a file, not a run directory" if Path(directory).exists() else "no such run directory"
            near = Path(RunConfig().directory) / directory
            hint = f"did you mean {near}?" if (near / "config.json").exists() else "nmt train makes one"
            raise NmtError(f"{directory}: {what}; {hint}")
    with quiet_start():
        from nmt.translation.translator import Translator
    return Translator.load(*directories, **how)


def lines_of(total: int | None, translator: Translator | None = None) -> LineProgress:
    """Progress over lines that come out of a translator a window at a time; of one that is given, which translates
    each once, also within a window."""
    from nmt.translation.translator import WINDOW

    progress = LineProgress(total, window=WINDOW)
    if translator is not None:
        translator.watch(progress.advance)
    return progress


def watched(translations: Iterable[Translation], progress: LineProgress) -> Iterator[Translation]:
    """The same translations, with progress, and word of each sentence that was cut off."""
    for translation in progress.over(translations):
        say_if_cut(translation, progress)
        yield translation


def say_if_cut(translation: Translation, progress: LineProgress) -> None:
    """Word of a sentence that was cut off, by the number of its line."""
    if translation.truncated:
        progress.print(f"line {progress.count} is longer than the model takes; its end was cut off")


def say(message: str) -> None:
    """A line of `nmt`'s own on standard error."""
    report(message)
