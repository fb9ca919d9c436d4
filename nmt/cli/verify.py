"""`nmt verify`: whether the files of a run are as nmt wrote them."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from nmt.cli.loading import require_runs, say
from nmt.cli.parser import Parser
from nmt.errors import NmtError
from nmt.progress import counted

DESCRIPTION = (
    "Compares each file of a run, a pack, an export, an aligner or a prepared corpus with the sum that nmt saved with "
    "it, and names the damaged files. Every command does the same for the files that it loads."
)
EXAMPLE = "nmt verify saved_models/mine"


def add_flags(parser: Parser) -> None:
    parser.add_argument("run", metavar="RUN", help="directory or file of nmt train, pack, export, aligner or prepare")
    parser.add_argument(
        "--accept",
        action="store_true",
        help="accept the files of a run or an aligner as they are, such as a config.json that you have changed",
    )


def run(arguments: Namespace) -> None:
    """Prints that all is well, or reports each damaged file."""
    from nmt.aligning.aligner import Aligner
    from nmt.aligning.directory import is_aligner, open_directory
    from nmt.run.directory import ALIGNER_FOLDER
    from nmt.run.manifest import MANIFEST
    from nmt.run.prepared_manifest import is_of_prepare
    from nmt.run.verification import accept, verify, verify_prepared

    path = Path(arguments.run)
    require_runs([arguments.run])
    prepared = is_of_prepare(path)
    if arguments.accept:
        if path.is_file():
            raise NmtError(f"{path}: is a pack, which cannot be changed: use the run that it was made from")
        if prepared:
            raise NmtError(f"{path}: is a prepared corpus, which cannot be changed: prepare another with nmt prepare")
        accept(path, Aligner.load if is_aligner(path) else None)
        print(f"{path}: accepted as it is")
        return
    found = verify_prepared(path) if prepared else verify(path, open_directory if is_aligner(path) else None)
    files, problems = found.files, found.problems
    if (aligner := path / ALIGNER_FOLDER).is_dir():  # which has a manifest of its own
        learned = verify(aligner, open_directory)
        files = [*files, *(f"{ALIGNER_FOLDER}/{name}" for name in learned.files)]
        problems = [*problems, *learned.problems]
    for problem in problems:
        say(problem)
    if problems:
        raise NmtError(f"{path}: damaged or changed files: {len(problems)}")
    if found.has_manifest:
        print(f"{path}: {counted(len(files), 'file')} and {MANIFEST}, all as nmt wrote them")
    else:
        print(f"{path}: {len(files)} files can be read; this run has no manifest.json to compare them with")
