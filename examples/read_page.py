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
import contextlib
import difflib
import importlib.util
import io
import json
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


def remember_runs() -> None:
    """Let sessions of Sluice keep their paths, and what they ran last."""
    import sluice.onnxruntime

    class Session(sluice.onnxruntime.InferenceSession):
        def __init__(self, path: Any, *arguments: Any, **options: Any) -> None:
            super().__init__(path, *arguments, **options)
            self.path = Path(path)
            self.ran: dict[Any, list[Any]] = {}  # feed and seconds, by shape

        def run(self, names: Any, feed: Any, options: Any = None) -> list[Any]:
            begin = time.perf_counter()
            results = super().run(names, feed, options)
            shapes = tuple(value.shape for value in feed.values())
            one = self.ran.setdefault(shapes, [feed, 0.0])
            one[1] += time.perf_counter() - begin
            return results

    sluice.onnxruntime.InferenceSession = Session


def imported(runtime: str, threads: int) -> str:
    """Make ``import onnxruntime`` that of a runtime; returns its version."""
    if runtime != "Sluice":
        import onnxruntime

        return str(onnxruntime.__version__)
    import sluice.lab
    import sluice.onnxruntime

    remember_runs()
    sys.modules["onnxruntime"] = sluice.onnxruntime
    if threads > 0:
        sluice.set_num_threads(threads)
    return str(sluice.__version__)


def serve(runtime: str, threads: int, connection: Connection) -> None:
    """Answer requests with one runtime until the connection is closed."""
    version = imported(runtime, threads)
    from rapidocr_onnxruntime import RapidOCR

    client = RapidOCR(intra_op_num_threads=threads)
    networks = {
        "detection": client.text_det.infer.session,
        "direction": client.text_cls.infer.session,
        "recognition": client.text_rec.session.session,
    }
    connection.send(version)
    sluice = sys.modules.get("sluice")  # None for onnxruntime alone

    def read(path: str) -> tuple[list[tuple[Any, str, float]], float]:
        begin = time.perf_counter()
        found, _ = client(path)
        seconds = time.perf_counter() - begin
        return [(box, text, float(s)) for box, text, s in found or ()], seconds

    def names(session: Any) -> list[str]:
        return [output.name for output in session.get_outputs()]

    def tune(path: str, seconds: float) -> str:
        """Tune for all shapes of a page, each for its share of the time."""
        for session in networks.values():
            session.ran.clear()
        read(path)
        ran = [(s, *one) for s in networks.values() for one in s.ran.values()]
        ops, disturbed = [], 0
        for session, feed, took in ran:
            share = took / sum(took for _, _, took in ran)
            with contextlib.redirect_stderr(io.StringIO()):  # its own bar
                disturbed += session.tune(seconds * share, feed).disturbed
            given = session.program, feed, names(session)
            plan = sluice.Executor().prepare(*given)
            ops += json.loads(plan.explain_json())["ops"]
        tuned = sum(op["evidence"] == "measured" for op in ops)
        busy = f"; other programs disturbed {disturbed} more"
        return f"tuned {tuned} of {len(ops)} ops" + busy * (disturbed > 0)

    def report(name: str, path: str) -> None:
        """Write a page for the shape that took longest."""
        session = networks[name]
        sluice.lab.report(
            session.program,
            max(session.ran.values(), key=lambda one: one[1])[0],
            names(session),
            scope=session.scope,
            name=f"{name}: {session.path.name}",
        ).save(path)

    commands = {"read": read, "tune": tune, "report": report}
    while True:
        try:
            command, *arguments = connection.recv()
        except EOFError:
            return
        connection.send(commands[command](*arguments))


class Runtime:
    """The client in a separate process, on one of the runtimes."""

    def __init__(self, name: str, threads: int) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, other = context.Pipe()
        self._process = context.Process(
            target=serve, args=(name, threads, other), daemon=True
        )
        # Ctrl-C is for this process, which ends the other.
        handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
        self._process.start()
        signal.signal(signal.SIGINT, handler)
        other.close()
        with console.progress(f"{name} loads the networks"):
            self.name = f"{name} {self._answer()}"

    def ask(self, command: str, *arguments: Any) -> Any:
        """Send a request, and return its answer."""
        self._connection.send((command, *arguments))
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


def print_lines(found: list[Any]) -> None:
    """Print what was found, with headings."""
    print("  score  line")
    for _, text, score in found:
        print(f"  {score:5.2f}  {text[:70]}")


