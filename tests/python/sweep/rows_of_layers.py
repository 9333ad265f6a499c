"""Layers that compute, move or make numbers."""

import numpy as np
from sweeping import (
    FAR, LOGITS, SIGNED, Exact, Row, absolute, grid, log, relu, rows_of,
    softplus, where,
)

import sluice as sl

L = sl.layers
RNG = np.random.default_rng(7)
# Integers that float64 does not hold, and floats from the smallest to the end.
WIDE = 2**53 + 1 + np.arange(24).reshape(2, 3, 4)
WIDE[:, 1] *= -1
BITS = np.array([[1e-45, -1e-30, 3.4e38], [-0.0, 2.5, -150]], "f4")
NEAR = RNG.normal(size=(4, 6))
PAIRS = grid(SIGNED[np.abs(SIGNED) < 1e18], FAR[FAR < 1e18])
TINY, HUGE = NEAR * 1e-30, NEAR * 1e30
ONE = SIGNED[:, None]
MANY = np.full((1, 1_000_000), 0.1, "f4")


def lengths(x, p):
    size = absolute(x)
    return (size**p).sum(1, keepdims=True) ** (1 / np.longdouble(p))


def cosine(x, y):
    scale = np.sqrt(rows_of(x * x)) * np.sqrt(rows_of(y * y))
    return rows_of(x * y) / scale


def steps(at, below, slope):
    return lambda x: where(np.real(x) <= at, below, slope(x))


def _array(values, like):
    return sl.initializer.NumpyArray(values.astype(str(like.dtype)))


FORMULAS = [
    *(Row("cos_sim", L.cos_sim, cosine, (x, y), 1, scale=lambda x, y: 1.0,
          dtypes=dtypes)
      for x, y, dtypes in (
          (NEAR, NEAR[::-1], ("float32", "float64")),
          (TINY, TINY[::-1], ("float32",)), (HUGE, HUGE[::-1], ("float32",)))),
    *(Row("norm", lambda x, p=p: L.norm(x, p, axis=1, keepdim=True),
          lambda x, p=p: lengths(x, p), (x,), 1, bound=1e-5)
      for p in (1, 2, 3, 2.5) for x in (NEAR, TINY, HUGE)),
    Row("dot", L.dot, lambda x, y: rows_of(x * y), (NEAR, NEAR[::-1]), 1,
        scale=lambda x, y: rows_of(abs(x * y))),
    Row("cross", lambda x, y: L.cross(x, y, dim=1),
        lambda x, y: np.stack([x[:, 1] * y[:, 2] - x[:, 2] * y[:, 1],
                               x[:, 2] * y[:, 0] - x[:, 0] * y[:, 2],
                               x[:, 0] * y[:, 1] - x[:, 1] * y[:, 0]], 1),
        (NEAR[:, :3], NEAR[::-1, 3:]), 1, scale=lambda x, y: 1.0),
    Row("kron", L.kron, np.kron, (NEAR[:2, :2], NEAR[:2, 2:5]), 0),
    Row("maxout", lambda x: L.maxout(x, groups=2),
        lambda x: np.maximum(x.real[:, ::2], x.real[:, 1::2]),
        (NEAR.reshape(2, 4, 3, 1),), gradients=False),
    Row("relu6", L.relu6, lambda x: relu(x) - relu(x - 6), (PAIRS[0],),
        gradients=False, scale=lambda x: abs(x)),
    Row("hard_sigmoid", L.hard_sigmoid,
        lambda x: relu(0.2 * x + 0.5) - relu(0.2 * x - 0.5),
        (NEAR.reshape(-1, 1),)),
    Row("thresholded_relu", L.thresholded_relu, steps(1, 0, lambda x: x), (ONE,)),
    Row("shrink", L.shrink, lambda x: where(absolute(x).real <= 0.5, 0, x), (ONE,)),
    Row("clip", lambda x: L.clip(x, min=-2.0, max=3.0),
        lambda x: np.clip(x.real, -2, 3), (ONE,), gradients=False),
    Row("scale", lambda x: L.scale(x, scale=3.0, bias=0.5),
        lambda x: 3 * x + 0.5, (ONE,), scale=lambda x: abs(x)),
    Row("fc", lambda x: L.fc(x, 2, param_attr=_array(NEAR.T[:, :2], x),
                             bias_attr=False),
        lambda x: x @ NEAR.T[:, :2].astype("f4"), (NEAR,), 1,
        dtypes=("float32",), scale=lambda x: 1.0),
    *(Row(name, layer, lambda x, y: x @ y, (x, NEAR.T), 1,
          scale=lambda x, y: abs(x) @ abs(y), gradients=False)
      for name, layer in (("matmul", L.matmul), ("mul", L.mul))
      for x in (NEAR, TINY, HUGE)),
    Row("relu", L.relu, relu, (ONE,)),
    Row("top_k", lambda x: L.top_k(x, k=2)[0],
        lambda x: -np.sort(-x.real, 1)[:, :2], (NEAR,), gradients=False),
    Row("bias_add", lambda x, y: L.bias_add(x, y), lambda x, y: x + y,
        (NEAR, NEAR[0]), 0, scale=lambda x, y: 1.0),
    Row("sum", lambda x, y: L.sum([x, y]), lambda x, y: x + y, PAIRS),
    Row("mean", L.mean, lambda x: x.mean(), (NEAR,), 0),
    Row("cumsum", lambda x: L.cumsum(x, axis=1), lambda x: x.cumsum(1), (NEAR**2,),
        1),
    Row("cumprod", lambda x: L.cumprod(x, axis=1), lambda x: x.cumprod(1),
        (NEAR,), 1, bound=1e-5),
    Row("label: softplus", L.softplus, softplus, (LOGITS[:, None],)),
    Row("discount: log", L.log, log, (FAR[1:, None],)),
    Row("reduce_sum", lambda x: L.reduce_sum(x, dim=[1]), lambda x: x.sum(1), (MANY,),
        1, bound=1e-5, dtypes=("float32",), gradients=False),
]  # fmt: skip


