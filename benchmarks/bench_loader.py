"""The time of a batch of a loader, and whether a trainer waits for it.

  ./dev bench loader [--json FILE] [--peers]

loader/images64/w2: 64 images of 3x32x32, augmented by NumPy, from two workers
that live on; median over epochs in which nothing else is done, in us.
loader/busy_percent: the share of the time in which a training step of a small
network on one thread runs, the rest being waits for batches; from the second
epoch on, since the first one starts the workers.
"""

from __future__ import annotations

import sys

import bench_report
import images

import sluice as sl


def make_step():
    """A function that trains on a batch, and the variables of a feed."""
    main, startup = sl.Program(), sl.Program()
    with sl.program_guard(main, startup):
        image = sl.data("image", [None, 3, 32, 32])
        label = sl.data("label", [None, 1], "int64")
        x = image
        for filters in (16, 32):
            x = sl.layers.conv2d(x, filters, 3, padding=1, act="relu")
            x = sl.layers.pool2d(x, 2)
        loss = sl.layers.mean(
            sl.layers.softmax_with_cross_entropy(sl.layers.fc(x, 10), label)
        )
        sl.optimizer.Momentum(0.01).minimize(loss)
    exe, scope = sl.Executor(), sl.Scope()
    exe.run(startup, scope=scope)
    return lambda feed: exe.run(main, feed, [loss], scope), [image, label]


def main():
    options = bench_report.parse_options(__doc__, seconds=3.0)
    sl.set_num_threads(1)
    count = 2 * images.BATCH if options.smoke else 200 * images.BATCH
    step, variables = make_step()

    def loader(**more):
        return sl.io.DataLoader(
            images.Images(count), images.BATCH, shuffle=True,
            num_workers=images.WORKERS, persistent_workers=True, **more,
        )

    report = bench_report.Report(options)
    seconds = images.batch_seconds(loader(), options)
    report.add("loader/images64/w2", "us", seconds * 1e6, of_best=1)
    feeds = loader(feed_list=variables)
    images.busy_share(feeds, step, 0)
    busy = images.busy_share(feeds, step, options.seconds)
    report.add("loader/busy_percent", "%", busy * 100, at_least=95)
    report.measure_peers(
        "loader", "--threads", "1", "--sizes", f"{count}x3x32",
        "--seconds", str(options.seconds),
    )
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
