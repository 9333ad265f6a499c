"""The machine's compilers, Sluice's headers, and a cache of libraries."""

from __future__ import annotations

import atexit
import contextlib
import glob
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from . import _core
from .errors import FailedPreconditionError

_KEPT = 500  # libraries in the cache
_CACHED = re.compile(r"\w+-[0-9a-f]{16}\.so")  # their names
_DAY = 86400.0
# Versions that Sluice itself is compiled with.
_VERSIONS = {"g++": 12, "clang": 14}


class Sdk(NamedTuple):
    """What sources are compiled against, and linked with."""

    libraries: Path
    """The folder of libsluice.so.0."""
    includes: list[Path]
    """Folders of headers."""
    boost: Path | None
    """Boost's headers, for a machine that has none; None in a build tree."""
    cuda: Path
    """The folder of headers for CUDA."""
    archive: Path
    """libsluice_cuda_kernels.a."""
    stamp: Path
    """The header that names the build."""


def sdk(call: str) -> Sdk:
    """Find the headers of this Sluice, installed or in its build tree.

    Raises FailedPreconditionError if they are not there.
    """
    libraries = Path(_core._config()["plugin_folders"][-1]).parent
    # A wheel has them in the package, an installation in PREFIX/include; its
    # libraries may be in lib or lib/x86_64-linux-gnu.
    folders = [
        each / "include"
        for each in (libraries, libraries.parent, libraries.parent.parent)
    ]
    for folder in folders:
        stamp = folder / "sluice" / "build_stamp.h"
        if stamp.exists():
            archive = libraries / "libsluice_cuda_kernels.a"
            cuda = folder / "sluice_cuda"
            # The fmt that Sluice was built with. The compiler's own folders
            # must not be named: their order counts.
            includes = [folder / "sluice_fmt"]
            if str(folder) not in ("/usr/include", "/usr/local/include"):
                includes.append(folder)
            boost = folder / "sluice_boost"
            return Sdk(libraries, includes, boost, cuda, archive, stamp)
    build = libraries.parent
    stamp = build / "include" / "stamp" / "sluice" / "build_stamp.h"
    link = build / "include" / "platform" / "sluice" / "platform"
    if not stamp.exists() or not link.exists():
        raise FailedPreconditionError(
            f"{call}: Sluice's headers are not beside {libraries}: looked for "
            f"sluice/build_stamp.h in {', '.join(map(str, folders))}. They are "
            "in a wheel of Sluice, in an installation (cmake --install) and in "
            "a build tree",
            "compile.no_headers",
        )
    source = link.resolve().parent
    cuda = source / "platform" / "cuda" / "native"
    if _core._config()["cuda"] == "EMULATE":
        cuda = source / "platform" / "cuda_emulation" / "include"
    includes = [*sorted((build / "include").iterdir()), source / "include"]
    archive = build / "libsluice_cuda_kernels.a"
    return Sdk(libraries, includes, None, cuda, archive, stamp)


def cxx(call: str) -> list[str]:
    """The command of the C++ compiler: ``CXX``, or c++, g++ or clang++.

    Raises FailedPreconditionError if there is none.
    """
    named = os.environ.get("CXX", "").strip()
    try:
        words = shlex.split(named)
    except ValueError as error:
        raise FailedPreconditionError(
            f"{call}: CXX={named}: {error}", "compile.no_compiler"
        ) from None
    programs = words[:1] or ["c++", "g++", "clang++"]
    for program in programs:
        if found := shutil.which(program):
            return [found, *words[1:]]
    if named:
        why = f"there is no program {words[0]} (CXX={named})"
    else:
        why = (
            "there is no C++ compiler. Debian, Ubuntu: apt install g++. "
            "Another place: CXX=/path/to/g++"
        )
    raise FailedPreconditionError(f"{call}: {why}", "compile.no_compiler")


def nvcc(call: str) -> list[str]:
    """The command nvcc: ``CUDACXX``, or in ``CUDA_PATH`` or ``PATH``.

    Raises FailedPreconditionError if there is none.
    """
    toolkits = [os.environ.get("CUDA_PATH", ""), "/usr/local/cuda"]
    for each in (
        os.environ.get("CUDACXX", ""), "nvcc",
        *(f"{toolkit}/bin/nvcc" for toolkit in toolkits if toolkit),
    ):  # fmt: skip
        if each and (found := shutil.which(each)):
            # Such as -march=native, -fopenmp and -Wl,...
            return [found, "--forward-unknown-to-host-compiler"]
    raise FailedPreconditionError(
        f"{call}: there is no nvcc, which compiles CUDA sources for this "
        "Sluice: install NVIDIA's CUDA toolkit, or name it: CUDACXX=/path/nvcc",
        "compile.no_nvcc",
    )


def identity(command: Sequence[str]) -> str:
    """What changes with a compiler: path, size and time of its programs."""
    facts = [*command]
    for word in command:
        if found := shutil.which(word):
            path = os.path.realpath(found)
            stat = os.stat(path)
            facts.append(f"{path} {stat.st_size} {stat.st_mtime_ns}")
    return "\n".join(facts)


