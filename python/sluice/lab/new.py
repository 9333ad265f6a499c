"""Writes a project outside of Sluice's tree, from the text of the guides."""

from __future__ import annotations

import argparse
import importlib.util
import keyword
import re
import shlex
import textwrap
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from sluice import _core
from sluice.errors import InvalidArgumentError
from sluice.layers.generate import camel_case
from sluice.python_kernels import kernel_arguments

from . import arguments
from . import text as texts

_ABOUT = """\
Writes the files of a guide into a folder of their own, with NAME in place of
the guide's: sources, a CMakeLists.txt, a test that passes and a README.md.
Change the sources from there; the test says whether they are still right.
  sluice-lab new kernel fast_relu --op relu     for an op of Sluice
  sluice-lab new op steep_relu                  with kernels for CPU and CUDA
  sluice-lab new layer highway                  in Python
  sluice-lab new device abacus --into plugins/abacus"""

_CMAKE = """\
cmake -B build -DCMAKE_BUILD_TYPE=Release{prefix}
cmake --build build -j 4
ctest --test-dir build --output-on-failure"""


class _Kind(NamedTuple):
    """The files made from a guide; ``words`` maps its names to new ones."""

    guide: str
    files: str
    words: dict[str, str]
    commands: str
    readme: str  # what to do next


_KERNEL = (
    "The kernel is `{name}.cc`. Without CMake, `sluice-lab verify {name}.cc` "
    "compiles it and tries more sizes than the test, `sluice-lab race {op} "
    "--kernels {name}.cc` times it beside the op's other kernels. A program "
    'uses it after `sl.compile_kernels("{name}.cc")`, or what CMake built by '
    "`SLUICE_KERNEL_PATH=build/lib{name}.so` in its environment."
)
_KINDS = {
    "kernel": _Kind(
        "adding_a_kernel.md",
        "fast_relu.cc fast_relu.cu main.cc CMakeLists.txt",
        {
            "fast_relu": "{name}",
            "FastRelu": "{camel}",
            r"\badd_kernel\b": "{name}",
            r"\bfast\b": "{variant}",
        },
        _CMAKE,
        _KERNEL,
    ),
    "op": _Kind(
        "adding_an_op.md",
        "steep_relu_op.cc steep_relu_kernel.cc steep_relu_kernel.cu main.cc "
        "use.py CMakeLists.txt",
        {
            "steep_relu": "{name}",
            "SteepRelu": "{camel}",
            "my_ops": "{name}_ops",
            r"\badd_op\b": "{name}",
        },
        _CMAKE,
        "Say what the op is in `{name}_op.cc`, and compute it in "
        "`{name}_kernel.cc` (and `{name}_kernel.cu` for CUDA). `main.cc` uses "
        "it from C++, `use.py` from Python. `sluice-lab verify "
        "build/lib{name}_ops.so` tries more sizes than the test. Python needs "
        'no CMake: `sl.compile_ops("{name}_op.cc", "{name}_kernel.cc")`; '
        "`sluice-lab verify` takes these two files, too.",
    ),
    "layer": _Kind(
        "adding_a_layer.md",
        "highway.py train.py test_highway.py",
        {"highway": "{name}"},
        "{python}python3 train.py\n{python}python3 -m pytest -q test_{name}.py",
        "The layer is `{name}.py`, a function that appends ops. The test needs "
        "pytest (`python3 -m pip install pytest`).",
    ),
    "device": _Kind(
        "adding_a_device.md",
        "abacus.c main.cc CMakeLists.txt",
        {"abacus": "{name}", r"\badd_device\b": "{name}"},
        _CMAKE,
        "The device and its kernels are `{name}.c`. Programs find it in the "
        "folder `SLUICE_PLUGIN_PATH`, when they first use a place `{name}:0`.",
    ),
}
# A kernel that begins as the one that Sluice has, for any op but the guide's.
_ANY_OP = _Kind(
    "adding_a_kernel.md",
    "my_softmax.cc CMakeLists.txt",
    {
        "my_softmax|fast_relu": "{name}",
        "MySoftmax": "{camel}",
        "softmax": "{op}",
        r"\badd_kernel\b": "{name}",
        r"\bmy\b": "{variant}",
    },
    _CMAKE,
    _KERNEL,
)
_TYPES = {
    "float32": "float", "float64": "double", "int32": "int32_t",
    "int64": "int64_t", "uint8": "uint8_t", "int8": "int8_t", "bool": "bool",
}  # fmt: skip


# The targets of CMake's generators.
_TARGETS = (
    "all", "clean", "depend", "edit_cache", "help", "install", "package",
    "package_source", "preinstall", "rebuild_cache", "test",
)  # fmt: skip


def _blocks(guide: str) -> dict[str, str]:
    """The files that a guide shows; of two with one name the first."""
    text = (Path(__file__).parent / "guides" / guide).read_text("utf-8")
    block = r"(?ms)^```\w+ (?:file|new)=(\S+)\n(.*?)^```$"
    return dict(reversed(re.findall(block, text)))


