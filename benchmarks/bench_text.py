"""Text models of changing lengths, compared with onnxruntime.

  ./dev bench text [--json FILE] [--peers]

text/<model>/another_size: by how much the first run of a new length is slower
than a later one, in ms, the median over lengths in no order; the models are a
chain of 40 small ops, and an encoder as large as MiniLM. text/encoder/<length>:
one run, in ms, with one thread, the median of runs in turns. text/decoder: 100
tokens of a small decoder with a cache of keys and values, in ms; each token is a
new size. Both must write the same tokens.
"""

from __future__ import annotations

import statistics
import sys

import bench_report
import contestants
import texts

# Bounds: on our time in ms, and as shares of onnxruntime's.
CHAIN_MS, ANOTHER_SIZE = 0.06, 0.5
LENGTHS = {16: 0.7, 128: 0.7, 512: 0.7}
DECODER_MS, TOKENS = 50, 100
SIZES = (37, 120, 61, 90, 33, 200, 128, 57, 44, 111)
TURNS = 9


def peer_of(name):
    """Texts in a process of its own."""
    return contestants.Contestant("texts", name, 1, module="texts")


def another_size(report, ours, peer, name, options):
    """What a new size costs."""
    sizes = SIZES[:3] if options.smoke else SIZES

    def more(found):
        return statistics.median(first - later for first, later in found)

    row = f"text/{name}/another_size"
    if name == "chain":
        report.add(row, "ms", more(ours.first_runs(sizes)), CHAIN_MS)
    else:
        report.add(row, "ms", more(ours.first_runs(sizes)), of_best=ANOTHER_SIZE)
    if peer is not None:
        report.rows[-1].peers["onnxruntime"] = more(peer.ask("first_runs", sizes))


def lengths(report, ours, peer, options):
    """Runs of an encoder."""
    for length, share in LENGTHS.items():
        times, theirs = [], []
        for _ in range(1 if options.smoke else TURNS):
            times += ours.run(length, 3)
            if peer is not None:
                theirs += peer.ask("run", length, 3)
        report.add(f"text/encoder/{length}", "ms", statistics.median(times), of_best=share)
        if peer is not None:
            report.rows[-1].peers["onnxruntime"] = statistics.median(theirs)


def decoder(report, ours, peer, options):
    """Tokens one after the other."""
    tokens = 10 if options.smoke else TOKENS
    taken, words = ours.decode(tokens)
    report.add("text/decoder", "ms", taken, None if options.smoke else DECODER_MS)
    if peer is None:
        return
    theirs, expected = peer.ask("decode", tokens)
    report.rows[-1].peers["onnxruntime"] = theirs
    if words != expected:
        raise RuntimeError(f"decoder: wrote {words}, onnxruntime {expected}")


def main() -> int:
    options = bench_report.parse_options(__doc__, seconds=0)
    report = bench_report.Report(options)
    peer = peer_of("onnxruntime") if options.peers else None
    for name in texts.MODELS:
        ours = texts.Texts()
        ours.load(name, 1)
        if peer is not None:
            peer.ask("load", name, 1)
        if name == "decoder":
            decoder(report, ours, peer, options)
        else:
            another_size(report, ours, peer, name, options)
        if name == "encoder":
            lengths(report, ours, peer, options)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
