"""Drawings of programs and plans: geometry, texts, colours, folding."""

import json
import os
import pathlib
import random
import re
import time
from xml.etree import ElementTree

import numpy as np
import pytest

import sluice as sl
from sluice import _core
from sluice.show.plan_drawing import draw as draw_plan
from sluice.show.program_drawing import kind
from sluice.show.graph_layout import lay_out
from sluice.lab import networks

SVG = "{http://www.w3.org/2000/svg}"
L = sl.layers


def lenet():
    networks.lenet(sl.data("image", [None, 1, 28, 28]))


def lenet_training():
    label = sl.data("label", [None, 1], "int64")
    logits = networks.lenet(sl.data("image", [None, 1, 28, 28]))
    loss = L.mean(L.softmax_with_cross_entropy(logits, label))
    sl.optimizer.Momentum(0.01).minimize(loss)


def residual(blocks=8, train=False):
    def part(x, act):
        x = L.batch_norm(L.conv2d(x, 4, 3, padding=1, bias_attr=False))
        return L.relu(x) if act else x

    x = part(sl.data("image", [None, 4, 8, 8]), True)
    for _ in range(blocks):
        x = L.relu(L.elementwise_add(part(part(x, True), False), x))
    x = L.fc(x, 10)
    if train:
        sl.optimizer.Adam(0.01).minimize(L.mean(x))


def residual_training():
    residual(3, train=True)


def narrowing():
    """Blocks whose shortcut is a convolution, so that two branches meet."""
    x = sl.data("image", [None, 3, 32, 32])
    for filters in (4, 8, 16):
        y = L.relu(L.conv2d(x, filters, 3, stride=2, padding=1))
        y = L.conv2d(y, filters, 3, padding=1)
        x = L.relu(L.elementwise_add(y, L.conv2d(x, filters, 1, stride=2)))


