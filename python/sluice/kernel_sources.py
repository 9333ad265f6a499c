"""Sources with REGISTER_ lines: what they register, and a library's entry.

CMake reads the same lines in its builds (cmake/SluiceRegistration.cmake).
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from .errors import InvalidArgumentError, NotFoundError

# How many names each macro begins with.
_NAMES = {
    "OPERATOR": 1,
    "PASS": 1,
    "TABLE": 1,
    "OP_CPU_KERNEL": 1,
    "OP_CUDA_KERNEL": 1,
    "OP_KERNEL": 4,
}
_CALL = re.compile(rf"REGISTER_({'|'.join(_NAMES)})\s*\(([^()]*)")
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">\n]+)', re.M)
# Comments, and texts in quotes, in which those have no meaning.
_NO_CODE = re.compile(
    r"""//[^\n]*|/\*.*?\*/|'\\?"'|"(?:[^"\\\n]|\\.)*\"""", re.S
)
# Of sources.
ENDINGS = (".cc", ".cpp", ".cxx", ".cu")


class Registration(NamedTuple):
    """A call of a REGISTER_ macro."""

    macro: str
    """Without REGISTER_: "OPERATOR" or "OP_KERNEL"."""
    names: tuple[str, ...]
    """Of the op; for OP_KERNEL then the library, the place and the variant."""
    where: str
    """The source and the line."""

    @property
    def symbol(self) -> str:
        """The function that the macro defines."""
        if self.macro in ("OPERATOR", "PASS", "TABLE"):
            return f"SluiceRegister{self.macro.capitalize()}_{self.names[0]}"
        op, library, place, variant = self.kernel
        return f"SluiceRegisterKernel_{op}_{place}_{library}_{variant}"

    @property
    def kernel(self) -> tuple[str, str, str, str]:
        """The op, library, type of the place and variant of a kernel."""
        if len(self.names) == 4:
            return self.names  # type: ignore[return-value]
        place = "CUDAPlace" if "CUDA" in self.macro else "CPUPlace"
        return self.names[0], "PLAIN", place, "plain"


@dataclass
class Source:
    """A source: a file, or a text."""

    label: str
    """How messages name it: its path, or ``<source>``."""
    data: bytes
    path: Path | None = None

    @property
    def text(self) -> str:
        """Its lines, whatever system ended them."""
        text = self.data.decode("utf-8-sig", "surrogateescape")
        return text.replace("\r\n", "\n")

    @property
    def folder(self) -> Path:
        """Where it looks for what it includes by "name"."""
        return Path() if self.path is None else self.path.parent

    @property
    def cuda(self) -> bool:
        """Whether it is for the compiler of CUDA."""
        if self.path is not None:
            return self.path.suffix == ".cu"
        code = _without_comments(self.text)
        return bool(re.search(r"\bCUDAPlace\b|REGISTER_OP_CUDA_KERNEL", code))

    def included(self, folders: Sequence[Path]) -> dict[Path, bytes]:
        """The files that it includes, directly or not, with their contents.

        They are searched beside the including file and in ``folders``; a file
        ``x.cc`` beside an ``x.h`` counts, too, as in CMake's builds.
        """
        found: dict[Path, bytes] = {}
        own = self.path and self.path.resolve()
        waiting = [(self.folder, self.text)]
        while waiting:
            folder, text = waiting.pop()
            for quote, name in _INCLUDE.findall(text):
                if name.startswith("sluice/"):
                    continue
                beside = [folder] if quote == '"' else []
                places = [each / name for each in [*beside, *folders]]
                for file in _with_body(places):
                    if file not in found and file != own:
                        found[file] = file.read_bytes()
                        code = found[file].decode(errors="replace")
                        waiting.append((file.parent, code))
        return found

    def version(self, folders: Sequence[Path]) -> str:
        """The version of its kernels in records, as CMake's builds have it."""
        contents = [self.data, *self.included(folders).values()]
        hashes = sorted(hashlib.sha1(each).hexdigest() for each in contents)
        return hashlib.sha1(";".join(hashes).encode()).hexdigest()[:12]


def _with_body(places: Sequence[Path]) -> list[Path]:
    """The first file that exists, and ``x.cc`` for an ``x.h``."""
    for path in places:
        if path.is_file():
            body = path.with_suffix(".cc")
            pair = path.suffix == ".h" and body.is_file()
            return [each.resolve() for each in [path, body][: 1 + pair]]
    return []


