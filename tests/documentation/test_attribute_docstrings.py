"""The docstrings of public attributes in the documentation."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import nmt


def public_classes() -> Iterator[ast.ClassDef]:
    """The definitions of the public classes; nothing is imported for them."""
    heading = re.compile(rf"^class ({'|'.join(nmt.__all__)})\b", re.MULTILINE)
    for path in Path(nmt.__file__).parent.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if heading.search(text):
            tree = ast.parse(text)
            yield from (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name in nmt.__all__)


def first_lines(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    """Each public attribute and property of a class, with the first line of its docstring."""
    for field, text in zip(node.body, node.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
            yield ast.unparse(field.target), str(text.value.value).splitlines()[0]
    for method in node.body:
        if isinstance(method, ast.FunctionDef) and "property" in map(ast.unparse, method.decorator_list):
            yield method.name, (ast.get_docstring(method) or "").partition("\n")[0]


def test_an_attribute_has_no_colon_in_its_first_line() -> None:
    """Sphinx's napoleon takes the words before a colon for the attribute's type."""
    lines = [(node.name, *line) for node in public_classes() for line in first_lines(node)]
    assert {("Translation", "alignment"), ("Translator", "fingerprint")} <= {line[:2] for line in lines}
    assert [line for line in lines if ":" in line[2] and not line[1].startswith("_")] == []
