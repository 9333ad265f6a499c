"""Classifies small pictures in colour, by a VGG and a ResNet.

The pictures, 3 channels of 16 by 16 pixels, show a disc, a ring, a square, a
triangle, a plus or a cross, of any colour on any other, turned a little, at any
place, with noise. Both networks are those for CIFAR-10 with fewer layers and
filters: VGG has three groups of two convolutions with batch normalization and
dropout; ResNet has three stages in which a block adds to its input.

Score: the share of 800 other pictures that is named right, at least 0.95.
"""

import chapter
import numpy as np

import sluice.fluid as fluid

layers = fluid.layers
CLASSES = 6
SIZE = 16


def vgg(image):
    x = image
    for filters in (16, 32, 64):
        x = fluid.nets.img_conv_group(
            x, [filters, filters], pool_size=2, pool_stride=2, conv_act="relu",
            conv_with_batchnorm=True, conv_batchnorm_drop_rate=[0.2, 0],
        )  # fmt: skip
    hidden = layers.fc(layers.dropout(x, 0.3), 64)
    hidden = layers.dropout(layers.batch_norm(hidden, act="relu"), 0.3)
    return layers.fc(hidden, CLASSES, act="softmax")


def resnet(image):
    def conv_bn(x, filters, size, stride, act):
        conv = layers.conv2d(
            x, filters, size, stride, (size - 1) // 2, bias_attr=False
        )
        return layers.batch_norm(conv, act=act)

    x = conv_bn(image, 16, 3, 1, "relu")
    for filters, stride in ((16, 1), (32, 2), (64, 2)):
        inner = conv_bn(x, filters, 3, stride, "relu")
        inner = conv_bn(inner, filters, 3, 1, None)
        if stride > 1:
            x = conv_bn(x, filters, 1, stride, None)
        x = layers.elementwise_add(x, inner, act="relu")
    pool = layers.pool2d(x, pool_type="avg", global_pooling=True)
    return layers.fc(pool, CLASSES, act="softmax")


def network(classify):
    image = layers.data("image", [3, SIZE, SIZE])
    label = layers.data("label", [1], dtype="int64")
    prediction = classify(image)
    loss = layers.mean(layers.cross_entropy(prediction, label))
    test = fluid.default_main_program().clone(for_test=True)
    rate = layers.linear_lr_warmup(
        learning_rate=0.02, warmup_steps=200, start_lr=0.0, end_lr=0.02
    )
    fluid.optimizer.Momentum(rate, momentum=0.9).minimize(loss)
    return chapter.Network([image, label], [image], [prediction], test, [loss])


def shape(kind, x, y):
    """Where the shape of a class is, for coordinates around its middle."""
    radius, bar = np.hypot(x, y), np.minimum(abs(x), abs(y)) < 0.33
    box = np.maximum(abs(x), abs(y)) < 0.85
    return (
        radius < 1,
        (radius > 0.6) & (radius < 1.1),
        box,
        (y < 0.7) & (y > 1.9 * abs(x) - 1),
        bar & (np.maximum(abs(x), abs(y)) < 1.1),
        (np.minimum(abs(x - y), abs(x + y)) < 0.45) & box,
    )[kind]


def pictures():
    random = np.random.default_rng(2)
    samples = []
    for i in range(3200):
        angle, size = random.uniform(-0.25, 0.25), random.uniform(4, 6.5)
        x, y = np.meshgrid(*[np.arange(SIZE) - SIZE / 2 + 0.5] * 2)
        x, y = (
            (x - random.uniform(-2, 2)) / size,
            (y - random.uniform(-2, 2)) / size,
        )
        turned = np.cos(angle) * x - np.sin(angle) * y
        y = np.sin(angle) * x + np.cos(angle) * y
        ground, colour = random.uniform(-1, 1, (2, 3, 1, 1))
        while np.linalg.norm(colour - ground) < 1:
            colour = random.uniform(-1, 1, (3, 1, 1))
        image = np.where(shape(i % CLASSES, turned, y), colour, ground)
        image = image + random.normal(0, 0.05, image.shape)
        samples.append((image.astype("float32"), i % CLASSES))
    return samples[:2400], samples[2400:]


def accuracy(outputs, samples):
    labels = np.array([label for _, label in samples])
    return float(np.mean(outputs[0].argmax(1) == labels))


TASKS = [
    chapter.Task(
        f"image_classification/{classify.__name__}",
        lambda classify=classify: network(classify),
        pictures, accuracy, wanted=0.95, passes=passes, batch=40,
    )
    for classify, passes in ((vgg, 10), (resnet, 13))
]  # fmt: skip

if __name__ == "__main__":
    chapter.main(__doc__, *TASKS)
