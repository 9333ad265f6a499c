"""Text models of changing lengths, by onnxruntime and by Sluice in its place, for
bench_text.py; see worker.py. The models have random weights."""

import time

import models
import numpy as np
import worker
from onnx_session import floats, model_of, node

VERSION = models.VERSION
set_threads = models.set_threads


class Network:
    """The nodes and weights of a model that is being written."""

    def __init__(self, seed=0):
        self.rng = np.random.default_rng(seed)
        self.nodes, self.constants = [], {}

    def add(self, operator, inputs, **attributes):
        """A node; returns the name of its output."""
        out = f"{operator}_{len(self.nodes)}"
        self.nodes.append(node(operator, inputs, [out], **attributes))
        return out

    def constant(self, values):
        """Numbers that the model has."""
        name = f"c{len(self.constants)}"
        self.constants[name] = values
        return name

    def weights(self, *shape):
        """Random numbers of about the size that a trained model has."""
        scale = 1 / np.sqrt(shape[0])
        return self.constant((self.rng.standard_normal(shape) * scale).astype("f4"))

    def dense(self, x, inputs, outputs):
        """x W + b."""
        product = self.add("MatMul", [x, self.weights(inputs, outputs)])
        return self.add("Add", [product, self.weights(outputs)])

    def norm(self, x, size):
        """The norm of the last dimension."""
        scale = self.constant(np.ones(size, "f4"))
        return self.add("LayerNormalization", [x, scale, self.weights(size)])

    def heads(self, x, count, size, order):
        """[B, L, C] as [B, count, L, size], or as `order` says."""
        shape = self.constant(np.array([0, 0, count, size]))
        return self.add("Transpose", [self.add("Reshape", [x, shape])], perm=order)

    def attention(self, x, count, size, past=None):
        """Attention of `count` heads; with `past`, the names of cached keys and
        values, also returns the grown ones."""
        width = count * size
        q, k, v = (self.dense(x, width, width) for _ in range(3))
        q = self.heads(q, count, size, [0, 2, 1, 3])
        k = self.heads(k, count, size, [0, 2, 1, 3])
        v = self.heads(v, count, size, [0, 2, 1, 3])
        if past is not None:
            k, v = (self.add("Concat", [old, new], axis=2)
                    for old, new in zip(past, (k, v), strict=True))
        turned = self.add("Transpose", [k], perm=[0, 1, 3, 2])
        scale = self.constant(np.array(size**-0.5, "f4"))
        scores = self.add("Mul", [self.add("MatMul", [q, turned]), scale])
        mixed = self.add("MatMul", [self.add("Softmax", [scores], axis=-1), v])
        mixed = self.add("Transpose", [mixed], perm=[0, 2, 1, 3])
        joined = self.add("Reshape", [mixed, self.constant(np.array([0, 0, width]))])
        out = self.dense(joined, width, width)
        return out if past is None else (out, k, v)

    def block(self, x, count, size, past=None):
        """A layer of a transformer; returns what `attention` does."""
        width = count * size
        mixed = self.attention(self.norm(x, width), count, size, past)
        mixed, *caches = mixed if past is not None else (mixed,)
        x = self.add("Add", [x, mixed])
        h = self.dense(self.norm(x, width), width, 4 * width)
        h = self.dense(self.add("Gelu", [h]), 4 * width, width)
        return self.add("Add", [x, h]), caches

    def model(self, inputs, outputs):
        """The model as bytes."""
        made = model_of(self.nodes, inputs, outputs, self.constants, opset=20)
        return made.SerializeToString()


def chain(count=40):
    """Small element-wise ops in a row, each of two inputs."""
    net, x = Network(), "x"
    for i in range(count):
        x = net.add(("Mul", "Add", "Max", "Sub")[i % 4], [x, net.weights(8)])
        x = net.add("Softmax", [x], axis=-1) if i % 10 == 9 else x
    return net.model({"x": floats("n", 8)}, {x: floats("n", 8)})


def encoder(layers=6, count=12, size=32):
    """As large as MiniLM, without its table of words."""
    net, x = Network(), "x"
    for _ in range(layers):
        x, _ = net.block(x, count, size)
    width = count * size
    return net.model({"x": floats(1, "n", width)}, {x: floats(1, "n", width)})


def decoder(layers=4, count=4, size=32, words=1000):
    """A small decoder with caches of keys and values."""
    net, width = Network(), count * size
    x = net.add("Gather", [net.weights(words, width), "word"])
    inputs, outputs = {"word": (7, [1, 1])}, {}
    for i in range(layers):
        past = f"past_k{i}", f"past_v{i}"
        inputs |= dict.fromkeys(past, floats(1, count, "n", size))
        x, caches = net.block(x, count, size, past)
        outputs |= {name: floats(1, count, "m", size) for name in caches}
    scores = net.dense(net.norm(x, width), width, words)
    outputs = {scores: floats(1, 1, words)} | outputs
    return net.model(inputs, outputs)


MODELS = {"chain": chain, "encoder": encoder, "decoder": decoder}


class Texts:
    """Runs one of MODELS."""

    def load(self, name, threads):
        """Prepare a model."""
        self.session = models.session_of(MODELS[name](), threads)
        self.inputs = self.session.get_inputs()
        return None

    def feed(self, length):
        """Numbers of so many rows."""
        (one,) = self.inputs
        shape = [size if isinstance(size, int) else length for size in one.shape]
        rng = np.random.default_rng(length)
        return {one.name: rng.standard_normal(shape).astype("f4")}

    def first_runs(self, lengths):
        """For each length, the milliseconds of its first run, and of the least
        of three more."""
        found = []
        for length in lengths:
            feed, times = self.feed(length), []
            for _ in range(4):
                begin = time.perf_counter()
                self.session.run(None, feed)
                times.append((time.perf_counter() - begin) * 1e3)
            found.append((times[0], min(times[1:])))
        return found

    def run(self, length, count):
        """The milliseconds of each of some runs."""
        feed, times = self.feed(length), []
        for _ in range(count):
            begin = time.perf_counter()
            self.session.run(None, feed)
            times.append((time.perf_counter() - begin) * 1e3)
        return times

    def decode(self, tokens):
        """The milliseconds of so many tokens, each the likeliest after those
        before, and the tokens."""
        first, *caches = (one.name for one in self.inputs)
        shape = [size if isinstance(size, int) else 0 for size in self.inputs[1].shape]
        feeds = dict.fromkeys(caches, np.zeros(shape, "f4"))
        word, words = 1, []
        begin = time.perf_counter()
        for _ in range(tokens):
            feeds[first] = np.array([[word]])
            scores, *grown = self.session.run(None, feeds)
            feeds = dict(zip(caches, grown, strict=True))
            word = int(scores.argmax())
            words.append(word)
        return (time.perf_counter() - begin) * 1e3, words

    def grown_mb(self):
        """The megabytes of this process."""
        return worker.resident() / 2**20


ROWS = {"texts": dict.fromkeys(("sluice", "onnxruntime"), lambda sizes: Texts())}
