"""Recurrent layers and linear attention."""

import numpy as np

from .case import Tensor, case, outputs_of

GATES = {"simple_rnn": 1, "gru": 3, "lstm": 4}
# A GRU's gates are bounded, because large states would grow with every step.
ACTIVATIONS = [
    ("scaled_tanh", 0.75, 1.25),
    ("affine", 0.5, 0.25),
    ("leaky_relu", 0.125, 0.0),
    ("hard_sigmoid", 0.25, 0.375),
    ("softsign", 0.0, 0.0),
    ("elu", 0.5, 0.0),
]
GRU_ACTIVATIONS = [
    ("scaled_tanh", 0.75, 1.25),
    ("softsign", 0.0, 0.0),
    ("hard_sigmoid", 0.25, 0.375),
    ("affine", 0.5, 0.25),
]


def activations_of(op, directions):
    rows = GRU_ACTIVATIONS if op == "gru" else ACTIVATIONS
    each = {"simple_rnn": 1, "gru": 2, "lstm": 3}[op]
    names, alpha, beta = zip(*rows[: each * directions])
    return {
        "activations": list(names),
        "activation_alpha": list(alpha),
        "activation_beta": list(beta),
    }


def small(tensor, divisor=8):
    """Of small weights states stay about 1."""
    return Tensor(tensor.values / divisor, tensor.dtype)


def layer(
    make,
    op,
    steps,
    batch,
    size,
    hidden,
    direction="forward",
    batch_first=False,
    bias=False,
    lens=False,
    states=False,
    own=False,  # the attribute that only this op has
    clip=0.0,
    activations=False,
    ragged=False,  # sequences of 0 to `steps` rows
    projected=False,  # without W
    fluid=False,  # gates in Fluid's order, and its update gate
):
    directions = 2 if direction == "bidirectional" else 1
    rows = GATES[op] * hidden
    columns = directions * rows if projected else size
    lengths = [(3 * b + steps) % (steps + 1) for b in range(batch)]
    x = [batch, steps] if batch_first else [steps, batch]
    x = [sum(lengths)] if ragged else x
    state = [batch, directions] if batch_first else [directions, batch]
    example = {"X": make.values(*x, columns)}
    if not projected:
        example["W"] = small(make.values(directions, rows, size))
    example["R"] = small(make.values(directions, rows, hidden))
    if bias:
        example["Bias"] = small(make.values(directions, 2 * rows))
    if lens:
        example["SequenceLens"] = make.integers("int32", [batch], 0, steps)
    if states:
        example["InitialH"] = small(make.values(*state, hidden))
    if states and op == "lstm":
        example["InitialC"] = small(make.values(*state, hidden))
        example["Peephole"] = small(make.values(directions, 3 * hidden))
    if ragged:
        example["Offsets"] = Tensor(np.cumsum([0, *lengths]), "int64")
    example |= {"direction": direction, "batch_first": batch_first}
    example["clip"] = clip
    if op == "lstm":
        example["input_forget"] = own
    if op == "gru":
        example["linear_before_reset"] = own
    if fluid and op == "lstm":
        example["gate_order"] = "cifo"
    if fluid and op == "gru":
        example["update_takes_new"] = True
    return example | (activations_of(op, directions) if activations else {})


def layers(op):
    every = {
        "direction": "bidirectional",
        "batch_first": True,
        "bias": True,
        "lens": True,
        "states": True,
        "own": True,
        "clip": 0.75,
    }
    ragged = {"bias": True, "states": True, "ragged": True}
    both = {"direction": "bidirectional"}
    odd = ragged | both | {"own": True, "activations": True, "clip": 0.75}
    fluid = {"projected": True, "fluid": True}

    def examples(make):
        for sizes, options in [
            ((3, 4, 3, 7), every),
            ((4, 3, 2, 5), {}),
            (
                (3, 5, 2, 3),
                {"direction": "reverse", "lens": True, "states": True},
            ),
            ((3, 2, 3, 6), {"bias": True, "own": True}),
            ((3, 1, 1, 1), both | {"bias": True, "lens": True}),
            ((4, 3, 3, 2), both | {"states": True, "activations": True}),
            ((2, 70, 1, 2), {"lens": True}),  # a batch in pieces
            ((4, 6, 3, 5), ragged),
            ((3, 70, 2, 3), ragged),  # two pieces
            ((3, 4, 1, 2), fluid),
            ((3, 5, 2, 2), odd),
            ((4, 3, 1, 3), ragged | fluid | {"direction": "reverse"}),
            ((4, 5, 1, 2), both | fluid | {"own": True, "ragged": True}),
            ((0, 3, 2, 2), odd),
            ((2, 0, 2, 2), odd),
            ((2, 0, 3, 4), every),
            ((0, 2, 3, 2), every),
            ((2, 3, 0, 2), {"bias": True}),
            ((2, 3, 2, 0), every),
        ]:
            yield layer(make, op, *sizes, **options)

    return examples


