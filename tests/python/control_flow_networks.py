"""Networks of cond, while_loop and scan that several tests build."""

import numpy as np

import sluice as sl

layers = sl.layers


def number(value, dtype="float32"):
    return layers.fill_constant(shape=[1], value=value, dtype=dtype)


def absolute_sum(x):
    """An `if` on data; the sum of |x|, or x's sum if that is not negative."""
    total = layers.reduce_sum(x)
    return layers.cond(
        total < number(0.0),
        lambda: layers.scale(x, -1.0),
        lambda: x,
    )


def lstm(x, hidden, cell, weights, bias, size, reverse=False):
    """x: [steps, batch, features]."""

    def step(carried, elements):
        h, c = carried
        both = layers.concat([elements[0], h], axis=1)
        gates = layers.bias_add(layers.matmul(both, weights), bias)
        i, f, o, g = (
            layers.slice(
                gates, axes=[1], starts=[k * size], ends=[(k + 1) * size]
            )
            for k in range(4)
        )
        kept = layers.sigmoid(f) * c
        added = layers.sigmoid(i) * layers.tanh(g)
        c = kept + added
        h = layers.sigmoid(o) * layers.tanh(c)
        return [h, c], h

    return layers.scan(step, [hidden, cell], [x], reverse=reverse)


def doubled_until(x, limit):
    """x, repeatedly doubled by concatenation while its sum is below `limit`."""

    def goes_on(value):
        return layers.reduce_sum(value) < limit

    (out,) = layers.while_loop(
        goes_on,
        lambda value: [layers.concat([value, value], axis=0)],
        [x],
        shapes=[[None]],
    )
    return out


def adding_network(exe, x, trainable, hidden=16):
    """The loss of two layers of LSTM that learn the sum y of marked numbers."""
    sl.default_startup_program().random_seed = 7
    _, last, _ = layers.lstm(
        x,
        hidden_size=hidden,
        num_layers=2,
        param_attr=sl.ParamAttr(trainable=trainable),
        bias_attr=sl.ParamAttr("lstm", trainable=trainable),
    )
    top = layers.slice(last, axes=[0], starts=[1], ends=[2])
    error = layers.fc(layers.squeeze(top, axes=[0]), 1) - sl.data("y", [None, 1])
    loss = layers.mean(error * error)
    sl.optimizer.Adam(0.01).minimize(loss)
    exe.run(sl.default_startup_program())
    for name in ("lstm.b0", "lstm.b1"):  # forget gates begin open
        bias = np.array(sl.global_scope()[name])
        bias[:, 2 * hidden : 3 * hidden] = 2
        sl.global_scope()[name] = bias
    return loss
