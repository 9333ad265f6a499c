"""Finds who does what to whom, where and when: semantic roles.

For one verb of a sentence, each word gets a tag: it begins or continues the one
who acts (A0), what it is done to (A1), a place, a time, or the verb itself, or
is outside. Six words (each one and those around the verb), the verb and a mark
near it become embeddings; four LSTMs read them in turns from both ends; and a
conditional random field chooses the tags together. Sentences are drawn, active
and passive, two of them joined, and only one of the verbs is asked for. The
same nouns act and are acted on, so that only the order of the words helps.

Score: the F1 measure of whole phrases in 300 unseen sentences, at least 0.95.
"""

import chapter
import numpy as np

import sluice.fluid as fluid

layers = fluid.layers
DETERMINERS, ADJECTIVES = "the a".split(), "old red big young".split()
NOUNS = "man dog girl car horse bird child robot".split()
VERBS = "pushed followed helped saw carried found".split()
PLACES = "in at behind near".split()
TIMES = "yesterday today at_noon last_week".split()
WORDS = ["", *"and was by".split(), *DETERMINERS, *ADJECTIVES, *NOUNS, *VERBS]
WORDS += [*PLACES, *TIMES]
ROLES = "A0 A1 V LOC TMP".split()
TAGS = ["O", *(f"{at}-{role}" for role in ROLES for at in "BI")]
CONTEXT = ("word", "ctx_n2", "ctx_n1", "ctx_0", "ctx_p1", "ctx_p2")
HIDDEN, DEPTH = 64, 4
ACTS = {
    "gate_activation": "sigmoid",
    "cell_activation": "sigmoid",
    "candidate_activation": "relu",
}


def scores_of_tags(inputs):
    *words, predicate, mark = inputs
    shared = fluid.ParamAttr(name="emb")
    embeddings = [
        layers.embedding(word, [len(WORDS), 16], param_attr=shared)
        for word in words
    ]
    embeddings.append(layers.embedding(predicate, [len(WORDS), 16]))
    embeddings.append(layers.embedding(mark, [2, 5]))
    hidden = layers.sums(
        [layers.fc(each, HIDDEN, act="tanh") for each in embeddings]
    )
    lstm, _ = layers.dynamic_lstm(hidden, HIDDEN, **ACTS)
    for number in range(1, DEPTH):
        hidden = layers.sums(
            [layers.fc(hidden, HIDDEN), layers.fc(lstm, HIDDEN)]
        )
        lstm, _ = layers.dynamic_lstm(
            hidden, HIDDEN, is_reverse=number % 2 == 1, **ACTS
        )
    return layers.sums([layers.fc(each, len(TAGS)) for each in (hidden, lstm)])


def network():
    inputs = [
        layers.data(name, [1], dtype="int64", lod_level=1)
        for name in (*CONTEXT, "predicate", "mark")
    ]
    target = layers.data("target", [1], dtype="int64", lod_level=1)
    scores = scores_of_tags(inputs)
    moves = fluid.ParamAttr(name="crfw")
    cost = layers.linear_chain_crf(scores, target, param_attr=moves)
    loss = layers.mean(cost)
    path = layers.crf_decoding(scores, param_attr=moves)
    test = fluid.default_main_program().clone(for_test=True)
    fluid.optimizer.Adam(learning_rate=0.01, epsilon=1e-4).minimize(loss)
    return chapter.Network([*inputs, target], inputs, [path], test, [loss])


def clause(random):
    """Words, tags, and where the verb is."""
    words, tags = [], []

    def phrase(role, *some):
        words.extend(some)
        tags.extend(f"{'I' if i else 'B'}-{role}" for i in range(len(some)))

    def noun():
        adjectives = random.choice(
            ADJECTIVES, random.integers(3), replace=False
        )
        return random.choice(DETERMINERS), *adjectives, random.choice(NOUNS)

    passive = random.random() < 0.5
    if random.random() < 0.3:
        phrase("TMP", random.choice(TIMES))
    phrase("A1" if passive else "A0", *noun())
    if passive:
        words.append("was")
        tags.append("O")
    at = len(words)
    phrase("V", random.choice(VERBS))
    if passive:
        words.append("by")
        tags.append("O")
    phrase("A0" if passive else "A1", *noun())
    if random.random() < 0.5:
        phrase("LOC", random.choice(PLACES), *noun())
    return words, tags, at


def sentences():
    random = np.random.default_rng(6)
    samples = []
    for _ in range(1500):
        first, second = clause(random), clause(random)
        words = [*first[0], "and", *second[0]]
        outside = [["O"] * len(tags) for _, tags, _ in (first, second)]
        at = first[2]
        tags = [*first[1], "O", *outside[1]]
        if random.random() < 0.5:
            at = len(first[0]) + 1 + second[2]
            tags = [*outside[0], "O", *second[1]]
        ids = [WORDS.index(word) for word in words]
        near = [
            ids[i] if 0 <= i < len(ids) else 0 for i in range(at - 2, at + 3)
        ]
        repeated = [[word] * len(ids) for word in (*near, ids[at])]
        mark = [int(abs(i - at) <= 2) for i in range(len(ids))]
        samples.append(
            (ids, *repeated, mark, [TAGS.index(tag) for tag in tags])
        )
    return samples[:1200], samples[1200:]


def phrases(tags):
    """The phrases of a sentence: begin, end and role."""
    names, found = [TAGS[tag] for tag in tags], set()
    for i, name in enumerate(names):
        if name.startswith("B"):
            end = i + 1
            while end < len(names) and names[end] == f"I{name[1:]}":
                end += 1
            found.add((i, end, name[2:]))
    return found


def f1(outputs, samples):
    ends = np.cumsum([len(sample[0]) for sample in samples])
    tagged = np.split(outputs[0][:, 0], ends[:-1])
    pairs = [
        (phrases(t), phrases(s[-1]))
        for t, s in zip(tagged, samples, strict=True)
    ]
    right = sum(len(ours & true) for ours, true in pairs)
    return 2 * right / sum(len(ours) + len(true) for ours, true in pairs)


TASKS = [
    chapter.Task(
        "label_semantic_roles", network, sentences, f1,
        wanted=0.95, passes=6, batch=40, without_onnx="crf_decoding",
    )
]  # fmt: skip

if __name__ == "__main__":
    chapter.main(__doc__, *TASKS)
