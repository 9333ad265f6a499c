"""Attention as onnxruntime writes it, compared with NumPy and onnxruntime."""

import numpy as np
import pytest

import sluice as sl

onnx = pytest.importorskip("onnx")
from onnx_fused import check, close, floats, fused, rng  # noqa: E402

HEADS, SIZE = 2, 4
X = floats(2, 3, HEADS * SIZE)


def apart(x, heads=HEADS):
    return x.reshape(*x.shape[:2], heads, -1).transpose(0, 2, 1, 3)


def together(x):
    return x.transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1)


def softmax(scores, sink=None):
    largest = scores.max(-1, keepdims=True)
    if sink is not None:
        largest = np.maximum(largest, sink)
    powers = np.exp(scores - largest)
    more = 0 if sink is None else np.exp(sink - largest)
    return powers / (powers.sum(-1, keepdims=True) + more)


def scores_of(q, k, bias, scale=None):
    return q @ k.swapaxes(-1, -2) * (scale or q.shape[-1] ** -0.5) + bias


def attention(q, k, v, bias=0.0, scale=None):
    return together(softmax(scores_of(q, k, bias, scale)) @ v)


def causal(rows, columns):
    return np.where(np.tri(rows, columns, columns - rows), 0, -np.inf)


@pytest.mark.parametrize("filter_value", [None, -3.0])
def test_a_mask_has_the_first_and_the_last_key(filter_value):
    values = {"x": X, "const_w": floats(8, 24), "b": floats(24),
              "m": np.array([3, 2, 1, 0], "int32")}  # fmt: skip
    places = np.arange(3)
    kept = (places < [[3], [2]]) & (places >= [[1], [0]])
    more = {} if filter_value is None else {"mask_filter_value": filter_value}
    bias = np.where(kept, 0, filter_value or -10000.0)[:, None, None]
    parts = map(apart, np.split(X @ values["const_w"] + values["b"], 3, -1))
    check("Attention", values, [attention(*parts, bias)], num_heads=2,
          sizes=[True], **more)  # fmt: skip


@pytest.mark.parametrize(
    "shape", [(1, 1, 8), (1, 5, 8), (3, 1, 8)], ids=["one", "row", "batch"]
)
def test_attention_with_all_it_may_have(shape):
    batch, rows = shape[:2]
    sizes = [8, 8, 12]
    values = {"x": floats(*shape), "const_w": floats(8, 28), "b": floats(28),
              "bias": floats(1, 2, rows, rows)}  # fmt: skip
    parts = np.split(
        values["x"] @ values["const_w"] + values["b"], [8, 16], -1
    )
    bias = values["bias"] + causal(rows, rows)
    y = attention(*map(apart, parts), bias, 0.3)
    check("Attention", values, [y], inputs=["x", "const_w", "b", "", "", "bias"],
          num_heads=2, qkv_hidden_sizes=sizes, scale=0.3, unidirectional=1)  # fmt: skip


@pytest.mark.parametrize("past", [0, 2])
def test_attention_keeps_its_keys(past):
    values = {"x": X, "const_w": floats(8, 24), "b": floats(24),
              "past": floats(2, 2, 2, past, 4)}  # fmt: skip
    q, k, v = map(apart, np.split(X @ values["const_w"] + values["b"], 3, -1))
    present = np.concatenate([values["past"], np.stack([k, v])], 3)
    y = attention(q, *present, causal(3, past + 3))
    check("Attention", values, [y, present], ["y", "present"],
          ["x", "const_w", "b", "", "past"], num_heads=2, unidirectional=1)  # fmt: skip


@pytest.mark.parametrize("name", ["do_rotary", "past_present_share_buffer"])
def test_what_attention_refuses(name):
    values = {"x": X, "const_w": floats(8, 24)}
    message = rf"\(Attention\): attribute {name}, 1"
    with pytest.raises(sl.UnimplementedError, match=message):
        fused("Attention", values, num_heads=2, **{name: 1})