def _without_comments(text: str) -> str:
    """A source's code: no comments and no texts in quotes, the same lines."""
    return _NO_CODE.sub(lambda found: " " + "\n" * found[0].count("\n"), text)


def scan(source: Source) -> list[Registration]:
    """Return the calls of REGISTER_ macros in a source, in order.

    Raises InvalidArgumentError for one that cannot be read.
    """
    code = _without_comments(source.text)
    found = []
    for call in _CALL.finditer(code):
        macro, arguments = call.groups()
        where = f"{source.label}:{code.count(chr(10), 0, call.start()) + 1}"
        words = [word.strip() for word in arguments.split(",")]
        names = tuple(words[: _NAMES[macro]])
        if len(words) <= len(names) or not all(
            re.fullmatch(r"[A-Za-z0-9_]+", name) for name in names
        ):
            raise InvalidArgumentError(
                f"{where}: cannot read REGISTER_{macro}({arguments.strip()}: "
                "expected REGISTER_OPERATOR(op, Schema), "
                "REGISTER_OP_CPU_KERNEL(op, Kernel...) or "
                "REGISTER_OP_KERNEL(op, LIBRARY, PlaceType, variant, Traits, "
                "Kernel...)",
                "compile.registration",
            )
        found.append(Registration(macro, names, where))
    return found


def scan_all(sources: Iterable[Source]) -> list[Registration]:
    """Return the calls in all sources; an error if one is there twice."""
    found: dict[str, Registration] = {}
    for source in sources:
        for each in scan(source):
            first = found.setdefault(each.symbol, each)
            if first is not each:
                raise InvalidArgumentError(
                    f"{each.where}: REGISTER_{each.macro}"
                    f"({', '.join(each.names)}, ...) is there already, in "
                    f"{first.where}",
                    "compile.registered_twice",
                )
    return list(found.values())


def entry(
    sources: Sequence[Source],
    folders: Sequence[Path],
    cuda: str,
    flags: str = "",
) -> str:
    """The source of a library's entry, which the loader calls.

    Args:
        sources: the sources of the library.
        folders: folders for included files.
        cuda: for whose CUDA its kernels are: "ON", "EMULATE" or "OFF".
        flags: changes with flags of the compiler; "" without.
    """
    declarations, calls = [], []
    for source in sources:
        version = source.version(folders)
        if flags:
            both = (version + flags).encode()
            version = hashlib.sha1(both).hexdigest()[:12]
        for each in scan(source):
            declarations.append(
                f"SLUICE_API void {each.symbol}(::sluice::Registry&);"
            )
            calls.append(
                f'  registry.AddFrom("{version}", "", &{each.symbol});'
            )
    return "\n".join(
        [
            '#include "sluice/framework/op/kernel_stamp.h"',
            '#include "sluice/framework/op/registry.h"',
            f'SLUICE_KERNEL_LIBRARY("{cuda}");',
            'extern "C" {',
            *declarations,
            "SLUICE_API void SluiceAddKernelLibrary(::sluice::Registry&);",
            "void SluiceAddKernelLibrary(::sluice::Registry& registry) {",
            *calls,
            "}",
            "}",
            "",
        ]
    )


def read(sources: Iterable[object], call: str) -> list[Source]:
    """Return the sources that a user named: files, or texts of several lines.

    Raises:
        NotFoundError: there is no such file.
        InvalidArgumentError: none, or something else.
    """
    found: list[Source] = []
    flat: list[object] = []
    for each in sources:
        flat += each if isinstance(each, (list, tuple)) else [each]
    texts = sum(isinstance(each, str) and "\n" in each for each in flat)
    for each in flat:
        if isinstance(each, str) and "\n" in each:
            number = f" {len(found) + 1}" if texts > 1 else ""
            data = each.encode(errors="surrogateescape")
            found.append(Source(f"<source{number}>", data))
            continue
        if not isinstance(each, (str, os.PathLike)):
            raise InvalidArgumentError(
                f"{call}: expected files, or sources as text, got "
                f"{type(each).__name__}",
                "compile.sources",
            )
        path = Path(each)
        if path.suffix not in ENDINGS:
            raise InvalidArgumentError(
                f"{call}: {each}: expected a file {', '.join(ENDINGS)}, or "
                "the lines of a source",
                "compile.ending",
            )
        if not path.is_file():
            raise NotFoundError(
                f"{call}: there is no file {each}", "compile.file"
            )
        found.append(Source(str(each), path.read_bytes(), path.absolute()))
    if not found:
        raise InvalidArgumentError(f"{call}: no source", "compile.sources")
    return found
