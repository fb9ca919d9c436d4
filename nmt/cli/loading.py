"""Helpers of all commands: the models and the search that a command line names, progress, and messages."""

from __future__ import annotations

import dataclasses
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from nmt.cli.parser import Parser, as_flags, positive, refuse_idle
from nmt.cli.quiet import quiet_start
from nmt.config import CorpusConfig, RunConfig, SearchConfig
from nmt.errors import NmtError
from nmt.progress import LineProgress, counted, report
from nmt.run.errors import no_such_run
from nmt.text.languages import UNKNOWN, Languages, languages_of

if TYPE_CHECKING:
    from nmt.aligning.aligner import Aligner
    from nmt.run.directory import Run
    from nmt.text.languages import Words
    from nmt.translation.result import Translation
    from nmt.translation.translator import Translator


SEARCH = tuple(field.name for field in dataclasses.fields(SearchConfig))
"""The settings of a search; each is a flag."""

SAMPLING = ("temperature", "top_k", "top_p", "seed")
"""Settings that only sampling reads."""

CHOOSING = ("diversity", "prune")
"""Settings that only a beam without constraints reads."""


NO_ALIGNER = "none"
"""In place of an aligner: attention makes the links, although the run keeps an aligner."""

FEW = 50
"""Below so many sentences resampling says little."""


def add_aligner_flag(parser: Parser, purpose: str = "links") -> None:
    """The flag that names the aligner which makes the links.

    Args:
        parser: of a command with `use_aligner`.
        purpose: the links that it makes, for the help.
    """
    parser.add_argument(
        "--aligner",
        metavar="DIR",
        help=f"aligner of nmt aligner that makes the {purpose}; none: attention makes them (default: the aligner that "
        "the run keeps, or else attention)",
    )


def load(arguments: Namespace) -> tuple[Translator, SearchConfig]:
    """The model or ensemble of a command line, and the run's search settings with the flags over them.

    Raises:
        NmtError: wrong flags, before the seconds that loading takes; see also `load_translator`.
    """
    search = _search(arguments)
    translator = load_models(arguments)
    _prepare(translator, search)
    return translator, search


@contextmanager
def loaded(
    arguments: Namespace, needs_links: Callable[[SearchConfig], bool]
) -> Iterator[tuple[Translator, SearchConfig]]:
    """Like `load`, with the aligner that the command line names and with --processes.

    Args:
        arguments: of a command with `add_processes_flag`, and with `add_aligner_flag` if it needs links.
        needs_links: whether the output depends on links, by the search. Otherwise no aligner is loaded.

    Raises:
        NmtError: see `load`. Several processes may raise it later, because they load the model meanwhile.
    """
    if arguments.processes == 1:
        translator, search = load(arguments)
        if needs_links(search):
            use_aligner(arguments, translator)
        yield translator, search
        return
    from nmt.translation.processes import ProcessTranslator

    search = _search(arguments)
    links = needs_links(search)
    aligner = arguments.aligner if links else None
    load_one = partial(load_worker, arguments.model, options_of(arguments), aligner, links)
    with ProcessTranslator(arguments.model[0], load_one, arguments.processes) as far:
        _prepare(far, search)
        if links:
            use_aligner(arguments, far)  # the identity of the output has its fingerprint
        yield far, search


def load_worker(models: Sequence[str], options: Mapping[str, Any], aligner: str | None, links: bool) -> Translator:
    """The translator of a worker process.

    Args:
        models: runs or exports.
        options: of `load_run`.
        aligner: see `use_aligner`.
        links: whether the output depends on links.
    """
    translator = load_run(*models, **options)
    if links:
        translator.aligner = aligner_of(translator, aligner)
    return translator


def add_processes_flag(parser: Parser) -> None:
    """The flag of `loaded`."""
    parser.add_argument(
        "--processes",
        type=positive,
        default=1,
        metavar="N",
        help="processes that translate, each with a copy of the model and a share of the processors (default: 1)",
    )


def _prepare(translator: Translator, search: SearchConfig) -> None:
    """Checks the search, and loads or learns its short list."""
    if search.short_list and not translator.run.has_short_list:
        say("learning the short list from the training pairs, once for this run")
    translator.prepare(search)


