"""Loops, branches and maps over sequences of tensors, and optional values."""

import time

import numpy as np
import pytest

import sluice as sl

pytest.importorskip("onnx")
import sluice.onnx.backend as backend  # noqa: E402
import sluice.onnxruntime as ort  # noqa: E402
from onnx_reference import floats, loaded, parsed  # noqa: E402

TRUE, FALSE = np.array(True), np.array(False)


def equal(got, want):
    """Compares outputs that may be lists of arrays."""
    assert isinstance(got, (list, tuple)) == isinstance(want, (list, tuple))
    if isinstance(want, (list, tuple)):
        assert len(got) == len(want)
        for one, other in zip(got, want, strict=True):
            equal(one, other)
        return
    want = np.asarray(want)
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    np.testing.assert_allclose(got, want, rtol=1e-6)


def refused(check_id, *parts, text, code=sl.InvalidArgumentError, **options):
    with pytest.raises(code) as raised:
        sl.onnx.load(parsed(text), **options)
    assert raised.value.check_id == check_id
    for part in parts:
        assert part in str(raised.value)


def loop(body, inputs="float[2] x", trips=3, start="empty", more=""):
    """A loop that carries a sequence s, which is t after an iteration."""
    return f"""({inputs}) => (seq(float[]) y{more})
        <int64 trips = {{{trips}}}, bool go = {{1}}> {{
            empty = SequenceEmpty ()
            y{more} = Loop (trips, go, {start}) <
                body = b (int64 i, bool c, seq(float[]) s)
                    => (bool d, seq(float[]) t{", u" if more else ""}) {{ {body} }}
            >
        }}"""


GROWING = """
    d = Identity (c)
    k = Cast <to = 1> (i)
    u = Mul (x, k)
    t = SequenceInsert (s, u)
"""


def test_sessions_give_a_sequence_as_a_list(rng):
    model = parsed(
        """(float[n, 2] x) => (float[n, 2] a, seq(float[]) y, float[n, 2] z) {
            a = Neg (x)
            y = SequenceConstruct (x, a)
            z = Abs (x)
        }"""
    )
    session = ort.InferenceSession(model.SerializeToString())
    outputs = [(value.name, value.type) for value in session.get_outputs()]
    assert outputs[1] == ("y", "seq(tensor(float))") and len(outputs) == 3
    x = floats(rng, 3, 2)
    equal(session.run(None, {"x": x}), [-x, [x, -x], np.abs(x)])
    equal(session.run(["z", "y"], {"x": x}), [np.abs(x), [x, -x]])
    (value,) = session.run_with_ort_values(["y"], {"x": x})
    assert value.is_tensor_sequence() and not value.is_tensor()
    session.tune(0.01)


def test_a_loop_makes_a_sequence(rng):
    x = floats(rng, 2)
    (y,) = backend.run_model(parsed(loop(GROWING)), [x])
    equal(y, [x * 0, x, x * 2])


def test_a_loop_makes_a_sequence_and_stacks_tensors(rng):
    x = floats(rng, 2)
    model = parsed(loop(GROWING, more=", z"))
    y, z = backend.run_model(model, [x])
    equal(y, [x * 0, x, x * 2])
    equal(z, np.stack(y))
    refused(
        "onnx.unsupported", "no iteration", "output 1",
        text=loop(GROWING, more=", z", trips=0), code=sl.UnimplementedError,
    )  # fmt: skip


@pytest.mark.parametrize("trips", [0, -1])
def test_a_loop_without_iterations_gives_what_it_gets(trips, rng):
    x = floats(rng, 2)
    text = loop(GROWING, "float[2] x, seq(float[]) s0", trips, "s0")
    (y,) = backend.run_model(parsed(text), [x, [x + 1]])
    equal(y, [x + 1])
    (y,) = backend.run_model(parsed(text), [x, []])
    equal(y, [])


