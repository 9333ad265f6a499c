"""The tagger with its conditional random field in PyTorch."""

import itertools

import torch
import twin

NAMES = ("word", "ctx_n2", "ctx_n1", "ctx_0", "ctx_p1", "ctx_p2")


def scores_of_tags(p, batch):
    numbers = itertools.count()

    def fc(rows):
        name = f"fc_{next(numbers)}"
        return rows @ p[f"{name}.w_0"] + p[f"{name}.b_0"]

    tables = {name: p["emb"] for name in NAMES}
    tables |= {"predicate": p["embedding_6.w_0"], "mark": p["embedding_7.w_0"]}
    hidden = sum(
        torch.tanh(fc(table[batch[name].rows[:, 0]]))
        for name, table in tables.items()
    )
    lstm = None
    for number in range(4):
        if lstm is not None:
            hidden = fc(hidden) + fc(lstm.rows)
        lstm = twin.lstm(
            twin.Sequences(hidden, batch["word"].lengths),
            p[f"lstm_{number}.w_0"], p[f"lstm_{number}.b_0"], number % 2 == 1,
            torch.relu, torch.sigmoid,
        )  # fmt: skip
    return lstm.map(lambda rows: fc(hidden) + fc(rows))


def cost(scores, tags, moves):
    """Minus the logarithm of the chance of the tags, of each sequence."""
    first, last, moves = moves[0], moves[1], moves[2:]
    x, mask, tags = scores.padded(), scores.mask(), tags.padded()[..., 0]
    total = first + x[:, 0]
    for t in range(1, x.shape[1]):
        more = torch.logsumexp(total[:, :, None] + moves, 1) + x[:, t]
        total = torch.where(mask[:, t, None], more, total)
    each = x.gather(2, tags[..., None])[..., 0] * mask
    steps = moves[tags[:, :-1], tags[:, 1:]] * mask[:, 1:]
    ends = tags.gather(1, scores.lengths[:, None] - 1)[:, 0]
    ours = each.sum(1) + steps.sum(1) + first[tags[:, 0]] + last[ends]
    return torch.logsumexp(total + last, 1) - ours


def decode(x, moves):
    """The likeliest tags of one sequence."""
    total, back = moves[0] + x[0], []
    for row in x[1:]:
        best, which = (total[:, None] + moves[2:]).max(0)
        total = best + row
        back.append(which)
    tags = [(total + moves[1]).argmax()]
    for which in back[::-1]:
        tags.append(which[tags[-1]])
    return torch.stack(tags[::-1])


def tagger(p):
    def loss(batch):
        scores = scores_of_tags(p, batch)
        return cost(scores, batch["target"], p["crfw"]).mean()

    def outputs(inputs):
        scores = scores_of_tags(p, inputs)
        rows = scores.rows.split(scores.lengths.tolist())
        return [torch.cat([decode(x, p["crfw"]) for x in rows])[:, None]]

    return [(loss, twin.Adam(p.values(), 0.01, 1e-4))], outputs


twin.train({"": tagger})
