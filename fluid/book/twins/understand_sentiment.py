"""The three readers of reviews in PyTorch."""

import torch
import twin
from torch.nn import functional as F


def conv(p, x):
    pools = []
    for number, size in enumerate((3, 4)):
        name = f"sequence_conv_{number}"
        sums = (
            x.windows(-(size // 2), size) @ p[f"{name}.w_0"] + p[f"{name}.b_0"]
        )
        total = (torch.tanh(sums) * x.mask()[..., None]).sum(1)
        pools.append(total / x.lengths[:, None].sqrt())
    return pools[0] @ p["fc_0.w_0"] + pools[1] @ p["fc_0.w_1"] + p["fc_0.b_0"]


def stacked(p, x):
    fc = x.map(lambda rows: rows @ p["fc_0.w_0"] + p["fc_0.b_0"])
    lstm = twin.lstm(fc, p["lstm_0.w_0"], p["lstm_0.b_0"], False)
    for number in (1, 2):
        name = f"fc_{number}"
        rows = fc.rows @ p[f"{name}.w_0"] + lstm.rows @ p[f"{name}.w_1"]
        fc = twin.Sequences(rows + p[f"{name}.b_0"], x.lengths)
        name = f"lstm_{number}"
        lstm = twin.lstm(fc, p[f"{name}.w_0"], p[f"{name}.b_0"], number == 1)
    pools = [each.padded(-torch.inf).amax(1) for each in (fc, lstm)]
    return pools[0] @ p["fc_3.w_0"] + pools[1] @ p["fc_3.w_1"] + p["fc_3.b_0"]


def dynamic(p, x):
    words = x.map(lambda rows: torch.tanh(rows @ p["fc_0.w_0"] + p["fc_0.b_0"]))
    words, mask = words.padded(), x.mask()
    h = c = words.new_zeros(len(words), 24)
    for t in range(words.shape[1]):

        def gate(number, word=words[:, t], h=h):
            made = word @ p[f"fc_{number}.w_0"] + p[f"fc_{number}.b_0"]
            return made + h @ p[f"fc_{number + 1}.w_0"]

        kept = torch.sigmoid(gate(1)) * c
        new = kept + torch.sigmoid(gate(3)) * torch.tanh(gate(5))
        shown = torch.sigmoid(gate(7)) * torch.tanh(new)
        alive = mask[:, t, None]
        c, h = torch.where(alive, new, c), torch.where(alive, shown, h)
    return h @ p["fc_9.w_0"] + p["fc_9.b_0"]


def network(classify):
    def made(p):
        def logits(batch):
            table = p["embedding_0.w_0"]
            return classify(p, batch["words"].map(lambda ids: table[ids[:, 0]]))

        def loss(batch):
            return F.cross_entropy(logits(batch), batch["label"][:, 0])

        optimizer = twin.Adam(p.values(), 0.01, 1e-4)
        return [(loss, optimizer)], lambda inputs: [logits(inputs).softmax(1)]

    return made


twin.train({f.__name__: network(f) for f in (conv, stacked, dynamic)})
