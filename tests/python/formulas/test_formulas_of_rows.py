"""Sums, softmax, losses, norms, pools, CRFs and distances over the whole range
of numbers, with ties, masks and offsets.

References use other formulas than the kernels.
"""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from far_numbers import (
    DTYPES, LONG, check, few_numbers, grid, is_normal, long, results,
)

INF = np.inf


def log_sum_exp(x):
    """log(sum(exp(x))) of a vector, from the distances to its maximum."""
    most = x.max()
    if np.isinf(most):
        return most
    return most + np.log1p(np.exp(np.delete(x, x.argmax()) - most).sum())


def softmax(x):
    """The softmax of a vector, from the distances of its elements."""
    with np.errstate(all="ignore"):
        apart = np.where(x[None, :] == x[:, None], 0, x[None, :] - x[:, None])
        return np.where(x == -INF, 0, 1 / np.exp(apart).sum(1))


def others(x):
    """For each element, the product of all others."""
    every = np.broadcast_to(x, (len(x), len(x)))
    return np.where(np.eye(len(x), dtype=bool), 1, every).prod(1)


def shares(x, best):
    return (x == best) / LONG((x == best).sum())


# op: the function of a vector, and its gradient.
REDUCTIONS = {
    "reduce_sum": (np.sum, np.ones_like),
    "reduce_mean": (np.mean, lambda x: np.ones_like(x) / len(x)),
    "reduce_max": (np.max, lambda x: shares(x, x.max())),
    "reduce_min": (np.min, lambda x: shares(x, x.min())),
    "reduce_prod": (np.prod, others),
    "reduce_l1": (lambda x: np.abs(x).sum(), np.sign),
    "reduce_l2": (lambda x: np.sqrt((x * x).sum()),
                  lambda x: x / np.sqrt((x * x).sum())),
    "reduce_log_sum": (lambda x: np.log(x.sum()), lambda x: 0 * x + 1 / x.sum()),
    "reduce_log_sum_exp": (log_sum_exp, softmax),
    "reduce_sum_square": (lambda x: (x * x).sum(), lambda x: 2 * x),
}  # fmt: skip
BY_OUT = {"reduce_l2"}  # what Out has lost is lost
POSITIVE = [
    [1e5, 1e5], [1e8, 1e8], [1e16, 1e16], [3e38, 3e38], [88, 89, 90],
    [1e-45, 3e-45], [1e-30, 1e-30, 2e-30], [1e20, 1e20, 1e25],
    [1e38] * 9 + [1e-38] * 9, [1e-38] * 9 + [1e38] * 9, [0.1] * 257,
    [1e8] * 700, [1e38, 1e-45], [2, 2, 2, 1],
]  # fmt: skip
ANY = [
    [-1e8, -1e8, -1e8], [-3e38, 3e38, 1e38], [1e20, -1e20, 3], [-87, -100, -200],
    [-1e30, 1e-30], [0, 0, 1e10], [0, 3e38],
]  # fmt: skip
CONFIDENT = [[0, -40, -41], [-17, 0], [-90, -90, 0, -88]]
MASKED = [[-INF, 0, 0], [-INF, -INF, 1e8], [-INF, 3e38]]
OF_DOUBLES = [
    [1e200] * 3, [1e-200] * 3, [1e300, 1e-300], [1e200] * 9 + [1e-200] * 9,
]  # fmt: skip


def rows_of(op, dtype):
    rows = [*POSITIVE, *(OF_DOUBLES if dtype == "float64" else ())]
    if dtype == "float64" and op == "reduce_log_sum":
        rows.append([1.7e308, 1.7e308])
    if op != "reduce_log_sum":
        rows = rows + ANY
    if op in ("reduce_log_sum_exp", "reduce_max"):
        rows = rows + MASKED + CONFIDENT
    return [np.array(row, dtype) for row in rows]


