"""The neural language model in PyTorch."""

import torch
import twin
from torch.nn import functional as F


def model(p):
    def logits(batch):
        words = [
            F.embedding(batch[f"word_{i}"][:, 0], p["shared_w"])
            for i in range(4)
        ]
        context = torch.cat(words, 1)
        hidden = torch.sigmoid(context @ p["fc_0.w_0"] + p["fc_0.b_0"])
        return hidden @ p["fc_1.w_0"] + p["fc_1.b_0"]

    def loss(batch):
        return F.cross_entropy(logits(batch), batch["target"][:, 0])

    optimizer = twin.Adam(p.values(), 0.004)
    return [(loss, optimizer)], lambda inputs: [logits(inputs).softmax(1)]


twin.train({"": model})