def inception():
    x = sl.data("image", [None, 3, 16, 16])
    for _ in range(3):
        branches = [L.conv2d(x, 4, 1), L.pool2d(x, 3, pool_stride=1, pool_padding=1)]
        branches += [L.conv2d(L.conv2d(x, 4, 1), 4, k, padding=k // 2) for k in (3, 5)]
        x = L.concat(branches, axis=1)


def dense():
    """Every block reads all before it."""
    x = [sl.data("image", [None, 4, 8, 8])]
    for _ in range(8):
        x.append(L.relu(L.conv2d(L.concat(x, axis=1) if x[1:] else x[0], 4, 3, padding=1)))


def u_net():
    x, kept = sl.data("image", [None, 4, 32, 32]), []
    for _ in range(3):
        kept.append(L.conv2d(x, 4, 3, padding=1))
        x = L.pool2d(kept[-1], 2)
    for other in reversed(kept):
        x = L.concat([L.resize(x, scales=[1.0, 1.0, 2.0, 2.0]), other], axis=1)


def attention():
    x = sl.data("tokens", [4, 8])
    for _ in range(3):
        q, k, v = (L.fc(x, 8) for _ in range(3))
        scores = L.softmax(L.matmul(q, L.transpose(k, [1, 0])))
        x = L.layer_norm(L.elementwise_add(x, L.matmul(scores, v)))


def control():
    x = sl.data("x", [3])
    total = L.reduce_sum(x)
    zero = L.fill_constant(shape=[1], value=0.0, dtype="float32")
    y = L.cond(L.less_than(total, zero), lambda: L.scale(x, -1.0), lambda: x)
    L.while_loop(
        lambda v: L.less_than(L.reduce_sum(v), total),
        lambda v: [L.concat([v, v], axis=0)],
        [y],
        shapes=[[None]],
    )


def many_inputs():
    L.sum([sl.data(f"x{i}", [2]) for i in range(30)])


def tangle():
    generator = random.Random(1)
    x = [sl.data("x", [2])]
    for _ in range(60):
        x.append(L.elementwise_add(*(x[max(0, len(x) - generator.randint(1, 9))] for _ in "ab")))


def far_apart():
    """Values that are read forty rows below."""
    first = x = L.relu(sl.data("x", [2]))
    for _ in range(40):
        x = L.square(x)
    L.elementwise_add(x, first)


NETWORKS = [
    lenet, lenet_training, residual, residual_training, narrowing, inception,
    dense, u_net, attention, control, many_inputs, tangle, far_apart,
]  # fmt: skip


def made(build):
    program = sl.Program()
    with sl.program_guard(program, sl.Program()), sl.unique_name.guard():
        build()
    return program


def curve(path):
    """Points on a path of M, V, C."""
    points, (x, y) = [], (0, 0)
    for word, numbers in re.findall(r"([MVC])([-\d. ]+)", path):
        n = [float(number) for number in numbers.split()]
        if word == "M":
            x, y = n
        elif word == "V":
            points += [(x, y + (n[0] - y) * i / 16) for i in range(17)]
            y = n[0]
        else:
            for i in range(33):
                t = i / 32
                w = [(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3]
                points.append(tuple(sum(a * b for a, b in zip(w, p)) for p in ([x, *n[::2]], [y, *n[1::2]])))
            x, y = n[4:]
    return points


def boxes_of(root):
    boxes = []
    for rect in root.iter(SVG + "rect"):
        if "box" in rect.get("class", "").split():
            x, y, w, h = (float(rect.get(key)) for key in ("x", "y", "width", "height"))
            boxes.append((x, y, x + w, y + h))
    return boxes


def crossings(svg):
    """How many boxes overlap, or have an edge inside: also its own box, where
    it may only touch the rim. Also how many edges there are."""
    root = ElementTree.fromstring(svg)
    boxes = boxes_of(root)
    bad = edges = 0
    for i, (a, b, c, d) in enumerate(boxes):
        bad += sum(a < g and e < c and b < h and f < d for e, f, g, h in boxes[:i])
    for path in root.iter(SVG + "path"):
        if "head" not in path.get("class").split():
            points = curve(path.get("d"))
            edges += 1
            top, bottom = points[0][1], points[-1][1]
            near = [box for box in boxes if box[1] < bottom and box[3] > top]
            for a, b, c, d in near:
                bad += any(a - 1 < x < c + 1 and b + 0.2 < y < d - 0.2 for x, y in points)
            assert any(abs(d - top) < 0.2 and a < points[0][0] < c for a, _, c, d in boxes)
            assert any(abs(b - bottom) < 0.2 and a < points[-1][0] < c for a, b, c, _ in boxes)
    return bad, edges


def texts(svg):
    return [text.text for text in ElementTree.fromstring(svg).iter(SVG + "text")]


@pytest.mark.parametrize("all", [False, True])
@pytest.mark.parametrize("build", NETWORKS, ids=lambda build: build.__name__)
def test_no_edge_crosses_a_box(build, all):
    bad, edges = crossings(made(build).draw(all=all))
    assert bad == 0
    assert edges > 0


@pytest.mark.parametrize("seed", range(20))
def test_layouts_of_random_graphs_keep_boxes_and_edges_apart(seed):
    generator = random.Random(seed)
    count = generator.randint(2, 80)
    sizes = [(generator.choice([60, 230]), generator.choice([20, 42, 90])) for _ in range(count)]
    edges = {
        (max(0, target - generator.randint(1, 12)), target, generator.randint(0, 1))
        for target in range(1, count)
        for _ in range(generator.randint(0, 3))
    }
    edges = sorted(edges, key=lambda edge: edge[1])
    layout = lay_out(sizes, edges, [generator.choice([0, 80, 200]) for _ in sizes])
    boxes = [(x, y, x + w, y + h) for (x, y), (w, h) in zip(layout.boxes, sizes)]
    for i, (a, b, c, d) in enumerate(boxes):
        assert not any(a < g and e < c and b < h and f < d for e, f, g, h in boxes[:i])
    for (source, target, _), route in zip(edges, layout.routes):
        path = "M%f %f" % route[0]
        for i, (x, y) in enumerate(route[1:]):
            u, v = route[i]
            path += f"C{u} {(v + y) / 2} {x} {(v + y) / 2} {x} {y}" if i % 2 else f"V{y}"
        for a, b, c, d in boxes:
            assert not any(a < x < c and b + 1e-3 < y < d - 1e-3 for x, y in curve(path))
        assert 0 <= min(x for x, _ in route) and max(x for x, _ in route) <= layout.width


def test_1500_ops_are_laid_out_within_a_second():
    program = made(lambda: residual(213))
    assert len(program.ops) > 1490
    start = time.process_time()
    svg = program.draw(all=True)
    seconds = time.process_time() - start
    bad, edges = crossings(svg)
    assert bad == 0
    assert edges > 600
    assert seconds < 3  # 0.6 s where nothing else runs
    short = program.draw()
    assert "x 213" in texts(short)
    assert len(boxes_of(ElementTree.fromstring(short))) < 20


def test_ten_thousand_ops_are_drawn():
    def build():
        x = sl.data("x", [2])
        for i in range(5000):
            x = L.scale(L.square(x), float(i))

    program = made(build)
    start = time.process_time()
    svg = program.draw(all=True)
    assert len(boxes_of(ElementTree.fromstring(svg))) == 10_001
    assert time.process_time() - start < 30


def test_other_endings_than_svg_are_refused(tmp_path):
    for name in ("g.png", "g.PDF", "g.dot"):
        with pytest.raises(sl.InvalidArgumentError, match="ends with .svg, got .*g[.]"):
            sl.Program().draw(tmp_path / name)
    sl.Program().draw(tmp_path / "g.SVG")
    assert [path.name for path in tmp_path.iterdir()] == ["g.SVG"]


def test_programs_without_ops_and_with_one():
    assert "0 ops" in texts(sl.Program().draw())
    one = made(lambda: L.fill_constant(shape=[2], value=1.0, dtype="float32"))
    assert "fill_constant" in texts(one.draw())


def test_parameters_constants_and_training_are_folded():
    words = texts(made(lenet_training).draw())
    assert "5x5, 20 filters, 520 weights" in words
    assert "800 to 500, 400 000 weights" in words
    assert "max 2x2" in words
    assert "backward: 17 ops" in words
    assert words[words.index("optimizer: momentum") + 1 :][:2] == ["#30-37", "8 parameters"]
    assert not any("momentum_0" in word or "fill_constant" in word for word in words)
    assert "38 ops: 13 forward, 17 backward, 8 optimizer" in words
    words = texts(made(lenet_training).draw(all=True))
    assert {"conv2d_grad_input", "relu_grad", "momentum"} <= set(words)
    assert not any(word.startswith("backward") for word in words)


def test_repeated_blocks_are_one_in_long_programs_only():
    words = texts(made(lambda: residual(8)).draw())
    assert "x 8" in words
    assert "block of 7 ops" in words
    short = texts(made(lambda: residual(3)).draw())
    assert not any(re.fullmatch(r"x \d+", word) for word in short)
    assert "x 8" not in texts(made(lambda: residual(8)).draw(all=True))


def test_shapes_stand_where_they_change_with_question_marks():
    words = texts(made(lenet).draw())
    assert words.count("[?, 20, 24, 24]") == 1
    assert "[?, 20, 12, 12]" in words
    assert not any("None" in word or "-1" in word for word in words)


def test_long_edges_are_two_ends_that_name_each_other():
    words = texts(made(far_apart).draw(all=True))
    assert "to #41" in words
    assert "from #0" in words


def test_blocks_of_control_flow_are_listed():
    words = texts(made(control).draw())
    assert words[words.index("then:") + 1] == "scale"
    assert words[words.index("else:") + 1] == "nothing"
    assert words[words.index("repeats:") + 1] == "concat, reduce_sum, less_than"
    assert "control flow" in words
    assert not any("outputs" in word or "carried" in word for word in words)


def test_the_legend_has_the_kinds_that_are_there():
    words = texts(made(lenet).draw())
    assert {"fed", "convolution", "pooling", "activation", "product"} <= set(words)
    assert "normalisation" not in words


def test_activations_are_known_by_the_family_of_their_schemas():
    schemas = {op: _core._schema(op) for op in L.ops.names()}
    found = {op: one for op, one in schemas.items() if one["family"] == "activation"}
    assert {"relu", "gelu", "prelu", "shrink", "tanh"} <= found.keys()
    assert found.keys().isdisjoint({"abs", "conv2d", "softmax"})
    for op, one in found.items():
        assert kind(op) == kind(f"{op}_grad") == "activation"
        if len(one["inputs"]) == 1:
            program = made(lambda: getattr(L, op)(L.fc(sl.data("x", [None, 4]), 3)))
            assert f"mul+add+{op} 4 -> 3" in program.summary()
            # An arrow to the layer, and none inside of it.
            assert crossings(program.draw()) == (0, 1)
    assert kind("fc") == "other"  # a layer, and no op


def test_long_and_hostile_names_are_cut_in_the_middle_and_escaped():
    name = "<&\"'" + "n" * 292 + "end>"
    svg = made(lambda: L.relu(sl.data(name, [2, None]))).draw()
    root = ElementTree.fromstring(svg)
    short = [text.text for text in root.iter(SVG + "text") if "…" in text.text]
    assert len(short) == 1
    assert short[0].startswith("<&\"'") and short[0].endswith("end>")
    assert any(name in title.text for title in root.iter(SVG + "title"))
    assert float(root.get("width")) < 500


def test_tooltips_have_attributes_and_the_line_without_folders():
    svg = made(lenet_training).draw(all=True)
    titles = [title.text for title in ElementTree.fromstring(svg).iter(SVG + "title")]
    conv = next(title for title in titles if title.startswith("conv2d\n"))
    assert "strides = [1, 1]" in conv
    assert "<- conv2d_0.w_0: float32 [20, 1, 5, 5]" in conv
    assert re.search(r"^networks.py:\d+$", conv, re.M)
    assert os.path.dirname(networks.__file__) not in svg


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(one, two):
    dark, light = sorted([luminance(one), luminance(two)])
    return (light + 0.05) / (dark + 0.05)


def drawings():
    job = networks.build("lenet", 4)
    plan = sl.Executor().prepare(job.program, job.feed, job.fetch_list)
    return [
        *(made(build).draw(all=True) for build in NETWORKS),
        *(draw_plan(plan, by=by, all=all) for by in ("library", "place", "time") for all in (0, 1)),
        draw_plan(moved(plan)),
    ]


def moved(plan):
    """The plan's data with op 3 at another place."""
    data = json.loads(_core._explain_by_signature(plan))
    ops = data["ops"]
    at = next(op for op in ops if op["index"] == 3)
    at["place"] = "cuda:0"
    after = next(op for op in ops if at["outputs"][0]["var"] in [v["var"] for v in op["inputs"]])
    data["transfers"] = [
        {"var": at["inputs"][0]["var"], "from": "cpu", "to": "cuda:0", "bytes": 46_080, "op_index": 3},
        {"var": at["outputs"][0]["var"], "from": "cuda:0", "to": "cpu", "bytes": 51_200,
         "op_index": after["index"]},
        {"var": data["fetches"][0], "from": "cuda:0", "to": "cpu", "bytes": 4, "op_index": -1},
    ]  # fmt: skip
    return data


def rules(style, dark):
    """The colours by class."""
    light_text, _, dark_text = style.partition("@media(prefers-color-scheme:dark)")
    text = dark_text if dark else light_text
    return dict(re.findall(r"\.([ft]\d+)\{fill:(#[0-9a-f]{6})\}", text))


@pytest.mark.parametrize("dark", [False, True])
def test_texts_are_legible_in_size_and_contrast(dark):
    pairs = set()
    for svg in drawings():
        root = ElementTree.fromstring(svg)
        colours = rules(root.find(SVG + "style").text, dark)
        page = colours[root.find(SVG + "rect").get("class")]
        inside = set()
        for group in root.iter(SVG + "g"):
            rect = group.find(SVG + "rect")
            fill = colours[next(c for c in rect.get("class").split() if c in colours)]
            for text in group.iter(SVG + "text"):
                inside.add(text)
                pairs.add((colours[text.get("class")], fill))
        for text in root.iter(SVG + "text"):
            assert float(text.get("font-size", root.get("font-size"))) >= 12
            if text not in inside:
                pairs.add((colours[text.get("class")], page))
    assert len(pairs) > 15
    assert [pair for pair in pairs if contrast(*pair) < 4.5] == []


def test_texts_stay_in_their_boxes():
    from sluice.show.drawing import text_width

    for svg in drawings():
        for group in ElementTree.fromstring(svg).iter(SVG + "g"):
            rect = group.find(SVG + "rect")
            left = float(rect.get("x"))
            right = left + float(rect.get("width"))
            rows = {}
            for text in group.iter(SVG + "text"):
                bold = text.get("font-weight") is not None
                width = text_width(text.text, float(text.get("font-size", 12)), bold)
                x = float(text.get("x"))
                x -= {"end": width, "middle": width / 2}.get(text.get("text-anchor"), 0)
                rows.setdefault(text.get("y"), []).append((x, x + width))
            for row in rows.values():
                row.sort()
                assert left < row[0][0] and row[-1][1] < right
                assert all(a[1] < b[0] for a, b in zip(row, row[1:]))


@pytest.fixture
def plan():
    job = networks.build("lenet", 4)
    return sl.Executor().prepare(job.program, job.feed, job.fetch_list)


def test_plans_show_kernel_time_and_share_of_each_call(plan, tmp_path):
    data = json.loads(plan.explain_json())
    svg = plan.draw(tmp_path / "plan.svg", all=True)
    assert (tmp_path / "plan.svg").read_text(encoding="utf-8") == svg
    words = texts(svg)
    for op in data["ops"]:
        assert (f"#{min(op['covers'])}" if op["covers"] else f"+{op['index']}") in words
        assert any(op["variant"] in word for word in words)
    slowest = max(data["ops"], key=lambda op: op["predicted_seconds"])
    share = slowest["predicted_seconds"] / sum(op["predicted_seconds"] for op in data["ops"])
    after = words[words.index(f"#{min(slowest['covers'])}") :]
    assert next(word for word in after if "µs" in word).endswith(f"{round(100 * share)} %")
    assert "relu+pool2d" in words
    assert "5x5, 20 filters, 520 weights, NHWC" in words
    assert crossings(svg)[0] == 0


def test_calls_have_the_numbers_of_explain(plan):
    numbers = {f"#{row['op']}" for row in plan.explain().tables()[0]["calls"] if not row["put_in"]}
    assert {word for word in texts(plan.draw(all=True)) if re.fullmatch(r"#\d+", word)} == numbers
    assert any(len(op["covers"]) > 1 for op in json.loads(plan.explain_json())["ops"])


def test_plans_say_strides_windows_and_a_layout_of_their_own():
    def build():
        x = L.conv2d(sl.data("image", [None, 3, 32, 32]), 8, 3, stride=2, padding=1, act="relu")
        x = L.pool2d(x, 3, "avg", 2)
        x = L.conv2d(x, 8, 3, dilation=2)
        L.leaky_relu(L.softmax(L.reduce_mean(x, [2, 3])), 0.3)

    program = made(build)
    feed = {"image": np.zeros((64, 3, 32, 32), "f4")}
    plan = sl.Executor().prepare(program, feed, [program.ops[-1].outputs["Out"][0]])
    layouts = {op["op"].removeprefix("fused_"): op["layout"] for op in json.loads(plan.explain_json())["ops"]}
    assert layouts["conv2d"] == "NHWC" and layouts["softmax"] == "any"
    words = texts(plan.draw())
    assert "3x3/2, 8 filters, 224 weights, NHWC" in words
    assert "avg 3x3/2, NHWC" in words
    assert re.search("3x3, 8 filters, [^…]*dilations 2, 2[^…]* weights, NHWC", " ".join(words))  # in lines
    assert "alpha 0.3" in words


def test_plans_fold_training_and_say_what_takes_most(plan):
    words = texts(plan.draw())
    assert any(re.fullmatch(r"backward: \d+ calls", word) for word in words)
    assert "optimizer: 8 calls" in words
    assert "most: #34 momentum" in words
    assert crossings(plan.draw())[0] == 0


def test_plans_of_many_calls_fold_repeated_blocks_and_add_their_times():
    program = made(lambda: residual(20))
    feed = {"image": np.zeros((1, 4, 8, 8), "f4")}
    plan = sl.Executor().prepare(program, feed, [program.ops[-1].outputs["Out"][0]])
    words = texts(plan.draw())
    assert [word for word in words if re.fullmatch(r"x \d+", word)] == ["x 20"]
    shares = [int(w.split("\u2003")[1][:-2]) for w in words if "µs\u2003" in w]
    assert 90 <= sum(shares) <= 110
    assert crossings(plan.draw(all=True))[0] == 0


def test_colours_say_library_place_or_time(plan):
    assert any("own kernels" in word for word in texts(plan.draw()))
    assert "cpu: 100 %" in texts(plan.draw(by="place"))
    assert any("over 10 %" in word for word in texts(plan.draw(by="time")))
    with pytest.raises(sl.InvalidArgumentError, match='"library", "place" or "time", got'):
        plan.draw(by="colour")


def test_copies_are_red_edges_with_their_bytes(plan):
    svg = draw_plan(moved(plan))
    words = texts(svg)
    assert "46.1 kB to cuda:0" in words
    assert any(re.fullmatch(r"51(\.\d)? kB to cpu", word) for word in words)
    assert "4 B to cpu, fetched" in words
    assert "red: copies between places, 97.3 kB in all" in words
    paths = ElementTree.fromstring(svg).iter(SVG + "path")
    assert sum(path.get("class") == "edge moved" for path in paths) == 2
    assert crossings(svg)[0] == 0


def test_measured_times_are_drawn_if_there_are_some(plan):
    data = json.loads(plan.explain_json())
    for op in data["ops"]:
        op["measured"] = {"median": 0.002}
    words = texts(draw_plan(data))
    assert any("measured" in word for word in words)
    assert any(word.startswith("2000 µs") for word in words)


def test_the_same_program_gives_the_same_picture(plan):
    assert made(lenet_training).draw() == made(lenet_training).draw()
    assert plan.draw() == plan.draw()


def test_pictures_in_the_readme_are_legible_and_no_higher_than_a_screen():
    root = pathlib.Path(__file__).parents[3]
    pictures = re.findall(r'<img src="([^"]+.svg)" (width|height)="(\d+)"', (root / "README.md").read_text("utf-8"))
    assert pictures
    for path, side, size in pictures:
        svg = ElementTree.parse(root / path).getroot()
        scale = int(size) / int(svg.get(side))
        assert scale * float(svg.get("font-size")) >= 11
        assert scale * int(svg.get("width")) <= 830 and scale * int(svg.get("height")) <= 600


def test_the_readme_s_plan_shows_each_call_in_one_of_its_columns():
    svg = ElementTree.parse(pathlib.Path(__file__).parents[3] / "docs/img/plan.svg").getroot()
    columns = svg.findall(SVG + "svg")
    heights = [int(column.get("height")) for column in columns]
    drawn = [rect for rect in svg.iter(SVG + "rect") if "box" in rect.get("class")]
    ends = [float(rect.get("y")) + float(rect.get("height")) for rect in drawn]
    assert len(columns) == 2 and len(drawn) == 9
    left, top, width, _ = map(int, columns[1].get("viewBox").split())
    assert top == heights[0] and max(ends) < sum(heights)
    for rect, end in zip(drawn, ends):
        assert end < top or float(rect.get("y")) > top
        assert left <= float(rect.get("x")) and float(rect.get("x")) + float(rect.get("width")) <= left + width


def test_a_prompt_shows_where_a_drawing_is(tmp_path):
    program = made(lenet)
    path = tmp_path / "net.svg"
    svg = program.draw(path)
    assert svg == path.read_text() == program.draw()
    assert repr(svg) == f"<SVG of {len(svg)} characters, written to {path}>"
    assert repr(program.draw()) == repr(str(svg))
    assert svg._repr_svg_() == program.draw()._repr_svg_() == str(svg)