def as_rows_and_columns(x):
    """The tensor with x along its last or first dim, and that dim."""
    yield np.stack([x, x[::-1]]), 1, lambda out: out[0]
    yield np.stack([x] * 3, 1), 0, lambda out: out[..., 1]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", REDUCTIONS)
def test_reductions(op, dtype):
    function, gradient = REDUCTIONS[op]
    for row in rows_of(op, dtype):
        with np.errstate(all="ignore"):
            want, slope = function(long(row)), gradient(long(row))
        out = LONG(want).astype(dtype)
        ordinary = is_normal(out, dtype) | (op not in BY_OUT)
        ordinary &= np.isfinite(out)
        for x, axis, pick in as_rows_and_columns(row):
            attrs = {"dim": [axis]}
            for what, got in results(op, {"X": x}, attrs):
                what = f"{what} {row[:4]} over {axis}"
                check(what, pick(got["Out"]), want, dtype)
            outs = np.full(x.shape[1 - axis], out, dtype)
            for cotangent in (1, 1e15, -1e-15) if len(row) < 20 else (1,):
                inputs = {"X": x, "Out": outs}
                if op in ("reduce_sum", "reduce_mean"):
                    del inputs["Out"]
                inputs["Out@GRAD"] = np.full_like(outs, cotangent)
                for what, got in results(f"{op}_grad", inputs, attrs):
                    what = f"{what} {row[:4]} over {axis}"
                    check(what, pick(got["X@GRAD"]), slope * LONG(cotangent),
                          dtype, [row], where=ordinary)  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
def test_log_sum_exp_of_many(dtype):
    x = np.full(200_000, 1e8, dtype)
    out = np.array(1e8 + np.log(2e5), dtype)
    inputs = {"X": x, "Out": out, "Out@GRAD": np.ones_like(out)}
    for what, got in results("reduce_log_sum_exp_grad", inputs):
        check(what, got["X@GRAD"], LONG(1) / len(x), dtype)


LOGITS = [
    [0.5, 0.25, -1], [1e5, 1e5], [1e8, 1e8, 0], [3e38, 3e38, -3e38], [-3e38, 3e38],
    [-INF, 0, 0], [-INF, 1e8, -INF, 1e8], [-1e8] * 37, [0, -200, -90], [7],
    [1e20, 1e20, 1e-20], [0, 17], [-17, 0, -18, -17], [34, -1, 2, 3, -30, -9], [-80, 5],
    [20] + [0] * 300,
]  # fmt: skip


def log_softmax(x):
    """log_softmax of a vector. For a probability near 1 it is computed from the
    others."""
    logs = []
    for i, own in enumerate(x):
        others = np.delete(x, i) - (0 if own == -INF else own)
        if own == -INF:
            logs.append(-INF)
        elif (others > 0).any():
            logs.append(-log_sum_exp(x - own))
        else:
            logs.append(-np.log1p(np.exp(others).sum()))
    return np.array(logs, LONG)


def by_pairs(a, b):
    """a_i times the sum of b less b_i times the sum of a, from their pairs."""
    pairs = a[:, None] * b[None, :] - b[:, None] * a[None, :]
    return pairs.sum(1)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("columns", [False, True])
def test_softmax_and_its_logarithm(dtype, columns):
    for logits in LOGITS:
        row = np.array(logits, dtype)
        want = softmax(long(row))
        log = log_softmax(long(row))
        x = np.stack([row] * 5, 1) if columns else row[None]
        pick = (lambda a: a[:, 2]) if columns else (lambda a: a[0])
        like = (lambda a: np.stack([a] * 5, 1)) if columns else (lambda a: a[None])
        attrs = {"axis": 0 if columns else -1}
        outs = {"softmax": want, "log_softmax": log}
        for op, one in outs.items():
            for what, got in results(op, {"X": x}, attrs):
                what = f"{what} {logits[:4]}"
                check(what, pick(got["Out"]), one, dtype, [row])
        top = np.eye(len(row), dtype=dtype)[np.argmax(row)]
        for grad in (np.resize(np.array([1, -2, 0.5], dtype), len(row)), top):
            back = {
                "softmax": want * ((long(grad)[:, None] - long(grad)) @ want),
                "log_softmax": by_pairs(long(grad), want),
            }
            for op, one in back.items():
                with np.errstate(over="ignore"):
                    out = outs[op].astype(dtype)
                inputs = {"Out": like(out), "Out@GRAD": like(grad)}
                for what, got in results(f"{op}_grad", inputs, attrs):
                    what = f"{what} {logits[:4]} {grad[:4]}"
                    check(what, pick(got["X@GRAD"]), one, dtype, [row])


