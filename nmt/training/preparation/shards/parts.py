"""The parts of a corpus, such as news and subtitles, and the files of each."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nmt.config import ConfigError, PairsConfig, config_from_dict
from nmt.config.relative_paths import from_file
from nmt.config.yaml_files import read_yaml
from nmt.files.paths import can_be_read_again
from nmt.files.reading import matching_files
from nmt.progress import counted
from nmt.text.errors import CorpusError

_FILES = ("source", "target", "tsv", "document", "parquet")
"""Fields of `PairsConfig` that hold patterns of file names."""
PLAIN = "corpus"
"""Name of the only part of a corpus without named parts."""


@dataclass(frozen=True)
class Part:
    """A part of a corpus."""

    name: str
    pairs: PairsConfig
    """Patterns of file names, or a dataset."""
    weight: float = 1.0
    """How often its pairs are read, relative to the other parts."""

    def units(self) -> list[PairsConfig]:
        """The files one by one: file N of the sorted sources belongs to file N of the sorted targets.

        Raises:
            NmtError: no file has such a name, there are more sources than targets or the reverse, or a file can be
                read only once.
        """
        pairs = self.pairs
        if pairs.alignment:
            raise CorpusError("gold alignments are not prepared: leave alignment out")
        if not pairs:
            raise CorpusError(f"{self.name}: no sentence pairs are given: set source and target, or tsv, or another")
        if pairs.tfds:
            return [pairs]
        found = {name: matching_files(getattr(pairs, name)) for name in _FILES if getattr(pairs, name)}
        numbers = {name: len(files) for name, files in found.items()}
        if len(set(numbers.values())) > 1:
            raise CorpusError(
                f"{self.name}: {pairs.source} has {counted(numbers['source'], 'file')}, and {pairs.target} has "
                f"{numbers['target']}: expected a target file for each source file"
            )
        if not can_be_read_again(file for files in found.values() for file in files):
            raise CorpusError("standard input and pipes can be read only once, and the text is read twice: use files")
        return [replace(pairs, **dict(zip(found, row, strict=True))) for row in zip(*found.values(), strict=True)]


def read_parts(path: str) -> list[Part]:
    """The parts that a YAML file describes: a name, the fields of `PairsConfig` and a weight for each.

    Relative names begin at the folder of the file.

    Raises:
        ConfigError: another content.
    """
    values = read_yaml(Path(path))
    if not isinstance(values, dict) or not values:
        raise ConfigError(f"{path}: expected parts, such as `news: {{source: 'news/*.en', target: 'news/*.fr'}}`")
    return [_part(path, str(name), fields) for name, fields in values.items()]


def _part(path: str, name: str, fields: Any) -> Part:
    if not isinstance(fields, Mapping):
        raise ConfigError(f"{path}: {name}: expected fields, such as `source: 'news/*.en'`")
    given = dict(fields)
    weight = given.pop("weight", 1.0)
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight < math.inf:
        raise ConfigError(f"{path}: {name}: weight is {weight!r}: expected a number above 0")
    located = {
        field: from_file(value, path) if field in (*_FILES, "tfds_directory") and isinstance(value, str) else value
        for field, value in given.items()
    }
    try:
        return Part(name, config_from_dict(PairsConfig, located), float(weight))
    except ConfigError as error:
        raise ConfigError(f"{path}: {name}: {error}") from None