def test_a_loop_ends_by_a_condition_that_is_known(rng):
    x = floats(rng, 2)
    body = "one = Constant <value_int = 1> () d = Less (i, one) "
    body += "t = SequenceInsert (s, x)"
    (y,) = backend.run_model(parsed(loop(body, trips=100)), [x])
    equal(y, [x, x])


def test_a_body_may_read_what_it_changes_twice(rng):
    x = floats(rng, 2)
    body = """
        d = Identity (c)
        longer = SequenceInsert (s, x)
        n = SequenceLength (s)
        k = Cast <to = 1> (n)
        u = Add (x, k)
        t = SequenceInsert (longer, u)
    """
    (y,) = backend.run_model(parsed(loop(body, trips=2)), [x])
    equal(y, [x, x, x, x + 2])


def test_a_sequence_that_a_loop_gets_keeps_its_tensors(rng):
    x = floats(rng, 2)
    text = loop(GROWING, "float[2] x, seq(float[]) s0", 2, "s0", more=", z")
    text = text.replace("> {", "> {\n n = SequenceLength (s0)", 1)
    text = text.replace(", z)", ", z, n)", 1)
    y, z, n = backend.run_model(parsed(text), [x, [x]])
    equal(y, [x, x * 0, x])
    equal(n, np.array(1))


def test_a_loop_picks_tensors_of_a_sequence(rng):
    text = """(seq(float[2]) list, float[2] zero) => (sum) <bool go = {1}> {
        n = SequenceLength (list)
        sum = Loop (n, go, zero) <
            body = b (int64 i, bool c, float[2] before)
                => (bool d, float[2] after) {
                d = Identity (c)
                one = SequenceAt (list, i)
                after = Add (before, one)
            }
        >
    }"""
    parts = [floats(rng, 2) for _ in range(3)]
    (total,) = backend.run_model(parsed(text), [parts, np.zeros(2, "float32")])
    equal(total, sum(parts))


def test_a_loop_that_picks_one_tensor_is_not_copied(rng):
    text = """(int64 n, seq(float[2]) list, float[2] zero) => (sum) {
        sum = Loop (n, , zero) <
            body = b (int64 i, bool c, float[2] before)
                => (bool d, float[2] after) {
                d = Identity (c)
                first = Constant <value_int = 0> ()
                one = SequenceAt (list, first)
                after = Add (before, one)
            }
        >
    }"""
    x, zero = floats(rng, 2), np.zeros(2, "float32")
    (total,) = backend.run_model(parsed(text), [np.array(4), [x], zero])
    equal(total, 4 * x)
    model = sl.onnx.load(
        parsed(text),
        sequence_lengths={"list": 1},
        initialisers={"n": np.array(1_000_000)},
    )
    assert "loop" in str(model.program)


def test_loops_in_loops_and_branches(rng):
    body = """
        d = Identity (c)
        one = Constant <value_int = 1> ()
        first = Less (i, one)
        two = Constant <value_int = 2> ()
        t = If (first) <
            then_branch = a () => (seq(float[]) v) { v = Identity (s) },
            else_branch = e () => (seq(float[]) w) {
                w = Loop (two, go, s) <
                    body = inner (int64 j, bool e, seq(float[]) r)
                        => (bool f, seq(float[]) q) {
                        f = Identity (e)
                        m = Cast <to = 1> (j)
                        k = Cast <to = 1> (i)
                        p = Add (m, k)
                        u = Add (x, p)
                        q = SequenceInsert (r, u)
                    }
                >
            }
        >
    """
    x = floats(rng, 2)
    (y,) = backend.run_model(parsed(loop(body)), [x])
    equal(y, [x + 1, x + 2, x + 2, x + 3])


def test_names_of_copies_are_new(rng):
    """An input of the model has the name that a value of a copy would have."""
    x = floats(rng, 2)
    model = parsed(loop(GROWING, "float[2] x, float[2] clash"))
    model.graph.input[1].name = "y.1/u"
    model.graph.output.add(name="y.1/u")
    y, clash = backend.run_model(model, [x, x + 5])
    equal(y, [x * 0, x, x * 2])
    equal(clash, x + 5)


