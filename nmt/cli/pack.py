"""`nmt pack`: a run as one file to give away."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from nmt.cli.flags import add_single_model_flags
from nmt.cli.info import file_size
from nmt.cli.loading import require_runs, say, say_if_unlisted
from nmt.cli.parser import Parser
from nmt.errors import NmtError

DESCRIPTION = (
    "Writes one file with what a run needs to translate: weights, vocabularies, settings, the short list if there is "
    "one, the aligner if the run keeps one, and a model card. Every command takes the file as --model. It has no "
    "sentence of the training text; the aligner has its words."
)
EXAMPLE = "nmt pack --model saved_models/mine --output mine.nmt"

ABOUT = {
    "corpus/": "training and validation text",
    "checkpoints/": "checkpoints",
    "tensorboard/": "logs",
    "history.csv": "validations",
}
"""Content of the parts that a pack leaves out."""


def add_flags(parser: Parser) -> None:
    add_single_model_flags(parser)
    parser.add_argument("--output", required=True, metavar="FILE", help="file to write, such as model.nmt")
    parser.add_argument("--licence", default="", metavar="TEXT", help="licence of the model, for the model card")


def run(arguments: Namespace) -> None:
    """Writes the pack, and says what is in it and what is not."""
    from nmt.run.directory import Run
    from nmt.run.packing import write_pack

    output = Path(arguments.output)
    require_runs([arguments.model])
    if arguments.output == "-":
        raise NmtError("--output -: a pack is not written to standard output; name a file, such as model.nmt")
    if "\n" in arguments.licence:
        raise NmtError("--licence has several lines: expected one, such as CC BY 4.0")
    run = Run.open(arguments.model)
    packed = write_pack(run, output, arguments.checkpoints, arguments.licence)
    for name, size in packed.members.items():
        print(f"{file_size(size):>11}  {name}")
    print(f"{file_size(output.stat().st_size):>11}  {output}")
    for name, size in packed.left_out.items():
        about = f" ({ABOUT[name]})" if name in ABOUT else ""
        say(f"left out: {name}{about}, {file_size(size)}")
    say_if_unlisted(run)
    if "und" in (language.code for language in run.languages):
        say(
            "the model card lacks a language: name both when you train, "
            "with --corpus.source_language and --corpus.target_language"
        )
    if not arguments.licence:
        say("the model card has no licence yet: give one with --licence, such as --licence 'CC BY 4.0'")
