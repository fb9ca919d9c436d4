"""`nmt doctor`: whether this machine and this installation are ready, and what to do about it."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from nmt.cli.parser import Parser
from nmt.config import RunConfig
from nmt.progress import counted

DESCRIPTION = (
    "Checks Python, the packages, the import of TensorFlow, the processor, threads, memory, disk, fonts and GPU. Each "
    "line has a fact, and below it the fix for a problem. It also works where TensorFlow cannot be loaded. The exit "
    "code is 1 if a problem keeps nmt from working. Copy the lines into a report of a problem."
)
EXAMPLE = "nmt doctor"

PROBLEM = 1
"""The exit code if something keeps nmt from working."""

_MARKS = {"ok": "ok", "note": "note", "problem": "PROBLEM"}


def add_flags(parser: Parser) -> None:
    default = RunConfig().directory
    parser.add_argument("--directory", default=default, metavar="DIR", help=f"where runs go (default: {default})")


def run(arguments: Namespace) -> int:
    """Prints a line for each finding, and a line with its advice."""
    from nmt.diagnosis import findings

    grades = []
    for finding in findings(Path(arguments.directory)):
        grades.append(finding.grade)
        print(f"{_MARKS[finding.grade]:<8} {finding.name:<11} {finding.fact}")
        if finding.advice:
            print(f"{'':<20} -> {finding.advice}")
    problems = grades.count("problem")
    print(f"{counted(problems, 'problem')} found" if problems else "nmt can work here")
    return PROBLEM if problems else 0
