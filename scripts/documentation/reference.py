"""The reference, written from the code while Sphinx builds: commands, settings and the Python interface.

A page names the part with a comment such as `<!-- generated: commands -->`.
"""

from __future__ import annotations

import argparse
import inspect
import re
from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

import nmt
from nmt.cli.commands import COMMANDS, module, parser_of
from nmt.cli.train import COMMON
from nmt.config import RunConfig
from nmt.config.aligner import AlignerConfig
from nmt.config.fields import Setting, groups_of, settings_of

ENDINGS = "txt|npz|jsonl?|csv|tsv|html|png|pdf|svg|yaml|pharaoh"
"""The ends of file names that stand in help texts."""


def setup(app: Any) -> dict[str, bool]:
    """Has Sphinx fill the comments of each page that it reads."""
    app.connect("source-read", lambda _, page, source: source.__setitem__(0, filled(source[0])))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def filled(text: str) -> str:
    """A page with the generated parts behind their comments, and without its sentences for readers of the source.

    Links that leave the pages keep their words alone.
    """
    text = re.sub(r"\n<!-- unbuilt -->\n.*?<!-- / -->\n", "", text, flags=re.DOTALL)
    text = re.sub(r"\[([^]]+)\]\((?:\.\./)+(?:README|CONTRIBUTING)\.md[^)]*\)", r"\1", text)
    return re.sub(r"<!-- generated: (\w+) -->\n", lambda found: "\n".join(PARTS[found[1]]()) + "\n", text)


def commands() -> Iterator[str]:
    """Each command: description, example, and flags with their defaults."""
    for name in COMMANDS:
        parser = parser_of(name)
        yield f"\n## nmt {name}\n\n{_prose(parser.description or '')}\n"
        if example := getattr(module(name), "EXAMPLE", ""):
            yield f"```bash\n{example}\n```\n"
        for group in parser._action_groups:
            flags = [action for action in group._group_actions if _is_listed(name, action)]
            if flags and group.title not in ("positional arguments", "options"):
                yield f"### {group.title} options of nmt {name}\n\n{_prose(group.description or '')}\n"
            for action in flags:
                yield f"`{_invocation(action)}`\n: {_help(action, parser)}\n"
        if name == "train":
            yield "Every setting of [the configuration](configuration.md) is a flag too. Among them are these:\n"
            yield ", ".join(f"`--{setting}`" for setting in COMMON) + ".\n"


def _is_listed(command: str, action: argparse.Action) -> bool:
    is_setting = command == "train" and action.dest in {setting.name for setting in settings_of(RunConfig)}
    return action.help != argparse.SUPPRESS and not isinstance(action, argparse._HelpAction) and not is_setting


def _invocation(action: argparse.Action) -> str:
    """The flag and its value, as in the help: `--model DIR [DIR ...]`."""
    formatter = argparse.HelpFormatter("nmt")
    flag = action.option_strings[0] if action.option_strings else ""
    if any(other.startswith("--no-") for other in action.option_strings[1:]):
        return f"--[no-]{flag.removeprefix('--')}"
    value = "" if action.nargs == 0 else formatter._format_args(action, str(action.metavar or action.dest))
    return f"{flag} {value}".strip()


def _help(action: argparse.Action, parser: argparse.ArgumentParser) -> str:
    """The help text of a flag; it names the default where the flag has one that matters."""
    words = vars(action) | {"prog": parser.prog}
    text = str(action.help) % words
    needed = "Required. " if action.required and action.option_strings else ""
    unnamed = action.choices if action.metavar else ()  # without a name for its value, the flag shows the choices
    choices = f" One of {', '.join(f'`{choice}`' for choice in unnamed)}." if unnamed else ""
    return needed + _prose(text[0].upper() + text[1:].rstrip(".") + ".") + choices


def configuration() -> Iterator[str]:
    """Each setting of a run, then those of the aligner: name, type, default and meaning."""
    inner = dict(groups_of(RunConfig))
    yield "\n## The run\n"
    yield from _definitions(setting for setting in settings_of(RunConfig) if "." not in setting.name)
    for name, kind in inner.items():
        yield f"\n## {name}\n\n{_prose((inspect.getdoc(kind) or '').partition(chr(10) * 2)[0])}\n"
        own = [setting for setting in settings_of(kind, f"{name}.") if setting.name.count(".") == name.count(".") + 1]
        yield from _definitions(own)
    yield "\n## The aligner\n\nThese settings are flags of `nmt aligner` and fields of `nmt.AlignerConfig`.\n"
    yield from _definitions(settings_of(AlignerConfig))


def _definitions(settings: Any) -> Iterator[str]:
    for setting in settings:
        yield f"`{setting.name}` ({_type(setting)}, default {_default(setting.default)})\n: {_prose(setting.help)}\n"


def _type(setting: Setting) -> str:
    """The type in words: `a file`, `true or false`, the choices, or Python's name."""
    if setting.path:
        return {"FILE": "a file", "DIR": "a directory"}[setting.path]
    if get_origin(setting.type) is Literal:
        return " or ".join(f"`{value}`" for value in get_args(setting.type))
    names = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
    return names.get(setting.type, "a list of texts")


def _default(value: Any) -> str:
    return {"": "none", "()": "none", "True": "`true`", "False": "`false`"}.get(str(value), f"`{value}`")


def python() -> Iterator[str]:
    """Each public name: functions and classes with their docstrings, settings with a link to their fields."""
    kinds = {name: getattr(nmt, name) for name in nmt.__all__}
    titles = {"Functions": inspect.isfunction, "Classes": _is_plain_class, "Settings and errors": _is_setting}
    for title, belongs in titles.items():
        yield f"\n## {title}\n\n```{{eval-rst}}"
        for name in sorted(name for name, value in kinds.items() if belongs(value)):
            directive = "autofunction" if title == "Functions" else "autoclass"
            yield f".. {directive}:: nmt.{name}"
            yield "   :members:\n" if title == "Classes" else ""
        yield "```\n"


def _is_setting(value: Any) -> bool:
    return inspect.isclass(value) and (value.__name__.endswith("Config") or issubclass(value, Exception))


def _is_plain_class(value: Any) -> bool:
    return inspect.isclass(value) and not _is_setting(value)


def _prose(text: str) -> str:
    """A help text as Markdown: flags, file names and patterns become code, and Markdown's own characters stay text."""
    text = " ".join(text.split())
    parts = re.split(rf"(`[^`]+`|(?<![\w-])--[a-z][\w.-]*\w|(?<![\w/])[\w/.-]*\w\.(?:{ENDINGS})\b)", text)
    return "".join(
        (part if part.startswith("`") else f"`{part}`") if place % 2 else re.sub(r"([*_<>\[\]|$#])", r"\\\1", part)
        for place, part in enumerate(parts)
    )


PARTS = {"commands": commands, "configuration": configuration, "python": python}
"""The generated parts by the name in a page's comment."""
