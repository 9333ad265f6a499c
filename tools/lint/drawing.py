"""Draws the rooms and their arrows, from the includes, as design/rooms.svg.

Without --write, checks that the file has the rooms and arrows of the tree; the
lines in it are those of the day when it was drawn.
"""

import argparse
import collections
import html
import re
import sys

import rooms

DRAWING = rooms.ROOT / "design" / "rooms.svg"
INCLUDE = re.compile(r'^\s*#\s*include\s*"sluice/([^"]+)"', re.M)
SUFFIXES = (".h", ".cc", ".inc", ".cu", ".cuh", ".py", ".js")
WIDTH, GAP, LINE = 210, 46, 18  # of a box; between boxes; a row of text
# The libraries of kernels share a box, so that another one adds no arrow.
LIBRARIES = "operators/LIBRARY"


def box_of(room):
    is_library = room in {f"operators/{each}" for each in rooms.libraries()}
    return LIBRARIES if is_library else room


BOXES = list(dict.fromkeys(map(box_of, rooms.ROOMS)))


def read_tree():
    """Returns the lines of each room and floor, and the arrows between rooms."""
    lines = collections.Counter()
    arrows = set()
    for path in rooms.files(*SUFFIXES):
        room = rooms.room_of(path)
        if room is None:
            continue
        here = box_of(room)
        text = (rooms.ROOT / path).read_text()
        lines[here] += text.count("\n")
        if here == LIBRARIES:
            lines[room] += text.count("\n")
        if room in rooms.FLOORS and str(path.parent) != room:
            lines[str(path.parent)] += text.count("\n")
        for name in INCLUDE.findall(text):
            there = rooms.room_of(name)
            if there is not None and box_of(there) != here:
                arrows.add((here, box_of(there)))
    return lines, arrows


def below(room, arrows):
    """The rooms that `room` reaches by arrows."""
    reached, left = set(), [room]
    while left:
        here = left.pop()
        for there in {b for a, b in arrows if a == here} - reached:
            reached.add(there)
            left.append(there)
    return reached


def shortest(arrows):
    """The arrows that no way over another room replaces."""
    kept = set()
    for a, b in arrows:
        others = {c for d, c in arrows if d == a and c != b}
        if not any(b in below(c, arrows) for c in others):
            kept.add((a, b))
    return kept


def level(room, arrows):
    """The row of a room, from below: next to the lowest room that uses it."""
    users = [level(a, arrows) - 1 for a, b in arrows if b == room]
    return min(users) if users else len(below(room, arrows))


def rows_of(room, lines):
    """The texts of a room's box: its name, and its floors, highest first."""
    floors = [f for f in reversed(rooms.FLOORS.get(room, [])) if f != room]
    if room == LIBRARIES:
        floors = [f"operators/{each}" for each in rooms.libraries()]
    rows = [(room, lines[room])]
    return rows + [(f.rsplit("/", 1)[1], lines[f]) for f in floors]


def place(lines, arrows):
    """Returns the box of each room, (x, y, height), and the drawing's size."""
    levels = collections.defaultdict(list)
    for room in BOXES:
        levels[level(room, arrows)].append(room)
    boxes, y = {}, 12
    width = (
        24 + max(len(each) for each in levels.values()) * (WIDTH + GAP) - GAP
    )
    for number in sorted(levels, reverse=True):
        row = levels[number]
        heights = {r: LINE * len(rows_of(r, lines)) + 10 for r in row}
        x = (width - len(row) * (WIDTH + GAP) + GAP) / 2
        for room in row:
            boxes[room] = (x, y, heights[room])
            x += WIDTH + GAP
        y += max(heights.values()) + GAP
    return boxes, width, y - GAP + 12


def draw(lines, arrows):
    boxes, width, height = place(lines, arrows)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
        ' font-family="sans-serif" font-size="12">',
        f"<desc>{html.escape(description(arrows))}</desc>",
        '<defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4"'
        ' markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="#667"/></marker></defs>',
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for a, b in sorted(shortest(arrows)):
        xa, ya, ha = boxes[a]
        xb, yb, _ = boxes[b]
        start = xa + WIDTH / 2
        end = min(max(start, xb + 20), xb + WIDTH - 20)
        parts.append(  # down beside the rows between, then to the box
            f'<path d="M{start} {ya + ha}V{max(ya + ha, yb - GAP)}L{end} {yb - 1}"'
            ' fill="none" stroke="#667" marker-end="url(#head)"/>'
        )
    most = max(lines[room] for room in BOXES)
    for room, (x, y, h) in boxes.items():
        parts.append(
            f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{h}" rx="4"'
            ' fill="#f4f6fa" stroke="#667"/>'
        )
        for i, (name, count) in enumerate(rows_of(room, lines)):
            top = y + 5 + i * LINE
            weight = ' font-weight="bold"' if i == 0 else ""
            parts.append(
                f'<rect x="{x + 4}" y="{top + 1}" height="{LINE - 3}"'
                f' width="{(WIDTH - 8) * count / most:.0f}" fill="#cfe0f5"/>'
                f'<text x="{x + 8 + 10 * (i > 0)}" y="{top + 13}"{weight}>{name}'
                f'</text><text x="{x + WIDTH - 8}" y="{top + 13}"'
                f' text-anchor="end">{count:,}</text>'
            )
    return "\n".join([*parts, "</svg>\n"])


def description(arrows):
    return "; ".join(f"{a} uses {b}" for a, b in sorted(arrows))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="draw it anew")
    lines, arrows = read_tree()
    if parser.parse_args().write:
        DRAWING.write_text(draw(lines, arrows))
        return 0
    drawn = DRAWING.read_text() if DRAWING.exists() else ""
    problems = []
    if html.escape(description(arrows)) not in drawn:
        problems.append(
            "design/rooms.svg shows other arrows than the includes: "
            "python3 tools/lint/drawing.py --write"
        )
    return rooms.report(problems)


if __name__ == "__main__":
    sys.exit(main())