def weights_for(logits):
    """Labels of a row, with 0 for masked elements."""
    free = np.isfinite(logits)
    yield free / free.sum()
    for chosen in {np.argmax(free), np.argmax(logits)}:
        yield np.eye(len(logits))[chosen]
    most = np.where(free, 1e-6, 0)
    most[np.argmax(logits)] = 1
    yield most


@pytest.mark.parametrize("dtype", DTYPES)
def test_cross_entropy(dtype):
    for logits in LOGITS:
        row = np.array(logits, dtype)
        log = log_softmax(long(row))
        share = softmax(long(row))
        for weights in weights_for(row):
            weights = weights.astype(dtype)
            terms = -long(weights) * np.where(weights == 0, 0, log)
            labels = {True: weights[None]}
            if weights.sum() == weights.max() == 1:
                labels[False] = np.array([[np.argmax(weights)]])
            for soft, label in labels.items():
                attrs = {"soft_label": soft}
                inputs = {"Logits": row[None], "Label": label}
                for what, got in results("softmax_with_cross_entropy", inputs, attrs):
                    what = f"{what} {logits[:4]} with {weights[:4]}"
                    check(what, got["Loss"], terms.sum(), dtype)
                    check(what, got["Softmax"][0], share, dtype)
                inputs = {
                    "Softmax": share.astype(dtype)[None],
                    "Label": label,
                    "Loss@GRAD": np.full((1, 1), 3, dtype),
                }
                for what, got in results(
                    "softmax_with_cross_entropy_grad", inputs, attrs
                ):
                    want = 3 * by_pairs(share, long(weights))
                    what = f"{what} {logits[:4]} with {weights[:4]}"
                    # If weights and softmax are equal, only their rounding
                    # error remains.
                    scale = 0 if weights.max() > 0.9 else weights.max()
                    check(what, got["Logits@GRAD"][0], want, dtype, scale=scale)


SCALES = [1e-30, 1e-10, 1, 1e10, 1e18, 1e20, 1e25, 1e36, 3e38]
# Their squares leave the range of double.
FAR = [1e-300, 1e-200, 1e-160, 1e153, 1e155, 1e200, 1e300, 1.7e308]


def scales(dtype):
    return SCALES + (FAR if dtype == "float64" else [])


def normalized(x, epsilon, centered):
    """A row normalised, its mean and 1 / its deviation."""
    mean = x.mean() if centered else LONG(0)
    deviation = np.sqrt(((x - mean) ** 2).mean() + LONG(epsilon))
    return (x - mean) / deviation, mean, 1 / deviation


def norm_gradient(x, weighted, epsilon, centered):
    """The gradient by the Jacobian matrix."""
    y, _, inverse = normalized(x, epsilon, centered)
    n = len(x)
    matrix = np.eye(n, dtype=LONG) - np.outer(y, y) / n
    if centered:
        matrix -= LONG(1) / n
    return inverse * (matrix @ weighted)


