"""Formulas as MathML, which browsers draw by themselves: the built pages need no script and no network for them."""

from __future__ import annotations

from typing import Any

from latex2mathml.converter import convert


def setup(app: Any) -> dict[str, bool]:
    """Gives Sphinx the renderer `mathml`."""
    app.add_html_math_renderer("mathml", inline_renderers=(_inline, None), block_renderers=(_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _inline(writer: Any, node: Any) -> None:
    _write(writer, node, "inline")


def _block(writer: Any, node: Any) -> None:
    _write(writer, node, "block")


def _write(writer: Any, node: Any, display: str) -> None:
    """The formula in place of the node, whose children are skipped."""
    from docutils.nodes import SkipNode

    tag = "div" if display == "block" else "span"
    writer.body.append(f'<{tag} class="math">{convert(node.astext(), display=display)}</{tag}>')
    raise SkipNode
