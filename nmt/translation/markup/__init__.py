"""Markup in requests: taken out before the search, and put back into the translation by its links."""