LATE = """(float[2] x, int64 n, bool go) => (y) {
    empty = SequenceEmpty ()
    y = Loop (n, go, empty) <
        body = b (int64 i, bool c, seq(float[]) s) => (bool d, seq(float[]) t) {
            d = Identity (c)
            t = SequenceInsert (s, x)
        }
    >
}"""


def test_a_count_that_is_computed_late_is_named_and_may_be_given(rng):
    x = floats(rng, 2)
    three = {"n": np.array(3)}
    late = {"text": LATE, "code": sl.UnimplementedError}
    refused("onnx.late_sequence", "(Loop): its trip count (n)", **late)
    refused(
        "onnx.late_sequence", "its condition (go)", **late, initialisers=three
    )
    model = sl.onnx.load(parsed(LATE), initialisers=three | {"go": TRUE})
    assert [value.name for value in model.inputs] == ["x"]
    assert sorted(model.replaced) == ["go", "n"]
    equal(model.run({"x": x}), [x, x, x])
    for n, go in ((2, True), (0, True), (5, False), (2, True)):
        prepared = backend.prepare(parsed(LATE))
        (y,) = prepared.run([x, np.array(n), np.array(go)])
        equal(y, [x] * (n if go else 0))


@pytest.mark.parametrize("trips", [10**6, 2**63 - 1])
def test_a_loop_of_absurd_length_is_refused_at_once(trips):
    begin = time.process_time()
    text = loop(GROWING, trips=trips)
    code = sl.ResourceExhaustedError
    refused("onnx.import_memory", "copies of its body", text=text, code=code)
    assert time.process_time() - begin < 2


def test_an_endless_loop_is_refused():
    text = loop("d = Identity (c) t = Identity (s)").replace("trips, go", ", go")
    limits = {"memory_bytes": 1 << 22}
    refused(
        "onnx.import_memory", "copies of its body",
        text=text, code=sl.ResourceExhaustedError, limits=limits,
    )  # fmt: skip


@pytest.mark.parametrize(
    "check_id, part, body",
    [
        ("onnx.copy_kind", "takes a tensor for s, and gets a sequence",
         loop(GROWING).replace("seq(float[]) s)", "float[] s)")),
        ("onnx.copy_dtype", "takes float32 for i, and gets int64",
         loop(GROWING).replace("int64 i", "float i")),
        ("onnx.subgraph_inputs", "has 2 inputs; expected 3",
         loop(GROWING.replace("s,", "empty,")).replace(", seq(float[]) s)", ")")),
        ("onnx.subgraph_outputs", "has 3 outputs; expected 2",
         loop(GROWING).replace("seq(float[]) t)", "seq(float[]) t, u)")),
        ("onnx.loop_condition", "its condition is int64 []",
         loop(GROWING.replace("(c)", "(i)")).replace("bool d", "d")),
        ("onnx.known_number", "trip count has 2 numbers",
         loop(GROWING).replace("int64 trips = {3}", "int64[2] trips = {3, 4}")),
        ("onnx.sequence_dtype", "k is float64, and the first tensor of its",
         loop(GROWING.replace("u)", "k)").replace("to = 1", "to = 11").replace(
             "u = Mul (x, k)", ""), "float[2] x, seq(float[]) s0", 3, "s0")),
        ("onnx.sequence_position", "position is 1 in a sequence of 1",
         loop("d = Identity (c) a = SequenceAt (s, i) t = SequenceInsert(s, a)",
              "float[2] x, seq(float[]) s0", 3, "s0").replace(
              "t = SequenceInsert(s, a)", "t = SequenceConstruct (a)")),
    ],
)  # fmt: skip
def test_what_contradicts_itself_is_refused(check_id, part, body):
    lengths = {"s0": 1} if "s0" in body else {}
    refused(check_id, part, text=body, sequence_lengths=lengths)


