"""The VGG and the ResNet in PyTorch."""

import itertools

import torch
import twin
from torch.nn import functional as F


class Layers:
    """Calls layers in the order of their numbers."""

    def __init__(self, p, batch, training):
        self.p, self.batch, self.training = p, batch, training
        self.numbers = {
            k: itertools.count() for k in ("conv", "norm", "drop", "fc")
        }

    def conv(self, x, **sizes):
        name = f"conv2d_{next(self.numbers['conv'])}"
        return F.conv2d(
            x, self.p[f"{name}.w_0"], self.p.get(f"{name}.b_0"), **sizes
        )

    def norm(self, x):
        name = f"batch_norm_{next(self.numbers['norm'])}"
        scale, mean, variance = (self.p[f"{name}.w_{i}"] for i in range(3))
        return F.batch_norm(
            x, mean.detach(), variance.detach(), scale, self.p[f"{name}.b_0"],
            self.training, 0.1, 1e-5,
        )  # fmt: skip

    def dropout(self, x, share):
        number = next(self.numbers["drop"])
        if not self.training:
            return x * (1 - share)
        return x * (self.batch[f"mask/{number}"])

    def fc(self, x):
        name = f"fc_{next(self.numbers['fc'])}"
        return x.flatten(1) @ self.p[f"{name}.w_0"] + self.p[f"{name}.b_0"]


def vgg(n, x):
    for _ in range(3):
        x = n.dropout(F.relu(n.norm(n.conv(x, padding=1))), 0.2)
        x = F.max_pool2d(F.relu(n.norm(n.conv(x, padding=1))), 2)
    hidden = n.fc(n.dropout(x, 0.3))
    return n.fc(n.dropout(F.relu(n.norm(hidden)), 0.3))


def resnet(n, x):
    x = F.relu(n.norm(n.conv(x, padding=1)))
    for stride in (1, 2, 2):
        inner = F.relu(n.norm(n.conv(x, padding=1, stride=stride)))
        inner = n.norm(n.conv(inner, padding=1))
        if stride > 1:
            x = n.norm(n.conv(x, stride=stride))
        x = F.relu(x + inner)
    return n.fc(x.mean((2, 3)))


def network(classify):
    def made(p):
        def loss(batch):
            logits = classify(Layers(p, batch, True), batch["image"])
            return F.cross_entropy(logits, batch["label"][:, 0])

        def outputs(inputs):
            logits = classify(Layers(p, inputs, False), inputs["image"])
            return [logits.softmax(1)]

        optimizer = torch.optim.SGD(p.values(), 0.02, 0.9)
        warm = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda step: min(1, step / 200)
        )
        optimizer.register_step_post_hook(lambda *_: warm.step())
        return [(loss, optimizer)], outputs

    return made


twin.train({"vgg": network(vgg), "resnet": network(resnet)})
