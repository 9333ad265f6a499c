"""Recognises handwritten digits, by three networks of growing size.

A softmax regression adds up pixels with weights; a multilayer perceptron has
two hidden layers of 200 and 100 units; LeNet has two convolutions, each with
the largest of its neighbours ("pooling"), before the last layer. The 1,797
digits of 8 by 8 pixels are in examples/data; 1,000 are for training.

Score: the share of the other 797 digits that is read right: at least 0.89 by
the regression, 0.92 by the perceptron and 0.95 by LeNet. That is less than with
digits of the same writers, who do not come back here.
"""

import chapter
import digits_data
import numpy as np

import sluice.fluid as fluid

layers = fluid.layers


def softmax(image):
    return layers.fc(input=image, size=10, act="softmax")


def perceptron(image):
    hidden = layers.fc(input=image, size=200, act="relu")
    hidden = layers.fc(input=hidden, size=100, act="relu")
    return layers.fc(input=hidden, size=10, act="softmax")


def lenet(image):
    pool = image
    for filters in (20, 50):
        conv = layers.conv2d(
            input=pool, num_filters=filters, filter_size=3, padding=1,
            act="relu",
        )  # fmt: skip
        pool = layers.pool2d(
            input=conv, pool_size=2, pool_type="max", pool_stride=2
        )
    return layers.fc(input=pool, size=10, act="softmax")


def network(classify):
    image = layers.data(name="image", shape=[1, 8, 8], dtype="float32")
    label = layers.data(name="label", shape=[1], dtype="int64")
    prediction = classify(image)
    cost = layers.cross_entropy(input=prediction, label=label)
    loss = layers.mean(cost)
    test = fluid.default_main_program().clone(for_test=True)
    fluid.optimizer.Adam(learning_rate=0.003).minimize(loss)
    return chapter.Network([image, label], [image], [prediction], test, [loss])


def digits():
    samples = list(zip(*digits_data.load(), strict=True))
    return samples[: digits_data.TRAIN], samples[digits_data.TRAIN :]


def accuracy(outputs, samples):
    labels = np.array([label for _, label in samples])
    return float(np.mean(outputs[0].argmax(1) == labels[:, 0]))


TASKS = [
    chapter.Task(
        f"recognize_digits/{classify.__name__}",
        lambda classify=classify: network(classify),
        digits, accuracy, wanted, passes=15, batch=20,
    )
    for classify, wanted in (
        (softmax, 0.89),
        (perceptron, 0.92),
        (lenet, 0.95),
    )
]  # fmt: skip

if __name__ == "__main__":
    chapter.main(__doc__, *TASKS)