def compare(
    ours: Runtime, theirs: Runtime, path: Path, turns: int, again: bool = False
) -> Any:
    """Read a page in turns; return the lines if both found the same, or []."""
    times: dict[Runtime, list[float]] = {ours: [], theirs: []}
    with console.progress(f"reading {path.name}", 2 * turns + 2) as bar:
        for turn in range(turns + 1):  # the first one is not timed
            found = {}
            for one, seconds in times.items():
                bar.set_postfix_str(f"turn {turn} of {turns}, {one.name}")
                found[one], took = one.ask("read", str(path))
                seconds += [took] * (turn > 0)
                bar.update()
            if turn == 1:
                rest = (turns - 1) * sum(one[0] for one in times.values())
                bar.write(f"{rest:.0f} s more for {path.name}")
    lines, expected = found.values()
    if again:
        print(f"{len(lines)} lines")
    else:
        print_lines(lines)
    same = [line[1] for line in lines] == [line[1] for line in expected]
    if same:
        print(f"{theirs.name} reads the same {len(lines)} lines")
    else:
        print(f"{theirs.name} reads OTHER lines:")
        print_lines(expected)
    mine, other = (1e3 * statistics.median(each) for each in times.values())
    ratio = max(mine / other, other / mine)
    print(
        f"{ours.name}: {mine:.0f} ms per page, {ratio:.1f}x as "
        f"{'fast' if mine < other else 'long'} as {theirs.name} "
        f"({other:.0f} ms)"
    )
    return lines if same else []


def draw_boxes(page: Path, lines: list[Any], to: Path) -> None:
    """Draw the page with a box around each line that was found."""
    from PIL import Image, ImageDraw

    image = Image.open(page).convert("RGB")
    for box, _, _ in lines:
        corners = [(float(x), float(y)) for x, y in box]
        ImageDraw.Draw(image).polygon(corners, outline="red", width=2)
    image.save(to)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("build/read_page"),
        help="folder of the page",
    )
    parser.add_argument(
        "--turns", type=int, default=9, help="of each contestant"
    )
    parser.add_argument(
        "--tune", type=float, default=20, help="seconds; 0: not at all"
    )
    parser.add_argument(
        "--threads", type=int, default=-1, help="all processors if left out"
    )
    return parser.parse_args()


def main() -> None:
    """Read both pages."""
    arguments = _arguments()
    out = arguments.out
    out.mkdir(parents=True, exist_ok=True)
    # Results of tuning are stored here, not in the user's own records.
    records = out.resolve() / "records.jsonl"
    records.unlink(missing_ok=True)
    os.environ["SLUICE_RECORDS"] = str(records)
    print(
        "Two pages are read on Sluice and on onnxruntime, in turns; the first "
        "turn says\nhow long that takes; --turns 2 --tune 5 for a look"
    )
    drawn = out / "page.png"
    draw(drawn)
    ours = Runtime("Sluice", arguments.threads)
    theirs = Runtime("onnxruntime", arguments.threads)
    files = {}
    right = True
    for kind, page in (("drawn", drawn), ("photographed", photograph())):
        print(f"\nthe {kind} page")
        lines = compare(ours, theirs, page, arguments.turns)
        right &= bool(lines)
        boxes = out / f"{kind}_boxes.png"
        draw_boxes(page, lines, boxes)
        files[boxes] = f"the {kind} page, and what was found"
        if page is drawn:
            read = " ".join(text for _, text, _ in lines)
            share = difflib.SequenceMatcher(
                None, read, " ".join(TEXT.split()), autojunk=False
            ).ratio()
            print(f"{share:.1%} of the characters are right")
    if arguments.tune > 0:
        print("\nthe drawn page, tuned")
        with console.progress("tuning", arguments.tune, seconds=True):
            tuned = ours.ask("tune", str(drawn), arguments.tune)
        print(tuned)
        right &= bool(compare(ours, theirs, drawn, arguments.turns, True))
    for name in ("detection", "recognition"):
        page = out / f"{name}.html"
        with console.progress(f"reporting on {name}"):
            ours.ask("report", name, str(page))
        files[page] = "kernels and times of this network"
    ours.close()
    theirs.close()
    print()
    console.finish(files, "open detection.html in a browser")
    if not right:
        raise SystemExit("read_page.py: the runtimes find other lines")


if __name__ == "__main__":
    main()
