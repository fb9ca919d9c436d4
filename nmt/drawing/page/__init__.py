"""Translations and their alignments as one HTML file that works by itself.

The file loads nothing else and runs only its own script and style: a Content-Security-Policy names their digests. Words
are data in the file, and the script only ever shows them as text.
"""

from nmt.drawing.page.notebook_cell import Widget, widget
from nmt.drawing.page.rendering import html_page, save
from nmt.drawing.page.sentences import AlignedTranslation, PageError, PageSentence

__all__ = ["AlignedTranslation", "PageError", "PageSentence", "Widget", "html_page", "save", "widget"]
