"""Reads strings of noisy digits whose successors are constrained.

Each digit may be followed by three others only. A classifier of single images
cannot use that; a conditional random field after it can. The field has kernels
only for the CPU: at a CUDA or FPGA place it alone runs on the CPU, and Explain
says why and what is copied. The example checks this, and that every place
computes the same tags.
"""

from __future__ import annotations

import argparse
import json

import digits_data
import numpy as np

import sluice as sl

TAGS = 10
LENGTH = 12
NOISE = 0.55


def strings(count: int, images, labels, random):
    """Images [count, LENGTH, 64], tags [count, LENGTH], lengths [count]."""
    by_tag = [np.flatnonzero(labels[:, 0] == tag) for tag in range(TAGS)]
    tags = np.empty((count, LENGTH), np.int64)
    tags[:, 0] = random.integers(0, TAGS, count)
    for t in range(1, LENGTH):
        step = random.choice([1, 3, 7], count)
        tags[:, t] = (tags[:, t - 1] + step) % TAGS
    chosen = [[random.choice(by_tag[tag]) for tag in row] for row in tags]
    pixels = images[np.asarray(chosen)].reshape(count, LENGTH, 64)
    noise = random.normal(0, NOISE, pixels.shape)
    lengths = random.integers(LENGTH // 2, LENGTH + 1, count)
    return (pixels + noise).astype(np.float32), tags, lengths


def emissions(image: sl.Variable) -> sl.Variable:
    """Scores [B, LENGTH, TAGS]: similarity of each image to known shapes."""
    rows = sl.layers.reshape(image, shape=[-1, 64])
    shapes = sl.LayerHelper("shapes").create_parameter(
        sl.ParamAttr(name="shapes"), [TAGS, 64], "float32"
    )
    distance = sl.layers.manhattan_distance(rows, shapes)
    scores = sl.layers.scale(distance, scale=-0.25)
    return sl.layers.reshape(scores, shape=[-1, LENGTH, TAGS])


def build():
    """Programs: training, tagging one image at a time, tagging strings."""
    train, startup = sl.Program(), sl.Program()
    with sl.program_guard(train, startup):
        image = sl.data("image", [None, LENGTH, 64])
        tag = sl.data("tag", [None, LENGTH], "int64")
        length = sl.data("length", [None], "int64")
        scores = emissions(image)
        cost = sl.layers.linear_chain_crf(
            scores, tag, length=length, param_attr=sl.ParamAttr(name="moves")
        )
        loss = sl.layers.mean(cost)
        tagging = train.clone(for_test=True)
        sl.optimizer.Adam(0.02).minimize(loss)
    with sl.program_guard(tagging):
        path = sl.layers.crf_decoding(
            tagging.var(scores.name),
            length=tagging.var("length"),
            param_attr=sl.ParamAttr(name="moves"),
        )
    return train, startup, tagging, scores, loss, path


def right(guessed, tags, lengths) -> float:
    """The share of correct tags; positions past the end do not count."""
    inside = np.arange(LENGTH) < lengths[:, None]
    return float((guessed == tags)[inside].mean())


def ops_by_place(plan: sl.Plan) -> dict[str, list[str]]:
    """The ops of a plan by place, in the order of the program."""
    places: dict[str, list[str]] = {}
    for op in json.loads(plan.explain_json())["ops"]:
        places.setdefault(op["place"], []).append(op["op"])
    return places


def learn(built, images, labels, steps: int, random) -> sl.Scope:
    """Train on the CPU; the initial shapes are the means of each digit."""
    train, startup, _, _, loss, _ = built
    exe, scope = sl.Executor(sl.CPUPlace()), sl.Scope()
    exe.run(startup, scope=scope)
    means = [
        images[labels[:, 0] == tag].reshape(-1, 64).mean(0)
        for tag in range(TAGS)
    ]
    scope.set("shapes", np.asarray(means, np.float32))
    for step in range(steps):
        pixels, tags, lengths = strings(32, images, labels, random)
        (cost,) = exe.run(
            train,
            feed={"image": pixels, "tag": tags, "length": lengths},
            fetch_list=[loss],
            scope=scope,
        )
        if step % 50 == 0:
            print(f"step {step}: cost {float(cost):.3f} a string")
    return scope


def check(holds: bool, what: str) -> None:
    """Exit with an error if the example does not show what it should."""
    if not holds:
        raise SystemExit(f"crf_tagging: {what}")


def main() -> None:
    """Train on the CPU, and tag at every place."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--strings", type=int, default=200)
    options = parser.parse_args()

    images, labels = digits_data.load()
    random = np.random.default_rng(7)
    built = build()
    _, _, tagging, scores, _, path = built
    first = slice(digits_data.TRAIN)
    scope = learn(built, images[first], labels[first], options.steps, random)

    rest = slice(digits_data.TRAIN, None)
    pixels, tags, lengths = strings(
        options.strings, images[rest], labels[rest], random
    )
    feed = {"image": pixels, "length": lengths}
    fetches = [scores.name, path]
    on_cpu = None
    for place in (sl.CPUPlace(), sl.CUDAPlace(0), sl.FPGAPlace(0)):
        try:
            exe = sl.Executor(place)
        except sl.UnimplementedError as error:
            print(f"{place}: {error}")
            continue
        emitted, tagged = exe.run(tagging, feed, fetches, scope)
        alone = right(emitted.argmax(2), tags, lengths)
        together = right(tagged, tags, lengths)
        print(
            f"{place}: one image at a time {100 * alone:.1f} %, with the "
            f"field {100 * together:.1f} %"
        )
        check(together >= alone + 0.1, "expected the field to add 10 points")
        if on_cpu is None:
            on_cpu = emitted, tagged
            continue
        print(exe.explain(tagging))
        where = ops_by_place(exe.prepare(tagging, feed, fetches))
        for name, ops in where.items():
            print(f"at {name}: {', '.join(ops)}")
        check(
            where["cpu"] == ["crf_decoding"], "expected the field alone there"
        )
        check(
            np.allclose(emitted, on_cpu[0], rtol=1e-4, atol=1e-4)
            and np.mean(tagged == on_cpu[1]) >= 0.99,
            "expected the scores and tags of the CPU",
        )
        print("the same tags as on the CPU\n")


if __name__ == "__main__":
    main()
