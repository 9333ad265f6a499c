"""Programs with blocks, exported to ONNX and imported again; models with loops
and branches."""

import io

import numpy as np
import pytest

import sluice as sl
from control_flow_networks import absolute_sum, doubled_until, lstm, number

onnx = pytest.importorskip("onnx")
from onnx.reference import ReferenceEvaluator  # noqa: E402
from onnx_reference import by_onnxruntime, loaded, parsed, saved  # noqa: E402

layers = sl.layers


def floats(*shape):
    rng = np.random.default_rng(0)
    return rng.normal(size=shape).astype("float32")


def chosen():
    x = sl.data("x", [None])
    return [absolute_sum(x)], [{"x": floats(3)}, {"x": -np.abs(floats(4))}]


def branches_in_branches():
    x = sl.data("x", [None, 2])
    total = layers.reduce_sum(x)

    def negative():
        inner = layers.cond(
            total < number(-10.0),
            lambda: layers.scale(x, -2.0),
            lambda: layers.scale(layers.square(x), 3.0),
        )
        return inner + x

    out = layers.cond(total < number(0.0), negative, lambda: x)
    values = np.array([[1, 2], [3, 4]], "float32")
    return [out], [{"x": values * factor} for factor in (1, -0.5, -2)]


def the_same_variable_twice():
    x = sl.data("x", [2])
    yes = layers.reduce_sum(x) < number(0.0)

    def twice():
        square = layers.square(x)
        return [square, square, x]

    out = layers.cond(yes, twice, lambda: [x, x, layers.relu(x)])
    return out, [{"x": floats(2)}, {"x": -np.abs(floats(2))}]


def growing():
    x = sl.data("x", [None])
    limit = sl.data("limit", [1])
    feeds = [
        {"x": np.ones(n, "float32"), "limit": np.array([m], "float32")}
        for n, m in ((1, 10), (3, 20), (5, 1))
    ]
    return [doubled_until(x, limit)], feeds


def recurrent(reverse):
    x = sl.data("x", [None, None, 2])
    h, c = sl.data("h", [None, 3]), sl.data("c", [None, 3])
    w, b = sl.data("w", [5, 12]), sl.data("b", [12])
    carried, stacked = lstm(x, h, c, w, b, 3, reverse)
    feeds = [
        {
            "x": floats(steps, batch, 2),
            "h": floats(batch, 3),
            "c": floats(batch, 3),
            "w": floats(5, 12),
            "b": floats(12),
        }
        for steps, batch in ((4, 2), (1, 3))
    ]
    return [*carried, *stacked], feeds


def a_branch_in_a_scan_in_a_while_loop():
    x = sl.data("x", [None, 2])
    factor = sl.data("factor", [2])

    def step(carried, elements):
        picked = layers.cond(
            layers.reduce_sum(elements[0]) < number(0.0),
            lambda: elements[0] * factor,
            lambda: elements[0],
        )
        return [carried[0] + picked], picked

    def body(total, rows):
        (total,), (rows,) = layers.scan(step, [total], [rows])
        return [total, rows]

    out = layers.while_loop(
        lambda total, rows: layers.reduce_sum(total) < number(50.0),
        body,
        [sl.data("first", [2]), x],
    )
    rows = np.array([[1, 2], [-3, -4], [5, 6]], "float32")
    first, factor = np.array([[0, 0], [-1, -2]], "float32")
    return out, [{"x": rows, "first": first, "factor": factor}]


def what_is_found():
    x = sl.data("x", [None, 3])
    places = layers.nonzero(x)
    out = layers.gather_nd(x, layers.transpose(places, axis=[1, 0]))
    return [places, out], [{"x": np.maximum(floats(4, 3), 0)}]