def _search(arguments: Namespace) -> SearchConfig:
    """The run's search settings with the flags over them; the run's model is not loaded."""
    from nmt.translation import loading

    given = {name: getattr(arguments, name) for name in SEARCH if getattr(arguments, name) is not None}
    given = {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
    _require_models(arguments)
    own = loading.config_of_run(arguments.model[0]).search
    if given.get("method") == "sample":
        given = {"short_list": 0} | given  # of the run, which `nmt tune` may have chosen for a beam
    with as_flags(SearchConfig):
        search = replace(own, **given)
    if search.method == "beam":
        refuse_idle(arguments, SAMPLING, "is for drawing translations: give --method sample too")
    else:
        fix = (
            "leave it or --method sample out"
            if "method" in given
            else "the run draws translations, give --method beam too"
        )
        refuse_idle(arguments, ("beam_size", *CHOOSING), f"is for a beam: {fix}")
    return search


def languages_from_flags(arguments: Namespace, corpus: CorpusConfig | None = None) -> Languages:
    """The languages that the flags name, otherwise those of the first run, if the command line names one.

    Args:
        arguments: of a command with `add_language_flags`.
        corpus: its languages are taken in place of the first run's.

    Raises:
        NmtError: a flag that is no language tag, or a run that cannot be opened.
    """
    from nmt.translation import loading

    own = languages_of(corpus) if corpus else UNKNOWN
    if corpus is None and getattr(arguments, "model", None):
        own = languages_of(loading.config_of_run(arguments.model[0]).corpus)
    return languages_of(_named_languages(arguments, own.source.tag, own.target.tag))


def corpus_from_flags(arguments: Namespace, sources: Sequence[str], targets: Sequence[str]) -> CorpusConfig:
    """The languages and the kinds of words of a text: as the flags name them, otherwise by the text.

    Args:
        arguments: of a command with `add_language_flags`.

    Raises:
        NmtError: a flag that is no language tag.
    """
    from nmt.text.languages import decide_languages

    return decide_languages(_named_languages(arguments), sources, targets)


def _named_languages(arguments: Namespace, source: str = "", target: str = "") -> CorpusConfig:
    """The languages that the flags name; `source` and `target` are taken where they name none."""
    with as_flags(CorpusConfig):
        return CorpusConfig(
            source_language=arguments.source_language or source, target_language=arguments.target_language or target
        )


def load_models(arguments: Namespace) -> Translator:
    """The model or ensemble that a command line names; attention makes its links, see `use_aligner`."""
    _require_models(arguments)
    return load_run(*arguments.model, **options_of(arguments))


def options_of(arguments: Namespace) -> dict[str, Any]:
    """The options of `load_run` on a command line."""
    names = "averaging", "checkpoints", "precision"
    return {name: getattr(arguments, name) for name in names} | {"aligner": False}


def config_of(arguments: Namespace) -> RunConfig:
    """The configuration of the first run that a command line names; its model is not loaded."""
    from nmt.translation import loading

    _require_models(arguments)
    return loading.config_of_run(arguments.model[0])


def words_of_run(config: RunConfig) -> tuple[Words, Words]:
    """How a run cuts source and target into words; says so where spaces do not separate them."""
    from nmt.text.languages import words_of

    words = words_of(config.corpus)
    for side, rule in zip(("source", "target"), words, strict=True):
        if rule.name:
            say(f"words of the {side} are cut {rule.name}; links count these words")
    return words


def load_run(*directories: str, **options: Any) -> Translator:
    """The translator of these runs; see `load_translator`."""
    from nmt.run.exported import is_export
    from nmt.translation import loading

    require_runs(directories)
    if not all(is_export(Path(directory)) for directory in directories):
        with quiet_start():
            loading.import_keras()
    return loading.load_translator(*directories, **options)


def _require_models(arguments: Namespace) -> None:
    """Raises `NmtError` for models that cannot be loaded as the flags say."""
    if len(arguments.model) == 1:
        refuse_idle(arguments, ["averaging"], "is for an ensemble: leave it out, or give --model two runs or more")
    require_runs(arguments.model)


def use_aligner(arguments: Namespace, translator: Translator) -> None:
    """Gives a translator the aligner that the command line names, or else the one that its run keeps, if any."""
    translator.aligner = find_aligner(arguments, translator)


def find_aligner(arguments: Namespace, translator: Translator) -> Aligner | None:
    """The aligner of `use_aligner`, with a warning if its training is unfinished."""
    aligner = aligner_of(translator, arguments.aligner)
    if aligner is not None and arguments.aligner:
        say_if_unfinished(aligner)
    return aligner


def aligner_of(translator: Translator, named: str | None) -> Aligner | None:
    """The aligner that a command line names; None: the one that the run keeps, if any."""
    from nmt.aligning.aligner import Aligner
    from nmt.aligning.run_aligner import load_run_aligner

    if named is None:
        return load_run_aligner(translator.run.storage)
    return Aligner.load(named) if named != NO_ALIGNER else None


def say_if_unfinished(aligner: Aligner) -> None:
    """Warns of an aligner that was not trained to its end."""
    if aligner.is_unfinished:
        say(
            f"{aligner.directory}: the training of this aligner is unfinished, so more of its links are wrong: the "
            "nmt aligner command that began it resumes it"
        )


def require_runs(paths: Iterable[str]) -> None:
    """Raises `NmtError` for the first path that is neither a directory nor a pack."""
    for path in paths:
        if Path(path).is_dir() or _may_be_pack(path):
            continue
        if Path(path).exists():
            raise NmtError(f"{path}: is a file, not a run directory or a pack; nmt train makes a run directory")
        raise no_such_run(path)


def _may_be_pack(path: str) -> bool:
    """Whether this is a zip file, as a pack is."""
    if not Path(path).is_file():
        return False
    with open(path, "rb") as file:
        return file.read(2) == b"PK"


def language_tags(translator: Translator) -> tuple[str, str]:
    """The BCP 47 tags of a translator's languages."""
    from nmt.text.languages import languages_of

    source, target = languages_of(translator.config.corpus)
    return source.tag, target.tag


def lines_of(total: int | None) -> LineProgress:
    """Progress over lines that a translator yields a chunk at a time."""
    from nmt.translation.translator import Translator

    return LineProgress(total, window=Translator.chunk_size)


def checked(
    lines: Iterable[str],
    translator: Translator,
    name: str,
    side: Literal["source", "target"] = "source",
    before: int = 0,
    unit: str = "line",
    text_of: Callable[[str], str] = str,
) -> Iterator[str]:
    """The same lines, with a warning if they do not look like the training text of the run; see `InputCheck`."""
    from nmt.translation.input_checks import InputCheck

    return InputCheck(translator, name, say, side, before, unit, text_of).over(lines)


def watched(translations: Iterable[Translation], progress: LineProgress) -> Iterator[Translation]:
    """The translations, with progress and a warning for each sentence that was cut."""
    for translation in progress.over(translations):
        say_if_cut(translation, progress)
        yield translation


def say_if_cut(translation: Translation, progress: LineProgress, line: int | None = None) -> None:
    """Warns of a sentence that was cut; `line` is its number, by default the progress's count."""
    if translation.truncated:
        progress.print(f"line {line or progress.count} is longer than the model takes; its end was cut off")


def say_if_unlisted(run: Run) -> None:
    """Says that a run cannot give its short list away, because it has not learned one."""
    if run.config.search.short_list and not run.has_short_list:
        say(
            "this run has not learned its short list, so the whole vocabulary is read: log-probabilities differ; "
            "to give the list away, translate a sentence with this run first"
        )


def say_if_few(sentences: int) -> None:
    """Says that sentences are too few for resampling."""
    if sentences < FEW:
        are = "is" if sentences == 1 else "are"
        say(f"{counted(sentences, 'sentence')} {are} few: intervals and p-values say little below {FEW}")


def say(message: str) -> None:
    """Prints a message of `nmt` on standard error."""
    report(message)
