"""The encoder and the decoder without attention in PyTorch."""

import torch
import twin
from torch.nn import functional as F


def translator(p):
    def fc(x, number):
        return x @ p[f"fc_{number}.w_0"] + p[f"fc_{number}.b_0"]

    def encoder(words):
        x = words.map(lambda ids: p["embedding_0.w_0"][ids[:, 0]])
        forward, backward = (
            twin.lstm(
                x.map(lambda rows, i=i: fc(rows, i)),
                p[f"lstm_{i}.w_0"], p[f"lstm_{i}.b_0"], i == 1,
            )
            for i in range(2)
        )  # fmt: skip
        first = backward.reversed().last()
        return torch.cat([forward.last(), first], 1), first @ p["fc_2.w_0"]

    def decoder(words, sentence, hidden):
        x = words.map(lambda ids: p["embedding_1.w_0"][ids[:, 0]]).padded()
        cell, logits = torch.zeros_like(hidden), []
        for t in range(x.shape[1]):
            both = torch.cat([sentence, x[:, t]], 1)
            forget, take, show, new = (
                fc(hidden, i) + both @ p[f"fc_{i}.w_1"] for i in range(3, 7)
            )
            cell = torch.sigmoid(forget) * cell
            cell = cell + torch.sigmoid(take) * torch.tanh(new)
            hidden = torch.sigmoid(show) * torch.tanh(cell)
            logits.append(fc(hidden, 7))
        return torch.stack(logits, 1)[words.mask()]

    def logits_of(batch):
        sentence, first = encoder(batch["source"])
        return decoder(batch["words"], sentence, torch.tanh(first))

    def loss(batch):
        return F.cross_entropy(logits_of(batch), batch["following"].rows[:, 0])

    optimizer = twin.Adam(p.values(), 0.005, 1e-4)
    return [(loss, optimizer)], lambda inputs: [logits_of(inputs).softmax(1)]


twin.train({"": translator})
