"""Kernels and ops of your own, compiled from where you are.

``sl.compile_kernels("fast_relu.cc")`` compiles a C++ or CUDA source against the
headers of this Sluice and loads it. ``docs/adding_a_kernel.md`` is the guide.
"""

from __future__ import annotations

import hashlib
import keyword
import os
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from . import _core, compiler, layers
from .compiler_flags import Flags
from .errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    SluiceError,
    UnimplementedError,
)
from .kernel_sources import entry, read, scan_all
from .tools import Kernel, load, ops_of_libraries

__all__ = ["compile_kernels", "compile_library", "compile_ops"]

# Changes when the same sources are compiled in another way.
_RECIPE = b"1"
_SHOWN = 60  # lines of the compiler's messages
_CXX_FLAGS = (
    "-std=c++20", "-O2", "-DNDEBUG", "-Wall", "-fPIC", "-fvisibility=hidden",
    "-fvisibility-inlines-hidden",
)  # fmt: skip
# As Sluice's own kernels (cmake/SluiceKernelLibrary.cmake).
_NVCC_FLAGS = (
    "-std=c++20", "-O2", "-DNDEBUG", "--extended-lambda",
    "--expt-relaxed-constexpr", "--fmad=false", "-DFMT_USE_CONSTEXPR=1",
    "-arch=native", "-fPIC", "-fvisibility=hidden",
    "-fvisibility-inlines-hidden",
)  # fmt: skip
# Debian's packages of headers that a source may miss.
_PACKAGES = {
    "fmt": "libfmt-dev", "boost": "libboost-dev", "Eigen": "libeigen3-dev",
    "unsupported": "libeigen3-dev",
}  # fmt: skip

# Errors of the loader about a file, not about what it has.
_DAMAGED = re.compile(
    r"plugin\.|kernel_library\.(stamp|version|entry|open|other_cuda)$"
)
# What this process compiled: kernels by op, library, place and variant.
_kernels: set[tuple[str, str, str, str]] = set()


def compile_kernels(
    *sources: str | os.PathLike[str],
    flags: str | Sequence[str] = (),
    verify: bool = False,
) -> list[Kernel]:
    """Compile kernels for ops that exist, and load them.

    The sources, such as ``"fast_relu.cc"``, have REGISTER_OP_KERNEL lines, and
    become one library. It is kept in a cache, so that the same sources are
    compiled once. Kernels that were compiled before under the same name are
    replaced, also where the next run uses a program that has run already; for
    dtypes that are left out they are withdrawn.

    Args:
        sources: files (``.cc``, ``.cpp``, ``.cxx``, ``.cu``), or sources as
            text of several lines. One text that registers a kernel for
            CUDAPlace is CUDA, like a ``.cu`` file: it is compiled by nvcc, or
            by the C++ compiler where this Sluice emulates CUDA.
        flags: additional flags of the compiler, such as ``"-O3 -march=native
            -I include -lmkl"``. They come after ``-std=c++20 -O2``. nvcc gives
            those that it does not know to its C++ compiler.
        verify: run ``sluice.lab.verify`` in another process first, and load
            nothing if a kernel is wrong or cannot be checked.

    Returns:
        The library's kernels.

    Raises:
        FailedPreconditionError: no compiler is there, or it is too old, or
            Sluice's headers are not there or of another build.
        NotFoundError: there is no such file, or no op of that name.
        InvalidArgumentError: a source does not compile, registers nothing, or
            takes a name that Sluice's own kernels have; with ``verify``, a
            kernel is wrong.
        UnimplementedError: a CUDA source, where this Sluice has no CUDA.
    """
    job = _Job("compile_kernels", sources, flags)
    return job.load(verify)


def compile_ops(
    *sources: str | os.PathLike[str],
    flags: str | Sequence[str] = (),
    verify: bool = False,
) -> list[str]:
    """Compile ops of your own with their kernels, and load them.

    The sources have REGISTER_OPERATOR and REGISTER_OP_CPU_KERNEL lines. An op
    that was compiled before is replaced if its arguments, attributes and dtypes
    are the same; with others it needs another name, or a new process.

    Args:
        sources: see compile_kernels.
        flags: see compile_kernels.
        verify: see compile_kernels; ops are checked with examples of the ops
            whose arguments are most like theirs.

    Returns:
        The ops; each has a function in ``sluice.layers`` from now on.

    Raises:
        SluiceError: see compile_kernels.
    """
    job = _Job("compile_ops", sources, flags)
    ops = [r.names[0] for r in job.registered if r.macro == "OPERATOR"]
    if not ops and not any(r.macro == "TABLE" for r in job.registered):
        raise InvalidArgumentError(
            f"compile_ops: {job.label} has no REGISTER_OPERATOR(op, Schema) "
            "line; compile_kernels is for kernels of ops that exist",
            "compile.no_op",
        )
    _check_names(ops)
    before = set(_core._op_names())
    job.load(verify)
    ops += [o for o in _core._op_names() if o not in before and o not in ops]
    for op in ops:
        for module in (layers, layers.ops):
            vars(module).pop(op, None)  # the function of an older schema
    return ops


