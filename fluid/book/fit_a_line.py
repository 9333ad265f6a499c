"""Fits a line to the prices of houses: linear regression.

Each house has 13 numbers that depend on each other; its price is a sum of them
with weights, and noise. The network is one layer that has to find the weights.

Score: the share of the variance of unseen prices that it explains, at least
0.95; the noise is 2.5 % of it.
"""

import chapter
import numpy as np

import sluice.fluid as fluid


def network():
    x = fluid.layers.data(name="x", shape=[13], dtype="float32")
    y = fluid.layers.data(name="y", shape=[1], dtype="float32")
    price = fluid.layers.fc(input=x, size=1, act=None)
    cost = fluid.layers.square_error_cost(input=price, label=y)
    loss = fluid.layers.mean(cost)
    test = fluid.default_main_program().clone(for_test=True)
    fluid.optimizer.SGD(learning_rate=0.02).minimize(loss)
    return chapter.Network([x, y], [x], [price], test, [loss])


def houses():
    random = np.random.default_rng(1)
    causes = random.normal(size=(506, 13))
    x = causes @ random.normal(0.3, 0.4, (13, 13)) / 2
    exact = x @ random.normal(size=(13, 1)) + 22
    y = exact + random.normal(0, 0.16 * exact.std(), exact.shape)
    samples = list(zip(x, y, strict=True))
    return samples[:404], samples[404:]


def explained(outputs, samples):
    y = np.array([price for _, price in samples])
    return float(1 - np.mean((outputs[0] - y) ** 2) / y.var())


TASKS = [
    chapter.Task(
        "fit_a_line", network, houses, explained,
        wanted=0.95, passes=40, batch=20,
    )
]  # fmt: skip

if __name__ == "__main__":
    chapter.main(__doc__, *TASKS)