@pytest.mark.parametrize("packed", ["qkv", "kv"])
def test_heads_of_several_in_one_input(packed):
    q, k, v = floats(3, 2, 3, HEADS, SIZE)
    kept = np.array([[1, 1, 0], [1, 1, 1]], "int32")
    parts = (x.transpose(0, 2, 1, 3) for x in (q, k, v))
    y = attention(*parts, -10000.0 * (1 - kept[:, None, None]))
    if packed == "qkv":
        values = {"q": np.stack([q, k, v], 3)}
    else:
        values = {"q": q.reshape(2, 3, 8), "k": np.stack([k, v], 3)}
    inputs = [*values, *["", "", ""][len(values) - 1 :], "mask"]
    values["mask"] = kept
    check("MultiHeadAttention", values, [y], inputs=inputs, num_heads=2,
          peer=False, sizes=[True])  # fmt: skip


@pytest.mark.parametrize("mask", ["keys", "pairs", "bias"])
def test_multi_head_attention_over_other_keys(mask):
    q, k, v, b = X, floats(2, 5, 8), floats(2, 5, 12), floats(28)
    values = {"q": q, "k": k, "v": v, "b": b}
    kept = rng.integers(0, 2, (2, 5) if mask == "keys" else (2, 3, 5))
    kept[..., 0] = 1
    if mask == "bias":
        values["more"] = floats(2, 1, 3, 5)
        inputs = ["q", "k", "v", "b", "", "more"]
        bias = values["more"]
    else:
        values["m"] = kept.astype("int32")
        inputs = ["q", "k", "v", "b", "m"]
        bias = np.where(kept, 0, -10000.0)
        bias = bias[:, None, None] if mask == "keys" else bias[:, None]
    parts = q + b[:8], k + b[8:16], v + b[16:]
    q, k, v = map(apart, parts)
    check("MultiHeadAttention", values, [attention(q, k, v, bias)],
          inputs=inputs, num_heads=2)  # fmt: skip


def test_multi_head_attention_shows_its_scores():
    k = floats(2, 2, 5, 4)
    values = {"q": X, "k": k, "v": floats(2, 2, 5, 4), "more": floats(1, 2, 3, 5)}
    q = apart(X)
    scores = scores_of(q, k, values["more"])
    y = attention(q, k, values["v"], values["more"])
    check("MultiHeadAttention", values, [y, scores], ["y", "", "", "qk_float"],
          ["q", "k", "v", "", "", "more"], num_heads=2)  # fmt: skip


@pytest.mark.parametrize("per_column", [False, True])
@pytest.mark.parametrize("mask", ["none", "counts", "keys", "causal", "past"])
def test_quantized_attention(per_column, mask):
    x = rng.integers(0, 255, (2, 3, 8)).astype("uint8")
    # Some machines add larger int8 with saturation in onnxruntime.
    w = rng.integers(-63, 63, (8, 24)).astype("int8")
    columns = (24,) if per_column else ()
    values = {
        "x": x, "const_w": w, "b": floats(24), "xs": np.float32(0.01),
        "ws": rng.uniform(0.01, 0.02, columns).astype("float32"),
        "m": np.array([3, 2], "int32"), "xz": np.uint8(100),
        "const_wz": np.zeros(columns, "int8"),
        "past": floats(2, 2, 2, 4, 4),
    }  # fmt: skip
    inputs = list(values)
    product = (x - 100.0) @ w.astype("f4") * (0.01 * values["ws"]) + values["b"]
    q, k, v = map(apart, np.split(product.astype("f4"), 3, -1))
    bias, outputs = 0.0, ["y"]
    if mask == "keys":
        values["m"] = (np.arange(3) < [[3], [2]]).astype("int32")
    if mask in ("counts", "keys"):
        bias = np.where(np.arange(3) < [[3], [2]], 0, -10000.0)[:, None, None]
    else:
        del values["m"]
    if mask == "past":
        k, v = np.concatenate([values["past"], np.stack([k, v])], 3)
        outputs.append("present")
    else:
        del values["past"]
    if mask in ("causal", "past"):
        bias = causal(3, k.shape[2])
    expected = [attention(q, k, v, bias), np.stack([k, v])][: len(outputs)]
    check("QAttention", values, expected, outputs,
          [n if n in values else "" for n in inputs], num_heads=2,
          unidirectional=int(mask in ("causal", "past")), rtol=1e-3, atol=1e-4)  # fmt: skip


