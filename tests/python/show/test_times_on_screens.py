"""The script that looks for contradicting times finds them."""

import pytest

from times_on_screens import contradictions


@pytest.mark.parametrize(
    "screen, wrong",
    [
        ("A: no hints  run 6.85 ms (1 run only)  ops 18.8 ms", 1),
        ("A: no hints  run 6.85 ms (6.8 to 6.9 ms, 2 runs)  ops 6.8 ms", 1),
        ("a run takes 88 ms (87 to 89 ms, 12 runs, machine busy); 9 calls take 195 ms", 1),
        ("predicted: a run takes 4.5 ms now\nmeasured: a run takes 15 ms (9 runs only)", 1),
        ("a run takes 88 ms (12 runs only)", 1),
        ("a run takes 8 ms (4 runs only); 9 calls take 19 ms\nthe ops are not listed: x", 0),
        ("no prediction: a run now would take 4 ms by its parts, and takes 15 ms", 0),
        ("a run takes 8 ms (7 to 9 ms, 12 runs); 9 calls take 7 ms", 0),
    ],
)
def test_contradictions_are_found(screen, wrong):
    assert len(contradictions(screen)[0]) == wrong, screen
