"""A trained run that the tests of this folder share."""

from __future__ import annotations

import json
from pathlib import Path

import copy_task
import pytest
from commands import nmt


@pytest.fixture(scope="session")
def playground(tmp_path_factory) -> Path:
    """A directory with a corpus, a configuration, and the run in runs/copy that `nmt train` made from them."""
    directory = tmp_path_factory.mktemp("playground")
    copy_task.write_corpus(directory, train=2000)
    settings = copy_task.merged(copy_task.fields(directory), {"name": "copy", "training": {"passes": 12}})
    (directory / "config.yaml").write_text(json.dumps(settings))
    (directory / "train.log").write_text(nmt("train --config config.yaml", directory).stderr)
    return directory
