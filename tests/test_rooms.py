"""The packages of `nmt` and their imports: CONTRIBUTING.md names every room, and imports run downward only."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "nmt"


def room(path: Path) -> str:
    """The package or module right below `nmt` that a file belongs to."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def rows() -> list[list[str]]:
    """The rooms of each row of the table, from the top down."""
    table = re.findall(r"^\| (`.+?`) \|", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.MULTILINE)
    return [[name.rstrip("/").removesuffix(".py") for name in re.findall(r"`([^`]+)`", row)] for row in table]


def names(node: ast.AST, path: Path) -> Iterator[str]:
    """The dotted names that a node imports, wherever it stands: at the top, in a function, for type checking only."""
    if isinstance(node, ast.ImportFrom):
        package = path.relative_to(ROOT).with_suffix("").parts[: -node.level] if node.level else ()
        base = ".".join([*package, *([node.module] if node.module else [])])
        yield from (f"{base}.{alias.name}" for alias in node.names)
    elif isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
        yield from (argument.value for argument in node.args if isinstance(argument, ast.Constant))


def imported(path: Path, source: str) -> set[str]:
    """The rooms that a file imports from."""
    found = {name for node in ast.walk(ast.parse(source)) for name in names(node, path)}
    return {name.split(".")[1] for name in found if name.startswith("nmt.")} - {room(path)}


def graph() -> dict[str, set[str]]:
    """Each room with the rooms that it imports from."""
    edges: dict[str, set[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        if room(path) not in ("__init__", "__main__"):
            edges.setdefault(room(path), set()).update(imported(path, path.read_text(encoding="utf-8")))
    return edges


def circle(edges: dict[str, set[str]]) -> list[str]:
    """Rooms that import each other in a circle; none where there is no circle."""
    left = dict(edges)
    while free := [name for name, others in left.items() if not others & left.keys()]:
        for name in free:
            del left[name]
    return sorted(left)


def upward(edges: dict[str, set[str]], order: list[list[str]]) -> set[str]:
    """Imports from a lower room to a higher one, and between the rooms of one row."""
    place = {name: number for number, row in enumerate(order) for name in row}
    return {
        f"{name} imports {other}" for name, others in edges.items() for other in others if place[other] < place[name]
    }


def test_every_room_has_its_place():
    named = [name for row in rows() for name in row]
    there = {room(path) for path in PACKAGE.iterdir() if path.is_dir() or path.suffix == ".py"}
    assert sorted(named) == sorted(there - {"__init__", "__main__", "__pycache__"})


def test_imports_run_downward_only():
    assert not upward(graph(), rows())


def test_no_rooms_import_each_other_in_a_circle():
    assert not circle(graph())


def test_every_kind_of_import_counts():
    """The checks above see imports in functions, imports for types, `import nmt.x`, relative and named imports."""
    path = PACKAGE / "text" / "pairs.py"
    for source in (
        "from nmt.run import directory",
        "from nmt import run",
        "import nmt.run.directory as r",
        "def f():\n    from nmt.run.directory import Run",
        "if TYPE_CHECKING:\n    from nmt.run.directory import Run",
        "from ..run import directory",
        "importlib.import_module('nmt.run')",
    ):
        assert imported(path, source) == {"run"}, source
    assert upward({"text": {"run"}}, [["run"], ["text"]]) == {"text imports run"}
    assert circle({"text": {"run"}, "run": {"text"}, "files": set()}) == ["run", "text"]


def too_long(source: str) -> Iterator[str]:
    """Functions over 60 lines and classes over 200 in a file; a comment `# long: REASON` above one excuses it."""
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            length = node.end_lineno - node.lineno + 1
            excused = lines[first - 2].strip().startswith("# long: ")
            if length > (60 if isinstance(node, ast.FunctionDef) else 200) and not excused:
                yield f"{node.name} has {length} lines"


def test_functions_fit_a_screen():
    files = [path for folder in ("nmt", "scripts") for path in (ROOT / folder).rglob("*.py")]
    assert files
    found = {f"{path.relative_to(ROOT)}: {what}" for path in files for what in too_long(path.read_text("utf-8"))}
    assert not found


def test_a_long_function_needs_a_reason():
    body = "".join("    x = 1\n" for _ in range(61))
    assert list(too_long(f"def f():\n{body}")) == ["f has 62 lines"]
    assert not list(too_long(f"# long: one table\ndef f():\n{body}"))
