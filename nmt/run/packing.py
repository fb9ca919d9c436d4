"""Making a pack: a run as one file to give away, without the text that it was trained on."""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nmt.config import CorpusConfig, PairsConfig, RunConfig
from nmt.files.atomic_writing import replacement_for
from nmt.run.arrays import packed_arrays
from nmt.run.directory import ALIGNER, BEST, CONFIG, SHORT_LIST, Run
from nmt.run.errors import RunError
from nmt.run.exported import is_export
from nmt.run.manifest import MANIFEST, Manifest
from nmt.run.model_card import model_card
from nmt.run.pack_storage import CARD
from nmt.run.text_profile import LARGEST as LARGEST_PROFILE
from nmt.run.text_profile import PROFILE
from nmt.run.vocabularies import LARGEST, vocabulary_names

_DATE = (1980, 1, 1, 0, 0, 0)
"""The date of all members, so that equal runs give equal packs."""

_MODE = 0o644 << 16
"""Permissions of all members, as zip files have them."""


class Packed(NamedTuple):
    """What a pack has, and what it lacks of its run."""

    members: dict[str, int]
    """Bytes by name."""
    left_out: dict[str, int]
    """Bytes by name of a file or folder at the top of the run directory."""


def write_pack(run: Run, output: Path, checkpoints: int = 0, licence: str = "") -> Packed:
    """Writes a pack of a run directory. Equal runs give equal bytes.

    Args:
        output: the file; it appears when it is complete, and a file that it replaces stays whole in a power loss.
        checkpoints: pack the mean of this many newest checkpoints; 0: the best weights.
        licence: for the model card.

    Raises:
        RunError: the run is a pack or an export, has no weights or is damaged, or the file lies in the run or cannot be
            written.
    """
    run.require_directory()
    if is_export(run.directory):
        raise RunError(f"{run.directory}: is an export, which is complete: pack the run that it was made from")
    _require_place(run.directory, output)
    weights = run.averaged_checkpoints(checkpoints) if checkpoints else run.weights()
    members = members_of(run, weights, checkpoints, licence, output.name, {BEST: packed_arrays(weights)})
    with (
        replacement_for(output, RunError, durable=True) as path,
        zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive,
    ):
        for name, content in members.items():
            about = zipfile.ZipInfo(name, _DATE)
            about.create_system, about.external_attr = 3, _MODE
            archive.writestr(about, content)
    return Packed({name: len(content) for name, content in members.items()}, _left_out(run.directory, members))


def members_of(
    run: Run,
    weights: Mapping[str, np.ndarray],
    checkpoints: int,
    licence: str,
    name: str,
    network: Mapping[str, bytes],
    usage: str = "",
    short_list: bool = True,
) -> dict[str, bytes]:
    """The files that are given away, by name: a run without its text, with a model card and a manifest.

    Args:
        weights, checkpoints, licence: as `model_card` takes them.
        name: name of the pack or directory.
        network: files with the network.
        usage: see `model_card`.
        short_list: whether the short list of a run that has one is given away. Without it the settings have none.
    """
    config, listed = without_paths(run.config), short_list and run.storage.exists(SHORT_LIST)
    if config.search.short_list and not listed:  # it cannot be learned without the training pairs
        config = replace(config, search=replace(config.search, short_list=0))
    shared = replace(run, config=config)
    members = {
        CARD: model_card(run, weights, checkpoints, licence, name, usage).encode(),
        CONFIG: shared.config_content(),
        **{name: run.storage.read(name, LARGEST) for name in vocabulary_names(run.config.vocabulary.shared)},
        **network,
    }
    if listed:
        members[SHORT_LIST] = packed_arrays(run.load_short_list())
    if run.has_aligner:
        members[ALIGNER] = packed_arrays(run.storage.arrays(ALIGNER))
    if run.storage.exists(PROFILE):
        members[PROFILE] = run.storage.read(PROFILE, LARGEST_PROFILE)
    sums = {name: (hashlib.sha256(content).hexdigest(),) for name, content in members.items()}
    return {**members, MANIFEST: Manifest(files=sums).as_bytes()}


def without_paths(config: RunConfig) -> RunConfig:
    """The settings without the names of files and directories, which say more about their machine than the model."""
    corpus: CorpusConfig = replace(config.corpus, train=PairsConfig(), validation=PairsConfig(), prepared="")
    guided = replace(config.training.guided, links="")
    new_pairs = config.training.recombine if config.training.aligner else 0  # they need links
    return replace(
        config,
        directory=RunConfig().directory,
        corpus=corpus,
        vocabulary=replace(config.vocabulary, run=""),
        training=replace(config.training, initial="", guided=guided, recombine=new_pairs),
    )


def _require_place(directory: Path, output: Path) -> None:
    """Refuses an output in the run directory, where it could replace a file of the run, and a directory.

    Raises:
        RunError: names the output.
    """
    run = Path(os.path.realpath(directory))
    if Path(os.path.realpath(output)).is_relative_to(run):
        raise RunError(f"{output}: is in the run directory: name a file outside of {directory}, such as {run.name}.nmt")
    if output.is_dir():
        raise RunError(f"{output}: is a directory; name a file to write, such as {output / 'model.nmt'}")


def _left_out(directory: Path, members: Mapping[str, bytes]) -> dict[str, int]:
    """Sizes of the files and folders of a run that are not in its pack."""
    sizes = {}
    for path in sorted(directory.iterdir()):
        if path.name not in members and not path.name.startswith("."):
            files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
            sizes[path.name + "/" * path.is_dir()] = sum(file.stat().st_size for file in files)
    return sizes