# SequenceMap.

MAP = """(seq(float[]) list, {0}) => ({1}) {{
    {1} = SequenceMap (list, other) <body = b (float[] a, {2}) => ({3}) {{ {4} }}>
}}"""


def test_a_map_calls_its_body_for_tensors_of_any_shapes(rng):
    text = MAP.format(
        "float[1] other", "y, z", "float[1] b",
        "c, d", "c = Add (a, b) d = Shape (a)",
    )  # fmt: skip
    parts = [floats(rng, 2), floats(rng, 3, 1), floats(rng)]
    other = floats(rng, 1)
    y, z = backend.run_model(parsed(text), [parts, other])
    equal(y, [part + other for part in parts])
    equal(z, [np.array(part.shape, "int64") for part in parts])
    equal(backend.run_model(parsed(text), [[], other]), [[], []])


def test_a_map_takes_several_sequences_and_outer_values(rng):
    text = MAP.format("seq(float[]) other, float x", "y", "float[] b", "c",
                      "d = Sub (a, b) c = Add (d, x)")  # fmt: skip
    a, b = [floats(rng, 2), floats(rng, 3)], [floats(rng, 2), floats(rng, 3)]
    x = floats(rng)
    (y,) = backend.run_model(parsed(text), [a, b, x])
    equal(y, [one - other + x for one, other in zip(a, b, strict=True)])
    refused(
        "onnx.sequence_map_length", "input 1 has 3 tensors, and input 0 has 2",
        text=text, sequence_lengths={"list": 2, "other": 3},
    )  # fmt: skip


def test_maps_in_maps(rng):
    inner = """
        all = SequenceMap (other, a) <
            body = e (float[] f, float[] g) => (h) { h = Mul (f, g) }
        >
        c = ConcatFromSequence <axis = 0> (all)
    """
    text = MAP.format("seq(float[]) other", "y", "float[] b", "c", inner)
    a, b = [floats(rng, 2), floats(rng, 2)], [floats(rng, 2), floats(rng, 2)]
    (y,) = backend.run_model(parsed(text), [a, b])
    equal(y, [np.concatenate([b[0] * one, b[1] * one]) for one in a])


def test_a_map_that_contradicts_itself_is_refused():
    made = {"sequence_lengths": {"list": 1}}
    right = ["float[1] other", "y", "float[1] b", "c", "c = Add (a, b)"]

    def text(**changes):
        changed = list(right)
        for name, value in changes.items():
            changed[int(name[1:])] = value
        return MAP.format(*changed)

    refused("onnx.copy_dtype", "takes int64 for b, and gets float32",
            text=text(_2="int64[1] b", _4="c = Neg (a)"), **made)  # fmt: skip
    refused("onnx.subgraph_outputs", "has 2 outputs; expected 1",
            text=text(_3="c, a"), **made)  # fmt: skip
    refused("onnx.subgraph_inputs", "has 3 inputs; expected 2",
            text=text(_2="float[] b, float[] more"), **made)  # fmt: skip
    late = {"code": sl.UnimplementedError, **made}
    refused("onnx.unsupported", "is a sequence of tensors",
            text=text(_4="c = SequenceConstruct (a)"), **late)  # fmt: skip
    refused("onnx.unsupported", "input 0 is a tensor; expected a sequence",
            text=text().replace("(list, other)", "(other, list)"),
            **late)  # fmt: skip
    refused("onnx.import_memory", "copies of its body",
            text=text(), sequence_lengths={"list": 100000},
            code=sl.ResourceExhaustedError)  # fmt: skip


# If.


def choice(then, other, more=""):
    return f"""(bool yes, float[2] x) => (y{more}) {{
        y{more} = If (yes) <
            then_branch = a () => ({"p" + more.replace("z", "p2")}) {{ {then} }},
            else_branch = e () => ({"q" + more.replace("z", "q2")}) {{ {other} }}
        >
    }}"""


