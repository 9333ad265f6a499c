"""Draws digits that nobody wrote: a conditional generative adversarial network.

A generator makes an image from noise and a digit that is asked for. A
discriminator sees an image and a digit, and says whether it is a real image of
that digit. Each is trained by its own program with its own optimizer; they
share their parameters by name. The picture shows ten tries of each digit.

Score: the share of 1,000 drawn digits that is read as what was asked for, by
the nearest of the 1,797 real digits, at least 0.95. It is less if the tries of
a digit differ from each other less than a third of what real ones do. The noise
is half as wide as in training, which gives clearer and more similar digits.
"""

import chapter
import digits_data
import numpy as np

import sluice.fluid as fluid

layers = fluid.layers
NOISE, PIXELS = 16, 64


def dense(x, size, name):
    return layers.fc(
        x, size,
        param_attr=fluid.ParamAttr(name=f"{name}.w"),
        bias_attr=fluid.ParamAttr(name=f"{name}.b"),
    )  # fmt: skip


def as_numbers(digit, who):
    attr = fluid.ParamAttr(name=f"{who}.digits")
    return layers.embedding(digit, [10, 10], param_attr=attr)


def generator(noise, digit):
    x = layers.concat([noise, as_numbers(digit, "G")], axis=1)
    for number in (1, 2):
        name = f"G.norm_{number}"
        x = layers.batch_norm(
            dense(x, 128, f"G.fc_{number}"), act="relu",
            param_attr=fluid.ParamAttr(name=f"{name}.w"),
            bias_attr=fluid.ParamAttr(name=f"{name}.b"),
            moving_mean_name=f"{name}.mean",
            moving_variance_name=f"{name}.variance",
        )  # fmt: skip
    return layers.sigmoid(dense(x, PIXELS, "G.fc_3"))


def discriminator(image, digit):
    x = layers.concat([image, as_numbers(digit, "D")], axis=1)
    for number in (1, 2):
        x = layers.leaky_relu(dense(x, 128, f"D.fc_{number}"), alpha=0.2)
    return dense(x, 1, "D.fc_3")


def network():
    noise = layers.data("noise", [NOISE])
    digit = layers.data("digit", [1], dtype="int64")
    drawn = generator(noise, digit)
    test = fluid.default_main_program().clone(for_test=True)
    # The generator wants its images to be taken for real ones.
    fooled = layers.softplus(-discriminator(drawn, digit))
    generator_loss = layers.mean(fooled)

    discriminating = fluid.Program()
    discriminating.random_seed = fluid.default_main_program().random_seed
    with fluid.program_guard(discriminating):
        image = layers.data("image", [PIXELS])
        noise_again = layers.data("noise", [NOISE])
        digit_again = layers.data("digit", [1], dtype="int64")
        false = generator(noise_again, digit_again)
        false.stop_gradient = True
        real_costs = layers.softplus(-discriminator(image, digit_again))
        false_costs = layers.softplus(discriminator(false, digit_again))
        discriminator_loss = layers.mean(real_costs + false_costs)

    for loss, who in ((discriminator_loss, "D."), (generator_loss, "G.")):
        program = loss.block.program
        names = [
            p.name for p in program.all_parameters() if p.name.startswith(who)
        ]
        with fluid.program_guard(program):
            optimizer = fluid.optimizer.Adam(0.001, beta1=0.5, epsilon=1e-4)
            optimizer.minimize(loss, parameter_list=names)
    return chapter.Network(
        [noise, digit, image], [noise, digit], [drawn], test,
        [discriminator_loss, generator_loss],
    )  # fmt: skip


def digits():
    images, labels = digits_data.load()
    images = images.reshape(-1, PIXELS)

    def train(random):
        noise = random.normal(size=(len(images), NOISE)).astype("float32")
        return list(zip(noise, labels[:, 0], images, strict=True))

    random = np.random.default_rng(8)
    noise = random.normal(0, 0.5, (1000, NOISE)).astype("float32")
    nothing = np.zeros(PIXELS, "float32")
    return train, [(noise[i], i % 10, nothing) for i in range(1000)]


def read_right(outputs, samples):
    images, labels = digits_data.load()
    images, labels, drawn = images.reshape(-1, PIXELS), labels[:, 0], outputs[0]
    asked = np.array([digit for _, digit, _ in samples])
    products = drawn @ images.T
    nearest = ((images**2).sum(1) - 2 * products).argmin(1)
    variety = [
        drawn[asked == digit].std(0).mean()
        / images[labels == digit].std(0).mean()
        for digit in range(10)
    ]
    right = np.mean(labels[nearest] == asked)
    return float(right * min(1, 3 * min(variety)))


def draw(figure, outputs, training):
    axes = figure.subplots()
    tries = outputs[0][:100].reshape(10, 10, 8, 8)
    gap = (0, 0), (0, 0), (1, 1), (0, 0)  # between the digits of a column
    tries = np.pad(tries, gap, constant_values=tries.min())
    axes.imshow(tries.transpose(1, 2, 0, 3).reshape(100, 80), cmap="gray_r")
    axes.set_axis_off()
    return "ten tries of each digit"


TASKS = [
    chapter.Task(
        "gan", network, digits, read_right,
        wanted=0.95, passes=100, batch=64, draw=draw,
    )
]  # fmt: skip

if __name__ == "__main__":
    chapter.main(__doc__, *TASKS)