def _refuse(what: str, text: str) -> NoReturn:
    raise InvalidArgumentError(text, f"lab.new_{what}")


def _has_module(name: str) -> bool:
    spec = importlib.util.find_spec(name)
    return spec is not None and spec.origin is not None  # no mere folder


def _check_name(kind: str, name: str) -> None:
    form = r"[a-z][a-z0-9]*(_[a-z0-9]+)*"
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    words = re.sub(r"[\W_]+", "_", words, flags=re.ASCII).strip("_")
    why = ""
    if not re.fullmatch(form, name):
        why = "expected a letter a to z, then such letters, digits and single _"
        if re.fullmatch(form, words):
            why += f"; {words} would do"
    elif keyword.iskeyword(name):
        why = f"Python has this word; my_{name} would do"
    elif kind == "layer" and _has_module(name):
        why = f"Python has a module {name}; my_{name} would do"
    elif kind == "device" and name in ("cpu", "cuda", "fpga"):
        why = f"Sluice has such a device; my_{name} would do"
    elif kind in ("kernel", "device") and name in _TARGETS:
        why = f"CMake has a target {name}; my_{name} would do"
    elif kind == "op" and name.endswith("_grad"):
        why = "the gradient of an op has such a name; choose another one"
    elif kind == "op" and name in _core._op_names():
        why = "there is such an op; choose another name, or write a kernel for "
        why += f"it: sluice-lab new kernel my_{name} --op {name}"
    if why:
        _refuse("name", f"new {kind} {name!r}: {why}")


def _types_of_kernel(name: str, op: str | None) -> list[str]:
    """The C++ types of a kernel of the op."""
    if op is None:
        ops = [o for o in _core._op_names() if name.endswith(o)]
        guess = max(ops, key=len, default="relu")
        _refuse(
            "op",
            f"new kernel {name}: for which op? For example --op {guess}; "
            "sl.kernels() in Python lists the kernels of all ops",
        )
    plain = ("cpu", "PLAIN", "plain")
    dtypes = [
        kernel["dtype"]
        for kernel in _core._kernels(op)  # NotFoundError with near names
        if (kernel["place"], kernel["library"], kernel["variant"]) == plain
    ]
    types = [type for dtype, type in _TYPES.items() if dtype in dtypes]
    if not types:
        _refuse(
            "op",
            f"--op {op}: the op has no kernel `plain` to begin with, as passes "
            "make it; choose one of the ops that it is made of",
        )
    return types[: 2 if types[1:2] == ["double"] else 1]


def _about(op: str) -> str:
    """The arguments of a kernel of the op, as a comment in C++."""
    lines = textwrap.indent(f"{op}'s {kernel_arguments(op)}", "// ")
    return "\n".join(
        textwrap.fill(
            line, 80, subsequent_indent="//     ", break_on_hyphens=False
        )
        for line in lines.splitlines()
    )


def _render(
    kind: _Kind, files: dict[str, str], names: dict[str, str]
) -> dict[str, str]:
    """The files with other names; raises InvalidArgumentError for a clash."""
    guide = re.compile("|".join(f"({word})" for word in kind.words))
    new = [text.format(**names) for text in kind.words.values()]

    def replace(found: re.Match[str]) -> str:
        return new[(found.lastindex or 1) - 1]

    words = set(re.findall(r"\w+", "\n".join([*files, *files.values()])))
    ours = {word for word in words if guide.search(word)}
    for word in sorted({guide.sub(replace, each) for each in ours}):
        if word in words - ours:
            name = names["name"]
            _refuse(
                "name",
                f"{name} makes the name {word}, which the files have for "
                f"something else; choose another, such as my_{name}",
            )
    return {
        guide.sub(replace, file): guide.sub(replace, text)
        for file, text in files.items()
    }


def _any_op(files: dict[str, str], types: list[str], op: str) -> None:
    """Keep what all kernels need, with the op's arguments and C++ types."""
    (source,) = (file for file in files if file.endswith(".cc"))
    lines = files["CMakeLists.txt"].split("\n\n")
    files["CMakeLists.txt"] = "\n\n".join(lines[:2]) + "\n"
    about = "// The op's inputs, outputs and attributes."
    text = files[source].replace(about, _about(op))
    kernels = re.search(r"(?s)\w+<float>,\s+(\w+)<double>", text)
    assert kernels is not None
    of = (",\n" + " " * 19).join(f"{kernels[1]}<{type}>" for type in types)
    files[source] = text.replace(kernels[0], of)


def _readme(kind: str, described: _Kind, names: dict[str, str]) -> str:
    commands = described.commands.format(
        prefix=" -DCMAKE_PREFIX_PATH=PREFIX", python="", **names
    )
    first = f"This {kind} for Sluice was begun by `sluice-lab new`."
    if "PREFIX" in commands:
        first += " PREFIX is where `cmake --install` put Sluice."
    last = described.readme.format(**names)
    last += f" Sluice's page `docs/{described.guide}` explains each file."
    parts = texts.wrap(first, other=0), f"```\n{commands}\n```"
    return "\n\n".join(
        [f"# {names['name']}", *parts, texts.wrap(last, other=0) + "\n"]
    )