NORMS = {
    "layer_norm": ((2, 6), {}),
    "rms_norm": ((2, 6), {}),
    "group_norm": ((1, 4, 3), {"groups": 2}),
    "instance_norm": ((1, 2, 6), {}),
}
BASE = np.array([0.75, -1, 0.5, 1, -0.9, 0.3])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", NORMS)
def test_row_norms(op, dtype):
    shape, attrs = NORMS[op]
    centered = op != "rms_norm"
    grad = np.resize(np.array([1, -2, 0.5, 0.25], dtype), 12)
    for size, epsilon in itertools.product(scales(dtype), (1e-5, 0.0)):
        x = np.concatenate([BASE * size, BASE[::-1] * size / 2]).astype(dtype)
        rows = [long(x[:6]), long(x[6:])]
        y = np.concatenate([normalized(r, epsilon, centered)[0] for r in rows])
        all_attrs = {**attrs, "epsilon": epsilon}
        inputs = {"X": x.reshape(shape)}
        for what, got in results(op, inputs, all_attrs, ["Y"]):
            what = f"{what} of {size}, epsilon {epsilon}"
            check(what, got["Y"].ravel(), y, dtype, [x], scale=np.abs(y).max())
        want = np.concatenate([
            norm_gradient(r, long(g), epsilon, centered)
            for r, g in zip(rows, (grad[:6], grad[6:]))
        ])  # fmt: skip
        inputs["Y@GRAD"] = grad.reshape(shape)
        for what, got in results(f"{op}_grad", inputs, all_attrs, ["X@GRAD"]):
            what = f"{what} of {size}, epsilon {epsilon}"
            check(what, got["X@GRAD"].ravel(), want, dtype, [x],
                  scale=np.abs(want).max())  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("run", [1, 2])
