"""Trains LeNet on the digits with the ranks that mpirun starts.

    mpirun -n 4 python examples/distributed_digits.py

Without mpirun it is one process. Each batch is divided among the ranks, so that
the loss is the same for any number of ranks, except for rounding. There is no
dropout, for which each rank draws its own numbers. A checkpoint is written
after each epoch; --resume continues from it, with any number of ranks.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from dataclasses import replace
from pathlib import Path

import communication
import console
import digits_data
import numpy as np
import train_digits

import sluice as sl

# The fastest kernel depends on the number of images of a rank. Winograd kernels
# return tiny numbers where others return 0, and a relu after them passes the
# gradient of one, not of the other; oneDNN's sums depend on the number, too.
# With them, losses of different numbers of ranks differ by 1e-3, not 1e-7.
KERNELS = (
    "exclude library=ONEDNN; conv2d: exclude variant=winograd_2x2; "
    "conv2d: exclude variant=winograd_4x4"
)


def lenet(image: sl.Variable) -> sl.Variable:
    """LeNet of train_digits.py without dropout."""
    return train_digits.lenet(image, dropout=False)


def build(options) -> train_digits.Network:
    """Build the network, whose loss is the mean over all ranks."""
    made: list[sl.distributed.DataParallel] = []

    def distribute(optimizer):
        made.append(
            sl.distributed.DataParallel(
                optimizer,
                bucket_bytes=options.bucket_bytes,
                deterministic=options.deterministic,
            )
        )
        return made[0]

    network = train_digits.build(lenet, options.epochs, 2e-3, distribute)
    return replace(network, loss=made[0].loss)


def shard(feed: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """This rank's share of the batch; all ranks have the same rate."""
    parts = {
        name: sl.distributed.shard(feed[name]) for name in ("image", "label")
    }
    return {**feed, **parts}


def train(network, exe, scope, options, first_epoch) -> tuple[list, list]:
    """Losses by epoch, and the seconds of every step but the first."""
    steps = digits_data.TRAIN // options.batch
    losses, seconds = [], []
    feeds = train_digits.batches(
        network, options.seed, options.epochs, options.batch, first_epoch
    )
    root = sl.distributed.rank() == 0
    for epoch in range(first_epoch, options.epochs):
        epoch_losses = []
        for _ in range(steps):
            feed = shard(next(feeds))
            begin = time.perf_counter()
            (loss,) = exe.run(network.train, feed, [network.loss], scope=scope)
            seconds.append(time.perf_counter() - begin)
            epoch_losses.append(float(loss))
        losses.append(statistics.fmean(epoch_losses))
        if root:
            print(
                f"epoch {epoch + 1} of {options.epochs}: loss {losses[-1]:.4f}",
                flush=True,
            )
        if options.checkpoint is not None:
            done = (epoch + 1) * steps
            sl.distributed.save_checkpoint(
                options.checkpoint, network.train, scope, done
            )
    return losses, seconds[1:]  # the first one prepares the plan


def resume(network, scope, options) -> int:
    """The first epoch to train."""
    if options.resume is None:
        return 0
    found = sl.distributed.load_checkpoint(options.resume, network.train, scope)
    steps = digits_data.TRAIN // options.batch
    total = options.epochs * steps
    if sl.distributed.rank() == 0:
        print(
            f"goes on after {found.step} steps of {found.ranks} ranks",
            flush=True,
        )
    if found.step % steps != 0 or found.step >= total:
        problem = (
            f"distributed_digits: --resume {options.resume}: it is of step "
            f"{found.step}; expected a multiple of {steps}, the steps of an "
            f"epoch with --batch {options.batch}, below {total}"
        )
        raise SystemExit(problem if sl.distributed.rank() == 0 else 1)
    return found.step // steps


def report(result: dict) -> str:
    """A result as text."""
    ranks = result["ranks"]
    lines = [
        f"{ranks} {'ranks' if ranks > 1 else 'rank'}: accuracy "
        f"{100 * result['accuracy']:.1f} %, loss {result['losses'][-1]:.4f}, "
        f"{result['step_ms']:.2f} ms per step, {result['seconds']:.1f} s"
    ]
    if ranks > 1:
        lines.append(
            f"  per step {console.size(result['gradient_bytes'])} of gradients "
            f"in {result['all_reduces']} all-reduces, which take "
            f"{result['alone_ms']:.2f} ms;\n  a step waits for "
            f"{result['wait_ms']:.2f} ms of it: "
            f"{100 * result['hidden']:.0f} % hidden"
        )
    return "\n".join(lines)


def main() -> None:
    """Train, test, measure, report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=10, help="of training")
    parser.add_argument(
        "--batch", type=int, default=40, help="of all ranks together"
    )
    parser.add_argument(
        "--seed", type=int, default=1, help="of parameters and batches"
    )
    parser.add_argument("--threads", type=int, default=1, help="of each rank")
    parser.add_argument(
        "--bucket-bytes", type=int, default=1 << 18, help="sent at once"
    )
    parser.add_argument(
        "--deterministic",
        action="store_true",
        help="the same bits with 1, 2 and 4 ranks; slower",
    )
    parser.add_argument(
        "--checkpoint", type=Path, help="written after each epoch"
    )
    parser.add_argument("--resume", type=Path, help="a checkpoint")
    parser.add_argument("--json", type=Path, help="for the results")
    parser.add_argument(
        "--trace", type=Path, help="for a timeline of one step on all ranks"
    )
    options = parser.parse_args()
    if options.batch < 1 or digits_data.TRAIN % options.batch:
        parser.error(
            f"--batch {options.batch}: expected a divisor of the "
            f"{digits_data.TRAIN} digits"
        )

    sl.distributed.init()
    sl.set_num_threads(options.threads)
    with sl.kernel_hints(KERNELS):
        run(options)


def run(options) -> None:
    """Run with checked arguments."""
    network = build(options)
    exe = sl.Executor(sl.CPUPlace())
    # All ranks start with the same parameters.
    scope = train_digits.start(network, exe, options.seed)
    first_epoch = resume(network, scope, options)
    begin = time.perf_counter()
    losses, seconds = train(network, exe, scope, options, first_epoch)
    result = {
        "ranks": sl.distributed.size(),
        "losses": losses,
        "seconds": time.perf_counter() - begin,
        "step_ms": 1e3 * statistics.median(seconds),
        # Every rank computes the same accuracy.
        "accuracy": train_digits.accuracy(network, exe, scope),
    }
    feed = shard(next(train_digits.batches(network, 0, 1, options.batch)))
    result |= communication.measure(exe, network, feed, scope)
    if options.trace is not None:
        run = exe.run_traced(network.train, feed, [network.loss], scope)
        sl.distributed.gather_trace(options.trace, run.trace, run.start_ns)
    if sl.distributed.rank() == 0:
        print(report(result), flush=True)
        if options.json is not None:
            options.json.write_text(json.dumps(result))


if __name__ == "__main__":
    main()
