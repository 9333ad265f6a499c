"""Reads strings of noisy digits whose successors are constrained.

Each digit may be followed by three others only. A classifier of single images
cannot use that; a conditional random field (CRF) after it can. The CRF has
kernels only for the CPU: at a CUDA or FPGA place it alone runs on the CPU. The
example checks this, and that every place computes the same tags.
"""

from __future__ import annotations

import argparse
import json

import console
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


def show(readings, tags, lengths) -> None:
    """Print the first three strings, with wrong digits in brackets."""
    for i, length in enumerate(lengths[:3]):
        for name, each in readings.items():
            wrong = (each != tags)[i, :length]
            digits = "".join(
                f"[{digit}]" if bad else f" {digit} "
                for digit, bad in zip(each[i, :length], wrong, strict=True)
            )
            count = f"{wrong.sum()} wrong" if wrong.any() else ""
            print(f"{name:16}{digits:38}{count}".rstrip())
        print()


def placed(plan: sl.Plan) -> tuple[dict[str, list[str]], str]:
    """The ops by place, and text about them and what is copied."""
    explained = json.loads(plan.explain_json())
    places: dict[str, list[str]] = {}
    lines = []
    for op in explained["ops"]:
        places.setdefault(op["place"], []).append(op["op"])
        if op["place"] != str(plan.place):
            lines.append(f"  {op['op']} is at {op['place']}: {op['reason']}")
    for one in explained["transfers"]:
        bytes_ = console.size(one["bytes"])
        lines.append(f"  {bytes_} copied from {one['from']} to {one['to']}")
    return places, "\n".join(lines)


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
    with console.progress("training", steps) as bar:
        for step in range(1, steps + 1):
            pixels, tags, lengths = strings(32, images, labels, random)
            (cost,) = exe.run(
                train,
                feed={"image": pixels, "tag": tags, "length": lengths},
                fetch_list=[loss],
                scope=scope,
            )
            bar.update()
            if step == 1 or step % 30 == 0 or step == steps:
                bar.write(
                    f"step {step} of {steps}: loss {float(cost):.1f} per string"
                )
    return scope


def check(holds: bool, what: str) -> None:
    """Exit with an error if the example does not show what it should."""
    if not holds:
        raise SystemExit(f"crf_tagging: {what}")


def main() -> None:
    """Train on the CPU, and tag at every place."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=150, help="of training")
    parser.add_argument("--strings", type=int, default=200, help="to train on")
    parser.add_argument(
        "--explain", action="store_true", help="print why each kernel runs"
    )
    options = parser.parse_args()

    print(
        "A CRF learns which digit follows which, and reads at each place: "
        "about 3 s"
    )
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
        with console.progress(f"reading {options.strings} strings at {place}"):
            emitted, tagged = exe.run(tagging, feed, fetches, scope)
        alone = right(emitted.argmax(2), tags, lengths)
        together = right(tagged, tags, lengths)
        if on_cpu is None:
            on_cpu = emitted, tagged
            single = {"digits": tags, "image by image": emitted.argmax(2)}
            show(single | {"with the CRF": tagged}, tags, lengths)
        print(
            f"{place}: accuracy {100 * alone:.1f} % image by image, "
            f"{100 * together:.1f} % with the CRF"
        )
        check(together >= alone + 0.1, "expected the CRF to add 10 points")
        if options.explain:
            print(exe.explain(tagging))
        if place == sl.CPUPlace():
            continue
        where, text = placed(exe.prepare(tagging, feed, fetches))
        print(text)
        check(where["cpu"] == ["crf_decoding"], "expected only the CRF there")
        check(
            np.allclose(emitted, on_cpu[0], rtol=1e-4, atol=1e-4)
            and np.mean(tagged == on_cpu[1]) >= 0.99,
            "expected the scores and tags of the CPU",
        )
        print("  the same tags as on the CPU")
    console.finish({}, "./dev demo crf --explain says why each kernel runs")


if __name__ == "__main__":
    main()
