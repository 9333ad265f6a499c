"""Reads printed text with rapidocr-onnxruntime, on Sluice and on onnxruntime.

The client is unmodified: its import of onnxruntime gets sluice.onnxruntime. It
reads two pages: one drawn here, and a photograph from scikit-image. Both
runtimes take turns, each in its own process. Prints the lines, whether both
runtimes find the same ones, and the medians of their times, before and after
tuning; draws the boxes of what was found; writes reports about the networks.
Exits with an error if lines differ.
"""

from __future__ import annotations

import argparse
import difflib
import importlib.util
import multiprocessing
import os
import signal
import statistics
import sys
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import console

TEXT = """\
Sluice reads this page
A sluice is a gate that decides which
channel the water takes. This one decides,
for every operator of a network, which
kernel computes it: on which device, in
which library, with which layout.
Invoice 2047-A of 23 November 2026
12 gate valves at 149.50 each: 1,794.00
Questions? Write to water@example.org
"""


def draw(path: Path) -> None:
    """Draw the page, in the font that comes with Pillow."""
    from PIL import Image, ImageDraw, ImageFont

    page = Image.new("RGB", (760, 520), "white")
    canvas = ImageDraw.Draw(page)
    for row, line in enumerate(TEXT.splitlines()):
        font = ImageFont.load_default(40 if row == 0 else 28)
        place = (40, 30 + 50 * row + (15 if row else 0))
        canvas.text(place, line, "black", font)
    page.save(path)


def photograph() -> Path:
    """Find the photographed page of scikit-image, which is not imported."""
    spec = importlib.util.find_spec("skimage")
    if spec is None or spec.origin is None:
        raise SystemExit("read_page.py: the package scikit-image is missing")
    return Path(spec.origin).parent / "data" / "page.png"


def serve(runtime: str, threads: int, connection: Connection) -> None:
    """Answer requests with one runtime until the connection is closed."""
    if runtime == "Sluice":
        import sluice
        import sluice.onnxruntime

        sys.modules["onnxruntime"] = sluice.onnxruntime
        version = sluice.__version__
    else:
        import onnxruntime

        version = onnxruntime.__version__
    from rapidocr_onnxruntime import RapidOCR

    client = RapidOCR(intra_op_num_threads=threads)
    networks = {
        "detection": client.text_det.infer.session,
        "direction": client.text_cls.infer.session,
        "recognition": client.text_rec.session.session,
    }
    connection.send(version)

    # What each network ran on the last page, by shape: a feed, and its seconds.
    ran: dict[str, dict[Any, list[Any]]] = {name: {} for name in networks}

    def watch(name: str, run: Any) -> Any:
        def watched(names: Any, feed: dict[str, Any]) -> Any:
            begin = time.perf_counter()
            results = run(names, feed)
            shapes = tuple(value.shape for value in feed.values())
            one = ran[name].setdefault(shapes, [feed, 0.0])
            one[1] += time.perf_counter() - begin
            return results

        return watched

    if runtime == "Sluice":
        for name, session in networks.items():
            session.run = watch(name, session.run)

    def read(path: str) -> tuple[list[tuple[Any, str, float]], float]:
        for shapes in ran.values():
            shapes.clear()
        begin = time.perf_counter()
        found, _ = client(path)
        seconds = time.perf_counter() - begin
        lines = [(box, text, float(score)) for box, text, score in found or ()]
        return lines, seconds

    def tune(seconds: float) -> None:
        """Divide the time by what each network and shape took."""
        all_seconds = sum(t for runs in ran.values() for _, t in runs.values())
        for name, runs in ran.items():
            for feed, took in runs.values():
                networks[name].tune(seconds * took / all_seconds, feed)

    def report(arguments: tuple[str, str]) -> tuple[str, int, int]:
        """Write a page about the shape that took longest; count tuned ops."""
        name, folder = arguments
        feed, _ = max(ran[name].values(), key=lambda one: one[1])
        session = networks[name]
        page = sluice.lab.report(
            session.program,
            feed,
            [output.name for output in session.get_outputs()],
            scope=session.scope,
            name=f"{name}, {Path(session.model_path).name}",
        )
        path = str(Path(folder) / f"{name}.html")
        page.save(path)
        tuned = page.data["summary"]["evidence"].get("measured", 0)
        return path, tuned, page.data["summary"]["ops"]

    commands = {"read": read, "tune": tune, "report": report}
    while True:
        try:
            command, argument = connection.recv()
        except EOFError:
            return
        connection.send(commands[command](argument))


