"""Learns words by guessing the next one from the four before it.

The network of Bengio's neural language model: the four words share one table of
embeddings, a hidden layer reads them side by side, and a softmax has a chance
for each word. The sentences follow a small grammar: which objects a verb takes
depends on who does it, so that all four words matter. Words that are used alike
get embeddings that are alike: the picture shows it.

Score: how close the network comes to the grammar, whose chances are known: its
perplexity by that of the network, on unseen sentences, at least 0.94.
"""

import chapter
import numpy as np

import sluice.fluid as fluid

layers = fluid.layers
# Who acts, and for both kinds of verbs what it may be done to.
BEINGS = {
    "dog cat horse cow": ["bone fish grass milk", "tree river field hill"],
    "girl boy nurse king": ["song book letter story", "town house garden ship"],
}
VERBS = ["likes wants finds takes", "sees leaves passes reaches"]
ADJECTIVES = "old new small good".split()
TEXT = " ".join(
    [*BEINGS, *VERBS, *(o for each in BEINGS.values() for o in each)]
)
WORDS = sorted({"the", ".", *ADJECTIVES, *TEXT.split()})
EMBEDDING = 16


def network():
    words = [layers.data(f"word_{i}", [1], dtype="int64") for i in range(4)]
    target = layers.data("target", [1], dtype="int64")
    embeddings = [
        layers.embedding(
            word, [len(WORDS), EMBEDDING], is_sparse=True,
            param_attr=fluid.ParamAttr(name="shared_w"),
        )
        for word in words
    ]  # fmt: skip
    context = layers.concat(embeddings, axis=1)
    hidden = layers.fc(context, 64, act="sigmoid")
    chances = layers.fc(hidden, len(WORDS), act="softmax")
    loss = layers.mean(layers.cross_entropy(chances, target))
    test = fluid.default_main_program().clone(for_test=True)
    fluid.optimizer.Adam(learning_rate=0.004).minimize(loss)
    return chapter.Network([*words, target], words, [chances], test, [loss])


def sentence(random):
    """Words, and the logarithm of the chance that the grammar gives each."""
    being = random.choice(list(BEINGS))
    kind = random.integers(2)
    words, chances = [], []

    def say(word, choices):
        words.append(WORDS.index(word))
        chances.append(-np.log(choices))

    def noun(choices, among):
        adjective = random.random() < 0.5
        say("the", 1)
        if adjective:
            say(random.choice(ADJECTIVES), 2 * len(ADJECTIVES))
        say(random.choice(choices.split()), among * (1 if adjective else 2))

    noun(being, 8)
    say(random.choice(VERBS[kind].split()), 8)
    noun(BEINGS[being][kind], 4)
    say(".", 1)
    return words, chances


def text():
    random = np.random.default_rng(3)
    words, chances = [], []
    for _ in range(1800):
        more, their_chances = sentence(random)
        words += more
        chances += their_chances
    # The chance is for the score, not for the network.
    samples = [
        (*words[i - 4 : i + 1], chances[i]) for i in range(4, len(words))
    ]
    train = [sample[:5] for sample in samples[:12000]]
    return train, samples[12000:]


def perplexity(outputs, samples):
    targets = [sample[4] for sample in samples]
    ours = np.log(outputs[0][np.arange(len(targets)), targets]).mean()
    return float(np.exp(ours - np.mean([sample[5] for sample in samples])))


def draw(figure, outputs, training):
    table = np.array(training.scope["shared_w"])
    table -= table.mean(0)
    places = table @ np.linalg.svd(table)[2][:2].T
    axes = figure.subplots()
    axes.scatter(*places.T, s=4)
    for word, place in zip(WORDS, places, strict=True):
        axes.annotate(word, place)
    return "the embeddings"


TASKS = [
    chapter.Task(
        "word2vec", network, text, perplexity,
        wanted=0.94, passes=8, batch=100, draw=draw,
    )
]  # fmt: skip

if __name__ == "__main__":
    chapter.main(__doc__, *TASKS)
