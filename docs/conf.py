"""How Sphinx builds the site; `./dev docs` calls it (see build.py)."""

import re

import sluice
import sphinx.search.en

project = "Sluice"
author = "the authors of Sluice"
copyright = author
release = version = sluice.__version__

extensions = ["myst_parser", "sphinx_copybutton", "breathe"]
extensions += [f"sphinx.ext.{name}" for name in ("autodoc", "autosummary", "napoleon")]
copybutton_selector = "div:not(.output) > div.highlight pre"  # no outputs
html_theme = "furo"
html_title = "Sluice"
html_show_sourcelink = False
html_use_index = False  # one page of 12,000 pixels; the search finds names
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = [("filter.js", {"defer": "defer"})]

# Anchors of headings, as links in Markdown name them; pictures as GitHub sizes
# them.
myst_heading_anchors = 3
myst_enable_extensions = ["html_image"]

autodoc_default_options = {"members": True, "show-inheritance": True}
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_format = "short"
napoleon_numpy_docstring = False

breathe_default_project = "sluice"
breathe_domain_by_extension = {"h": "cpp"}
breathe_default_members = ("members", "undoc-members")

# Examples in guides are C++ with "..." and programs' output.
suppress_warnings = ["misc.highlighting_failure"]
highlight_language = "none"
# Breathe says on each page of C++ in which namespace its names are.
suppress_warnings += ["duplicate_declaration.cpp", "duplicate_declaration.c"]


def _python_types(app, what, name, obj, options, signature, result):
    """Names a C++ type as Python does: its last part."""
    return tuple(
        text and re.sub(r"(?:::)?(?:\w+::)+(\w+)", r"\1", text) for text in (signature, result)
    )


class _Words(sphinx.search.en.SearchEnglish):
    """Finds names by their parts, too: winograd_4x4 by winograd."""

    def split(self, input):
        words = super().split(input)
        return words + [part for word in words if "_" in word for part in word.split("_") if part]


def _no_bindings(app, name, obj, options, bases):
    """Leaves out bases that users do not see."""
    shown = [one for one in bases if not getattr(one, "__module__", "").startswith("sluice._")]
    bases[:] = shown or [object]


def setup(app):
    sphinx.search.languages["en"] = _Words
    app.connect("autodoc-process-bases", _no_bindings)
    app.connect("autodoc-process-signature", _python_types)
