"""Translates with attention, and searches for the best sentence.

An encoder of two LSTMs, one from each end, gives a vector for each word. In
each step the decoder weighs these by how well they fit its state, and sees the
weighted sum, the last word and its state. It is trained in a DynamicRNN. A
second program with the same parameters, by name, translates: a While loop keeps
the three likeliest beginnings of each sentence (beam search) until all end.

Score: the share of 300 unseen sentences whose best translation is right in
every word, at least 0.9.
"""

import chapter
import numpy as np
import sentences

import sluice.fluid as fluid

layers = fluid.layers
HIDDEN, BEAMS = 48, 3
LONGEST, MOST = 8, 12  # words of a source, steps of the decoder


def fc(x, size, name, bias=True, **more):
    return layers.fc(
        x, size, param_attr=fluid.ParamAttr(name=f"{name}.w"),
        bias_attr=fluid.ParamAttr(name=f"{name}.b") if bias else False, **more,
    )  # fmt: skip


def embedding(words, vocabulary, name):
    attr = fluid.ParamAttr(name=f"{name}.w")
    return layers.embedding(words, [len(vocabulary), 32], param_attr=attr)


def encoder():
    """What the decoder begins with, and what it attends to."""
    source = layers.data("source", [1], dtype="int64", lod_level=1)
    words = embedding(source, sentences.SOURCE, "source")
    forward, backward = (
        layers.dynamic_lstm(
            fc(words, 4 * HIDDEN, name), 4 * HIDDEN,
            is_reverse=name == "backward",
            param_attr=fluid.ParamAttr(name=f"{name}_lstm.w"),
            bias_attr=fluid.ParamAttr(name=f"{name}_lstm.b"),
        )[0]
        for name in ("forward", "backward")
    )  # fmt: skip
    first = fc(
        layers.sequence_first_step(backward), HIDDEN, "first", act="tanh"
    )
    encoded = layers.concat([forward, backward], axis=1)
    zero = layers.fill_constant([1], "float32", 0.0)
    values, length = layers.sequence_pad(encoded, zero, LONGEST)
    keys = fc(values, HIDDEN, "keys", bias=False, num_flatten_dims=2)
    mask = layers.sequence_mask(length, LONGEST, "float32")
    return source, first, [keys, values, mask]


def attention(state, keys, values, mask):
    query = layers.unsqueeze(fc(state, HIDDEN, "query", bias=False), [1])
    both = layers.tanh(keys + layers.expand(query, [1, LONGEST, 1]))
    fits = fc(both, 1, "fits", bias=False, num_flatten_dims=2)
    fits = layers.squeeze(fits, [2]) + layers.scale(mask, 1e4, -1e4)
    weights = layers.softmax(fits)
    sums = layers.matmul(layers.unsqueeze(weights, [1]), values)
    return layers.squeeze(sums, [1]), weights


def step(words, state, encoded):
    """The next state, what speaks for each word, and where it looks."""
    seen, weights = attention(state, *encoded)
    x = [embedding(words, sentences.TARGET, "target"), state, seen]
    new = fc(layers.concat(x, axis=1), HIDDEN, "step", act="tanh")
    return new, fc(new, len(sentences.TARGET), "logits"), weights


def network():
    source, first, encoded = encoder()
    words = layers.data("words", [1], dtype="int64", lod_level=1)
    following = layers.data("following", [1], dtype="int64", lod_level=1)
    rnn = layers.DynamicRNN()
    with rnn.block():
        word = rnn.step_input(words)
        state = rnn.memory(init=first, need_reorder=True)
        encoded = [rnn.static_input(x) for x in encoded]
        new, logits, weights = step(word, state, encoded)
        rnn.update_memory(state, new)
        rnn.output(logits, weights)
    logits, weights = rnn()
    loss = layers.mean(layers.softmax_with_cross_entropy(logits, following))
    fluid.optimizer.Adam(0.005, epsilon=1e-4).minimize(loss)

    translating = fluid.Program()
    with fluid.program_guard(translating, fluid.Program()):
        again, *state_and_encoded = encoder()
        found = search(*state_and_encoded)
    return chapter.Network(
        [source, words, following],
        [again],
        [found],
        translating,
        [loss],
        [weights],
    )


def search(first, encoded):
    """The translations, with two levels: of each source several, best first."""
    i = layers.fill_constant([1], "int64", 0)
    most = layers.fill_constant([1], "int64", MOST)
    start = layers.fill_constant_batch_size_like(
        first, [-1, 1], "int64", sentences.START
    )
    nothing = layers.cast(start, "float32") * 0.0
    ids, scores = layers.beam_search(
        start, nothing, start, nothing, BEAMS, sentences.END, level=0
    )
    arrays = [layers.array_write(x, i) for x in (ids, scores, first, *encoded)]
    goes_on = layers.less_than(i, most)
    with layers.While(goes_on).block():
        words, before, *expanded = (
            layers.array_read(array, i) for array in arrays
        )
        # As many rows of each as there are beginnings that go on from it.
        expanded = [layers.sequence_expand(x, before) for x in expanded]
        new, logits, _ = step(words, expanded[0], expanded[1:])
        chances = layers.softmax(layers.lod_reset(logits, before))
        best, candidates = layers.topk(chances, BEAMS)
        total = layers.elementwise_add(
            layers.log(best), layers.reshape(before, [-1]), axis=0
        )
        ids, scores = layers.beam_search(
            words, before, candidates, total, BEAMS, sentences.END, level=0
        )
        layers.increment(i)
        for array, x in zip(
            arrays, (ids, scores, new, *expanded[1:]), strict=True
        ):
            layers.array_write(x, i, array)
        layers.less_than(i, most, cond=goes_on)
    return layers.beam_search_decode(*arrays[:2], BEAMS, sentences.END)[0]


def pairs():
    samples = sentences.samples(3300, seed=9)
    return samples[:3000], samples[3000:]


def right(outputs, samples):
    rows = np.asarray(outputs[0])
    if hasattr(outputs[0], "lod"):
        sources, words = outputs[0].lod
        rows = [rows[words[i] : words[i + 1]] for i in sources[:-1]]
    # The twin's rows go on after the end.
    rows = [[*row, sentences.END] for row in rows]
    rows = [row[: row.index(sentences.END)] for row in rows]
    pairs = zip(rows, samples, strict=True)
    return float(np.mean([words == true for words, (_, true, _) in pairs]))


def draw(figure, outputs, training):
    # The longest sentence.
    source, target, following = max(training.test, key=lambda s: len(s[0]))
    program = training.programs[0].clone(for_test=True)
    feeder = fluid.DataFeeder(training.network.feeds)
    feed = feeder.feed([(source, target, following)])
    (weights,) = training.exe.run(
        program, feed, training.network.shown, scope=training.scope
    )
    axes = figure.subplots()
    axes.imshow(weights[:, : len(source)], cmap="gray_r")
    axes.set_xticks(range(len(source)), [sentences.SOURCE[i] for i in source])
    axes.set_yticks(
        range(len(target)), [sentences.TARGET[i] for i in following]
    )
    return "the attention"


TASKS = [
    chapter.Task(
        "machine_translation", network, pairs, right,
        wanted=0.9, passes=10, batch=60, without_onnx="beam_search",
        # PaddlePaddle ends with a segmentation fault.
        without_paddle="beam_search of scores without LoD",
        draw=draw,
    )
]  # fmt: skip

if __name__ == "__main__":
    chapter.main(__doc__, *TASKS)
