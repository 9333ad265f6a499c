"""The two networks that contend, in PyTorch."""

import torch
import twin
from torch.nn import functional as F


def gan(p):
    def fc(x, name):
        return x @ p[f"{name}.w"] + p[f"{name}.b"]

    def generator(batch, training=True):
        digits = p["G.digits"][batch["digit"][:, 0]]
        x = torch.cat([batch["noise"], digits], 1)
        for number in (1, 2):
            name = f"G.norm_{number}"
            x = F.batch_norm(
                fc(x, f"G.fc_{number}"),
                p[f"{name}.mean"].detach(), p[f"{name}.variance"].detach(),
                p[f"{name}.w"], p[f"{name}.b"], training, 0.1, 1e-5,
            )  # fmt: skip
            x = F.relu(x)
        return torch.sigmoid(fc(x, "G.fc_3"))

    def discriminator(image, batch):
        x = torch.cat([image, p["D.digits"][batch["digit"][:, 0]]], 1)
        for number in (1, 2):
            x = F.leaky_relu(fc(x, f"D.fc_{number}"), 0.2)
        return fc(x, "D.fc_3")

    def discriminator_loss(batch):
        real = F.softplus(-discriminator(batch["image"], batch))
        false = F.softplus(discriminator(generator(batch).detach(), batch))
        return (real + false).mean()

    def generator_loss(batch):
        return F.softplus(-discriminator(generator(batch), batch)).mean()

    def optimizer(who):
        mine = [value for name, value in p.items() if name.startswith(who)]
        return twin.Adam(mine, 0.001, 1e-4, 0.5)

    steps = [
        (discriminator_loss, optimizer("D.")),
        (generator_loss, optimizer("G.")),
    ]
    return steps, lambda inputs: [generator(inputs, training=False)]


twin.train({"": gan})
