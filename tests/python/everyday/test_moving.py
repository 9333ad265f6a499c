"""Functions that move, repeat and select elements, against NumPy."""

import numpy as np
import pytest
import refusals
from formulas.of_ops import outputs_of
from agreement import agree, fed, values

import sluice as sl

layers = sl.layers


@pytest.mark.parametrize("unknown", [(), (0,)])
@pytest.mark.parametrize(
    "parts, dim, cuts",
    [
        (3, -1, [2, 4]),
        (1, 1, []),
        ([1, 4, 1], 2, [1, 5]),
        ([2, -1, 1], 2, [2, 5]),
        ([-1, 5], 2, [1]),
        ([6, -1], 2, [6]),
        ([-1], 2, []),
        ([0, 6], 2, [0]),
    ],
)
def test_split(parts, dim, cuts, unknown):
    agree(
        lambda x: layers.split(x, parts, dim),
        lambda x: np.split(x, cuts, dim),
        values(2, 4, 6),
        unknown=unknown,
    )


def _shuffled(x):
    n, c, h, w = x.shape
    x = x.reshape(n, c // 4, 2, 2, h, w).transpose(0, 1, 4, 2, 5, 3)
    return x.reshape(n, c // 4, 2 * h, 2 * w)


def _cosine(x, y):
    x, y = x.reshape(len(x), -1), y.reshape(len(y), -1)
    lengths = np.linalg.norm(x, axis=1) * np.linalg.norm(y, axis=1)
    return ((x * y).sum(1) / lengths)[:, None]


# A layer, the same in NumPy, and the shapes of what both take.
SAME = {
    "cos_sim": (layers.cos_sim, _cosine, (3, 2, 2), (1, 2, 2)),
    "cross": (layers.cross, lambda x, y: np.cross(x, y, axis=1), (2, 3, 3), (2, 3, 3)),
    "cross -1": (lambda x, y: layers.cross(x, y, -1), np.cross, (2, 3, 3), (2, 3, 3)),
    "dot": (layers.dot, lambda x, y: (x * y).sum(keepdims=True), (5,), (5,)),
    "kron 1": (layers.kron, np.kron, (2,), (3,)),
    "kron 2": (layers.kron, np.kron, (2, 3), (4, 1)),
    "kron 1, 2": (layers.kron, np.kron, (2,), (2, 3)),
    "kron 3, 1": (layers.kron, np.kron, (2, 2, 1), (3,)),
    "linspace": (
        lambda a, b: layers.linspace(a, b, 5, "float64"),
        lambda a, b: np.linspace(a[0], b[0], 5), (1,), (1,),
    ),
    "one part": (lambda x: layers.split(x, 3, -1)[1], lambda x: np.split(x, 3, -1)[1], (2, 6)),
    "parts": (lambda x: layers.split(x, [2, -1, 1], 0), lambda x: np.split(x, [2, 4], 0), (5, 2)),
    "pixel_shuffle": (lambda x: layers.pixel_shuffle(x, 2), _shuffled, (2, 8, 2, 4)),
    "unfold": (lambda x: layers.unfold(x, 3, 2, 1), lambda x: unfolded(
        x, (3, 3), (2, 2), (1, 1, 1, 1), (1, 1)), (1, 2, 5, 4)),
    "stack x": (lambda x: layers.stack([x, x, 2.0 * x]), lambda x: np.stack([x, x, 2 * x]), (3,)),
}
for _axis in (0, 1, 2, -1, -3):
    SAME[f"stack {_axis}"] = (
        lambda *x, axis=_axis: layers.stack(x, axis),
        lambda *x, axis=_axis: np.stack(x, axis), (3, 2), (3, 2), (3, 2),
    )
for _n in (0, 1, -2):
    SAME[f"diag {_n}"] = (
        lambda x, y, n=_n: [layers.diag(x, n), layers.diag(y, n)],
        lambda x, y, n=_n: [np.diag(x, n), np.diag(y, n)], (3,), (4, 3),
    )
for _n in (-5, -2, -1, 0, 1, 3, 4):
    for _axes in ((0, 1), (1, 0), (2, 0), (-1, -2)):
        SAME[f"diagonal {_n} {_axes}"] = (
            lambda x, n=_n, axes=_axes: [layers.diagonal(x, n, *axes), layers.trace(x, n, *axes)],
            lambda x, n=_n, axes=_axes: [np.diagonal(x, n, *axes), np.trace(x, n, *axes)],
            (3, 4, 2),
        )
ANY_SIZE = ("diag -", "diag 0", "diag 1", "one part", "parts", "pixel", "stack")


@pytest.mark.parametrize(
    "name, unknown",
    [(name, ()) for name in SAME] + [(name, (0,)) for name in SAME if name.startswith(ANY_SIZE)],
)
def test_it_is_as_in_numpy(name, unknown):
    layer, reference, *shapes = SAME[name]
    arrays = [values(*shape, seed=i) for i, shape in enumerate(shapes)]
    agree(layer, reference, *arrays, unknown=unknown)


@pytest.mark.parametrize("unknown", [(), (0,), (0, 1)])
def test_what_has_no_gradient_is_as_in_numpy(unknown):
    agree(
        lambda x: [layers.size(x), layers.norm(x, 0, -1), *layers.meshgrid([x[0], x[1, 1:]])],
        lambda x: [np.array(x.size), (x != 0).sum(-1) * 1.0, *np.meshgrid(x[0], x[1, 1:], indexing="ij")],
        np.array([[0.0, 3.0, -1.0], [0.0, 0.0, 0.0]]),
        unknown=unknown,
        grads=False,
    )


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_unstack_and_unbind(axis):
    x = values(3, 2, 4)
    rows = list(np.moveaxis(x, axis, 0))

    def reference(x):
        return list(np.moveaxis(x, axis, 0))

    agree(lambda x: layers.unstack(x, axis), reference, x)
    with sl.program_guard(sl.Program()):
        agree(lambda x: layers.unbind(x, axis), reference, x, grads=False)
    with sl.program_guard(sl.Program()):
        agree(
            lambda x: layers.unstack(x, axis, num=len(rows)),
            reference,
            x,
            unknown=(0, 1, 2),
        )


def test_the_gradient_of_all_slices_is_one_concat():
    x = sl.data("x", [4, 3], "float64")
    x.stop_gradient = False
    rows = layers.unstack(x)
    loss = layers.sum([layers.reduce_sum(r * r * r) for r in rows[::-1]])
    ((_, grad),) = sl.append_backward(loss, [x])
    exe = sl.Executor()
    feed = {"x": values(4, 3)}
    (got,) = exe.run(feed=feed, fetch_list=[grad])
    np.testing.assert_allclose(got, 3 * feed["x"] ** 2)
    assert "join_slice_gradients: 1 change" in exe.explain(all=True)
    with sl.kernel_hints("exclude pass=join_slice_gradients"):
        (same,) = exe.run(feed=feed, fetch_list=[grad])
        assert "join_slice_gradients: 1 change" not in exe.explain(all=True)
    np.testing.assert_array_equal(got, same)


@pytest.mark.parametrize(
    "take",
    [
        lambda x: [x[0:2], x[1:4]],  # overlap
        lambda x: [x[0:2], x[3:4]],  # a gap
        lambda x: [x[0:2], x[2:3]],  # not all
        lambda x: [x[0:2], x[:, 0:2]],  # two dims
        lambda x: [x[::2], x[1::2]],  # steps
        lambda x: [x[0:2], x[2:4], x],  # not only slices
        lambda x: [x[0:2, 0:1], x[2:4, 0:1]],
        lambda x: [x[2:4], x[0:2], x[4:4]],
    ],
)
def test_other_sums_of_slices_keep_their_gradient(take):
    agree(take, take, values(4, 3))


def test_fills_like():
    x = values(2, 3)
    agree(
        lambda x: [
            layers.zeros_like(x),
            layers.ones_like(x, "int32"),
            layers.full_like(x, 2.5, name="filled"),
            layers.fill_any_like(x, value=1.0, dtype="bool"),
        ],
        lambda x: [
            np.zeros_like(x),
            np.ones_like(x, "int32"),
            np.full_like(x, 2.5),
            np.full_like(x, True, bool),
        ],
        x,
        unknown=(0,),
        grads=False,
    )
    y = layers.zeros_like(sl.data("y", [None, 3]))
    assert y.shape == (None, 3)


def test_what_is_beside_a_diagonal_is_zero_for_infinity_too(exe):
    x = np.array([np.inf, np.nan], "float32")
    (got,) = exe.run(feed={"x": x}, fetch_list=[layers.diag(fed("x", x))])
    np.testing.assert_array_equal(got, [[np.inf, 0], [0, np.nan]])


@pytest.mark.parametrize("unknown", [(), (0,), (0, 1)])
@pytest.mark.parametrize(
    "shifts, dims",
    [
        (1, 0),
        (-1, 1),
        ([2, 100], [0, 2]),
        ([1, 1], [1, 1]),
        (0, 0),
        (5, None),
        (-(2**63), 1),
        (2**63 - 1, 2),
    ],
)
def test_roll(shifts, dims, unknown):
    def reference(x):
        if dims is None or isinstance(dims, list):
            return np.roll(x, shifts, dims)
        return np.roll(x, shifts % x.shape[dims], dims)

    agree(
        lambda x: layers.roll(x, shifts, dims),
        reference,
        values(3, 2, 5),
        unknown=unknown,
    )


def fluid_space_to_depth(x, b):
    """Fluid's loop (space_to_depth_op.h of Paddle 1.8)."""
    n, channels, height, width = x.shape
    out = np.empty(x.size, x.dtype)
    groups = channels // (b * b)
    for at, value in enumerate(x.ravel()):
        image, rest = divmod(at, channels * height * width)
        k, rest = divmod(rest, height * width)
        j, i = divmod(rest, width)
        offset, c2 = divmod(k, groups)
        w2, h2 = i * b + offset % b, j * b + offset // b
        row = h2 + height * b * (c2 + groups * image)
        out[w2 + width * b * row] = value
    return out.reshape(n, channels * b * b, height // b, width // b)


def test_space_to_depth_by_both_formulas():
    def onnx(x):
        blocks = [x[:, :, i::2, j::2] for i in (0, 1) for j in (0, 1)]
        return np.concatenate(blocks, 1)

    agree(
        lambda x: [
            layers.space_to_depth(x, 2),
            layers.space_to_depth(x, 2, "onnx"),
        ],
        lambda x: [fluid_space_to_depth(x, 2), onnx(x)],
        values(2, 8, 4, 2),
        unknown=(0,),
    )


def unfolded(x, kernel, stride, pads, dilation):
    top, left, bottom, right = pads
    sizes = {
        "kernel_sizes": kernel, "strides": stride, "dilations": dilation,
        "paddings": [top, bottom, left, right],
    }  # fmt: skip
    return outputs_of("unfold", {"X": x}, sizes)["Out"]


@pytest.mark.parametrize("unknown", [(), (0, 2, 3)])
@pytest.mark.parametrize(
    "kernel, stride, pads, dilation",
    [
        ((2, 3), (1, 1), (0, 0, 0, 0), (1, 1)),
        ((3, 2), (2, 1), (1, 0, 2, 3), (1, 2)),
        ((2, 2), (3, 2), (2, 2, 2, 2), (2, 1)),
        ((1, 1), (1, 1), (0, 0, 0, 0), (1, 1)),
        ((5, 4), (1, 1), (0, 0, 0, 0), (1, 1)),
    ],
)
def test_unfold(kernel, stride, pads, dilation, unknown):
    agree(
        lambda x: layers.unfold(x, kernel, stride, list(pads), dilation),
        lambda x: unfolded(x, kernel, stride, pads, dilation),
        values(2, 2, 5, 4),
        unknown=unknown,
    )


@pytest.mark.parametrize("unknown", [(), (1,)])
@pytest.mark.parametrize("axis", [-1, 0, 1])
@pytest.mark.parametrize("descending", [False, True])
def test_argsort(axis, descending, unknown):
    def reference(x):
        order = np.argsort(-x if descending else x, axis, kind="stable")
        return [np.take_along_axis(x, order, axis), order]

    x = values(3, 4, 2)
    agree(
        lambda x: layers.argsort(x, axis, descending),
        reference,
        x,
        unknown=unknown,
        grads=False,
    )
    with sl.program_guard(sl.Program()):
        agree(
            lambda x: layers.argsort(x, axis, descending).out,
            lambda x: reference(x)[0],
            x,
            unknown=unknown,
        )


def test_equal_elements_keep_their_order(exe):
    x = np.array([2, 1, 2, 1, 2], "int64")
    out, indices = layers.argsort(fed("x", x), descending=True)
    got = exe.run(feed={"x": x}, fetch_list=[out, indices])
    np.testing.assert_array_equal(got, [[2, 2, 2, 1, 1], [0, 2, 4, 1, 3]])


test_what_is_wrong_is_named = refusals.rows(
    [
        (lambda x: layers.split(x, 4), "cut into 4 equal parts"),
        (lambda x: layers.split(x, [1, 1]), "add up to it"),
        (lambda x: layers.split(x, [-1, -1]), "one of them -1"),
        (lambda x: layers.split(x, []), "sections []"),
        (lambda x: layers.split(x, 0), "above 0"),
        (lambda x: layers.split(x, 3, 2),
         "expected an integer from -2 to 1, got 2"),
        (lambda x: layers.stack(x), "expected a list"),
        (lambda x: layers.stack([]), "got none"),
        (lambda x: layers.stack([x, x], 4), "unsqueeze"),
        (lambda x: layers.unstack(x, 1, 2), "differs"),
        (lambda x: layers.unstack(sl.data("y", [None])), "num says it"),
        (lambda x: layers.expand_as(x, sl.data("y", [3, 3])), "multiple of 2"),
        (lambda x: layers.expand_as(x, sl.data("y", [3])), "more dims"),
        (lambda x: layers.full_like(x, 0.5, "int64"), "int64 holds"),
        (lambda x: layers.norm(x, "nuc"), "'nuc'"),
        (lambda x: layers.norm(x, float("nan")), "nan"),
        (lambda x: layers.linspace(0, 1, 0), "above 0"),
        (lambda x: layers.linspace(0, 1e10, 2, "int32"), "not hold 1000000000"),
        (lambda x: layers.linspace(1.0, 2**53 + 1, 2, "int64"),
         "not hold 9007199254740993"),
        (lambda x: layers.diag(layers.stack([x])), "vector or a matrix"),
        (lambda x: layers.diagonal(x, 0, 1, -1), "both dim 1"),
        (lambda x: layers.diag(sl.data("y", [2, None])), "columns"),
        (lambda x: layers.meshgrid([x]), "expected a vector"),
        (lambda x: layers.roll(x, [1, 2], [0]), "1 entries; expected 2"),
        (lambda x: layers.roll(x, 1, 2), "from -2 to 1"),
        (lambda x: layers.cross(x, x, 0), "3 elements"),
        (lambda x: layers.cross(x[:, :2], x), "no dim of size 3"),
        (lambda x: layers.kron(x, sl.data("y", [None, None])), "unknown"),
        (lambda x: layers.randint(3, 3), "low = 3, high = 3"),
        (lambda x: layers.randint(0, 2**54), "2^53"),
        (lambda x: layers.randint(0, 129, dtype="int8"), "not hold 128"),
        (lambda x: layers.randperm(-1), "n = -1"),
        (lambda x: layers.randperm(257, "uint8"), "not hold 256"),
        (lambda x: layers.gather_tree(x, x), "Ids"),
        (lambda x: layers.pixel_shuffle(x, 2), "[N, C, H, W]"),
        (lambda x: layers.unfold(x, 2), "X [2, 3]"),
        (lambda x: layers.unfold(sl.data("y", [1, 1, 2, 2]), 3), "height"),
        (lambda x: layers.unfold(sl.data("y", [1, 1, 2, 2]), 0), "kernel_siz"),
        (lambda x: layers.unfold(sl.data("y", [1, 1, 2, 2]), 1, 0), "strides"),
        (lambda x: layers.argsort(x, 2), "expected an integer from -2 to 1, got 2"),
        (lambda x: layers.norm("x"), "norm: input"),
    ],
    given=lambda: [sl.data("x", [2, 3])],
    error=sl.SluiceError,
)  # fmt: skip
