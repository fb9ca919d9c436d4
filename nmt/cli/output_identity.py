"""The identity of an output: a command resumes an output only if model, input and settings are unchanged."""

from __future__ import annotations

import hashlib
import json
from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING

from nmt.config import SearchConfig, config_to_dict
from nmt.files.reading import digest_of

if TYPE_CHECKING:
    from nmt.translation.aligner_links import PairAligner
    from nmt.translation.translator import Translator


def output_identity(
    arguments: Namespace,
    translator: Translator,
    search: SearchConfig,
    inputs: Sequence[str | None],
    flags: Sequence[str],
    aligner: PairAligner | None = None,
) -> str:
    """A digest of everything that the lines of an output depend on.

    Args:
        inputs: files that are read; None for a file that was not named.
        flags: names of the arguments that decide the output besides model and search.
        aligner: decides the output too; None: the translator's, if it has one.
    """
    contents = [digest_of(name) if name else "" for name in inputs]
    settings = {name: getattr(arguments, name) for name in ("averaging", *flags)} | {"search": config_to_dict(search)}
    aligner = aligner or translator.aligner
    if aligner is not None:
        settings["links"] = aligner.fingerprint
    return hashlib.sha256(json.dumps([translator.fingerprint, contents, settings]).encode()).hexdigest()
