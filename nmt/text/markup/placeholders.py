"""Patterns of the parts of a text that no translation may change: placeholders, addresses, numbers, emoji."""

from __future__ import annotations

FORMAT = r"""
      %\([^()\s]++\)[-#0+]*+\d*+(?:\.\d++)?+[a-zA-Z]           # Python: %(name)s
    | %\{\w+\}                                                 # Ruby: %{name}
    | %(?:\d++\$)?[-+\#0']*+(?:\d++|\*)?+(?:\.(?:\d++|\*))?+(?:hh?|ll?|[zjtLq])?[a-zA-Z@%]  # C: %s, %1$d, %%
    | %L?\d+                                                   # Qt: %1
    | \$?\{\{[^{}]*\}\} | \{\{\{[^{}]*\}\}\}                      # Handlebars, Jinja: {{name}}
    | \$?\{[^{}]*\}                                            # {name}, {0}, ${name}
"""
"""Placeholders that a program fills in, for `re.VERBOSE`. Possessive repetitions keep the time linear."""

ADDRESS = r"""
      (?:(?:https?|ftp)://|www\.)
      (?:\{[^\s<>{}]*\}|[^\s<>{}])*
      (?:\{[^\s<>{}]*\}|[^\s<>{}.,;:!?)\]'"»”])              # a mark behind an address is no part of it
    | (?:(?<![\w.+-])|(?<=\\[nrt]))[\w.+-]++@[\w-]+(?:\.[\w-]+)+
"""
"""Addresses of pages and mailboxes, for `regex.VERBOSE`."""

NUMBER = r"(?<![\w.,])\d+(?:[.,:/-]\d+)*(?!\w)"
"""Numbers in digits, also dates and times."""

EMOJI = r"""
    \p{RI}\p{RI}
    | (?:\p{Emoji_Presentation}|\p{Extended_Pictographic}\uFE0F|[0-9#*]\uFE0F?\u20E3)\p{Emoji_Modifier}?
      (?:\u200D\p{Extended_Pictographic}\uFE0F?\p{Emoji_Modifier}?)*
"""
"""A flag, or a picture with its modifiers, for `regex.VERBOSE`."""