def compile_library(
    *sources: str | os.PathLike[str], flags: str | Sequence[str] = ()
) -> Path:
    """Compile sources as compile_kernels does, and load nothing.

    The file can be loaded by ``SLUICE_KERNEL_PATH``. It stays in the cache
    until 500 others were used later: keep a copy.

    Args:
        sources: see compile_kernels.
        flags: see compile_kernels.

    Returns:
        The library.

    Raises:
        SluiceError: see compile_kernels.
    """
    job = _Job("compile_library", sources, flags)
    job.build()
    return job.library


def _check_names(ops: Sequence[str]) -> None:
    """Refuse ops that could not have a function in sluice.layers."""
    known = _core._op_names()
    for op in ops:
        why = ""
        if op not in known and op in {**vars(layers), **vars(layers.ops)}:
            why = f"there is a sluice.layers.{op} already"
        elif keyword.iskeyword(op) or not op.isidentifier() or op[0] == "_":
            why = "Python has no such name of a function"
        if why:
            raise InvalidArgumentError(
                f"compile_ops: {op} is no name for an op: {why}; give another",
                "compile.op_name",
            )


class _Job:
    """One call: its sources, and the library that becomes of them."""

    def __init__(
        self, call: str, sources: Sequence[object], flags: str | Sequence[str]
    ) -> None:
        self.call = call
        self.sources = read(sources, call)
        self.label = ", ".join(source.label for source in self.sources)
        self.flags = Flags(call, flags)
        self.registered = scan_all(self.sources)
        if not self.registered:
            raise InvalidArgumentError(
                f"{call}: {self.label} registers nothing: it needs a line such "
                "as REGISTER_OP_KERNEL(relu, MINE, CPUPlace, fast, "
                "sluice::KernelTraits(), FastRelu<float>); (a macro of your "
                "own around it is not seen)",
                "compile.nothing",
            )
        self._refuse_plain()
        self.library = Path()

    def _refuse_plain(self) -> None:
        """Refuse the names of Sluice's kernels before anything is compiled."""
        own = {r.names[0] for r in self.registered if r.macro == "OPERATOR"}
        known = {*_core._op_names()} - {*own, *ops_of_libraries}
        plain = ("cpu", "PLAIN", "plain")
        for each in self.registered:
            op, _, place, _ = (
                each.kernel if "KERNEL" in each.macro else [""] * 4
            )
            if each.macro == "OP_KERNEL" or op not in known:
                continue
            has = place == "CUDAPlace" or plain in {
                (k["place"], k["library"], k["variant"])
                for k in _core._kernels(op)
            }
            if has and each.kernel not in _kernels:
                raise InvalidArgumentError(
                    f"{self.call}: {each.where}: REGISTER_{each.macro}({op}, "
                    f"...) names the kernel {op}/plain, which exists already. "
                    "Give yours a library and a name: REGISTER_OP_KERNEL("
                    f"{op}, MINE, {place}, fast, sluice::KernelTraits(), ...)",
                    "compile.plain",
                )

    def load(self, verify: bool) -> list[Kernel]:
        """Build the library, verify it if requested, and load it."""
        self.flags.refuse_sanitizers()
        was_there = self.build()
        if verify:
            self._verify()
        try:
            kernels = self._load()
        except SluiceError as error:
            if not was_there or not _DAMAGED.match(error.check_id):
                raise
            # Something has changed the file in the cache.
            self.library.unlink(missing_ok=True)
            self.build()
            kernels = self._load()
        for each in self.registered:
            if each.macro == "OPERATOR":
                ops_of_libraries[each.names[0]] = self.library
        _kernels.update(
            each.kernel for each in self.registered if "KERNEL" in each.macro
        )
        return [Kernel(**kernel) for kernel in kernels]

    def _load(self) -> list[dict[str, str]]:
        try:
            return load(self.library, True)
        except SluiceError as error:
            text = str(error.args[0])
            for path in (str(self.library), os.path.realpath(self.library)):
                name = f"kernel library {path}: "
                text = text.replace(name, f"{self.call}: {self.label}: ")
                text = text.replace(path, self.label)
            if "failed to map segment" in text:
                text += (
                    f"; may programs run from {self.library.parent} (mounted "
                    "noexec)? SLUICE_KERNEL_CACHE=FOLDER names another folder"
                )
            if error.check_id == "kernel_library.version":
                stamp = compiler.sdk(self.call).stamp
                text += f" (it was built with the headers of {stamp})"
            raise type(error)(text, error.check_id) from None

    def _verify(self) -> None:
        from .lab.verify import verify

        # Files where they say all, so that commands in messages name them.
        files = [each.path for each in self.sources if each.path]
        all_said = len(files) == len(self.sources) and not self.flags.words
        ops = {each.names[0] for each in self.registered}
        own = {r.names[0] for r in self.registered if r.macro == "OPERATOR"}
        libraries = ops_of_libraries.items()
        needed = sorted({path for op, path in libraries if op in ops - own})
        result = verify(files if all_said else self.library, libraries=needed)
        if not result:
            raise InvalidArgumentError(
                f"{self.call}: {self.label} is not right, and was not loaded:\n"
                f"{result}",
                "compile.wrong",
            )

    def build(self) -> bool:
        """Build the library unless it is in the cache; return whether it is."""
        sdk = compiler.sdk(self.call)
        cuda = self._cuda()
        # nvcc compiles C++ sources beside CUDA ones, too: it takes all flags.
        find = compiler.nvcc if cuda == "ON" else compiler.cxx
        command = find(self.call)
        first = self.sources[0].path
        # Names of files have 255 bytes at most.
        stem = re.sub(r"\W", "_", first.stem[:48] if first else "kernel")
        facts = [_RECIPE, sdk.stamp.read_bytes(), cuda.encode()]
        facts.append(compiler.identity(command).encode())
        if cuda == "ON":
            facts.append(compiler.gpus().encode())
        key = self._key(facts)
        name = f"{stem}-{key}.so"
        if found := compiler.cached(name):
            self.library = found
            return True
        with compiler.workspace(self.call) as work:
            self._compile(sdk, cuda, command, work, key)
            if self._edited() or self._key(facts) != key:
                raise FailedPreconditionError(
                    f"{self.call}: {self.label}: edited while it was compiled; "
                    "run it again",
                    "compile.edited",
                )
            self.library = work.parent / name
            # Other processes may load it at any time.
            os.replace(work / "library.so", self.library)
        return False

    def _cuda(self) -> str:
        """For whose CUDA the kernels are: "ON", "EMULATE", or "OFF"."""
        if not any(source.cuda for source in self.sources):
            return "OFF"
        cuda = _core._config()["cuda"]
        if cuda == "OFF":
            raise UnimplementedError(
                f"{self.call}: {self.label} has CUDA kernels, and this Sluice "
                "was built without CUDA (SLUICE_CUDA=OFF)",
                "compile.cuda",
            )
        return cuda

    def _edited(self) -> bool:
        """Whether a file is not as it was read."""
        files = [source for source in self.sources if source.path]
        return any(each.path.read_bytes() != each.data for each in files)

    def _key(self, facts: list[bytes]) -> str:
        """A hash of all that the library depends on."""
        facts = [*facts]
        for source in self.sources:
            facts += [b"cu" if source.cuda else b"cc", source.data]
            facts += source.included(self.flags.folders).values()
        facts += self.flags.facts()
        hashes = b"".join(hashlib.sha256(fact).digest() for fact in facts)
        return hashlib.sha256(hashes).hexdigest()[:16]

    def _compile(
        self,
        sdk: compiler.Sdk,
        cuda: str,
        command: list[str],
        work: Path,
        key: str,
    ) -> None:
        """Write library.so into the folder ``work``."""
        nvcc = cuda == "ON"
        # Records of kernels count for the flags that they were measured with.
        flags = key if self.flags.words else ""
        text = entry(self.sources, self.flags.folders, cuda, flags)
        (work / "entry.h").write_text(text)
        headers = [*sdk.includes, *([sdk.cuda] if cuda != "OFF" else [])]
        compile_ = [*command, *(_NVCC_FLAGS if nvcc else _CXX_FLAGS)]
        compile_ += [word for h in headers for word in ("-isystem", str(h))]
        if sdk.boost:
            compile_.append(f"-idirafter{sdk.boost}")
        compile_ += self.flags.for_compiling()
        entries = ["-include", str(work / "entry.h")]
        jobs, objects = [], []
        for number, source in enumerate(self.sources, 1):
            path = source.path or work / f"source{number}.cc"
            words = []
            if source.path is None:
                path.write_bytes(source.data)
                words += ["-I" if nvcc else "-iquote", str(source.folder)]
            if source.cuda:
                words += ["-x", "cu"] if nvcc else ["-x", "c++"]
                words += [] if nvcc else ["-Wno-unknown-pragmas"]
            if not (source.cuda and nvcc):
                # One unit less takes half of the time.
                words, entries = words + entries, []
            objects.append(str(work / f"{number}.o"))
            jobs.append([*compile_, *words, "-c", str(path), "-o", objects[-1]])
        if entries:
            (work / "entry.cc").write_text('#include "entry.h"\n')
            objects.append(str(work / "entry.o"))
            jobs.append(
                [*compile_, "-c", str(work / "entry.cc"), "-o", objects[-1]]
            )
        self._run(jobs, work)
        link = [*command, "-shared", *objects, *self.flags.words]
        link += _libraries(sdk, cuda, command[0])
        self._run([[*link, "-o", str(work / "library.so")]], work)
        if not (work / "library.so").exists():
            raise InvalidArgumentError(
                f"{self.call}: {os.path.basename(command[0])} wrote no "
                "library; do the flags tell it to stop before? "
                f"{shlex.join(self.flags.words)}",
                "compile.no_library",
            )

    def _run(self, jobs: list[list[str]], work: Path) -> None:
        """Run commands; show warnings, and raise what they fail with."""
        ok, text = compiler.run(jobs, work)
        for number, source in enumerate(self.sources, 1):
            path = source.path or work / f"source{number}.cc"
            text = text.replace(str(path), source.label)
        text = text.replace(f"{work}/", "").strip()
        if ok:
            if text:
                print(f"{self.call}: {text}", file=sys.stderr)
            return
        if old := compiler.too_old(compiler.cxx(self.call)):
            raise FailedPreconditionError(
                f"{self.call}: {old}\n{_first_lines(text)}", "compile.too_old"
            )
        raise InvalidArgumentError(
            f"{self.call}: {os.path.basename(jobs[0][0])} refuses "
            f"{self.label}:\n{_first_lines(text)}{_advice(text)}",
            "compile.error",
        )


