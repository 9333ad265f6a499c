"""The translator with attention in PyTorch; it takes the likeliest words."""

import torch
import twin
from torch.nn import functional as F

START, MOST = 0, 12


def translator(p):
    def fc(x, name):
        return x @ p[f"{name}.w"] + p[f"{name}.b"]

    def encoder(words):
        x = words.map(lambda ids: p["source.w"][ids[:, 0]])
        forward, backward = (
            twin.lstm(
                x.map(lambda rows, name=name: fc(rows, name)),
                p[f"{name}_lstm.w"], p[f"{name}_lstm.b"], name == "backward",
            )
            for name in ("forward", "backward")
        )  # fmt: skip
        first = torch.tanh(fc(backward.reversed().last(), "first"))
        values = torch.cat([forward.padded(), backward.padded()], 2)
        return first, (values @ p["keys.w"], values, words.mask())

    def step(words, state, keys, values, mask):
        both = torch.tanh(keys + (state @ p["query.w"])[:, None])
        fits = (both @ p["fits.w"])[..., 0].masked_fill(~mask, -1e4)
        seen = (fits.softmax(1)[:, None] @ values)[:, 0]
        x = torch.cat([p["target.w"][words], state, seen], 1)
        state = torch.tanh(fc(x, "step"))
        return state, fc(state, "logits")

    def loss(batch):
        state, encoded = encoder(batch["source"])
        words, logits = batch["words"].padded()[..., 0], []
        for t in range(words.shape[1]):
            state, made = step(words[:, t], state, *encoded)
            logits.append(made)
        rows = torch.stack(logits, 1)[batch["words"].mask()]
        return F.cross_entropy(rows, batch["following"].rows[:, 0])

    def outputs(inputs):
        state, encoded = encoder(inputs["source"])
        words = [torch.full([len(state)], START)]
        for _ in range(MOST):
            state, logits = step(words[-1], state, *encoded)
            words.append(logits.argmax(1))
        return [torch.stack(words, 1)]

    return [(loss, twin.Adam(p.values(), 0.005, 1e-4))], outputs


twin.train({"": translator})
