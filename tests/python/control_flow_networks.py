"""Networks of cond, while_loop and scan that several tests build."""

import sluice as sl

layers = sl.layers


def number(value, dtype="float32"):
    return layers.fill_constant(shape=[1], value=value, dtype=dtype)


def absolute_sum(x):
    """An `if` on data; the sum of |x|, or x's sum if that is not negative."""
    total = layers.reduce_sum(x)
    return layers.cond(
        layers.less_than(total, number(0.0)),
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
        kept = layers.elementwise_mul(layers.sigmoid(f), c)
        added = layers.elementwise_mul(layers.sigmoid(i), layers.tanh(g))
        c = layers.elementwise_add(kept, added)
        h = layers.elementwise_mul(layers.sigmoid(o), layers.tanh(c))
        return [h, c], h

    return layers.scan(step, [hidden, cell], [x], reverse=reverse)


def doubled_until(x, limit):
    """x, repeatedly doubled by concatenation while its sum is below `limit`."""

    def goes_on(value):
        return layers.less_than(layers.reduce_sum(value), limit)

    (out,) = layers.while_loop(
        goes_on,
        lambda value: [layers.concat([value, value], axis=0)],
        [x],
        shapes=[[None]],
    )
    return out