def _libraries(sdk: compiler.Sdk, cuda: str, nvcc: str) -> list[str]:
    """What a library of kernels is linked with."""
    found = ["-Wl,-Bsymbolic-functions", "-Wl,--no-undefined"]
    if cuda != "OFF":
        found.append(str(sdk.archive))
    found += [f"-L{sdk.libraries}", "-l:libsluice.so.0"]
    if cuda == "EMULATE":
        found.append("-l:libsluice_cuda_emulation.so")
    elif cuda == "ON":
        folder = Path(os.path.realpath(nvcc)).parent.parent / "lib64"
        found += [f"-Wl,-rpath,{folder}", "-cudart=shared", "-lcublas"]
    return found


def _first_lines(text: str) -> str:
    lines = text.split("\n")
    rest = len(lines) - _SHOWN
    more = [f"... {rest} more lines"] if rest > 0 else []
    return "\n".join([*lines[:_SHOWN], *more])


def _advice(text: str) -> str:
    """A line that helps with common mistakes; "" for others."""
    missing = re.search(r"fatal error: '?(\w+)/\S+ (?:No such|file not)", text)
    if missing and missing[1] in _PACKAGES:
        package = _PACKAGES[missing[1]]
        eigen = ' and flags="-isystem /usr/include/eigen3"'
        return f"\nDebian, Ubuntu: apt install {package}" + eigen * (
            "eigen" in package
        )
    if re.search(r"undefined (?:reference|symbol).*SluiceRegister", text):
        return (
            "\nEach REGISTER_ line of a source must be compiled: one is inside "
            "of #if, or of another macro"
        )
    if re.search(r"REGISTER_\w+.*not declared|before .REGISTER_", text):
        return '\n#include "sluice/framework/op/op_registry.h" is missing'
    return ""
