"""Flags of the compiler that a user gives, and the files that they name."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from . import _core
from .errors import FailedPreconditionError, InvalidArgumentError
from .kernel_sources import Source

# A file for the linker, and a flag whose next word is no such file.
_LIBRARY = re.compile(r"[^-].*\.(?:a|o|so[.\d]*)")
_WITH_A_WORD = re.compile(r"-(?:[DUILlx]|i\w+)")
_SANITIZER = re.compile(r"-fsanitize=(?:\w+,)*(address|thread)\b")


class Flags:
    """The flags of one call.

    Raises InvalidArgumentError for what is neither text nor a list of texts.
    """

    def __init__(self, call: str, flags: object) -> None:
        self._call = call
        self.words = self._split(flags)
        named = self._named("I|iquote|isystem|idirafter")
        for variable in ("CPATH", "CPLUS_INCLUDE_PATH"):
            named += os.environ.get(variable, "").split(":")
        # Where files that are included may be.
        self.folders = [Path(each) for each in named if os.path.isdir(each)]

    def _split(self, flags: object) -> list[str]:
        if isinstance(flags, str):
            try:
                return shlex.split(flags)
            except ValueError as error:  # a quote that is not closed
                raise InvalidArgumentError(
                    f"{self._call}: flags: {error}: {flags}", "compile.quotes"
                ) from None
        words = [*flags] if isinstance(flags, (list, tuple)) else [flags]
        if not all(isinstance(word, str) for word in words):
            raise InvalidArgumentError(
                f"{self._call}: flags: expected text, or a list of texts, got "
                f"{flags!r}",
                "compile.flags",
            )
        return words

    def _named(self, options: str) -> list[str]:
        """What options such as "I|iquote" name, in their word or the next."""
        lines = "\n".join(self.words)
        return re.findall(rf"(?m)^-(?:{options})\n?(.+)", lines)

    def for_compiling(self) -> list[str]:
        """The flags without the files that are for the linker alone."""
        kept, before = [], ""
        for word in self.words:
            if _WITH_A_WORD.fullmatch(before) or not _LIBRARY.fullmatch(word):
                kept.append(word)
            before = word
        return kept

    def _files(self) -> Iterator[str]:
        """Files that may be named: objects, libraries, more flags."""
        yield from (word.removeprefix("@") for word in self.words)
        for folder in self._named("L"):
            for name in self._named("l"):
                for file in (f"lib{name}.so", f"lib{name}.a", name[1:]):
                    yield os.path.join(folder, file)

    def facts(self) -> list[bytes]:
        """All that a library depends on by its flags."""
        facts = [os.fsencode(word) for word in self.words]
        for file in filter(os.path.isfile, self._files()):
            stat = os.stat(file)
            facts.append(b"%d %d" % (stat.st_size, stat.st_mtime_ns))
        for file in filter(os.path.isfile, self._named("include|imacros")):
            path = Path(file)
            header = Source(file, path.read_bytes(), path.absolute())
            facts += [header.data, *header.included(self.folders).values()]
        if any("native" in word for word in self.words):
            config = _core._config()
            facts.append(
                f"{config['cpu']} {config['instruction_set']}".encode()
            )
        return facts

    def refuse_sanitizers(self) -> None:
        """Refuse a runtime that ends a process which it did not begin with."""
        maps = Path("/proc/self/maps").read_bytes()
        for word in self.words:
            found = _SANITIZER.match(word)
            if found is None or f"lib{found[1][0]}san".encode() in maps:
                continue
            raise FailedPreconditionError(
                f"{self._call}: flags: {word} ends a process that did not "
                "start with it; start Python with LD_PRELOAD=$(g++ "
                f"-print-file-name=lib{found[1][0]}san.so)",
                "compile.sanitizer",
            )
