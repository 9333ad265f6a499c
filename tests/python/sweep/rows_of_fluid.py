"""Layers of Fluid that are not one function of Sluice."""

import numpy as np
from rows_of_layers import (
    BIG, BITS, HUGE, LOGITS, NEAR, ONE, PAIRS, TINY, WIDE, cosine,
)
from rows_of_losses import MIXED, log_softmax, logistic
from sweeping import (
    LONG, Exact, Row, absolute, grid, least, log, relu, rows_of, sigmoid,
    softplus, tanh_shrink, where,
)

import sluice.fluid as fluid

L, D = fluid.layers, fluid.layers.distributions


def ran(layer, arrays, weights=None):
    """What `run` of sweeping.py gives, of a program of Fluid."""
    main, startup = fluid.Program(), fluid.Program()
    scope = fluid.scope_guard(fluid.core.Scope())
    with fluid.program_guard(main, startup), fluid.unique_name.guard(), scope:
        feed = {f"x{i}": array for i, array in enumerate(arrays)}
        if weights is not None:
            feed["weights"] = weights
        given = []
        for name, array in feed.items():
            x = main.global_block().data(name, array.shape, array.dtype.name, 0)
            x.stop_gradient = array.dtype.kind != "f"
            given.append(x)
        inputs = given[: len(arrays)]
        fetch = [layer(*inputs)]
        if weights is not None:
            out = L.reshape(fetch[0], list(weights.shape))
            loss = L.reduce_sum(out * given[-1])
            floats = [x for x in inputs if not x.stop_gradient]
            fetch += fluid.gradients(loss, floats)
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(startup)
        return [np.asarray(x) for x in exe.run(main, feed=feed, fetch_list=fetch)]


class FluidRow(Row):
    run = staticmethod(ran)


class FluidExact(Exact):
    run = staticmethod(ran)


def gradual(threshold):
    def formula(x):
        bent = least(where(np.real(x) < -threshold, -threshold, x), threshold)
        return softplus(bent)

    return formula


def normalized(x):
    size = np.sqrt(rows_of(x * x))
    return x / where(np.real(size) < LONG("1e-6"), LONG("1e-6"), size)


def teacher(x, y):
    """-2 and -1 are clicks, -2 is none; above them a teacher's score is added."""
    clicked = (y.real == -1) | (y.real >= 1)
    score = where(y.real < 0, 0, y - (y.real >= 1))
    cost = logistic(x, clicked + 0 * y)
    return cost + where(y.real < 0, 0, logistic(x, score))


def focal(x):
    share = sigmoid(x)
    right = 0.25 * sigmoid(-x) ** 2 * softplus(-x)
    wrong = 0.75 * share**2 * softplus(x)
    return where(CLASSES == [1, 2, 3], right, where(CLASSES < 0, 0, wrong)) / 2


def normal_log_prob(x, loc, scale):
    return -(((x - loc) / scale) ** 2) / 2 - log(scale) - np.log(2 * PI) / 2


def normal_kl(a, b, c, d):
    share = (b / d) ** 2
    return (share + ((a - c) / d) ** 2 - 1 - log(share)) / 2


def divergence(*pairs):
    one, other = (D.MultivariateNormalDiag(a, L.diag(b)) for a, b in pairs)
    return one.kl_divergence(other)


