"""Curves as SVG, with nothing but text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

COLOURS = ("#1b6ca8", "#c0392b", "#27864a", "#8e44ad", "#b9770e", "#444444")
WIDTH, HEIGHT, MARGIN = 640, 360, 48


def _points(values: Sequence[float], low: float, high: float) -> str:
    across = (WIDTH - 2 * MARGIN) / max(len(values) - 1, 1)
    down = (HEIGHT - 2 * MARGIN) / max(high - low, 1e-12)
    return " ".join(
        f"{MARGIN + i * across:.1f},{HEIGHT - MARGIN - (v - low) * down:.1f}"
        for i, v in enumerate(values)
    )


def write(
    path: Path, title: str, curves: Mapping[str, Sequence[float]]
) -> None:
    """Write one polyline a curve, all on the same axes, with a legend."""
    every = [value for values in curves.values() for value in values]
    low, high = min(0.0, *every), max(every)
    base = HEIGHT - MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" '
        f'height="{HEIGHT}" font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="{MARGIN}" y="24" font-size="15">{title}</text>',
        f'<path d="M{MARGIN} {MARGIN}V{base}H{WIDTH - MARGIN}" fill="none" '
        'stroke="#888"/>',
        f'<text x="6" y="{MARGIN + 4}">{high:.3g}</text>',
        f'<text x="6" y="{base + 4}">{low:.3g}</text>',
    ]
    for i, (name, values) in enumerate(curves.items()):
        colour = COLOURS[i % len(COLOURS)]
        y = MARGIN + 16 * i
        parts += [
            f'<polyline fill="none" stroke="{colour}" stroke-width="1.5" '
            f'points="{_points(values, low, high)}"/>',
            f'<text x="{WIDTH - 220}" y="{y}" fill="{colour}">{name}</text>',
        ]
    path.write_text("\n".join([*parts, "</svg>\n"]))