def _files(kind: str, name: str, op: str | None) -> dict[str, str]:
    """The text of each file of a project, by name."""
    _check_name(kind, name)
    described = _KINDS[kind]
    names = {"name": name, "camel": camel_case(name)}
    types: list[str] = []
    if kind == "kernel":
        types = _types_of_kernel(name, op)
        described = described if op == "relu" else _ANY_OP
        names |= {"op": op or "", "variant": name.removesuffix(f"_{op}")}
        if names["variant"] == "plain":
            _refuse("name", f"{name}: {op}/plain is Sluice's; choose another")
    elif op is not None:
        _refuse("op", f"new {kind}: --op {op}: only a kernel is for an op")
    blocks = _blocks(described.guide)
    files = {file: blocks[file] for file in described.files.split()}
    files = _render(described, files, names)
    if described is _ANY_OP:
        _any_op(files, types, op or "")
    return files | {"README.md": _readme(kind, described, names)}


def new(
    kind: str, name: str, op: str | None = None, into: str | Path | None = None
) -> list[Path]:
    """Write a project of your own, ready to build, with a test that passes.

    Args:
        kind: "kernel", "op", "layer" or "device".
        name: what it is called, in lower case.
        op: of a kernel: the op that it computes.
        into: the folder, which is made; by default one of this name.

    Returns:
        The files.

    Raises:
        InvalidArgumentError: a name that cannot be used or is taken, or a file
            that exists. Nothing is written.
        NotFoundError: there is no such op.
        OSError: the folder cannot be written.
    """
    if kind not in _KINDS:
        _refuse("kind", f"new: {kind!r} is none of {', '.join(_KINDS)}")
    files = _files(kind, name, op)
    folder = Path(into or name)
    if folder.exists() and not folder.is_dir():
        _refuse("file", f"{folder} is a file; choose a folder with --into")
    taken = ", ".join(file for file in files if (folder / file).exists())
    if taken:
        _refuse(
            "file",
            f"{folder} has {taken} already, so nothing was written; choose "
            "another folder with --into",
        )
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in files.items():
        with open(folder / file, "x", encoding="utf-8") as output:
            output.write(text)
    return [folder / file for file in files]


def _install() -> tuple[str, Path | None]:
    """Where CMake finds Sluice, and for a build the command that installs it.

    "/" where it finds Sluice by itself, None for a package without C++.
    """
    package = Path(_core.__file__).absolute().parent
    build = package.parents[1]
    if (build / "CMakeCache.txt").exists():
        prefix = build / "prefix"
        folders = shlex.join([str(build), "--prefix", str(prefix)])
        return f"cmake --install {folders}\n", prefix
    system = Path("/usr/local"), Path("/usr")
    for prefix in (package, *package.parents, *system):
        for lib in ("lib*", "lib/*"):
            if any(prefix.glob(f"{lib}/cmake/sluice/sluice-config.cmake")):
                own = str(prefix) not in ("/", "/usr", "/usr/local")
                return "", prefix if own else Path("/")
    return "", None


def _next(kind: str, name: str, folder: Path) -> str:
    """The commands that build and test what was written."""
    package = Path(_core.__file__).absolute().parents[1]
    python = f"PYTHONPATH={shlex.quote(str(package))} "
    if package.name in ("site-packages", "dist-packages"):
        python = ""
    commands, first, said = _KINDS[kind].commands, "", "build and test it:"
    option = " -DCMAKE_PREFIX_PATH=PREFIX"
    if commands == _CMAKE:
        first, prefix = _install()
        if prefix is None:
            said = "build and test; PREFIX has an installed Sluice (no wheel):"
        elif prefix == Path("/"):
            option = ""
        else:
            option = option.replace("=PREFIX", f"={shlex.quote(str(prefix))}")
    commands = commands.format(name=name, prefix=option, python=python)
    lines = f"{first}cd {shlex.quote(str(folder))}\n{commands}"
    return f"{said}\n{textwrap.indent(lines, '  ')}"


def add_parser(commands: Any) -> None:
    """Add the command ``new``."""
    parser = commands.add_parser(
        "new",
        help="write a kernel, op, layer or device of your own, to begin with",
        description=_ABOUT,
    )
    kinds = list(_KINDS)
    arguments.add(parser, "kind", "KIND", ", ".join(kinds), choices=kinds)
    arguments.add(parser, "name", "NAME", "in lower case, such as fast_relu")
    arguments.add(parser, "--op", "OP", "of a kernel: the op that it computes")
    arguments.add(
        parser, "--into", "FOLDER", "where to write; by default a folder NAME"
    )
    parser.set_defaults(run=_run)


def _run(parsed: argparse.Namespace) -> None:
    files = new(parsed.kind, parsed.name, parsed.op, parsed.into)
    folder = files[0].parent
    written = ", ".join(file.name for file in files)
    print(texts.wrap(f"{folder} has {written}", other=0))
    print(_next(parsed.kind, parsed.name, folder))
