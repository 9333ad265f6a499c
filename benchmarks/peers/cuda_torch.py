#!/usr/bin/env python3
"""PyTorch for the rows of bench_cuda_kernels and the training steps of
bench_cuda.py, on the same numbers.

    cuda_torch.py --rows FILE --ours FILE --case FILE [--seconds S]
                  [--part kernels|training|compiled] [--only TEXT]
                  [--budget S]

FILE of --rows is the output of bench_cuda_kernels --list; that of --ours its
figures, whose sums must agree; that of --case is from networks.save. Prints one
JSON object a line, the last one complete: {"library": version, "rows": {row id:
{peer: value}}, "left_out": {"row id (torch)": reason}}. Peers are torch,
torch_tf32 for products and convolutions, torch_compiled for training. Rows that
would begin after the budget are left out.

Times are those of CUDA events, with a flushed L2 cache, medians of up to 50
calls after two. --device cpu tries it without a GPU, on the clock; its figures
mean nothing.
"""

import argparse
import json
import sys
import time

OLDEST = (2, 0)
SCALES = {"GB/s": 1e-9, "TFLOP/s": 1e-12, "G pairs/s": 1e-9}
TOLERANCE = 1e-3  # relative to the sum of absolute values
MOST, LEAST = 50, 3


class Timer:
    """Measures the time of a call on the device."""

    def __init__(self, torch, device, seconds):
        self.torch, self.device, self.seconds = torch, device, seconds
        self.cuda = device != "cpu"
        if self.cuda:
            l2 = torch.cuda.get_device_properties(0).L2_cache_size
            # Large enough that a call can be enqueued during the flush.
            self.flushed = torch.empty(4 * l2, dtype=torch.uint8,
                                       device=device)

    def once(self, call, host=False):
        """Seconds by events, or (host) by the clock until the call is done."""
        if not self.cuda:
            begin = time.perf_counter()
            call()
            return time.perf_counter() - begin
        cuda = self.torch.cuda
        self.flushed.zero_()
        if host:
            cuda.synchronize()
            begin = time.perf_counter()
            call()
            cuda.synchronize()
            return time.perf_counter() - begin
        first = cuda.Event(enable_timing=True)
        second = cuda.Event(enable_timing=True)
        first.record()
        call()
        second.record()
        cuda.synchronize()
        return max(1e-3 * first.elapsed_time(second), 1e-7)

    def median(self, call, host=False):
        for _ in range(2):
            self.once(call, host)
        begin, times = time.perf_counter(), []
        while len(times) < LEAST or (
                len(times) < MOST and
                time.perf_counter() - begin < self.seconds):
            times.append(self.once(call, host))
        return sorted(times)[len(times) // 2]


def differs(sums, outputs, weighted_sums, argument_of):
    """The difference to our row: "" or a sentence."""
    for name, (want, absolute) in sums.items():
        output = outputs.get(argument_of.get(name, name))
        if output is None:
            continue
        found, _ = weighted_sums(output)
        if not abs(found - want) <= TOLERANCE * absolute + 1e-6:
            return f"the weighted sum of {name} is {found:.6g}, ours {want:.6g}"
    return ""


class Peers:
    """The figures, and the skipped rows with reasons."""

    def __init__(self, options, torch):
        self.options, self.torch = options, torch
        self.timer = Timer(torch, options.device, options.seconds)
        self.rows, self.left_out = {}, {}
        self.end = time.perf_counter() + options.budget
        self.published = time.perf_counter()

    def publish(self):
        """Prints the results so far, in case the caller stops waiting."""
        self.published = time.perf_counter()
        print(json.dumps({"library": self.torch.__version__,
                          "rows": self.rows, "left_out": self.left_out}),
              flush=True)

    def add(self, row, peer, value):
        print(f"  {peer}: {row} {value:.4g}", file=sys.stderr, flush=True)
        self.rows.setdefault(row, {})[peer] = value

    def precision(self, tf32):
        self.torch.backends.cuda.matmul.allow_tf32 = tf32
        self.torch.backends.cudnn.allow_tf32 = tf32

    def attempt(self, row, measure):
        """Measures a row; an error is the reason for leaving it out."""
        if time.perf_counter() > self.end:
            self.left_out[f"{row} (torch)"] = "no time was left"
            return
        try:
            measure()
        except Exception as error:
            lines = str(error).splitlines() or [""]
            reason = f"{type(error).__name__}: {lines[0]}"
            self.left_out[f"{row} (torch)"] = reason
        if self.timer.cuda:
            self.torch.cuda.empty_cache()
        if time.perf_counter() - self.published > 5:
            self.publish()

    def kernel(self, row, sums):
        import torch_ops

        if row["op"] in torch_ops.ABSENT:
            raise NotImplementedError("PyTorch has no such op")
        if row["op"] not in torch_ops.OPS:
            raise NotImplementedError(f"torch_ops.py has no {row['op']}")
        self.precision(False)
        call = torch_ops.prepare(row, self.options.device)
        argument_of = {v["name"]: v["argument"] for v in row["outputs"]}
        if row["gradient"]:
            argument_of = {}
        if row["op"] not in torch_ops.NOT_COMPARED:
            difference = differs(sums, call(), torch_ops.weighted_sums,
                                 argument_of)
            if difference:
                raise ValueError(difference)
        work = row["work"] * SCALES[row["unit"]]
        self.add(row["id"], "torch", work / self.timer.median(call))
        if row["unit"] == "TFLOP/s" and self.timer.cuda:
            self.precision(True)
            self.add(row["id"], "torch_tf32", work / self.timer.median(call))

    def copy(self, row):
        def tensor(on_device):
            device = self.options.device if on_device else "cpu"
            made = self.torch.ones(row["bytes"], dtype=self.torch.uint8,
                                   device=device)
            pinned = row["pinned"] and not on_device and self.timer.cuda
            return made.pin_memory() if pinned else made

        direction = row["direction"]
        source = tensor(direction != "to_device")
        target = tensor(direction != "to_host")
        on_device = direction == "on_device"
        by_events = on_device or row["pinned"]
        seconds = self.timer.median(
            lambda: target.copy_(source, non_blocking=by_events),
            host=not by_events)
        moved = (2 if on_device else 1) * row["bytes"]
        self.add(row["id"], "torch", 1e-9 * moved / seconds)

    def kernels(self):
        with open(self.options.rows) as file:
            rows = json.load(file)
        with open(self.options.ours) as file:
            ours = {row["id"]: row for row in json.load(file)["rows"]}
        for row in rows["copies"] + rows["ops"]:
            if self.options.only not in row["id"] or row["id"] not in ours:
                continue
            sums = ours[row["id"]].get("sums", {})
            self.attempt(row["id"], lambda row=row, sums=sums: (
                self.kernel(row, sums) if "op" in row else self.copy(row)))
        self.publish()

    def training(self, compiled):
        import networks
        import torch_networks

        self.precision(False)
        device = self.options.device
        peer = "torch_compiled" if compiled else "torch"
        step = torch_networks.make_step(device, compiled=compiled)
        forward = torch_networks.make_forward(device, compiled=compiled)
        cases = networks.load(self.options.case)
        for case in cases.values():
            def measure(case=case):
                found = networks.figures(self.options, "torch", "cuda",
                                         {case.name: case}, {peer: step},
                                         {peer: forward})
                for row, name, value in found:
                    self.add(row, name, value)

            self.attempt(f"train/{case.name}/cuda", measure)
            self.publish()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows")
    parser.add_argument("--ours")
    parser.add_argument("--case")
    parser.add_argument("--seconds", type=float, default=0.05)
    parser.add_argument("--budget", type=float, default=600.0)
    parser.add_argument("--part", default="kernels",
                        choices=("kernels", "training", "compiled"))
    parser.add_argument("--only", default="", help="rows with this in the id")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    options = parser.parse_args()
    import torch

    version = tuple(int(part) for part in torch.__version__.split(".")[:2])
    if version < OLDEST:
        raise SystemExit(f"PyTorch {torch.__version__} is older than "
                         f"{OLDEST[0]}.{OLDEST[1]}")
    if options.device == "cuda" and not torch.cuda.is_available():
        raise SystemExit(f"PyTorch {torch.__version__} sees no GPU")
    peers = Peers(options, torch)
    if options.part == "kernels":
        peers.kernels()
    else:
        peers.training(options.part == "compiled")


if __name__ == "__main__":
    main()
