"""What the examples share in a terminal: bars, sizes, and what Ctrl-C does."""

from __future__ import annotations

import atexit
import contextlib
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from tqdm import tqdm


def _interrupt(*_) -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    atexit.register(print, "interrupted", file=sys.stderr)
    raise SystemExit(130)


_FOLDER = Path(__file__).resolve().parent
_FOLDERS = {_FOLDER, _FOLDER.parent / "fluid" / "book"}
_SCRIPT = Path(sys.argv[0]).resolve()
# In an example itself, not in a test that imports one.
if _FOLDERS & {_SCRIPT, *_SCRIPT.parents}:
    # A process that a program started may have to ignore Ctrl-C.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace", line_buffering=True)


@contextlib.contextmanager
def progress(
    what: str, total: float = 0, seconds: bool = False
) -> Iterator[tqdm]:
    """A bar that is drawn anew at least twice a second; elsewhere a line.

    Args:
        what: the text before the bar.
        total: the number of steps; 0 if unknown: only the time is shown.
        seconds: whether `total` is about how many seconds it takes.
    """
    done = threading.Event()

    def tick() -> None:
        while not done.wait(0.4):
            if seconds:
                bar.n = min(total, bar.format_dict["elapsed"])
            bar.refresh()

    if not sys.stderr.isatty():
        print(f"{what} ...", file=sys.stderr)
    form = "{desc} |{bar}| {remaining} left{postfix}"
    with tqdm(
        desc=what,
        total=total or None,
        bar_format=form if total else "{desc}, {elapsed}{postfix}",
        leave=False,
        disable=None,  # if the output is no terminal
        miniters=1,
        smoothing=0,
    ) as bar:
        ticks = threading.Thread(target=tick, daemon=True)
        ticks.start()
        try:
            yield bar
        finally:
            done.set()
            ticks.join()


def size(count: float) -> str:
    """A number of bytes, such as "459 kB"."""
    units = ["B", "kB", "MB", "GB"]
    while count >= 999.5 and len(units) > 1:
        count /= 1000
        units.pop(0)
    return f"{count:.3g} {units[0]}"


def finish(files: dict[Path, str], following: str) -> None:
    """Name the files, one a line, and what to try next."""
    width = max(map(len, map(str, files)), default=0)
    for path, what in files.items():
        print(f"  {path!s:{width}}  {what}")
    print(f"next: {following}")
