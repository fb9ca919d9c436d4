"""The documentation as a site: `bash scripts/docs.sh` builds it from the Markdown pages. Warnings are errors there."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

from nmt.cli.quiet import quiet_start  # noqa: E402  the path of the checkout comes first
from nmt.version import __version__  # noqa: E402

with quiet_start():  # the docstrings of the Python interface import TensorFlow
    import keras  # noqa: F401

project = "nmt"
author = "the nmt authors"
release = __version__
language = "en"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "documentation.formulas",
    "documentation.reference",
]

myst_enable_extensions = ["deflist", "dollarmath"]
smartquotes_action = "qe"  # quotes and ellipses; the dashes of flags stay
myst_heading_anchors = 4  # a link may name a heading, as on a forge
myst_links_external_new_tab = False
html_math_renderer = "mathml"

default_role = "code"  # a docstring has `names` as in Markdown
autodoc_typehints = "description"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["inline-code.css"]
html_title = f"nmt {release}"
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_theme_options = {"navigation_with_keys": True, "top_of_page_buttons": []}