def loop_program(**more):
    """A loop with all features: sequences, a condition, other axes."""
    program = sl.default_main_program()
    x = sl.data("x", [2, None])
    y = sl.data("y", [None])
    first = sl.data("first", [2])
    trips = sl.data("trips", [1], "int64")
    block = program._begin_block()
    i = program.data("i", [], "int64")
    carried = program.data("carried", [2])
    column = program.data("column", [2])
    element = program.data("element", [])
    following = carried + column
    scaled = column * element
    goes_on = layers.reduce_sum(following) < number(30.0)
    program._end_block()
    made = program.append_op(
        "loop",
        inputs={"MaxTrips": trips, "Carried": [first], "Sequences": [x, y]},
        attrs={
            "block": block,
            "iteration": i.name,
            "carried": [carried.name],
            "slices": [column.name, element.name],
            "condition_out": goes_on.name,
            "carried_out": [following.name],
            "stacked": [scaled.name, scaled.name, i.name, first.name],
            "sequence_axes": [-1, 0],
            "sequence_reversed": [0, 1],
            "stacked_axes": [1, 0, 0, -1],
            "stacked_reversed": [1, 1, 0, 0],
            **more,
        },
    )
    feeds = [
        {
            "x": np.arange(2 * count, dtype="float32").reshape(2, count),
            "y": np.arange(count, dtype="float32") + 1,
            "first": np.array([1, -1], "float32"),
            "trips": np.array([most], "int64"),
        }
        for count, most in ((3, 9), (5, 2), (6, 9))
    ]
    return [
        v
        for output in made.values()
        for v in (output if isinstance(output, list) else [output])
    ], feeds


NETWORKS = {
    "chosen": (chosen, {"If"}),
    "branches": (branches_in_branches, {"If"}),
    "twice": (the_same_variable_twice, {"If"}),
    "growing": (growing, {"Loop"}),
    "lstm": (lambda: recurrent(False), {"Scan"}),
    "reversed": (lambda: recurrent(True), {"Scan"}),
    "nested": (a_branch_in_a_scan_in_a_while_loop, {"Loop", "Scan", "If"}),
    "found": (what_is_found, {"NonZero"}),
    "loop": (loop_program, {"Loop"}),
}


def all_nodes(graph):
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from all_nodes(attribute.g)


def all_names(graph):
    yield from (value.name for value in graph.input)
    yield from (tensor.name for tensor in graph.initializer)
    for node in graph.node:
        yield from (name for name in node.output if name)
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from all_names(attribute.g)


# onnx 1.23: no reversed Scan, and single numbers are stacked as rows of one.
REFERENCE_LACKS = {"reversed", "loop"}


@pytest.mark.parametrize("by", ["sluice", "reference", "onnxruntime"])
@pytest.mark.parametrize("network", NETWORKS)
def test_blocks_come_back_from_onnx_and_give_the_same(network, by):
    if by == "onnxruntime":
        pytest.importorskip("onnxruntime")
    if by == "reference" and network in REFERENCE_LACKS:
        pytest.skip("ONNX's reference evaluator lacks it")
    make, operators = NETWORKS[network]
    outputs, feeds = make()
    model = saved(sl.default_main_program(), outputs)
    message = onnx.load_from_string(model)
    onnx.checker.check_model(message, full_check=True)
    types = {node.op_type for node in all_nodes(message.graph)}
    assert types & {"If", "Loop", "Scan", "NonZero"} == operators
    names = list(all_names(message.graph))
    assert len(names) == len(set(names))
    run = {
        "sluice": lambda: sl.onnx.load(model).run,
        "reference": lambda: lambda f: ReferenceEvaluator(message).run(None, f),
        "onnxruntime": lambda: lambda f: by_onnxruntime(model, f),
    }[by]()
    exe = sl.Executor()
    for feed in feeds:
        expected = exe.run(feed=feed, fetch_list=outputs)
        for a, b in zip(run(feed), expected, strict=True):
            assert a.dtype == b.dtype
            assert a.shape == b.shape
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_ops_of_all_blocks_that_onnx_lacks_are_in_one_list():
    x = sl.data("x", [2])
    angle = layers.atan2(x, x)
    yes = layers.reduce_sum(angle) < number(0.0)
    out = layers.cond(
        yes,
        lambda: layers.atan2(angle, x, name="inner"),
        lambda: layers.uniform_random(shape=[2]),
    )
    with pytest.raises(sl.UnimplementedError) as error:
        saved(sl.default_main_program(), [out])
    text = str(error.value)
    assert "3 of" in text
    assert "atan2 (makes inner)" in text
    assert "uniform_random" in text
    assert text.count("test_onnx_control_flow.py") == 3


def test_a_saved_model_is_saved_again():
    outputs, feeds = a_branch_in_a_scan_in_a_while_loop()
    first = sl.onnx.load(saved(sl.default_main_program(), outputs))
    file = io.BytesIO()
    first.save(file)
    again = sl.onnx.load(file.getvalue())
    for feed in feeds:
        for a, b in zip(again.run(feed), first.run(feed), strict=True):
            np.testing.assert_array_equal(a, b)