def moved(name, layer, formula):
    """The same for integers and for floats."""
    return [Exact(name, layer, formula, (x,)) for x in (WIDE, BITS)]


MOVED = [
    ("assign", L.assign, lambda x: x),
    ("cast", lambda x: L.cast(L.sign(x), dtype="int64"),
     lambda x: np.sign(x).astype("i8")),
    ("concat", lambda x: L.concat([x, x], axis=1),
     lambda x: np.concatenate([x, x], 1)),
    ("crop", lambda x: L.crop(x, offsets=[1] * len(x.shape), shape=[1] * len(x.shape)),
     lambda x: x[(slice(1, 2),) * x.ndim]),
    ("expand", lambda x: L.expand(x, shape=[5, *x.shape]),
     lambda x: np.broadcast_to(x, (5, *x.shape))),
    ("expand_as", lambda x: L.expand_as(x, L.concat([x, x], axis=0)),
     lambda x: np.concatenate([x, x])),
    ("flatten", lambda x: L.flatten(x, axis=1), lambda x: x.reshape(len(x), -1)),
    ("gather", lambda x: L.gather(x, L.cast(L.range(end=2.0), dtype="int64")),
     lambda x: x[:2]),
    ("pad", lambda x: L.pad(x, pads=[1] * 2 * len(x.shape)),
     lambda x: np.pad(x, 1)),
    ("reshape", lambda x: L.reshape(x, [-1]), lambda x: x.ravel()),
    ("roll", lambda x: L.roll(x, 2, 1), lambda x: np.roll(x, 2, 1)),
    ("slice", lambda x: L.slice(x, starts=[1], ends=[3], axes=[1]),
     lambda x: x[:, 1:3]),
    ("split", lambda x: L.concat(L.split(x, [1, 2], 1), axis=1), lambda x: x),
    ("squeeze", lambda x: L.squeeze(L.unsqueeze(x, axes=[0]), axes=[0]),
     lambda x: x),
    ("stack", lambda x: L.stack([x, x], 1), lambda x: np.stack([x, x], 1)),
    ("tile", lambda x: L.tile(x, repeats=[2] * len(x.shape)),
     lambda x: np.tile(x, [2] * x.ndim)),
    ("transpose", lambda x: L.transpose(x, axis=[*range(1, len(x.shape)), 0]),
     lambda x: np.moveaxis(x, 0, -1)),
    ("trilu", lambda x: L.trilu(x, upper=True), np.triu),
    ("unbind", lambda x: L.concat(L.unbind(x), axis=0), lambda x: np.concatenate(x)),
    ("unsqueeze", lambda x: L.unsqueeze(x, axes=[1]), lambda x: x[:, None]),
    ("unstack", lambda x: L.concat(L.unstack(x), axis=0),
     lambda x: np.concatenate(x)),
    ("where", lambda x: L.where(x > x, x, x), lambda x: x),
    ("zeros_like", L.zeros_like, np.zeros_like),
    ("ones_like", L.ones_like, np.ones_like),
    ("shape", L.shape, lambda x: np.array(x.shape)),
    ("size", L.size, lambda x: np.array(x.size)),
    ("topk", lambda x: L.topk(x, 2).values, lambda x: -np.sort(-x, -1)[..., :2]),
    ("argsort", lambda x: L.argsort(x).out, lambda x: np.sort(x, -1)),
    ("searchsorted", lambda x: L.searchsorted(L.argsort(x).out, x),
     lambda x: (np.sort(x)[..., None, :] < x[..., None]).sum(-1)),
    ("arg_max", lambda x: L.arg_max(x, axis=-1), lambda x: x.argmax(-1)),
    ("arg_min", lambda x: L.arg_min(x, axis=-1), lambda x: x.argmin(-1)),
    ("reduce_max", lambda x: L.reduce_max(x, dim=[-1]), lambda x: x.max(-1)),
    ("reduce_min", lambda x: L.reduce_min(x, dim=[-1]), lambda x: x.min(-1)),
    ("abs", L.abs, np.abs),
    ("neg", L.neg, np.negative),
    ("sign", L.sign, np.sign),
    *((name, lambda x, name=name: getattr(L, name)(x, L.roll(x, 1, 1)),
       lambda x, f=f: f(x, np.roll(x, 1, 1)))
      for name, f in (
          ("equal", np.equal), ("not_equal", np.not_equal),
          ("less_than", np.less), ("less_equal", np.less_equal),
          ("greater_than", np.greater), ("greater_equal", np.greater_equal),
          ("elementwise_max", np.maximum), ("elementwise_min", np.minimum))),
    ("meshgrid", lambda x: L.meshgrid([L.reshape(x, [-1])] * 2)[1],
     lambda x: np.meshgrid(x, x, indexing="ij")[1]),
    ("full_like", lambda x: L.full_like(x, 3), lambda x: np.full_like(x, 3)),
]  # fmt: skip