def test_scales_of_row_norms(run, dtype):
    op = "layer_norm" if run == 1 else "group_norm"
    grad = np.resize(np.array([1, -2, 0.5, 0.25, 3], dtype), 12)
    for size in scales(dtype):
        x = np.concatenate([BASE * size, BASE[::-1] * size / 2]).astype(dtype)
        y = np.concatenate([normalized(long(r), 0, True)[0] for r in x.reshape(2, 6)])
        products = y * grad  # of group_norm, with groups of three channels
        want = products.reshape(2, 6).sum(0) if run == 1 else products.reshape(6, 2).sum(1)
        shape = (2, 6) if run == 1 else (1, 6, 2)
        attrs = {"epsilon": 0.0, **({} if run == 1 else {"groups": 2})}
        inputs = {"X": x.reshape(shape), "Scale": np.ones(6, dtype)}
        inputs["Y@GRAD"] = grad.reshape(shape)
        for what, got in results(f"{op}_grad", inputs, attrs, ["Scale@GRAD"]):
            check(f"{what} of {size}", got["Scale@GRAD"], want, dtype, scale=1.0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_batch_norm(layout, dtype):
    """batch_norm of two channels with 6 elements."""
    axes = (0, 2, 1) if layout == "NHWC" else (0, 1, 2)
    scale, bias = np.array([2, 0.5], dtype), np.array([0, 1], dtype)
    for size, epsilon in itertools.product(scales(dtype), (1e-5, 0.0)):
        channels = np.array([BASE * size, BASE[::-1] * size / 2], dtype)
        x = channels.reshape(2, 2, 3).swapaxes(0, 1)
        back = lambda a: a.transpose(axes).swapaxes(0, 1).reshape(2, 6)  # noqa: E731
        norms = [normalized(long(c), epsilon, True) for c in channels]
        attrs = {"epsilon": epsilon, "data_format": layout}
        inputs = {
            "X": np.ascontiguousarray(x.transpose(axes)), "Scale": scale,
            "Bias": bias, "Mean": bias, "Variance": scale,
        }  # fmt: skip
        for what, got in results("batch_norm", inputs, attrs, ["Y"]):
            for c in range(2):
                want = norms[c][0] * long(scale[c]) + long(bias[c])
                check(f"{what} of {size}", back(got["Y"])[c], want, dtype, scale=2.0)
        grad = np.resize(np.array([1, -2, 0.5, 0.25, 3], dtype), x.shape)
        inputs = {
            "X": inputs["X"], "Scale": scale,
            "SavedMean": np.array([n[1] for n in norms]).astype(dtype),
            "SavedVariance": np.array([n[2] for n in norms]).astype(dtype),
            "Y@GRAD": np.ascontiguousarray(grad.transpose(axes)),
        }  # fmt: skip
        both = ["X@GRAD", "Scale@GRAD"]
        for what, got in results("batch_norm_grad", inputs, attrs, both):
            for c in range(2):
                weighted = long(back(inputs["Y@GRAD"])[c]) * long(scale[c])
                of_scale = (norms[c][0] * long(back(inputs["Y@GRAD"])[c])).sum()
                check(f"{what} of {size}", got["Scale@GRAD"][c], of_scale, dtype,
                      scale=1.0)  # fmt: skip
                want = norm_gradient(long(channels[c]), weighted, epsilon, True)
                check(f"{what} of {size}, epsilon {epsilon}", back(got["X@GRAD"])[c],
                      want, dtype, scale=np.abs(want).max())  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_local_responses(layout, dtype):
    sizes = [*SCALES, *([1e200] if dtype == "float64" else [])]
    for size, beta in itertools.product(sizes, (0.75, 0.5)):
        x = (np.resize(BASE, 21) * size).astype(dtype)  # vectors, and some after
        squares = long(x) ** 2
        sums = [squares[max(i - 1, 0) : i + 2].sum() for i in range(21)]
        want = long(x) / (1 + LONG(1e-2) / 3 * np.array(sums)) ** LONG(beta)
        attrs = {"n": 3, "alpha": 1e-2, "beta": beta, "data_format": layout}
        image = x.reshape((1, 21, 1, 1) if layout == "NCHW" else (1, 1, 1, 21))
        for what, got in results("lrn", {"X": image}, attrs):
            check(f"{what} of {size}", got["Out"].ravel(), want, dtype, [x])


POOLS = {
    "pool2d": ((1, 1, 2, 2), {"ksize": [2, 2]}),
    "pool3d": ((1, 1, 1, 2, 2), {"ksize": [1, 2, 2]}),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", POOLS)
def test_averages_of_windows_do_not_overflow(op, dtype):
    shape, attrs = POOLS[op]
    attrs = {**attrs, "pooling_type": "avg"}
    top = np.finfo(dtype).max
    for window in ([3e38] * 4, [top] * 4, [top, -top, top, top], [1e-45] * 4):
        x = np.array(window, dtype)
        for what, got in results(op, {"X": x.reshape(shape)}, attrs, ["Out"]):
            check(what, got["Out"].ravel(), [long(x).mean()], dtype, [x[:1]])
    for layout, size in itertools.product(("NCHW", "NHWC"), (1, 3, 40)):
        if op == "pool3d":
            continue
        x = np.full((1, 3, 3, size) if layout == "NHWC" else (1, size, 3, 3), top, dtype)
        attrs["data_format"] = layout
        for what, got in results(op, {"X": x}, attrs):
            check(f"{what} {layout} {size}", got["Out"], long(top), dtype)


@pytest.mark.parametrize("exclusive", [False, True])
def test_windows_past_the_padding_count_alike(exclusive):
    """pool2d and pool3d agree with PyTorch and ONNX."""
    rng = np.random.default_rng(1)
    for size, kernel, stride, pad in itertools.product(
        (4, 5, 8), (2, 3), (1, 2, 3), (0, 1)
    ):
        x = rng.normal(size=(1, 2, size, size + 1)).astype("float32")
        attrs = {"pooling_type": "avg", "ceil_mode": True, "exclusive": exclusive}
        flat = {"ksize": [kernel] * 2, "strides": [stride] * 2, "paddings": [pad] * 2}
        deep = {k: [0 if k == "paddings" else 1, *v] for k, v in flat.items()}
        (_, want), *_ = results("pool3d", {"X": x[:, :, None]}, {**attrs, **deep}, ["Out"])
        for what, got in results("pool2d", {"X": x}, {**attrs, **flat}):
            check(what, got["Out"], want["Out"][:, :, 0], "float32", scale=1.0)


def crf_by_paths(emission, transition, label):
    """The cost and its gradients from the exact scores of all paths."""
    positions, tags = emission.shape
    grads = [np.zeros(a.shape, LONG) for a in (emission, transition)]

    def steps(path):
        yield 1, (0, path[0])
        yield 1, (1, path[-1])
        for a, b in itertools.pairwise(path):
            yield 1, (2 + a, b)
        for t, tag in enumerate(path):
            yield 0, (t, tag)

    def score(path):
        weights = [(emission, transition)[which][at] for which, at in steps(path)]
        finite = all(np.isfinite(w) for w in weights)
        return sum(Fraction(float(w)) for w in weights) if finite else None

    paths = list(itertools.product(range(tags), repeat=positions))
    scores = [score(path) for path in paths]
    most = max(s for s in scores if s is not None)
    parts = [LONG(0) if s is None else np.exp(LONG(float(s - most))) for s in scores]
    own = score(label)
    for path, part in zip(paths, parts):
        for which, at in steps(path):
            grads[which][at] += part / sum(parts)
    for which, at in steps(label):
        grads[which][at] -= 1
    return LONG(float(most - own)) + np.log(sum(parts)), *grads


def crf_cases(dtype):
    rng = np.random.default_rng(2)
    emission = rng.integers(-4, 4, (3, 3)) / 4
    transition = rng.integers(-4, 4, (5, 3)) / 4
    offset = np.array([0, 1e16, -1e20])[:, None]
    masked = transition.copy()
    masked[3, 1] = masked[0, 2] = -INF
    yield emission, transition
    yield emission * 0 + offset, transition  # digits of emission are lost
    yield emission * 0 + (3e38 if dtype == "float32" else 1e300), transition
    yield emission, transition * 0 + 1e18
    yield emission, masked
    yield np.where(emission > 0.5, -INF, emission), transition
    yield emission, np.where(np.eye(5, 3) > 0, 1e17, transition * 0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("label", [(0, 0, 0), (1, 0, 1), (0, 2, 0)])
def test_conditional_random_fields(label, dtype):
    for emission, transition in crf_cases(dtype):
        e, t = emission.astype(dtype), transition.astype(dtype)
        if any(e[i, tag] == -INF for i, tag in enumerate(label)):
            continue
        cost, e_grad, t_grad = crf_by_paths(e, t, label)
        inputs = {
            "Emission": e[None], "Transition": t,
            "Label": np.array([label]), "Length": np.array([3]),
        }  # fmt: skip
        for what, got in results("linear_chain_crf", inputs, {}, ["LogLikelihood"]):
            check(what, got["LogLikelihood"].ravel(), [cost], dtype, scale=1.0)
        inputs["LogLikelihood@GRAD"] = np.full((1, 1), 2, dtype)
        both = ["Emission@GRAD", "Transition@GRAD"]
        for what, got in results("linear_chain_crf_grad", inputs, {}, both):
            check(what, got["Emission@GRAD"][0], 2 * e_grad, dtype, scale=2.0)
            check(what, got["Transition@GRAD"], 2 * t_grad, dtype, scale=2.0)


@pytest.mark.parametrize("dtype", DTYPES)
def test_distances(dtype):
    x, y = grid(few_numbers(dtype), few_numbers(dtype))
    for what, got in results("manhattan_distance", {"X": x[:, None], "Y": y[:1, None]}):
        check(what, got["Out"][:, 0], np.abs(long(x) - long(y[0])), dtype, [x])
    points, other = np.stack([x, y, x], 1), np.zeros((1, 3), dtype)
    grad = np.full((len(points), 1), 1e-20, dtype)
    inputs = {"X": points, "Y": other, "Out@GRAD": grad}
    for what, got in results("manhattan_distance_grad", inputs, {}, ["X@GRAD"]):
        check(what, got["X@GRAD"], np.sign(long(points)) * grad, dtype)
