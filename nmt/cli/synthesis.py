"""`nmt distil` and `nmt back-translate`: pairs for training that a trained model made."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from nmt.cli.files import count_lines, require_files_of_their_own, require_same_length
from nmt.cli.loading import lines_of, load, say, say_if_cut
from nmt.cli.translation import WINDOW, identity
from nmt.config import SearchConfig
from nmt.errors import NmtError
from nmt.files.line_by_line import ResumableOutputs, can_be_resumed
from nmt.files.paths import can_be_read_again
from nmt.text.lines import read_lines

if TYPE_CHECKING:
    from nmt.translation.minimum_bayes_risk import Utility
    from nmt.translation.translator import Translation, Translator

Made = Iterator[tuple["Translation", list[tuple[str, str]]]]
"""For each line of the input its translation, and the pairs to write."""


def distil(arguments: Namespace) -> None:
    """`nmt distil`: the given pairs, each followed by its source with the model's own translation (Kim and Rush 2016,
    sequence-level knowledge distillation)."""

    def made(translator: Translator, search: SearchConfig, done: int) -> Made:
        sources, targets = (islice(read_lines(path), done, None) for path in (arguments.source, arguments.target))
        lists = translator.translate_nbest(sources, search, search.beam_size if arguments.closest else 1, first=done)
        for found, target in zip(lists, targets, strict=True):
            best = _closest(found, target, arguments.closest) if arguments.closest else found[0]
            given = [] if arguments.only_translations else [(best.source, target)]
            yield best, [*given, (best.source, best.text)]

    per_line = 1 if arguments.only_translations else 2
    _write(arguments, [arguments.source, arguments.target], per_line, made, ("closest", "only_translations"))


def back_translate(arguments: Namespace) -> None:
    """`nmt back-translate`: text of the target language with sources made by a model of the opposite direction
    (Sennrich et al. 2016), tagged so that training can tell them from genuine ones (Caswell et al. 2019)."""
    if arguments.tag.split() not in ([], [arguments.tag]):
        raise NmtError(f"--tag is '{arguments.tag}': expected one word")

    def made(translator: Translator, search: SearchConfig, done: int) -> Made:
        lines = islice(read_lines(arguments.input), done, None)
        for found in translator.translate_nbest(lines, search, 1, first=done):
            source = f"{arguments.tag} {found[0].text}".strip() if found[0].text else ""
            yield found[0], [(source, found[0].source)]

    _write(arguments, [arguments.input], 1, made, ("tag",))
    if arguments.tag:
        say(f"train on them with --vocabulary.symbols '[{arguments.tag}]', so that the tag is one piece")


def _closest(found: Sequence[Translation], target: str, measure: Utility) -> Translation:
    """The translation most like the given one (Kim and Rush 2016, section 3.3, sequence-level interpolation)."""
    from nmt.translation.minimum_bayes_risk import metric

    likeness = metric(measure)
    return max(found, key=lambda translation: likeness(translation.text, target))


def _write(
    arguments: Namespace,
    inputs: list[str],
    per_line: int,
    made: Callable[[Translator, SearchConfig, int], Made],
    ways: tuple[str, ...],
) -> None:
    """Writes the pairs made from each line of the input, `per_line` of them; goes on behind those that are there.

    Args:
        made: what is made behind so many lines of the input.
        ways: arguments that decide what is made, besides model, search and input.
    """
    outputs = [arguments.output_source, arguments.output_target]
    require_files_of_their_own(inputs, outputs)
    unfit = [path for path in inputs if not can_be_read_again([path])]
    unfit += [path for path in outputs if not can_be_resumed([path])]
    if unfit:
        raise NmtError(
            f"{unfit[0]}: expected a plain file, not compressed, so that an interruption can be gone on with"
        )
    total = require_same_length({path: count_lines(path) for path in inputs}) or 0
    growing = ResumableOutputs(outputs, arguments.resume, WINDOW, per_line)
    translator, search = load(arguments)
    done = growing.done
    progress = lines_of(total - done, translator)
    with growing.opened(identity(arguments, translator, search, inputs, ways)) as files:
        if done:
            say(f"going on behind line {done}")
        for number, (translation, pairs) in enumerate(progress.over(made(translator, search, done)), start=done + 1):
            say_if_cut(translation, progress)
            for pair in pairs:
                for file, text in zip(files, pair, strict=True):
                    file.write(text + "\n")
            if number % WINDOW == 0:  # what an interruption leaves is whole windows
                for file in files:
                    file.flush()
    say(
        f"{progress.count} lines in {progress.seconds:.1f} s ({progress.speed}); {total * per_line} pairs are in "
        f"{outputs[0]} and {outputs[1]}"
    )
