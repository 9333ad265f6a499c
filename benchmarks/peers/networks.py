"""The two networks of the suite `train`, and their measurement with each
library, for bench_train.py with Sluice and the peers.

Both have the same parameters, images and labels everywhere: bench_train writes
them to a file, with the losses of the first three steps (SGD, one batch) and
the logits before them. A library with other results is not a peer.

mlp64 is 64-128-64-10 with relu; lenet64 has 20 and 50 filters of 5x5, each with
relu and maximum of 2x2, then 500 units with relu, and 10, on 28x28. Parameters
are, layer by layer, a weight [inputs, units] or [filters, channels, 5, 5], and
a bias.
"""

import sys
import time

import numpy as np
import peer_timing

BATCH = 64
RATE = 0.01
STEPS = 3
IMAGE = {"mlp64": (64,), "lenet64": (1, 28, 28)}
WEIGHTS = {
    "mlp64": ((64, 128), (128, 64), (64, 10)),
    "lenet64": ((20, 1, 5, 5), (50, 20, 5, 5), (800, 500), (500, 10)),
}


class Case:
    """One network: parameters, a batch, and their results."""

    def __init__(self, name, values):
        self.name = name
        self.image, self.label = values["image"], values["label"]
        self.losses, self.logits = values["losses"], values["logits"]
        self.parameters = [values[str(i)] for i in range(len(values) - 4)]

    def channels_last(self):
        """Filters as [5, 5, channels, filters], and the inputs of the following
        unit in the order height, width, channel."""
        changed = []
        for value in self.parameters:
            if value.ndim == 4:
                value = value.transpose(2, 3, 1, 0)
            elif value.shape == (800, 500):
                value = (value.reshape(50, 4, 4, 500).transpose(1, 2, 0, 3)
                         .reshape(800, 500))
            changed.append(np.ascontiguousarray(value))
        return changed

    def image_channels_last(self):
        """The images as [BATCH, 28, 28, 1]."""
        if self.image.ndim == 2:
            return self.image
        return np.ascontiguousarray(self.image.transpose(0, 2, 3, 1))


def new_case(name):
    """A case without results; bench_train adds them."""
    random = np.random.default_rng(0)
    values = {
        "image": random.random((BATCH, *IMAGE[name]), np.float32),
        "label": random.integers(0, 10, BATCH),
        "losses": None,
        "logits": None,
    }
    for i, shape in enumerate(WEIGHTS[name]):
        convolution = len(shape) == 4
        inputs = np.prod(shape[1:]) if convolution else shape[0]
        weight = random.standard_normal(shape, np.float32)
        units = shape[0] if convolution else shape[1]
        values[str(2 * i)] = weight * np.float32(np.sqrt(2 / inputs))
        values[str(2 * i + 1)] = np.full(units, 0.01, np.float32)
    return Case(name, values)


def save(path, cases):
    """Writes cases, which have their results."""
    arrays = {}
    for case in cases:
        values = {"image": case.image, "label": case.label,
                  "losses": case.losses, "logits": case.logits}
        values.update((str(i), p) for i, p in enumerate(case.parameters))
        arrays.update((f"{case.name}/{k}", v) for k, v in values.items())
    np.savez(path, **arrays)


def load(path):
    """The cases of a file, by name."""
    values = {}
    with np.load(path) as file:
        for key in file:
            name, _, rest = key.partition("/")
            values.setdefault(name, {})[rest] = file[key]
    return {name: Case(name, value) for name, value in values.items()}


def check(peer, what, found, expected):
    """Ends the script if a peer's results differ."""
    if not np.allclose(found, expected, rtol=2e-4, atol=2e-5):
        raise SystemExit(f"{peer}: {what} are {np.ravel(found)[:4]}, "
                         f"not {np.ravel(expected)[:4]}")


def first_step_ms(make_step, cases):
    """Preparation and the first step of lenet64, after the process has trained
    mlp64."""
    warm = make_step(cases["mlp64"])
    for _ in range(10):
        warm()
    step = make_step(cases["lenet64"])
    begin = time.perf_counter()
    step()
    return (time.perf_counter() - begin) * 1e3


def figures(options, module, machine, cases, steps, forwards):
    """The results of measure() for these cases, except start-up. `machine` is
    the suffix of ids: t1 for one thread of the CPU, cuda for a GPU."""

    def microseconds(call):
        wall, cpu = time.perf_counter(), time.process_time()
        median = peer_timing.median_seconds(call, seconds=options.seconds)
        cpus = ((time.process_time() - cpu) / (time.perf_counter() - wall))
        if cpus > 1.1 and machine == "t1":
            print(f"  {module} took {cpus:.2f} CPUs", file=sys.stderr)
        return 1e6 * median

    for case in cases.values():
        for peer, make in steps.items():
            if peer.endswith("channels_last") and case.image.ndim == 2:
                continue  # there are no such rows
            step = make(case)
            losses = [float(step()) for _ in range(STEPS)]
            check(peer, f"the losses of {case.name}", losses, case.losses)
            yield f"train/{case.name}/{machine}", peer, microseconds(step)
    case = cases.get("lenet64")
    if case is None:
        return
    for peer, make in forwards.items():
        for batch in (1, BATCH):
            forward = make(case, batch)
            check(peer, "logits", forward(), case.logits[:batch])
            row = f"infer/lenet_b{batch}/{machine}"
            yield row, peer, microseconds(forward)


def measure(script, options, module, steps=None, forwards=None):
    """Yields (row id, peer, value) for one library, as it finds them.

    `module` is what users import. `steps` has {peer: make}, where make(case)
    returns a function that trains for one step and returns the loss, as a
    number. `forwards` has {peer: make}, where make(case, batch) returns a
    function that returns the logits of `batch` images, as an array. The time of
    make itself is not measured.
    """
    steps, forwards = steps or {}, forwards or {}
    cases = load(options.case)
    once = [1] if options.seconds == 0 else []
    yield from figures(options, module, "t1", cases, steps, forwards)
    for peer in steps:
        command = [script, "--threads", "1", "--case", options.case,
                   "--first-step", peer]
        yield ("startup/lenet_first_step_ms", peer,
               peer_timing.in_new_processes(command, *once))
    yield "startup/import_ms", module, peer_timing.import_ms(module, *once)


def run_peer(script, options, module, steps=None, forwards=None, rows=None):
    """The main function of a peer's script: see measure() and first_step_ms().
    `rows` were measured before."""
    if options.first_step:
        print(first_step_ms(steps[options.first_step], load(options.case)))
        return
    rows = dict(rows or {})
    for row, peer, value in measure(script, options, module, steps, forwards):
        print(f"  {peer}: {row} {value:.4g}", file=sys.stderr, flush=True)
        rows.setdefault(row, {})[peer] = value
    peer_timing.report(rows)
