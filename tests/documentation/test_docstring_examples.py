"""The examples in the docstrings of the most used names run and print what they say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from block_running import run_blocks
from page_blocks import Block

QUICK = ["Glossary", "Linking", "RunConfig", "load_config"]
WITH_A_MODEL = ["Translator", "Translation", "Aligner", "train", "save_heatmap", "widget"]

EXAMPLES = """
import doctest

import nmt

for name in {names}:
    finder = doctest.DocTestFinder(recurse=False)
    (examples,) = finder.find(getattr(nmt, name), name, globs={{"nmt": nmt}})
    assert examples.examples, name
    results = doctest.DocTestRunner().run(examples)
    assert not results.failed, name
"""


@pytest.mark.parametrize(
    "names", [pytest.param(QUICK, id="quick"), pytest.param(WITH_A_MODEL, id="with a model", marks=pytest.mark.slow)]
)
def test_the_examples_print_what_they_say(names: list[str], desk: Callable[[], Path]) -> None:
    run_blocks([Block("the docstrings", 1, "python", EXAMPLES.format(names=names), "fast")], desk())