PI = LONG("3.14159265358979323846264338327950288")
CLASSES = np.array([[1], [0], [-1], [3], [2], [1]], "int32")
ROWS6 = NEAR.T[:, :3]
LOCS, SCALES = grid(np.array([-1e4, 0, 1.0]), np.array([1e-6, 0.5, 1e6]))
IMAGE = NEAR.reshape(1, 4, 2, 3)
FORMULAS = [
    FluidRow("brelu", lambda x: L.brelu(x, -2.0, 7.0),
             lambda x: np.clip(x.real, -2, 7), (ONE,), gradients=False),
    FluidRow("soft_relu", L.soft_relu, gradual(40), (ONE,),
             smooth=lambda x: np.abs(x) != 40),
    FluidRow("stanh", L.stanh,
             lambda x: LONG("1.7159") * np.tanh(LONG("0.67") * x), (ONE / 1e3,),
             smooth=lambda x: np.abs(x) < 5),
    FluidRow("softshrink", L.softshrink,
             lambda x: relu(x - 0.5) - relu(-x - 0.5), (ONE,)),
    FluidRow("hard_shrink", L.hard_shrink,
             lambda x: where(absolute(x).real <= 0.5, 0, x), (ONE,)),
    *(FluidRow("tanh_shrink", L.tanh_shrink, tanh_shrink, (x,))
      for x in (NEAR, ONE)),
    FluidRow("pow", lambda x: L.pow(x, 3.0), lambda x: x**3,
             (ONE[np.abs(ONE[:, 0]) < 1e12],)),
    *(FluidRow("l2_normalize", lambda x: L.l2_normalize(x, 1), normalized, (x,),
               1, bound=1e-5, scale=lambda x: abs(normalized(x)).max())
      for x in (NEAR, TINY, HUGE)),
    *(FluidRow("clip_by_norm", lambda x: L.clip_by_norm(x, 1.0),
               lambda x: x / max(1, np.sqrt((x.real**2).sum())), (x,),
               gradients=False)
      for x in (NEAR, TINY, HUGE)),
    *(FluidRow("cos_sim", L.cos_sim, cosine, (x, x[::-1]), 1,
               scale=lambda x, y: 1.0)
      for x in (NEAR, TINY, HUGE)),
    *(FluidRow("dist", lambda x, y: L.dist(x, y, 2),
               lambda x, y: np.sqrt(((x - y) ** 2).sum()), (x, x[::-1]), 0)
      for x in (NEAR, TINY, HUGE)),
    FluidRow("logsumexp", lambda x: L.logsumexp(x, [1], True),
             lambda x: x[:, :1] - log_softmax(x)[:, :1],
             (np.array([[s, -s, 0.5, 1 - s] for s in (1, 40, 1e4, -1e4)]),), 1),
    FluidRow("bmm", L.bmm, lambda x, y: x @ y, (NEAR[None], NEAR.T[None]), 0,
             scale=lambda x, y: abs(x) @ abs(y)),
    FluidRow("addmm", lambda z, x, y: L.addmm(z, x, y, 2.0, 0.5),
             lambda z, x, y: 0.5 * z + 2 * x @ y, (NEAR[:, :3], NEAR, ROWS6), 0,
             scale=lambda z, x, y: 1.0),
    FluidRow("addcmul", lambda z, x, y: L.addcmul(z, x, y, 2.0),
             lambda z, x, y: z + 2 * x * y, (PAIRS[0], *PAIRS),
             scale=lambda z, x, y: abs(z) + 2 * abs(x * y)),
    FluidRow("affine_channel", lambda x, a, b: L.affine_channel(x, a, b),
             lambda x, a, b: x * a.reshape(1, 4, 1, 1) + b.reshape(1, 4, 1, 1),
             (IMAGE, NEAR[:, 0], NEAR[:, 1]), 0, scale=lambda x, a, b: 1.0),
    FluidRow("fsp_matrix", L.fsp_matrix,
             lambda x, y: np.einsum("ncij,ndij->ncd", x, y) / 6,
             (IMAGE, IMAGE[:, ::-1]), 0, scale=lambda x, y: 1.0),
    FluidRow("teacher_student_sigmoid_loss",
             lambda x, y: L.teacher_student_sigmoid_loss(x, y, 1e30, -1e30),
             teacher, grid(LOGITS, np.array([-2, -1, 0.25, 1.25])),
             gradients=False),
    FluidRow("sigmoid_focal_loss", lambda x: L.sigmoid_focal_loss(
        x, L.assign(CLASSES), L.fill_constant([1], "int32", 2)), focal,
        (np.array([[s, -s, 0.5] for s in (1, 17, 40, 150, -150, -3)]),)),
    *(FluidRow("Normal.log_prob", lambda x, a, b: D.Normal(a, b).log_prob(x),
               normal_log_prob, (x, LOCS, SCALES), 0,
               scale=lambda *x: abs(normal_log_prob(*x)))
      for x in (LOCS + 3 * SCALES, 0.25 * LOCS)),
    FluidRow("Normal.entropy", lambda b: D.Normal(0.0, b).entropy(),
             lambda b: 0.5 + np.log(2 * PI) / 2 + log(b), (SCALES,)),
    FluidRow("Normal.kl_divergence", lambda a, b, c, d: D.Normal(a, b).kl_divergence(
        D.Normal(c, d)), normal_kl, (LOCS, SCALES, 0.5 * LOCS, 3 * SCALES),
        scale=lambda *x: 1 + abs(normal_kl(*x))),
    FluidRow("Uniform.log_prob", lambda a, b: D.Uniform(a, b).log_prob(2 * SCALES),
             lambda a, b: -log(b - a), (SCALES, 4 * SCALES)),
    FluidRow("Uniform.entropy", lambda a, b: D.Uniform(a, b).entropy(),
             lambda a, b: log(b - a), (-SCALES, 2 * SCALES)),
    FluidRow("Categorical", lambda x: D.Categorical(x).entropy(),
             lambda x: -rows_of(np.exp(log_softmax(x)) * log_softmax(x)),
             (NEAR * 4,), 1, scale=lambda x: 1.0),
    FluidRow("Categorical", lambda x, y: D.Categorical(x).kl_divergence(
        D.Categorical(y)), lambda x, y: rows_of(
        np.exp(log_softmax(x)) * (log_softmax(x) - log_softmax(y))),
        (NEAR, 4 * NEAR[::-1]), 1, scale=lambda x, y: 1.0),
    FluidRow("MultivariateNormalDiag", lambda b: D.MultivariateNormalDiag(
        np.zeros(6), L.diag(b)).entropy(), lambda b: np.reshape(
        3 + 3 * np.log(2 * PI) + log(b).sum() / 2, 1), (NEAR[0] ** 2,), 0),
    FluidRow("MultivariateNormalDiag", lambda a, b, c, d: divergence(
        (a, b), (c, d)), lambda a, b, c, d: np.reshape(
        normal_kl(a, np.sqrt(b), c, np.sqrt(d)).sum(), 1),
        (NEAR[0], NEAR[1] ** 2, NEAR[2], NEAR[3] ** 2), 0, bound=1e-5,
        scale=lambda *x: 1.0),
    FluidRow("scaled_dot_product_attention", lambda q, k, v:
             fluid.nets.scaled_dot_product_attention(q, k, v),
             lambda q, k, v: np.exp(log_softmax(
                 q @ k.swapaxes(1, 2) / np.sqrt(LONG(6)))) @ v,
             (NEAR[None], NEAR[None, ::-1], MIXED.T[None]), 0, bound=1e-5,
             scale=lambda q, k, v: 1.0),
]  # fmt: skip
AT = np.array([[1], [0], [1]])
MOVED = [
    ("sums", lambda x: L.sums([x]), lambda x: x),
    ("reverse", lambda x: L.reverse(x, [1]), lambda x: x[:, ::-1]),
    ("flip", lambda x: L.flip(x, [0]), lambda x: x[::-1]),
    ("argmax", lambda x: L.argmax(x, -1), lambda x: x.argmax(-1)),
    ("argmin", lambda x: L.argmin(x, -1), lambda x: x.argmin(-1)),
    ("tril", L.tril, np.tril),
    ("triu", lambda x: L.triu(x, 1), lambda x: np.triu(x, 1)),
    ("index_select", lambda x: L.index_select(x, L.assign(AT[:, 0])),
     lambda x: x[AT[:, 0]]),
    ("strided_slice", lambda x: L.strided_slice(x, [1], [2], [-99], [-1]),
     lambda x: x[:, 2::-1]),
    ("multiplex", lambda x: L.multiplex([x, L.reverse(x, [0])], L.assign(
        np.array([[0], [1]], "int32"))), lambda x: np.stack([x[0], x[0]])),
    ("scatter", lambda x: L.scatter(x, L.assign(np.array([1])), x[:1]),
     lambda x: x[[0, 0]]),
    ("pad_constant_like", lambda x: L.pad_constant_like(L.concat([x, x], 0), x),
     lambda x: np.concatenate([x, 0 * x])),
    ("diag_embed", L.diag_embed,
     lambda x: np.where(np.eye(x.shape[-1]) > 0, x[..., None], 0 * x[..., None])),
    ("elementwise_equal", lambda x: L.elementwise_equal(x, L.reverse(x, [1])),
     lambda x: x == x[:, ::-1]),
    ("t", lambda x: L.t(L.reshape(x, [2, -1])), lambda x: x.reshape(2, -1).T),
]  # fmt: skip
INTEGERS = [
    ("increment", lambda x: L.increment(x, 1.0, False), lambda x: x + 1),
    ("full", lambda x: L.full([2], BIG, dtype="int64"),
     lambda x: np.array([BIG, BIG])),
    ("scatter_nd_add", lambda x: L.scatter_nd_add(
        x, L.assign(AT), L.concat([x, x[:1]], 0)),
     lambda x: x + np.stack([x[1], x[0] + x[0]])),
    ("unique_with_counts", lambda x: L.unique_with_counts(
        L.reshape(x, [-1]))[0], lambda x: x.ravel()),
    ("shard_index", lambda x: L.shard_index(x * 0 + 21, 40, 2, 1),
     lambda x: x * 0 + 1),
]  # fmt: skip
TWO_ROWS = BITS, WIDE[0, :2]
ROWS = FORMULAS + [FluidExact(*each, (x,)) for each in MOVED for x in TWO_ROWS]
ROWS += [FluidExact(*each, (WIDE[0, :2],)) for each in INTEGERS]
