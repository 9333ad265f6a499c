"""The recommender in PyTorch."""

import torch
import twin
from torch.nn import functional as F


def model(p):
    def fc(x, number):
        return x @ p[f"fc_{number}.w_0"] + p[f"fc_{number}.b_0"]

    def embedding(ids, number):
        table = p[f"embedding_{number}.w_0"]
        if isinstance(ids, twin.Sequences):
            return ids.map(lambda rows: table[rows[:, 0]])
        return table[ids[:, 0]]

    def user(batch):
        names = ("user_id", "gender_id", "age_id", "job_id")
        parts = [fc(embedding(batch[n], i), i) for i, n in enumerate(names)]
        return torch.tanh(fc(torch.cat(parts, 1), 4))

    def film(batch):
        number = fc(embedding(batch["film_id"], 4), 5)
        kinds = embedding(batch["categories"], 5).padded().sum(1)
        words = embedding(batch["title"], 6).windows(-1, 3)
        words = words @ p["sequence_conv_0.w_0"] + p["sequence_conv_0.b_0"]
        words = torch.tanh(words) * batch["title"].mask()[..., None]
        return torch.tanh(fc(torch.cat([number, kinds, words.sum(1)], 1), 6))

    def rating(batch):
        return 5 * F.cosine_similarity(user(batch), film(batch))[:, None]

    def loss(batch):
        return F.mse_loss(rating(batch), batch["rating"])

    optimizer = twin.Adam(p.values(), 0.003)
    return [(loss, optimizer)], lambda inputs: [rating(inputs)]


twin.train({"": model})