def activation(name, x, alpha, beta):
    """Of complex numbers with small imaginary parts, too."""
    if name == "sigmoid":
        return 1 / (1 + np.exp(-x))
    if name == "tanh":
        return np.tanh(x)
    if name == "scaled_tanh":
        return alpha * np.tanh(beta * x)
    if name == "affine":
        return alpha * x + beta
    if name == "leaky_relu":
        return np.where(x.real < 0, alpha * x, x)
    if name == "hard_sigmoid":
        return clipped(alpha * x + beta, 0, 1)
    if name == "softsign":
        return x / (1 + np.where(x.real < 0, -x, x))
    return np.where(x.real < 0, alpha * (np.exp(x) - 1), x)  # elu


def clipped(x, low, high):
    inside = (x.real >= low) & (x.real <= high)
    return np.where(inside, x, np.clip(x.real, low, high))


class Recurrence:
    """A layer that runs all sequences of a batch. Inputs may have one more dim,
    the first, for many layers at once."""

    def __init__(self, op, inputs, attributes):
        self.op, self.attributes = op, attributes
        self.first = attributes["batch_first"]
        x, self.hidden = inputs["X"], inputs["R"].shape[2]
        self.directions, self.rows = inputs["R"].shape[:2]
        offsets, lengths = inputs.get("Offsets"), inputs.get("SequenceLens")
        self.dims = x.shape[:-1]
        self.count = int(np.prod(self.dims))
        if offsets is not None:
            self.lengths, self.batch = np.diff(offsets), len(offsets) - 1
            self.begins, self.step = offsets[:-1], 1
        else:
            self.batch, steps = self.dims if self.first else self.dims[::-1]
            self.lengths = lengths
            if lengths is None:
                self.lengths = np.full(self.batch, steps)
            # The row of a sequence's first step, and how far apart steps are.
            self.begins = np.arange(self.batch) * (steps if self.first else 1)
            self.step = 1 if self.first else self.batch
        self.longest = self.lengths.max(initial=0)
        self.ragged = offsets is not None
        names = attributes.get("activations", [])
        odd = {"scaled_tanh", "softsign", "leaky_relu", "elu"}
        self.keeps = attributes["clip"] > 0 or bool(odd & set(names))
        self.resets = attributes.get("linear_before_reset", False)

    def activate(self, d, which, x, clip=True):
        limit = self.attributes["clip"]
        if clip and limit > 0:
            x = clipped(x, -limit, limit)
        name = "sigmoid" if which == 0 and self.op != "simple_rnn" else "tanh"
        alpha = beta = 0
        names = self.attributes.get("activations")
        if names:
            at = d * (len(names) // self.directions) + which
            name = names[at]
            alpha = self.attributes["activation_alpha"][at]
            beta = self.attributes["activation_beta"][at]
        return activation(name, x, alpha, beta)

    def run(self, inputs):
        """Yields (direction, rows of X, sequences that have this step, h, c,
        reserve) for each step, and at the end without rows."""
        x = inputs["X"]
        layers = x.shape[: x.ndim - len(self.dims) - 1]
        x = x.reshape(*layers, self.count, x.shape[-1])
        for d in range(self.directions):
            h, c = (
                self.state(inputs, "InitialH", d),
                self.state(inputs, "InitialC", d),
            )
            back = d == 1 or self.attributes["direction"] == "reverse"
            for step in range(self.longest):
                active = step < self.lengths
                t = (
                    self.lengths - 1 - step
                    if back
                    else np.full(self.batch, step)
                )
                rows = np.where(active, self.begins + t * self.step, 0)
                own = x[..., rows, :]
                new_h, new_c, reserve = self.cell(d, inputs, own, h, c)
                h = np.where(active[:, None], new_h, h)
                c = np.where(active[:, None], new_c, c)
                yield d, rows, active, h, c, reserve
            yield d, None, None, h, c, None

    def state(self, inputs, name, d):
        if inputs.get(name) is None:
            return np.zeros((self.batch, self.hidden))
        return (
            inputs[name][..., d, :]
            if self.first
            else inputs[name][..., d, :, :]
        )

    def cell(self, d, inputs, x, h, c):
        """(h, c, what is kept for the gradient)"""
        bias = inputs.get("Bias")
        own_bias = state_bias = 0
        if bias is not None:
            own_bias = bias[..., d, None, : self.rows]
            state_bias = bias[..., d, None, self.rows :]
        if inputs.get("W") is None:
            own = x[..., d * self.rows : (d + 1) * self.rows] + own_bias
        else:
            own = x @ np.swapaxes(inputs["W"][..., d, :, :], -1, -2) + own_bias
        r = np.swapaxes(inputs["R"][..., d, :, :], -1, -2)
        return getattr(self, self.op)(d, inputs, own, r, state_bias, h, c)

    def simple_rnn(self, d, inputs, own, r, bias, h, c):
        sums = own + h @ r + bias
        h = self.activate(d, 0, sums)
        return h, c, [h, *self.kept(sums)]

    def kept(self, *sums):
        return sums if self.keeps else []

    def gates(self, numbers):
        return [
            numbers[..., at * self.hidden : (at + 1) * self.hidden]
            for at in range(GATES[self.op])
        ]

    def gru(self, d, inputs, own, r, bias, h, c):
        own_sums, state_sums = self.gates(own), self.gates(h @ r + bias)
        sums = [a + b for a, b in zip(own_sums, state_sums)]
        update, reset = (self.activate(d, 0, one) for one in sums[:2])
        if self.resets:
            new_sum = own_sums[2] + reset * state_sums[2]
        else:
            new_sum = own_sums[2] + self.gates(h * reset @ r + bias)[2]
        new = self.activate(d, 1, new_sum)
        z = update
        if self.attributes.get("update_takes_new"):
            z = 1 - update
        reserve = [update, reset, new]
        if self.resets:
            reserve.append(state_sums[2])
        kept = self.kept(*sums[:2], new_sum)
        return (1 - z) * new + z * h, c, [*reserve, *kept]

    def lstm(self, d, inputs, own, r, bias, h, c):
        order = self.attributes.get("gate_order", "iofc")
        sums = dict(zip(order, self.gates(own + h @ r + bias)))
        peephole = inputs.get("Peephole")

        def gate(name, cell):
            if peephole is not None:
                at = "iof".index(name) * self.hidden
                sums[name] = sums[name] + (
                    peephole[..., d, None, at : at + self.hidden] * cell
                )
            return self.activate(d, 0, sums[name])

        i, f = gate("i", c), gate("f", c)
        if self.attributes.get("input_forget"):
            f = 1 - i
        new = self.activate(d, 1, sums["c"])
        c = f * c + i * new
        activated = self.activate(d, 2, c, clip=False)
        gates = {"i": i, "f": f, "c": new, "o": gate("o", c)}
        reserve = [gates[name] for name in order] + [c, activated]
        kept = self.kept(*(sums[name] for name in order))
        return gates["o"] * activated, c, [*reserve, *kept]

    def reserve_rows(self):
        """The row of the reserve for each sequence and step: of ragged rows,
        step by step, longer sequences first."""
        order = np.argsort(-self.lengths, kind="stable")
        pairs = [
            (step, b)
            for step in range(self.longest)
            for b in order
            if self.lengths[b] > step
        ]
        return {pair: row for row, pair in enumerate(pairs)}

    def by_direction(self, y):
        """Y as [direction, row of X, unit]."""
        if not (self.ragged or self.first):
            y = np.moveaxis(y, 1, 2)
        y = y.reshape(self.count, self.directions, self.hidden)
        return np.moveaxis(y, 1, 0)

    def y_like(self, by_direction):
        y = np.moveaxis(by_direction, 0, 1)
        y = y.reshape(*self.dims, self.directions, self.hidden)
        return y if self.ragged or self.first else np.moveaxis(y, 2, 1)


def outputs(op, inputs, attributes):
    layer = Recurrence(op, inputs, attributes)
    width = layer.rows + layer.keeps * layer.rows
    width += {"lstm": 2, "gru": layer.resets}.get(op, 0) * layer.hidden
    y = np.zeros((layer.directions, layer.count, layer.hidden))
    cells, reserve = y.copy(), np.zeros((layer.directions, layer.count, width))
    places, step, last = layer.reserve_rows(), 0, []
    for d, rows, active, h, c, kept in layer.run(inputs):
        if rows is None:
            last.append((h, c))
            step = 0
            continue
        y[d, rows[active]], cells[d, rows[active]] = h[active], c[active]
        at = rows[active]
        if layer.ragged:
            at = [places[step, b] for b in np.flatnonzero(active)]
        reserve[d, at] = np.concatenate(kept, -1)[active]
        step += 1
    last_h, last_c = (
        np.stack(one, 1 if layer.first else 0) for one in zip(*last)
    )
    found = {
        "Y": layer.y_like(y),
        "LastH": last_h,
        "Reserve": reserve.reshape(layer.directions, *layer.dims, width),
    }
    if op == "lstm":
        found |= {"LastC": last_c, "Cells": layer.y_like(cells)}
    return found


def gradients(op, inputs, attributes):
    """By differences of complex numbers: a step of 1e-30 in the imaginary part
    of one number makes no difference of large numbers, so it is exact. Inputs
    that are left out are 0; they have gradients as well."""
    layer = Recurrence(op, inputs, attributes)
    state = [layer.directions, layer.batch, layer.hidden]
    if layer.first:
        state[:2] = state[1::-1]
    zeros = {"Bias": [layer.directions, 2 * layer.rows], "InitialH": state}
    if op == "lstm":
        zeros["InitialC"] = state
        zeros["Peephole"] = [layer.directions, 3 * layer.hidden]
    for name, dims in zeros.items():
        inputs = {name: np.zeros(dims)} | inputs
    of_y, of_cells = (
        None if grad is None else layer.by_direction(grad)
        for grad in map(inputs.get, ["Y@GRAD", "Cells@GRAD"])
    )
    of_last = [
        None
        if inputs.get(f"{name}@GRAD") is None
        else np.moveaxis(inputs[f"{name}@GRAD"], 1 if layer.first else 0, 0)
        for name in ("LastH", "LastC")
    ]

    def product(changed):
        """Of the outputs and their gradients."""
        total = 0
        for d, rows, active, h, c, _ in layer.run(changed):
            for values, of_step, of_end in zip(
                (h, c), (of_y, of_cells), of_last
            ):
                if rows is None and of_end is not None:
                    total = total + (values * of_end[d]).sum((-1, -2))
                if rows is not None and of_step is not None:
                    grad = of_step[d, rows] * active[:, None]
                    total = total + (values * grad).sum((-1, -2))
        return total

    grads = {"W@GRAD": np.zeros(0)}
    for name in ["X", "W", "R", *zeros]:
        if inputs.get(name) is not None:
            values = inputs[name]
            steps = 1e-30j * np.eye(values.size)
            steps = steps.reshape(values.size, *values.shape)
            sums = np.imag(product(inputs | {name: values + steps})) / 1e-30
            sums = np.broadcast_to(sums, values.size)
            grads[f"{name}@GRAD"] = sums.reshape(values.shape)
    return grads


def recurrent_cases(op):
    @case(op, layers(op), slack=4)
    def forward(inputs, attributes):
        return outputs(op, inputs, attributes)

    def grads(make):
        for number, example in enumerate(list(layers(op)(make))):
            out = outputs_of(forward, example)
            y, last = out["Y"].shape, out["LastH"].shape
            example["Y"] = Tensor(out["Y"])
            if number % 3 != 2:
                example["Reserve"] = Tensor(out["Reserve"])
            # One of them is left out in most examples.
            if number % 4 != 1:
                example["Y@GRAD"] = make.values(*y)
            if number % 4 != 2:
                example["LastH@GRAD"] = make.values(*last)
            if op == "lstm" and number % 4 != 3:
                example["LastC@GRAD"] = make.values(*last)
            if op == "lstm" and number % 2 == 1:
                example["Cells@GRAD"] = make.values(*y)
            yield example

    @case(f"{op}_grad", grads, slack=16)
    def backward(inputs, attributes):
        return gradients(op, inputs, attributes)


for op in GATES:
    recurrent_cases(op)


def attentions(make):
    for rule, batch, steps, heads, shared, keys, values, *options in [
        ("gated_delta", 2, 3, 4, 2, 3, 5, True, True, 0.5),
        ("gated_delta", 1, 3, 3, 1, 2, 4),
        ("delta", 3, 2, 2, 2, 3, 1, True),
        ("gated", 2, 4, 1, 1, 4, 3, False, True),
        ("linear", 1, 1, 1, 1, 1, 1, True),
        ("linear", 0, 2, 2, 1, 3, 2, True),
        ("gated", 2, 0, 2, 1, 3, 2, True),
        ("delta", 2, 2, 2, 1, 0, 2),
        ("delta", 3, 7, 6, 3, 19, 21, True),
    ]:
        # `whole` is a gate for each number of a key.
        past, whole, scale = options + [False, False, 0.0][len(options) :]
        rows = batch, steps
        example = {
            "Query": make.values(*rows, heads * keys),
            # Large keys make the delta rule diverge.
            "Key": small(make.values(*rows, shared * keys), 32),
            "Value": make.values(*rows, shared * values),
        }
        if past:
            example["PastState"] = make.values(batch, shared, keys, values)
        if rule.startswith("gated"):
            gates = make.values(*rows, shared * (keys if whole else 1))
            example["Decay"] = small(gates, 32)
        if rule.endswith("delta"):
            example["Beta"] = make.values(*rows, 1 if past else shared)
        yield example | {
            "q_num_heads": heads,
            "kv_num_heads": shared,
            "update_rule": rule,
            "scale": scale,
        }


@case("linear_attention", attentions, slack=16)
def linear_attention(
    query, key, value, past_state, decay, beta, q_num_heads, kv_num_heads, scale
):
    batch, steps = query.shape[:2]
    keys = query.shape[2] // q_num_heads
    values = value.shape[2] // kv_num_heads
    scale = scale or 1 / max(keys, 1) ** 0.5
    query = query.reshape(batch, steps, q_num_heads, keys)
    key = key.reshape(batch, steps, kv_num_heads, keys)
    value = value.reshape(batch, steps, kv_num_heads, values)
    state = np.zeros((batch, kv_num_heads, keys, values))
    if past_state is not None:
        state = past_state.copy()
    out = np.zeros((batch, steps, q_num_heads, values))
    for t in range(steps):
        if decay is not None:
            state *= np.exp(gate(decay[:, t], kv_num_heads, keys))[..., None]
        new = value[:, t]
        if beta is not None:
            seen = np.einsum("bhkv,bhk->bhv", state, key[:, t])
            new = gate(beta[:, t], kv_num_heads, 1) * (new - seen)
        state += key[:, t, :, :, None] * new[:, :, None]
        of_head = np.repeat(state, q_num_heads // kv_num_heads, 1)
        out[:, t] = scale * np.einsum("bhkv,bhk->bhv", of_head, query[:, t])
    out = out.reshape(batch, steps, q_num_heads * values)
    return {"Out": out, "PresentState": state}


def gate(values, heads, keys):
    """Those of each element, each head, or all, as [batch, head, 1 or key]."""
    batch, size = values.shape
    if size == 1:
        return values.reshape(batch, 1, 1)
    return values.reshape(batch, heads, 1 if size == heads else keys)
