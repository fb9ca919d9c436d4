"""Every command and every piece of Python on a page runs, in the order and the directory of its reader."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from block_commands import faults, nmt_commands
from block_running import run_blocks
from commands import REPOSITORY
from page_blocks import Block, blocks, pages

ALL = [block for page in pages() for block in blocks(page)]

LARGEST_SHARE = 0.15
"""Of blocks that are not run."""


def of_pages(*tiers: str) -> list[pytest.ParameterSet]:
    """The blocks of some tiers, a list for each page that has a block of the last of these tiers."""
    found: dict[str, list[Block]] = {}
    for block in ALL:
        if block.tier in tiers:
            found.setdefault(block.page, []).append(block)
    return [
        pytest.param(those, id=page) for page, those in found.items() if tiers[-1] in {block.tier for block in those}
    ]


@pytest.mark.parametrize("those", of_pages("fast"))
def test_the_quick_blocks_of_a_page_run(those: list[Block], desk: Callable[[], Path]) -> None:
    run_blocks(those, desk())


@pytest.mark.slow
@pytest.mark.parametrize("those", of_pages("fast", "slow"))
def test_all_blocks_of_a_page_run_in_order(those: list[Block], desk: Callable[[], Path]) -> None:
    run_blocks(those, desk())


def test_every_block_has_a_tier() -> None:
    assert [block.place for block in ALL if not block.tier] == []


def test_blocks_that_are_not_run_name_the_reason_and_have_right_flags() -> None:
    parsed = [block for block in ALL if block.tier == "parse"]
    assert [block.place for block in parsed if not block.reason] == []
    found = [f"{block.place}: {fault}" for block in parsed for fault in faults(block.text, REPOSITORY)]
    assert found == []


def test_few_blocks_are_not_run() -> None:
    parsed = [block.place for block in ALL if block.tier == "parse"]
    assert len(parsed) <= LARGEST_SHARE * len(ALL), parsed


def test_a_page_gives_blocks_with_tiers_and_hidden_lines() -> None:
    page = """
<!-- hidden: touch there -->
<!-- fast -->
```bash
cat there
```
<!-- slow; train --training.passes 1 -->
```bash
nmt train
```
* In a list:

  <!-- parse: takes a day -->
  ```python
  if True:
      pass
  ```
```text
output
```
```bash
untagged
```
"""
    first, second, third, fourth = blocks("a.md", page)
    assert (first.tier, first.hidden, first.text, first.line) == ("fast", "touch there", "cat there\n", 4)
    assert (second.tier, second.added, second.hidden) == ("slow", "train --training.passes 1", "")
    assert (third.tier, third.reason, third.text) == ("parse", "takes a day", "if True:\n    pass\n")
    assert (fourth.tier, fourth.text) == ("", "untagged\n")


def test_a_hidden_line_without_a_block_is_refused() -> None:
    with pytest.raises(ValueError, match="no block follows"):
        blocks("a.md", "<!-- hidden: true -->\n")


def test_the_commands_of_a_block() -> None:
    text = "cat a | nmt translate --model m \\\n  --source - > b && nmt info m  # nmt runs\n.venv/bin/nmt doctor\n"
    assert list(nmt_commands(text)) == [["translate", "--model", "m", "--source", "-"], ["info", "m"], ["doctor"]]
    wrong = "nmt translat\nnmt info --modl x\nhead data/none.txt data/demo/test.en\n"
    found = list(faults(wrong, REPOSITORY))
    assert found[:2] == ["data/none.txt is not in the checkout", "nmt translat is no command"]
    assert "--modl" in found[2] and len(found) == 3


def test_blocks_share_files_names_and_a_server(desk: Callable[[], Path]) -> None:
    page = """
<!-- hidden: echo one > count -->
<!-- fast -->
```bash
. .venv/bin/activate
(sleep 60; touch late) &
nmt --version | head -n 1 > version
head -n 2 data/demo/test.en | python -c 'import sys; print(len(sys.stdin.readlines()))' >> count
nmt info saved_models/none || echo $? >> count
```
<!-- fast -->
```python
from pathlib import Path
words = Path("count").read_text().split()
```
<!-- fast; info saved_models/demo -->
```bash
nmt info > info
```
<!-- fast -->
```python
print(*words, sep="+", file=open("sum", "w"))
```
"""
    directory = desk()
    run_blocks(blocks("a.md", page), directory)
    assert (directory / "sum").read_text() == "one+2+2\n"
    assert (directory / "version").read_text().startswith("nmt")
    assert "demo" in (directory / "info").read_text()
    assert not (directory / "late").exists()


@pytest.mark.parametrize(
    ("language", "text"),
    [("bash", "true\nnmt info nowhere\ntrue\n"), ("bash", "false | true\n"), ("python", "1\n1 / 0\n")],
)
def test_a_failing_block_names_its_place(language: str, text: str, desk: Callable[[], Path]) -> None:
    page = f"<!-- fast -->\n```{language}\n{text}```\n"
    with pytest.raises(AssertionError, match="a.md:2"):
        run_blocks(blocks("a.md", page), desk())