def both(text, x, *want):
    """Runs a model for both conditions."""
    model = backend.prepare(parsed(text))
    for yes, outputs in zip((TRUE, FALSE), want, strict=True):
        equal(model.run([yes, x]), outputs)
    return model


def test_a_branch_gives_a_sequence(rng):
    x = floats(rng, 2)
    model = both(
        choice(
            "n = Neg (x) s = Shape (x) r = Cast <to = 1> (s) "
            "p = SequenceConstruct (n, x) p2 = Abs (x)",
            "sum = ReduceSum <keepdims = 0> (x) "
            "q = SequenceConstruct (x, sum) q2 = Neg (x)",
            ", z",
        ),
        x,
        [[-x, x], np.abs(x)],
        [[x, x.sum()], -x],
    )
    assert len(model.model.inputs) == 2  # by one program


def test_branches_may_give_empty_sequences_and_no_value(rng):
    x = floats(rng, 2)
    both(choice("p = SequenceEmpty ()", "q = SequenceEmpty ()"), x, [[]], [[]])
    none = choice("p = Optional <type = float[2]> ()", "q = Identity (none)")
    none = none.replace("y = If", "none = Optional <type = float[2]> () o = If")
    none = none.replace("}\n        >", "}\n        >\n y = OptionalHasElement (o)")
    both(none, x, [FALSE], [FALSE])


def test_branches_of_several_lengths_need_a_known_condition(rng):
    x = floats(rng, 2)
    text = choice(
        "p = SequenceConstruct (x, x)",
        "empty = SequenceConstruct (x) q = Optional (empty)",
    )
    both(text, x, [[x, x]], [[x]])
    refused(
        "onnx.late_sequence",
        "is a sequence of 2 tensors in its then_branch and a sequence of 1",
        "condition (yes)",
        text=text,
        code=sl.UnimplementedError,
    )
    text = choice("p = Optional <type = float[2]> ()", "q = Identity (x)")
    refused("onnx.late_sequence", "no value in its then_branch and a tensor",
            text=text, code=sl.UnimplementedError)  # fmt: skip


# Optional values.


def test_an_optional_input_is_fed_or_absent(rng):
    text = """(float[2] x, optional(float[2]) maybe) => (y, has) {
        has = OptionalHasElement (maybe)
        y = If (has) <
            then_branch = a () => (p) {
                z = OptionalGetElement (maybe)
                p = Add (x, z)
            },
            else_branch = e () => (q) { q = Neg (x) }
        >
    }"""
    x, z = floats(rng, 2), floats(rng, 2)
    equal(loaded(text).run({"x": x, "maybe": z}), [x + z, TRUE])
    absent = sl.onnx.load(parsed(text), absent_inputs=["maybe"])
    equal(absent.run({"x": x}), [-x, FALSE])
    model = backend.prepare(parsed(text))
    for value in (z, None, z, None):
        want = (-x, FALSE) if value is None else (x + value, TRUE)
        equal(model.run([x, value]), want)


def test_an_optional_input_may_be_a_sequence(rng):
    text = """(optional(seq(float[])) maybe) => (y, n) {
        y = OptionalGetElement (maybe)
        n = SequenceLength (y)
    }"""
    parts = [floats(rng, 2), floats(rng)]
    equal(backend.run_model(parsed(text), [parts]), [parts, np.array(2)])
    equal(backend.run_model(parsed(text), [[]]), [[], np.array(0)])
    refused("onnx.unsupported", "maybe of the graph is a sequence",
            text=text, code=sl.UnimplementedError)  # fmt: skip
    refused("onnx.unsupported", "(OptionalGetElement): an optional value without",
            text=text, code=sl.UnimplementedError,
            absent_inputs=["maybe"])  # fmt: skip


