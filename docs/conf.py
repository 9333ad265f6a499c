"""How Sphinx builds the site; `./dev docs` calls it (see build.py)."""

import sluice

project = "Sluice"
author = "the authors of Sluice"
copyright = author
release = version = sluice.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
]
html_theme = "furo"
html_title = "Sluice"
html_show_sourcelink = False

# Anchors of headings, as links in Markdown name them.
myst_heading_anchors = 3

autodoc_default_options = {
    "members": True,
    "show-inheritance": True,
}
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_format = "short"
napoleon_numpy_docstring = False

# Examples in guides are C++ with "..." and programs' output.
suppress_warnings = ["misc.highlighting_failure"]
