"""Markup inside a line of text: tags, placeholders, entities."""

from nmt.text.markup.marked_text import Item, MarkedText, parse_markup, plain_text
from nmt.text.markup.scanning import MarkupKind

__all__ = ["Item", "MarkedText", "MarkupKind", "parse_markup", "plain_text"]
