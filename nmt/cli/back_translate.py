"""`nmt back-translate`: pairs for training from text of the target language."""

from __future__ import annotations

from argparse import Namespace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from nmt.cli.files import count_lines, refuse_document
from nmt.cli.flags import add_model_flags, add_search_flags
from nmt.cli.loading import checked, say
from nmt.cli.parser import Parser
from nmt.cli.synthesis import MadePairs, add_made_pairs_flags, write_made_pairs
from nmt.config import SearchConfig
from nmt.errors import NmtError
from nmt.text.lines import read_lines

if TYPE_CHECKING:
    from nmt.translation.inference.protocol import Report
    from nmt.translation.translator import Translator

DESCRIPTION = (
    "Makes training pairs from text of the target language: a model of the opposite direction translates each line "
    "into a source. Each of these sources begins with a tag, so that training can tell them from genuine ones. After "
    "an interruption, --resume continues."
)
EXAMPLE = "nmt back-translate --model saved_models/reverse --source mono.de --output-source bt.en --output-target bt.de"


def add_flags(parser: Parser) -> None:
    add_model_flags(parser, precision="auto")
    parser.add_argument(
        "--source",
        dest="input",
        required=True,
        metavar="FILE",
        help="sentences of the target language, one per line, which this model translates",
    )
    add_made_pairs_flags(parser)
    parser.add_argument(
        "--tag", default="<bt>", metavar="WORD", help="first word of each source; '' for none (default: <bt>)"
    )
    add_search_flags(parser)
    parser.aliases["--input"] = "--source"


def run(arguments: Namespace) -> None:
    """Writes back-translations (Sennrich et al. 2016) with tags on their sources (Caswell et al. 2019)."""
    if arguments.tag.split() not in ([], [arguments.tag]):
        raise NmtError(f"--tag is '{arguments.tag}': expected one word")
    refuse_document(arguments.input)

    def made(translator: Translator, search: SearchConfig, done: int, report: Report) -> MadePairs:
        lines = checked(islice(read_lines(arguments.input), done, None), translator, arguments.input, before=done)
        for found in translator.translate_nbest(lines, search, 1, first=done, report=report):
            source = f"{arguments.tag} {found[0].text}".strip() if found[0].text else ""
            yield found[0], [(source, found[0].source)]

    write_made_pairs(arguments, [arguments.input], partial(count_lines, arguments.input), 1, made, ("tag",))
    if arguments.tag:
        say(f"train on them with --vocabulary.symbols '{arguments.tag}', so that the tag is one piece")
