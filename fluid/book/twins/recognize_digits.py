"""The three networks for digits in PyTorch."""

import twin
from torch.nn import functional as F


def softmax(p, image):
    return image.flatten(1) @ p["fc_0.w_0"] + p["fc_0.b_0"]


def perceptron(p, image):
    hidden = F.relu(image.flatten(1) @ p["fc_0.w_0"] + p["fc_0.b_0"])
    hidden = F.relu(hidden @ p["fc_1.w_0"] + p["fc_1.b_0"])
    return hidden @ p["fc_2.w_0"] + p["fc_2.b_0"]


def lenet(p, image):
    x = image
    for conv in ("conv2d_0", "conv2d_1"):
        x = F.conv2d(x, p[f"{conv}.w_0"], p[f"{conv}.b_0"], padding=1)
        x = F.max_pool2d(F.relu(x), 2)
    return x.flatten(1) @ p["fc_0.w_0"] + p["fc_0.b_0"]


def network(classify):
    def made(p):
        def loss(batch):
            logits = classify(p, batch["image"])
            return F.cross_entropy(logits, batch["label"][:, 0])

        def outputs(inputs):
            return [classify(p, inputs["image"]).softmax(1)]

        return [(loss, twin.Adam(p.values(), 0.003))], outputs

    return made


twin.train({f.__name__: network(f)
            for f in (softmax, perceptron, lenet)})  # fmt: skip
