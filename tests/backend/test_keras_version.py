"""The Keras release that nmt needs: private members may change with each minor release, so setup.cfg bounds it."""

from __future__ import annotations

import ast
import configparser
from pathlib import Path

import keras
import pytest

ROOT = Path(__file__).parents[2]

KERAS_MEMBERS = {
    "_accumulated_gradients",
    "_apply_weight_decay",
    "_backend_increment_gradient_accumulators",
    "_backend_reset_gradient_accumulators",
    "_backend_update_step",
    "_clip_gradients",
    "_common_apply",
    "_get_variable_index",
    "_iterations",
    "_model_variables_moving_average",
    "_momentums",
    "_tf_apply",
    "_update_model_variables_moving_average",
    "_use_weight_decay",
    "_velocities",
}
"""Private members of Keras's optimizers that nmt uses. Try each with a new Keras before the bound moves."""

PYTHON_MEMBERS = {"_asdict", "_fields", "_replace"}
"""Documented members of named tuples."""


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def defined(tree: ast.AST) -> set[str]:
    """Private names that this module defines: functions, classes, attributes that it assigns, fields, imports."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.add(node.attr)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.alias):
            names.add((node.asname or node.name).rpartition(".")[2])
    return {name for name in names if is_private(name)}


def overridden(tree: ast.AST) -> set[str]:
    """Private methods of the classes in this module that derive from a class of Keras."""
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    derived = [node for node in classes if any(ast.unparse(base).startswith("keras.") for base in node.bases)]
    methods = {each.name for node in derived for each in node.body if isinstance(each, ast.FunctionDef)}
    return {name for name in methods if any(hasattr(base, name) for base in map(keras_base, derived))}


def keras_base(node: ast.ClassDef) -> type:
    (name,) = (ast.unparse(base) for base in node.bases if ast.unparse(base).startswith("keras."))
    found: object = keras
    for part in name.split(".")[1:]:
        found = getattr(found, part)
    assert isinstance(found, type)
    return found


def foreign_members(sources: list[str]) -> set[str]:
    """Private members that these modules use or override and do not define, where they import Keras."""
    trees = [ast.parse(source) for source in sources]
    own = set().union(*map(defined, trees))
    found: set[str] = set()
    for source, tree in zip(sources, trees, strict=True):
        if "import keras" in source or "from keras" in source or "import tensorflow" in source:
            attributes = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
            private_overrides = {name for name in overridden(tree) if is_private(name)}
            found |= {name for name in attributes if is_private(name) and name not in own} | private_overrides
    return found - PYTHON_MEMBERS


def test_each_private_member_of_keras_that_nmt_uses_is_listed() -> None:
    sources = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "nmt").rglob("*.py"))]
    assert foreign_members(sources) == KERAS_MEMBERS
    assert not any("keras.src" in source for source in sources)


@pytest.mark.parametrize(
    "line", ["keras.Variable(1.0)._trainable", "self.optimizer._new = 1; optimizer._shortcuts", "keras.ops._helper()"]
)
def test_a_new_private_member_is_found(line: str) -> None:
    assert foreign_members([f"import keras\n{line}\n"])


def test_a_new_override_of_a_private_method_is_found() -> None:
    source = "import keras\nclass Mine(keras.optimizers.Adam):\n    def _filter_empty_gradients(self): pass\n"
    assert foreign_members([source]) == {"_filter_empty_gradients"}


def test_this_keras_has_every_member() -> None:
    optimizer = keras.optimizers.Adam(use_ema=True, gradient_accumulation_steps=2)
    scaling = keras.optimizers.LossScaleOptimizer(optimizer)
    scaling.build([keras.Variable(1.0)])
    both = optimizer, scaling
    assert [name for name in sorted(KERAS_MEMBERS) if not any(hasattr(one, name) for one in both)] == []


def test_setup_cfg_bounds_keras_to_the_tested_minor_release() -> None:
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    (requirement,) = [line for line in setup["options"]["install_requires"].split() if line.startswith("keras>")]
    major, minor = map(int, keras.__version__.split(".")[:2])
    assert requirement == f"keras>={major}.{minor},<{major}.{minor + 1}"