def turned(x, places, cos, sin, interleaved):
    """x [batch, heads, sequence, size] at places [batch, sequence]."""
    cos, sin = cos[places][:, None], sin[places][:, None]
    width = 2 * cos.shape[-1]
    y = x.copy()
    if interleaved:
        a, b = x[..., 0:width:2], x[..., 1:width:2]
        y[..., 0:width:2] = a * cos - b * sin
        y[..., 1:width:2] = a * sin + b * cos
    else:
        a, b = x[..., : width // 2], x[..., width // 2 : width]
        y[..., : width // 2] = a * cos - b * sin
        y[..., width // 2 : width] = a * sin + b * cos
    return y


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("form", ["heads", "flat", "flat, part", "first place"])
def test_rotary_embedding_of_tables(interleaved, form):
    pairs = 2 if form == "flat, part" else 4
    cos, sin = floats(7, pairs), floats(7, pairs)
    x = floats(2, 3, 4, 8)  # heads, sequence
    places = np.array([[0, 2, 6, 1], [3, 3, 4, 5]])
    given = places
    if form == "first place":
        given, places = np.array([3]), np.arange(3, 7)[None].repeat(2, 0)
    y = turned(x, places, cos, sin, interleaved)
    more = {"interleaved": interleaved}
    if form == "flat, part":
        more |= {"num_heads": 3, "rotary_embedding_dim": 4}
    if form != "heads":
        x, y = together(x), together(y)
    values = {"x": x, "places": given, "const_cos": cos, "const_sin": sin}
    # onnxruntime infers no shape of heads that are inside.
    check("RotaryEmbedding", values, [y], sizes=[True], **more)
    if form != "heads":
        check("RotaryEmbedding", values, [y], **more)


def test_rotary_embedding_refuses_other_scales_and_packed_batches():
    values = {"x": X, "places": np.array([0]), "const_cos": floats(9, 2),
              "const_sin": floats(9, 2)}  # fmt: skip
    for message, given in [
        ("attribute scale, 2", {"scale": 2.0}),
        ("is_packed_batching = 1", {"is_packed_batching": 1}),
    ]:
        with pytest.raises(sl.UnimplementedError, match=message):
            fused("RotaryEmbedding", values, **given)


# Of the sequences that a call goes on with: rows of Q, keys of earlier calls of
# each, and rows of the cache.
CALLS = {
    "first": (5, [0, 0], 0),
    "padded": (5, [0, -2], 0),  # the second one has three rows
    "next": (1, [4, 4], 4),
    "ragged": (1, [4, 2], 4),
    "room": (1, [4, 2], 9),
    "several": (3, [4], 4),
    "one": (1, [0], 0),
}


class Grouped:
    """GroupQueryAttention in NumPy."""

    def __init__(self, call, heads=4, key_heads=2, size=16, **more):
        rows, past, room = CALLS[call]
        self.rows, self.room, self.heads = rows, room, heads
        self.key_heads, self.more = key_heads, more
        batch = len(past)
        self.totals = np.array(past) + rows
        self.starts = np.maximum(past, 0)
        self.values = {
            "q": floats(batch, rows, heads * size),
            "k": floats(batch, rows, key_heads * size),
            "v": floats(batch, rows, key_heads * size),
            "past_k": floats(batch, key_heads, room, size),
            "past_v": floats(batch, key_heads, room, size),
            "last": (self.totals - 1).astype("int32"),
            "most": np.array(self.totals.max(), "int32"),
        }

    def grow(self, x, cache):
        total = max(self.totals.max(), self.room)
        result = np.zeros((*cache.shape[:2], total, cache.shape[3]), "f4")
        for i, start in enumerate(self.starts):
            result[i, :, :start] = cache[i, :, :start]
            result[i, :, start : start + self.rows] = x[i]
        return result

    def expected(self, window=None, scale=None, cap=None, sink=None, bias=None):
        values, more = self.values, self.more
        q, k, v = (
            apart(values[n], h)
            for n, h in (("q", self.heads), ("k", self.key_heads),
                         ("v", self.key_heads))
        )  # fmt: skip
        places = self.starts[:, None] + np.arange(self.rows)
        if "cos" in values:
            tables = values["cos"], values["sin"]
            q, k = (
                turned(x, places, *tables, more.get("rotary_interleaved"))
                for x in (q, k)
            )
        keys = self.grow(k, values["past_k"])
        results = self.grow(v, values["past_v"])
        group = self.heads // self.key_heads
        all_k, all_v = keys.repeat(group, 1), results.repeat(group, 1)
        scores = scores_of(q, all_k, 0, scale)
        if cap:
            scores = np.tanh(scores / cap) * cap
        if bias is not None:
            missing = scores.shape[-1] - bias.shape[-1]
            scores = scores + np.pad(bias, [(0, 0)] * 3 + [(0, missing)])
        columns = np.arange(keys.shape[2])
        behind = places[:, None, :, None] - columns
        kept = behind >= 0 if more.get("causal", 1) else (
            columns < self.totals[:, None, None, None]
        )  # fmt: skip
        if window is not None:
            kept = kept & (behind < window)
        scores = np.where(kept, scores, -np.inf)
        y = together(softmax(scores, sink) @ all_v)
        return y, keys, results

    def check(self, peer=True, sizes=(True, False), **more):
        y, keys, values = self.expected(**more)
        names = [
            "q", "k", "v", "past_k", "past_v", "last", "most", "cos", "sin",
            "places", "bias", "sinks", "", "", "q_norm", "k_norm",
        ]  # fmt: skip
        inputs = [n if n in self.values else "" for n in names]
        while not inputs[-1]:
            inputs.pop()
        node = {"num_heads": self.heads, "kv_num_heads": self.key_heads}
        # Rows of Q after the end of a sequence have no meaning.
        padded = self.totals.min() < self.rows
        check("GroupQueryAttention", self.values,
              [None if padded else y, keys, values],
              ["y", "present_k", "present_v"], inputs, peer=peer, sizes=sizes,
              **node, **self.more)  # fmt: skip
        if not padded:
            return
        (got,) = fused("GroupQueryAttention", self.values, ["y"], inputs,
                       **node, **self.more)  # fmt: skip
        for i, total in enumerate(self.totals):
            rows = min(total, self.rows)
            close(got[i, :rows], y[i, :rows])


def with_tables(grouped, pairs=8):
    grouped.values |= {"cos": floats(12, pairs), "sin": floats(12, pairs)}
    grouped.more["do_rotary"] = 1
    return grouped


@pytest.mark.parametrize("call", CALLS)
def test_grouped_attention_goes_on(call):
    Grouped(call).check()


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("interleaved", [0, 1])
def test_grouped_attention_turns_queries_and_keys(call, interleaved):
    with_tables(Grouped(call, rotary_interleaved=interleaved)).check()


@pytest.mark.parametrize("heads", [(1, 1), (3, 3), (6, 2)])
def test_groups_of_grouped_attention(heads):
    Grouped("next", *heads).check()


@pytest.mark.parametrize("call", ["first", "next", "room", "several"])
def test_windows_of_grouped_attention(call):
    for size in (1, 3, 20):
        Grouped(call, local_window_size=size).check(window=size)


def test_scores_of_grouped_attention_are_changed():
    Grouped("next", scale=0.7).check(scale=0.7)
    Grouped("next", softcap=0.5).check(cap=0.5)
    Grouped("next", smooth_softmax=1).check(sink=0.0)
    for call in ("first", "next", "room"):
        grouped = Grouped(call)
        total = grouped.totals.max()
        bias = floats(1, 4, grouped.rows, total)
        grouped.values["bias"] = bias
        grouped.check(bias=bias)
        grouped = Grouped(call, softcap=2.0)
        sinks = floats(4)
        grouped.values["sinks"] = sinks
        grouped.check(cap=2.0, sink=sinks[:, None, None])


def test_grouped_attention_of_16_bit_floats():
    grouped = with_tables(Grouped("room"))
    for name, value in grouped.values.items():
        if value.dtype == np.float32:
            grouped.values[name] = value.astype("float16").astype("float32")
    expected = grouped.expected()
    given = {
        n: v.astype("float16") if v.dtype == np.float32 else v
        for n, v in grouped.values.items()
    }
    check("GroupQueryAttention", given, expected,
          ["y", "present_k", "present_v"], num_heads=4, kv_num_heads=2,
          do_rotary=1, rtol=1e-2, atol=1e-2)  # fmt: skip


def test_grouped_attention_looks_ahead():
    Grouped("several", causal=0).check()


@pytest.mark.parametrize("call", ["first", "next"])
def test_grouped_attention_of_one_input(call):
    grouped = Grouped(call)
    y, keys, values = grouped.expected()
    parts = [grouped.values.pop(n) for n in "qkv"]
    given = {"q": np.concatenate(parts, -1), **grouped.values}
    check("GroupQueryAttention", given, [y, keys, values],
          ["y", "present_k", "present_v"],
          ["q", "", "", "past_k", "past_v", "last", "most"], num_heads=4,
          kv_num_heads=2)  # fmt: skip


def test_grouped_attention_normalises_queries_and_keys():
    grouped = Grouped("next")
    scale, more = floats(16), floats(16)
    given = dict(grouped.values)
    for name, factor, heads in (("q", scale, 4), ("k", more, 2)):
        x = apart(given[name], heads)
        x = x / np.sqrt((x**2).mean(-1, keepdims=True) + 0.25) * factor
        grouped.values[name] = together(x)
    expected = grouped.expected()
    given |= {"q_norm": scale, "k_norm": more}
    check("GroupQueryAttention", given, expected,
          ["y", "present_k", "present_v"],
          ["q", "k", "v", "past_k", "past_v", "last", "most",
           *[""] * 7, "q_norm", "k_norm"], num_heads=4, kv_num_heads=2,
          qk_norm_epsilon=0.25, peer=False)  # fmt: skip


@pytest.mark.parametrize("call", ["first", "next"])
def test_places_of_grouped_attention_may_be_given(call):
    grouped = with_tables(Grouped(call))
    rows = grouped.rows
    places = np.arange(rows)[None].repeat(2, 0)
    if call == "next":
        places = np.array([[7], [2]])
    grouped.values["places"] = places
    tables = grouped.values["cos"], grouped.values["sin"]
    y, keys, values = Grouped.expected(grouped)
    k = turned(apart(grouped.values["k"], 2), places, *tables, 0)
    keys = grouped.grow(k, grouped.values["past_k"])
    node = {"num_heads": 4, "kv_num_heads": 2, "do_rotary": 1}
    check("GroupQueryAttention", grouped.values, [None, keys, values],
          ["y", "present_k", "present_v"], list(grouped.values), **node)  # fmt: skip


@pytest.mark.parametrize("call", ["several", "room"])
@pytest.mark.parametrize("number", [1, 2])
def test_scores_of_grouped_attention_are_an_output(call, number):
    grouped = Grouped(call)
    y, keys, values = grouped.expected()
    total = grouped.totals.max()
    q = apart(grouped.values["q"], 4)
    scores = scores_of(q, keys[:, :, :total].repeat(2, 1), 0)
    places = grouped.starts[:, None] + np.arange(grouped.rows)
    kept = places[:, None, :, None] >= np.arange(total)
    weights = softmax(np.where(kept, scores, -np.inf))
    shown = np.where(kept, scores, 0) if number == 1 else weights
    check("GroupQueryAttention", grouped.values, [y, keys, values, shown],
          ["y", "present_k", "present_v", "qk_float"], num_heads=4,
          kv_num_heads=2, qk_output=number, peer=call == "several")  # fmt: skip


@pytest.mark.parametrize("given, message", [
    ({"k_quant_type": "PER_TENSOR"}, "k_quant_type, PER_TENSOR: a quantized"),
    ({"sliding_window_cache": 1}, "attribute sliding_window_cache, 1"),
    ({"kv_num_heads": 0}, "num_heads is 4 and kv_num_heads 0"),
    ({"local_window_size": 0}, "local_window_size is 0"),
    ({"qk_output": 3}, "qk_output is 3; expected 0 to 2"),
])  # fmt: skip
def test_what_grouped_attention_refuses(given, message):
    values = Grouped("next").values
    node = {"num_heads": 4, "kv_num_heads": 2} | given
    with pytest.raises(sl.SluiceError, match=message):
        fused("GroupQueryAttention", values, **node)