ENDS = np.array([3, -2])
MADE = [
    ("range", lambda x: L.range(start=0.0, end=7.0, step=2.0, dtype="int64"),
     lambda x: np.arange(0, 7, 2)),
    ("linspace", lambda x: L.linspace(0, 1, 11, "float64"),
     lambda x: np.where(np.arange(11) < 5.5, np.arange(11) * 0.1,
                        1 - np.arange(10, -1, -1) * 0.1)),
    ("eye", lambda x: L.eye(3, 4, dtype="int64"),
     lambda x: np.eye(3, 4, dtype="i8")),
    ("assign_value", lambda x: L.assign_value(
        shape=[2], dtype="int64", values=[], int_values=[BIG, -BIG]),
     lambda x: np.array([BIG, -BIG])),
    ("fill_constant", lambda x: L.fill_constant(
        shape=[2], dtype="int64", value=float(2**53)),
     lambda x: np.array([2**53, 2**53])),
    ("fill_any_like", lambda x: L.fill_any_like(
        x, dtype="int64", value=float(-(2**53))),
     lambda x: np.full_like(x, -(2**53))),
    *((name, lambda x, name=name: getattr(L, name)(x > 0, x > -1),
       lambda x, f=f: f(x > 0, x > -1))
      for name, f in (("logical_and", np.logical_and),
                      ("logical_or", np.logical_or),
                      ("logical_xor", np.logical_xor))),
    ("logical_not", lambda x: L.logical_not(x > 0), lambda x: ~(x > 0)),
    ("reduce_all", lambda x: L.reduce_all(x > 0, dim=[0]),
     lambda x: (x > 0).all(0)),
    ("reduce_any", lambda x: L.reduce_any(x > 0, dim=[0]),
     lambda x: (x > 0).any(0)),
]  # fmt: skip
FLOATS = [
    (name, getattr(L, name), getattr(np, "rint" if name == "round" else name))
    for name in ("floor", "ceil", "round", "trunc", "isfinite", "isnan", "isinf")
]
BIG = 2**53 + 1
INTEGERS = [
    *((name, lambda x, name=name: getattr(L, name)(x, L.roll(x, 1, 1)),
       lambda x, f=f: f(x, np.roll(x, 1, 1)))
      for name, f in (
          ("elementwise_add", np.add), ("elementwise_sub", np.subtract),
          ("elementwise_mul", np.multiply), ("elementwise_mod", np.mod),
          ("elementwise_floordiv", np.floor_divide),
          ("elementwise_fmod", np.fmod), ("bitwise_and", np.bitwise_and),
          ("bitwise_or", np.bitwise_or), ("bitwise_xor", np.bitwise_xor))),
    ("bitwise_not", L.bitwise_not, np.invert),
    ("bitwise_left_shift", lambda x: L.bitwise_left_shift(x, x * 0 + 3),
     lambda x: x << 3),
    ("bitwise_right_shift", lambda x: L.bitwise_right_shift(x, x * 0 + 3),
     lambda x: x >> 3),
    ("bitcast", lambda x: L.bitcast(L.bitcast(x, dtype="float64"), dtype="int64"),
     lambda x: x),
    ("cumsum", lambda x: L.cumsum(x, axis=-1), lambda x: x.cumsum(-1)),
    ("reduce_sum", lambda x: L.reduce_sum(x, dim=[-1]), lambda x: x.sum(-1)),
    ("reduce_prod", lambda x: L.reduce_prod(x - x + 3, dim=[-1]),
     lambda x: (x - x + 3).prod(-1)),
    ("sum", lambda x: L.sum([x, x]), lambda x: x + x),
    ("scale", lambda x: L.scale(x, scale=1.0, bias=1.0), lambda x: x + 1),
    ("clip", lambda x: L.clip(x, min=0.0), lambda x: np.maximum(x, 0)),
    ("full_like", lambda x: L.full_like(x, BIG), lambda x: np.full_like(x, BIG)),
    ("x + n", lambda x: x + BIG, lambda x: x + BIG),
    ("n * x", lambda x: BIG * x, lambda x: BIG * x),
    ("x % n", lambda x: x % BIG, lambda x: x % BIG),
    ("x == n", lambda x: x == BIG, lambda x: x == BIG),
    ("diag", lambda x: L.diag(L.reshape(x, [-1])), lambda x: np.diag(x.ravel())),
    ("diagonal", lambda x: L.diagonal(x, 1, 1, 2), lambda x: np.diagonal(x, 1, 1, 2)),
    ("trace", lambda x: L.trace(x, 0, 1, 2), lambda x: np.trace(x, 0, 1, 2)),
    ("unique", lambda x: L.unique(L.reshape(x, [-1])), np.unique),
    ("nonzero", L.nonzero, lambda x: np.array(np.nonzero(x))),
    ("pixel_shuffle", lambda x: L.pixel_shuffle(L.reshape(x, [1, 4, 2, 3]), 2),
     lambda x: _shuffled(x.reshape(1, 4, 2, 3))),
    ("gather_elements", lambda x: L.gather_elements(x, L.argsort(x).indices, axis=2),
     lambda x: np.sort(x, -1)),
    ("one_hot", lambda x: L.one_hot(L.roll(x, 1, 1) - x, L.cast(
        L.range(end=2.0), dtype="int64"), depth=3), lambda x: (
        (np.roll(x, 1, 1) - x)[..., None] == np.arange(3)).astype("i8")),
]  # fmt: skip


def _shuffled(x):
    n, _, h, w = x.shape
    parts = x.reshape(n, 1, 2, 2, h, w).transpose(0, 1, 4, 2, 5, 3)
    return parts.reshape(n, 1, 2 * h, 2 * w)


ROWS = FORMULAS + [row for each in MOVED for row in moved(*each)]
ROWS += [Exact(*each, (WIDE,)) for each in INTEGERS]
ROWS += [Exact(*each, (BITS,)) for each in FLOATS]
ROWS += [Exact(*each, (ENDS,)) for each in MADE]