def test_a_branch_may_omit_the_first_output():
    model = loaded(
        """(float[3] x) => (y) {
            , y = If (yes) <
                then_branch = one () => (float[3] a, float[3] b) {
                    a = Neg (x)
                    b = Abs (x)
                },
                else_branch = two () => (float[3] c, float[3] d) {
                    c = Neg (x)
                    d = Abs (x)
                }
            >
        }""",
        yes=True,
    )
    x = floats(3)
    np.testing.assert_array_equal(model.run({"x": x})[0], np.abs(x))


def adding_loop(condition, constants="float[1] one = {1}"):
    """Adds 1 to 3 in four iterations; the body's condition is false."""
    model = loaded(
        f"""(float[1] x, bool start) => (y) <int64 trips = {{4}}> {{
            y = Loop (trips, {condition}, x) <
                body = body (int64 i, bool yes, float[1] carried)
                    => (bool no, float[1] next) <{constants}> {{
                    next = Add (carried, one)
                    no = Not (yes)
                }}
            >
        }}"""
    )
    return model.run({"x": np.float32([3]), "start": np.array(True)})[0]


def test_a_loop_without_a_condition_ignores_that_of_its_body():
    assert adding_loop("") == 7
    assert adding_loop("start") == 4


def test_what_a_body_gets_is_not_its_initialiser():
    constants = "float[1] one = {1}, float[1] carried = {100}"
    assert adding_loop("", constants) == 7


def test_an_inlined_branch_replaces_no_other_value():
    model = loaded(
        """(float[n] x) => (y) <int64 one = {1}> {
            "o/t" = Relu (x)
            n = Size (x)
            many = Greater (n, one)
            o = If (many) <
                then_branch = then () => (float[] r) {
                    t = Neg (x)
                    r = Exp (t)
                },
                else_branch = otherwise () => (float[] s) { s = Exp (x) }
            >
            y = Add (o, "o/t")
        }"""
    )
    x = np.float32([1, -1])
    np.testing.assert_allclose(
        model.run({"x": x})[0], np.exp(-x) + np.maximum(x, 0), rtol=1e-6
    )


def test_a_gradient_of_what_a_branch_makes_is_refused():
    model = parsed(
        """<ir_version: 8,
            opset_import: ["": 18, "ai.onnx.preview.training": 1]>
        model (float a, bool n) => (float y) {
            y = If (n) <
                then_branch = branch () => (float g) {
                    c = Add (a, a)
                    g = ai.onnx.preview.training.Gradient
                        <xs = ["a"], y = "c"> (a)
                },
                else_branch = other () => (float e) { e = Neg (a) }
            >
        }"""
    )
    with pytest.raises(sl.InvalidArgumentError, match="a gets no gradient of loss c"):
        sl.onnx.load(model)


@pytest.mark.parametrize("directions", ["", ", directions = [1, 0]"])
def test_scan_of_opset_8_has_a_batch(directions):
    model = loaded(
        f"""<ir_version: 3, opset_import: ["": 8]> model
        (float[2, 3] first, float[2, n, 3] a, float[2, n, 3] b) => (last, all) {{
            last, all = Scan <num_scan_inputs = 2{directions}, body = step
                (float[3] s, float[3] p, float[3] q) => (float[3] t, float[3] u) {{
                    product = Mul (s, p)
                    t = Add (product, q)
                    u = Identity (t)
                }}> ( , first, a, b)
        }}"""
    )
    first, a, b = floats(2, 3), floats(2, 4, 3), 2 * floats(2, 4, 3)
    last, every = model.run({"first": first, "a": a, "b": b})
    state = first
    for i in range(4):
        state = state * a[:, 3 - i if directions else i] + b[:, i]
        np.testing.assert_allclose(every[:, i], state, rtol=1e-5)
    np.testing.assert_array_equal(last, every[:, -1])


def test_scan_of_opset_8_refuses_lengths():
    with pytest.raises(sl.UnimplementedError, match="lengths of their own"):
        loaded(
            """<ir_version: 3, opset_import: ["": 8]> model
            (int64[2] lengths, float[2, n] a) => (all) {
                all = Scan <num_scan_inputs = 1, body = step
                    (float s) => (float t) { t = Neg (s) }> (lengths, a)
            }"""
        )