def test_an_absent_value_has_no_use_but_to_be_asked_for():
    text = """(float[2] x, optional(float[2]) maybe) => (y) {
        same = Identity (maybe)
        y = Add (x, same)
    }"""
    refused("onnx.unsupported", "same is an optional value without a value",
            text=text, code=sl.UnimplementedError,
            absent_inputs=["maybe"])  # fmt: skip
    text = "(optional(float[2]) maybe) => (y) { y = Identity (maybe) }"
    refused("onnx.absent", "y is an optional value without a value",
            text=text, code=sl.UnimplementedError,
            absent_inputs=["maybe"])  # fmt: skip
    refused("onnx.absent_input", "absent_inputs names y",
            text=text, absent_inputs=["y"])  # fmt: skip
    refused("onnx.absent_input", "absent_inputs names x",
            text="(float x) => (y) { y = Abs (x) }",
            absent_inputs=["x"])  # fmt: skip


def test_a_loop_begins_without_a_value(rng):
    text = """(float[2] x, optional(seq(float[])) first) => (y)
        <int64 n = {2}, bool go = {1}> {
        y = Loop (n, go, first) <
            body = b (int64 i, bool c, optional(seq(float[])) s)
                => (bool d, seq(float[]) t) {
                d = Identity (c)
                has = OptionalHasElement (s)
                all = If (has) <
                    then_branch = a () => (p) { p = OptionalGetElement (s) },
                    else_branch = e () => (q) { q = SequenceEmpty () }
                >
                t = SequenceInsert (all, x)
            }
        >
    }"""
    x = floats(rng, 2)
    model = backend.prepare(parsed(text))
    equal(model.run([x, None]), [[x, x]])
    equal(model.run([x, [-x]]), [[-x, x, x]])


# Values of inputs.


def test_values_for_inputs_fit_what_the_model_says(rng):
    text = "(float[2, n] x, int64 k) => (y) { y = Reshape (x, k) }"
    for name, value, part in (
        ("x", np.zeros((3, 2), "float32"), "input x is float32 [2, ?]"),
        ("x", np.zeros(2, "float32"), "given for it is float32 [2]"),
        ("k", np.zeros((), "int32"), "given for it is int32 []"),
    ):
        refused("onnx.given_input", part, text=text, initialisers={name: value})
    text = "(float[2, n] x, float[k] z) => (y) { y = Add (x, z) }"
    x, z = floats(rng, 2, 3), floats(rng, 3)
    model = sl.onnx.load(parsed(text), initialisers={"z": z, "other": x})
    assert model.replaced == ["z"]
    equal(model.run({"x": x}), [x + z])


def test_the_backend_loads_a_model_for_values_that_a_sequence_needs(rng):
    text = """(float[6, n] x, int64 size, int64 at) => (y) {
        all = SplitToSequence <axis = 0> (x, size)
        y = SequenceAt (all, at)
    }"""
    assert backend.is_compatible(parsed(text))
    model = backend.prepare(parsed(text))
    x = floats(rng, 6, 3)
    for _ in range(2):
        for size, at in ((2, 0), (2, -1), (3, 1), (6, 0)):
            (y,) = model.run([x, np.array(size), np.array(at)])
            equal(y, x[at * size :][:size])
    for size in range(1, 7):
        for at in range(6 // size):
            model.run([x, np.array(size), np.array(at)])
            for width in (3, 4):
                model.run({"x": floats(rng, 6, width), "size": size, "at": at})
    assert len(model._loaded) <= backend._MOST_LOADED
    with pytest.raises(sl.InvalidArgumentError, match="position is 6"):
        model.run([x, np.array(1), np.array(6)])


def test_the_backend_does_not_load_other_models_for_values():
    text = "(float[n] x, int64[2] shape) => (y) { y = ImageDecoder (x) }"
    assert not backend.is_compatible(parsed(text))
    text = """(float[6] x, int64 at) => (y, z) {
        all = SplitToSequence (x)
        y = SequenceAt (all, at)
        z = ImageDecoder (x)
    }"""
    refused("onnx.unsupported", "(SequenceAt): its position (at)",
            "no such operator", text=text,
            code=sl.UnimplementedError)  # fmt: skip
