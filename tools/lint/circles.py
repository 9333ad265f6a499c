"""Fails for circles of files of the Python package. Imports inside of functions
and for type checkers count; those of the packages around a module do not."""

import ast
import graphlib
import importlib.util
import sys

import rooms

EXTENSIONS = {"_core", "_lab"}  # modules in C++


def statements(node, for_types=False):
    """Yields the import statements, and whether only type checkers read them."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.Import, ast.ImportFrom)):
            yield child, for_types
        else:
            is_guard = ast.unparse(getattr(child, "test", child)) == "TYPE_CHECKING"
            yield from statements(child, for_types or is_guard)


def imported(module, path, files):
    """The modules of the package that a file imports. For type checkers, names
    may come from a package, which only gathers them."""
    package = module if path.stem == "__init__" else module.rpartition(".")[0]
    found = set()
    for statement, for_types in statements(ast.parse((rooms.ROOT / path).read_text())):
        base = ""
        if isinstance(statement, ast.ImportFrom):
            base = "." * statement.level + (statement.module or "")
            base = importlib.util.resolve_name(base, package) + "."
        for alias in statement.names:
            name = base + alias.name
            while name and name not in files:
                name = name.rpartition(".")[0]
            gathers = name and "__init__" in (path.stem, files[name].stem)
            if not EXTENSIONS & {*base.split("."), alias.name}:
                found |= set() if for_types and gathers else {name}
    return found - {"", module}


def main():
    files = {}
    for path in rooms.files(".py"):
        if path.parts[1:2] == ("sluice",):
            name = ".".join(path.with_suffix("").parts[1:])
            files[name.removesuffix(".__init__")] = path
    graph = {name: imported(name, path, files) for name, path in files.items()}
    problems = []
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        problems.append(f"files import each other: {' < '.join(error.args[1])}")
    return rooms.report(problems)


if __name__ == "__main__":
    sys.exit(main())
