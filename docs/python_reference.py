"""The pages of the Python API: a table of names, then each in full."""

from __future__ import annotations

import importlib
import inspect
import re
import textwrap
from pathlib import Path
from types import ModuleType

import sluice

import op_reference


def public(owner: ModuleType) -> list[str]:
    """What a module offers, without its modules and tables."""
    other = (ModuleType, dict, str)
    return [name for name in owner.__all__ if not isinstance(getattr(owner, name), other)]


def names_of(one: dict[str, str], owner: ModuleType) -> list[str]:
    """What a page names, or what modules of the owner's package define."""
    modules = one.get("from", "").split()
    return one.get("names", "").split() + [
        name
        for name in public(owner)
        if getattr(owner, name).__module__.rsplit(".", 1)[-1] in modules
    ]


def heading(title: str, line: str = "=") -> list[str]:
    return [title, line * len(title), ""]


def page(title: str, about: str, owner: ModuleType, names: list[str]) -> str:
    """A page: a table of names with first sentences, then each in full."""
    lines = [*heading(title), about, "", f".. currentmodule:: {owner.__name__}"]
    lines += ["", ".. autosummary::", "   :nosignatures:", ""]
    lines += [f"   {name}" for name in names] + [""]
    for name in names:
        value = getattr(owner, name)
        kind = "function" if callable(value) else "data"
        if inspect.isclass(value):
            kind = "exception" if issubclass(value, Exception) else "class"
        lines += [f".. auto{kind}:: {name}", ""]
    return "\n".join(lines)


def line_about(value: object) -> str:
    """The first sentence of a docstring that is one, without its signatures."""
    for paragraph in re.split(r"\n\s*\n|\n(?=[A-Z])", inspect.getdoc(value) or ""):
        if not re.match(r"with |\w+\(.*\) -> ", paragraph):
            sentence = re.split(r"(?<=[.:])\s", " ".join(paragraph.split()))[0].rstrip(":")
            return op_reference.text(textwrap.shorten(sentence, 110, placeholder=" ..."))
    return ""


def write(folder: Path) -> None:
    """Write the pages and the one that lists them."""
    folder.mkdir(parents=True, exist_ok=True)
    pages: dict[str, dict[str, str]] = op_reference.TABLES["python"]
    pages["more"] = {"title": "More"}
    modules = {page: one.get("module", "sluice") for page, one in pages.items()}
    owners = {name: importlib.import_module(name) for name in modules.values()}
    listed = {
        (modules[page], name)
        for page, one in pages.items()
        for name in names_of(one, owners[modules[page]])
    }
    toctree, rows = ["```{toctree}", ":hidden:", ""], []
    for page_name, one in pages.items():
        owner = owners[modules[page_name]]
        title, about = one["title"], one.get("about", "")
        if owner is not sluice:
            title += f": {owner.__name__}"
            about = about or f".. automodule:: {owner.__name__}\n   :no-members:"
        others = [public(each) for each in owners.values() if each is not sluice]
        rest = [
            name
            for name in public(owner)
            if (owner.__name__, name) not in listed
            and not (owner is sluice and any(name in names for names in others))
        ]
        names = names_of(one, owner) or rest
        if names:
            toctree.append(page_name)
            rows.append([f"**[{title}]({page_name}.rst)**", ""])
            lists = {name: f"{{py:obj}}`{name} <{owner.__name__}.{name}>`" for name in names}
            if page_name == "tensors":  # dtypes are one row
                dtypes = [name for name in names if isinstance(getattr(owner, name), sluice.DType)]
                rows.append(["dtypes", ", ".join(map(lists.pop, dtypes))])
            rows += [[link, line_about(getattr(owner, name))] for name, link in lists.items()]
            text = page(title, about, owner, names)
            (folder / f"{page_name}.rst").write_text(text)
    lines = ["# Python", "", op_reference.TABLES["python_index"], ""]
    lines += [*op_reference.table(["name", "what it is"], rows), *toctree, "```", ""]
    (folder / "index.md").write_text("\n".join(lines))