class Runtime:
    """The client in a separate process, on one of the runtimes."""

    def __init__(self, name: str, threads: int) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, other = context.Pipe()
        self._process = context.Process(
            target=serve, args=(name, threads, other), daemon=True
        )
        self._process.start()
        other.close()
        self.name = f"{name} {self._answer()}"

    def read(self, path: Path) -> tuple[list[tuple[str, float]], float]:
        """Read a page: its lines with their scores, and the seconds."""
        return self.ask("read", str(path))

    def ask(self, command: str, argument: Any) -> Any:
        """Send a request, and return its answer."""
        self._connection.send((command, argument))
        return self._answer()

    def close(self) -> None:
        """End the process."""
        self._connection.close()
        self._process.join()

    def _answer(self) -> Any:
        try:
            return self._connection.recv()
        except EOFError:
            raise SystemExit("read_page.py: a runtime ended") from None


def compare(ours: Runtime, theirs: Runtime, path: Path, turns: int) -> bool:
    """Read a page with both; return whether they find the same lines."""
    found, expected = (one.read(path)[0] for one in (ours, theirs))
    for text, score in found:
        print(f"  {score:.2f}  {text}")
    same = [text for text, _ in found] == [text for text, _ in expected]
    if same:
        print(f"the same {len(found)} lines with {theirs.name}")
    else:
        print(f"OTHER lines with {theirs.name}:")
        for text, score in expected:
            print(f"  {score:.2f}  {text}")
    times: dict[Runtime, list[float]] = {ours: [], theirs: []}
    for _ in range(turns):
        for one, seconds in times.items():
            seconds.append(one.read(path)[1])
    medians = [statistics.median(seconds) * 1e3 for seconds in times.values()]
    print(
        f"{ours.name}: {medians[0]:.0f} ms, {theirs.name}: {medians[1]:.0f} ms "
        f"a page, {medians[0] / medians[1]:.2f} of its time (medians of "
        f"{turns} turns)"
    )
    return same and bool(found)


def main() -> None:
    """Read both pages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("build/read_page"))
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument(
        "--tune", type=float, default=20, help="seconds; 0: not at all"
    )
    parser.add_argument(
        "--threads", type=int, default=-1, help="all processors if left out"
    )
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    # Results of tuning are stored here, not in the user's own records.
    records = arguments.out.resolve() / "records.jsonl"
    records.unlink(missing_ok=True)
    os.environ["SLUICE_RECORDS"] = str(records)
    drawn = arguments.out / "page.png"
    draw(drawn)
    ours = Runtime("Sluice", arguments.threads)
    theirs = Runtime("onnxruntime", arguments.threads)
    right = True
    for page in (drawn, photograph()):
        print(f"{page}:")
        right &= compare(ours, theirs, page, arguments.turns)
    if arguments.tune > 0:
        # Networks are tuned for the sizes of their last feeds.
        ours.read(drawn)
        print(f"after tuning for at most {arguments.tune:.0f} s:")
        ours.ask("tune", arguments.tune)
        right &= compare(ours, theirs, drawn, arguments.turns)
    read = " ".join(text for text, _ in ours.read(drawn)[0])
    wanted = " ".join(TEXT.split())
    share = difflib.SequenceMatcher(None, read, wanted, autojunk=False).ratio()
    print(f"{share:.1%} of what was drawn is read rightly")
    print("reports:", *ours.ask("report", str(arguments.out)))
    ours.close()
    theirs.close()
    if not right:
        raise SystemExit("read_page.py: the runtimes find other lines")


if __name__ == "__main__":
    main()