def gpus() -> str:
    """The models of NVIDIA's GPUs: nvcc compiles for those of this machine."""
    models = set()
    for path in glob.glob("/proc/driver/nvidia/gpus/*/information"):
        with contextlib.suppress(OSError):
            models.update(re.findall(r"Model:.*", Path(path).read_text()))
    return "\n".join(sorted(models))


def too_old(command: Sequence[str]) -> str:
    """Why the C++ compiler is too old; "" if it is not."""
    try:
        shown = subprocess.run(
            [*command, "--version"], capture_output=True, text=True, check=True
        ).stdout.split("\n")[0]
    except (OSError, subprocess.SubprocessError):
        return ""
    name = "clang" if "clang" in shown else "g++"
    found = re.search(r"clang version (\d+)|\) (\d+)\.", shown)
    if not found or int(found[1] or found[2]) >= _VERSIONS[name]:
        return ""
    return (
        f"{command[0]} is {shown}, which is too old: expected g++ 12, clang 14 "
        "or newer. Debian, Ubuntu: apt install g++-12, then CXX=g++-12"
    )


def run(commands: Sequence[Sequence[str]], work: Path) -> tuple[bool, str]:
    """Run commands at the same time, as many as there are CPUs.

    Returns:
        Whether all succeeded, and what they wrote.
    """
    texts, ok = [], True
    # What a compiler that is killed leaves is removed with the folder.
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "TMPDIR": str(work)}
    width = os.cpu_count() or 1
    for start in range(0, len(commands), width):
        with contextlib.ExitStack() as stack:
            running = []
            for command in commands[start : start + width]:
                log = stack.enter_context(tempfile.TemporaryFile(dir=work))
                process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=log,
                    stderr=subprocess.STDOUT, env=environment,
                    start_new_session=True,
                )  # fmt: skip
                stack.callback(process.wait)
                stack.callback(_kill, process)
                running.append((process, log))
            for process, log in running:
                ok = process.wait() == 0 and ok
                log.seek(0)
                texts.append(log.read().decode(errors="replace"))
    return ok, "".join(texts)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a compiler that still runs, and the programs that it started."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)


# The folder of this process, for lack of a cache, by the process.
_own: dict[int, Path] = {}


def _make_own() -> Path:
    """Make this process's folder, unless it is there.

    It is removed at the end of the process, not at that of a fork. Others may
    remove it before, as what cleans /tmp.
    """
    pid = os.getpid()
    if pid not in _own or not _own[pid].is_dir():
        folder = Path(tempfile.mkdtemp(prefix="sluice_kernels_"))
        _own[pid] = folder

        def remove() -> None:
            if os.getpid() == pid:
                shutil.rmtree(folder, ignore_errors=True)

        atexit.register(remove)
    return _own[pid]


def _cache() -> Path | None:
    named = os.environ.get("SLUICE_KERNEL_CACHE", "")
    if named:
        return Path(named).absolute()
    # As the records of kernels (XDG base directory specification).
    cache = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(cache):
        home = os.environ.get("HOME", "")
        if not os.path.isabs(home):
            return None
        cache = os.path.join(home, ".cache")
    return Path(cache, "sluice", "kernels")


def cached(name: str) -> Path | None:
    """The library of this name in the cache, if it is there."""
    for folder in (_cache(), *_own.values()):
        # Not Path.is_file, which raises where the folder cannot be read.
        if folder is not None and os.path.isfile(library := folder / name):
            with contextlib.suppress(OSError):
                os.utime(library)  # it was used
            return library
    return None


@contextlib.contextmanager
def workspace(call: str) -> Iterator[Path]:
    """A new folder in the cache, which is removed at the end.

    If the cache cannot be written, it is a temporary folder of this process,
    and a warning says so.
    """
    folder = _cache()
    try:
        if folder is None:
            raise OSError("HOME is not set")
        folder.mkdir(parents=True, exist_ok=True)
        work = tempfile.mkdtemp(prefix=".work-", dir=folder)
    except OSError as error:
        if not _own:
            _make_own()
            warnings.warn(
                f"{call}: the cache {folder or ''} cannot be written "
                f"({error.strerror or error}), so that each process compiles "
                "anew: SLUICE_KERNEL_CACHE=FOLDER names another",
                RuntimeWarning,
                stacklevel=6,
            )
        folder = _make_own()
        work = tempfile.mkdtemp(prefix=".work-", dir=folder)
    try:
        yield Path(work)
    finally:
        shutil.rmtree(work, ignore_errors=True)
        with contextlib.suppress(OSError):  # others use the folder, too
            _prune(folder)


def _prune(folder: Path) -> None:
    """Remove libraries that were not used for long, and what was left over."""
    used = []
    for path in folder.iterdir():
        with contextlib.suppress(OSError):
            used.append((path.stat().st_mtime, path))
    used.sort(reverse=True)
    # The folder may be one that has other files, too.
    libraries = [path for _, path in used if _CACHED.fullmatch(path.name)]
    for path in libraries[_KEPT:]:
        path.unlink(missing_ok=True)
    for modified, path in used:
        old = time.time() - modified > _DAY
        if old and path.name.startswith(".work-"):
            shutil.rmtree(path, ignore_errors=True)
