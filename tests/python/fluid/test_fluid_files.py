"""Models that PaddlePaddle saved: files of 1.x and 2.x, whole and damaged."""

import os
import random
import resource
import shutil
import struct
import warnings

import numpy as np
import pytest
import saved
from fluid_runs import started
from formulas.recurrences import fluid_gru
from refusals import refused

import sluice as sl
import sluice.fluid as fluid
from sluice.errors import (
    DataLossError,
    InvalidArgumentError,
    NotFoundError,
    ResourceExhaustedError,
    SluiceError,
)
from sluice.fluid import places
from sluice.fluid.translate import Translation

WORDS = np.array([[1], [5], [0], [19], [7]])


@pytest.fixture
def tagger(tmp_path):
    desc, values = saved.tagger()
    return saved.write(tmp_path / "model", desc, values)


def emissions(values, lengths):
    """What the tagger's emissions are, step by step."""
    x = (
        values["word_emb"][WORDS[:, 0]] @ values["fc_0.w_0"]
        + values["fc_0.b_0"]
    )
    x = x + values["gru_0.b_0"]
    states = fluid_gru(x, values["gru_0.w_0"], lengths)
    return states @ values["fc_1.w_0"]


def viterbi(e, w):
    scores, back = w[0] + e[0], []
    for row in e[1:]:
        way = scores[:, None] + w[2:]
        back.append(way.argmax(0))
        scores = way.max(0) + row
    path = [int((scores + w[1]).argmax())]
    for row in reversed(back):
        path.append(int(row[path[-1]]))
    return path[::-1]


@pytest.mark.parametrize("combined", [False, True])
@pytest.mark.parametrize("lengths", [[5], [2, 3], [2, 0, 3]])
def test_a_ragged_tagger(tmp_path, combined, lengths):
    desc, values = saved.tagger()
    model = fluid.load(saved.write(tmp_path, desc, values, combined))
    assert (model.feeds, model.fetches) == (["words"], ["path", "e"])
    path, e = model.run({"words": (WORDS, [lengths])})
    assert path.recursive_sequence_lengths() == [lengths]
    expected = emissions(values, lengths)
    np.testing.assert_allclose(e, expected, atol=1e-5)
    begin, tags = 0, []
    for length in lengths:
        if length:
            rows = expected[begin : begin + length]
            tags += viterbi(rows, values["crfw"])
        begin += length
    assert path.ravel().tolist() == tags


def test_layouts_of_weights_are_computed_once(tagger):
    model = fluid.load(tagger)
    kinds = [op.type for op in model.program.ops]
    assert kinds == [
        "lookup_table", "mul", "elementwise_add", "gru", "reshape", "mul",
        "crf_decoding",
    ]  # fmt: skip


def test_feeds_are_by_column_not_by_the_place_of_the_op(tmp_path):
    feeds = [saved.variable(name, dims=[-1, 2]) for name in ("b", "a")]
    ops = [saved.op("elementwise_sub", {"X": "b", "Y": "a"}, {"Out": "y"})]
    path = saved.write(tmp_path, saved.program(feeds, ops, ["y"], {}), {})
    predictor = fluid.core.create_paddle_predictor(
        fluid.core.AnalysisConfig(str(path))
    )
    tensors = [
        fluid.core.PaddleTensor(np.full((1, 2), v, np.float32)) for v in (5, 3)
    ]
    (out,) = predictor.run(tensors)
    assert (out.shape, out.data.float_data()) == ([1, 2], [2.0, 2.0])


def test_a_combined_file_has_names_by_bytes(tmp_path):
    values = {
        name: np.full(2, i, np.float32)
        for i, name in enumerate(["w_10", "w_2", "W", "é"])
    }
    feed = saved.variable("x", dims=[2])
    sums = {"X": ["x", *values]}
    desc = saved.program(
        [feed], [saved.op("sum", sums, {"Out": "y"})], ["y"], values
    )
    model = fluid.load(saved.write(tmp_path, desc, values, combined=True))
    for name, value in values.items():
        np.testing.assert_array_equal(model.scope[name], value)


# Bad input


def test_missing_files(tmp_path, tagger):
    refused(lambda: fluid.load(tmp_path), "there is no file ", "/__model__", error=NotFoundError)
    (tagger / "crfw").unlink()
    refused(lambda: fluid.load(tagger), "there is no file ", "/crfw", error=NotFoundError)


def test_a_program_that_is_cut_off_or_of_another_format(tagger):
    path = tagger / "__model__"
    whole = path.read_bytes()
    for bytes in (whole[:-3], b"PK\x03\x04" + whole, b"\xff" * 64):
        path.write_bytes(bytes)
        refused(lambda: fluid.load(tagger), "__model__ is no program of", error=DataLossError)
    path.write_bytes(b"")
    refused(lambda: fluid.load(tagger), "has 0 blocks")


def loop_without_condition():
    desc = of_ops("while", sub_block=(8, 1))
    desc["blocks"].append({"parent": 0, "vars": [], "ops": []})
    return desc


def of_ops(*types, dims=(1,), out="x", **attrs):
    """A program of ops that write x again, or one that writes others."""
    ops = [saved.op(type, {"X": "x"}, {"Out": out}, **attrs) for type in types]
    return saved.program([saved.variable("x", dims=dims)], ops, ["x"], {})


def declaring(**more):
    """A program that only declares x."""
    return saved.program([saved.variable("x", **more)], [], [], {})


def stored(dtype, dims):
    desc = saved.program([], [], [], {})
    variable = saved.variable("w", dtype, dims, persistable=True)
    desc["blocks"][0]["vars"].append(variable)
    return desc


def changed_tagger(at, **change):
    desc, _ = saved.tagger()
    desc["blocks"][0]["ops"][at].update(change)
    return desc


WRONG_PROGRAMS = [
    # All unknown ops are named at once
    (lambda: of_ops("relu7", "my_op", "relu"), NotFoundError,
     "does not know: my_op", "; relu7 (similar: relu, relu6)"),
    # An error names the op of the file
    (lambda: of_ops("relu", speed=3),
     "relu: attribute speed is unknown", "\nin op 1 (relu) of ", "__model__"),
    (lambda: of_ops("scale", scale="fast"), SluiceError, "\nin op 1 (scale)"),
    (lambda: of_ops("transpose", dims=(2, 4), axis=3), "axis has 1 entr"),
    (lambda: of_ops("split", dims=(2, 4), out=["y", "z"], num=4, axis=1),
     "variables, the"),
    (loop_without_condition, "Condition has 0 variables"),
    (lambda: nested(65, "while", "Condition"), ResourceExhaustedError,
     "at most 64 blocks"),
    (lambda: saved.program([], [], [], {"../w": np.zeros(1, np.float32)}),
     "would be read outside of"),
    (lambda: stored(23, [2]), "parameter w has dtype"),
    (lambda: stored("float32", [-1, 2]), "parameter w has dtype"),
    (lambda: changed_tagger(0, attrs={"col": saved.attribute("first")}),
     "an op feed has column"),
    (lambda: changed_tagger(0, outputs={"Out": []}), "an op feed has column"),
    (lambda: changed_tagger(0, outputs={}), "an op feed has column"),
    (lambda: changed_tagger(-1, inputs={"X": ["g"]}), NotFoundError,
     "g is read, but gru makes it only"),
    *((lambda levels=levels: declaring(dims=[1], lod_level=levels),
       "levels of sequences")
      for levels in (-1, 9, 2**30)),
]  # fmt: skip


@pytest.mark.parametrize("row", WRONG_PROGRAMS, ids=lambda row: row[-1])
def test_a_wrong_program_is_refused(tmp_path, row):
    desc, *words = row
    error = InvalidArgumentError if isinstance(words[0], str) else words.pop(0)
    _, values = saved.tagger()
    path = saved.write(tmp_path, desc(), values)
    refused(lambda: fluid.load(path), *words, error=error)


def nested(depth, type, slot):
    """Blocks inside of each other; the innermost one turns x."""

    def run(at):
        return saved.op(
            type,
            {slot: "x"},
            {"Out": "x"},
            is_scalar_condition=(6, True),
            sub_block=(8, at),
        )

    desc = saved.program(
        [saved.variable("x", 0, dims=[1])], [run(1)], ["x"], {}
    )
    turn = saved.op("logical_not", {"X": "x"}, {"Out": "x"})
    for at in range(1, depth + 1):
        ops = [run(at + 1)] if at < depth else [turn]
        block = {"parent": at - 1, "vars": [], "ops": ops}
        desc["blocks"].append(block)
    return desc


@pytest.mark.parametrize(
    "depth, type, slot",
    [(20, "conditional_block", "Cond"), (20, "while", "Condition")],
)
def test_blocks_inside_of_each_other_are_translated_once(
    tmp_path, monkeypatch, depth, type, slot
):
    types, append = [], Translation.append
    count = lambda self, *op: types.append(op[0]) or append(self, *op)  # noqa: E731
    monkeypatch.setattr(Translation, "append", count)
    model = fluid.load(saved.write(tmp_path, nested(depth, type, slot), {}))
    assert model.run({"x": np.array([True])})[0].tolist() == [False]
    assert types == ["logical_not"]


def change(path, at, bytes):
    whole = bytearray(path.read_bytes())
    whole[at : at + len(bytes)] = bytes
    path.write_bytes(whole)


@pytest.mark.parametrize(
    "at, bytes, text",
    [
        (0, struct.pack("<I", 1), "versions"),
        (4, struct.pack("<Q", 1), "a parameter with 1 LoD levels"),
        (12, struct.pack("<I", 9), "versions"),
        (16, struct.pack("<i", -4), "a description of -4 bytes"),
        (16, struct.pack("<i", 2**30), "the file ends after"),
        (20, b"\x08\x06", "the file has float64"),
        (20, b"\xff\xff", "damaged description"),
    ],
)
def test_damaged_parameters(tagger, at, bytes, text):
    change(tagger / "fc_0.b_0", at, bytes)
    with pytest.raises((DataLossError, InvalidArgumentError), match=text) as e:
        fluid.load(tagger)
    assert "fc_0.b_0" in str(e.value)


def test_parameters_of_another_length(tagger):
    path = tagger / "crfw"
    whole = path.read_bytes()
    path.write_bytes(whole + b"\0\0")
    refused(lambda: fluid.load(tagger), "2 bytes more than expected", error=DataLossError)
    path.write_bytes(whole[:-4])
    refused(lambda: fluid.load(tagger), "the file ends after", error=DataLossError)
    path.write_bytes(b"")
    refused(lambda: fluid.load(tagger), "the file ends after 0 bytes", error=DataLossError)


def test_lod_that_ends_elsewhere(tagger):
    model = fluid.load(tagger)
    for lengths in ([2, 2], [5, 1]):
        match = f"add up to {sum(lengths)}; there are [0-9]+ rows"
        with pytest.raises(InvalidArgumentError, match=match):
            model.run({"words": (WORDS, [lengths])})
    refused(lambda: model.run({"words": (WORDS, [[2], [2, 3]])}), "levels of sequences")


def test_mutated_files_end_in_errors(tmp_path, tagger):
    """Each byte of a program and of parameters may be any other."""
    draw = random.Random(5)
    copy = tmp_path / "copy"
    for _ in range(400):
        shutil.copytree(tagger, copy, dirs_exist_ok=True)
        path = copy / draw.choice(
            ["__model__", "__model__", "fc_0.w_0", "crfw"]
        )
        whole = bytearray(path.read_bytes())
        for _ in range(draw.choice([1, 1, 2, 8])):
            at = draw.randrange(len(whole))
            whole[at] = draw.choice([0, 1, 0x7F, 0x80, 0xFF, whole[at] ^ 4])
        path.write_bytes(whole)
        try:
            fluid.load(copy).run({"words": (WORDS, [[2, 3]])})
        except SluiceError:
            pass


def test_predictor_by_names(tagger):
    from sluice.fluid import predictor as inference

    config = inference.Config(str(tagger))
    config.disable_gpu()
    config.delete_pass("fc_gru_fuse_pass")
    predictor = inference.create_predictor(config)
    assert predictor.get_input_names() == ["words"]
    handle = predictor.get_input_handle("words")
    out = predictor.get_output_handle("path")
    refused(lambda: out.copy_to_cpu(), "has no value yet")
    handle.reshape([5, 1])
    handle.copy_from_cpu(WORDS)
    handle.set_lod([[0, 2, 5]])
    predictor.run()
    first = out.copy_to_cpu()
    assert (out.shape(), out.lod()) == ([5, 1], [[0, 2, 5]])
    handle.copy_from_cpu(WORDS[::-1])
    predictor.run()
    assert not np.array_equal(first, out.copy_to_cpu())
    with pytest.raises(NotFoundError, match="no input 'x'; inputs are words"):
        predictor.get_input_handle("x")


def test_tensors_of_fluid_core(tagger):
    predictor = fluid.core.create_paddle_predictor(
        fluid.core.AnalysisConfig(str(tagger)).to_native_config()
    )
    tensor = fluid.core.PaddleTensor(WORDS.ravel())
    tensor.lod, tensor.shape = [[0, 2, 5]], [5, 1]
    path, _ = predictor.run([tensor])
    assert path.lod == [[0, 2, 5]]
    assert len(path.data.int64_data()) == 5
    (again, _) = predictor.run([tensor])
    assert again.data.int64_data() == path.data.int64_data()
    # As PaddleHub fills them.
    filled = fluid.core.PaddleTensor()
    filled.name, filled.lod, filled.shape = "words", [[0, 2, 5]], (5, 1)
    filled.dtype = fluid.core.PaddleDType.INT64
    refused(lambda: predictor.run([filled]), "words: 0 elements do not")
    filled.data = fluid.core.PaddleBuf(WORDS.ravel().astype("float32"))
    (again, _) = predictor.run([filled])
    assert again.data.int64_data() == path.data.int64_data()
    refused(lambda: predictor.run([]), "expected 1 tensors for words")


def test_a_gpu_that_is_not_there():
    if fluid.is_compiled_with_cuda():
        pytest.skip("there is a GPU")
    config = fluid.core.AnalysisConfig("model")
    config.enable_use_gpu(500, 0)
    places._say_cpu.cache_clear()
    with pytest.warns(UserWarning, match="there is no CUDA device"):
        assert str(config._place()) == "cpu"
    with warnings.catch_warnings(action="error"):  # once is enough
        exe = fluid.Executor(fluid.CUDAPlace(0))
    assert str(exe.sluice.place) == "cpu"
    assert str(fluid.Executor(sl.CUDAPlace(0)).sluice.place) == "cuda:0"


@pytest.mark.parametrize("name", ["__model__", "line.pdmodel"])
def test_the_laboratory_takes_models(tmp_path, name, capsys):
    from sluice.lab.__main__ import main

    file = None if name == "__model__" else "line.pdiparams"
    x = fluid.layers.data("x", shape=[3])
    words = fluid.layers.data("words", [1], dtype="int64", lod_level=1)
    embedded = fluid.layers.embedding(words, [5, 4])
    y = fluid.layers.fc([x, fluid.layers.sequence_pool(embedded, "sum")], 4)
    fluid.io.save_inference_model(
        tmp_path, ["x", "words"], [y], started(), None, name, file
    )
    path = str(tmp_path if file is None else tmp_path / name)
    assert main(["tune", path, "--batch", "2", "--budget", "1"]) == 0
    assert main(["bisect", path, "default", "reference", "--batch", "2"]) == 0
    assert "no part differs" in capsys.readouterr().out


def test_a_model_is_read_as_a_program(tagger):
    feed = {"words": (WORDS, [[2, 3]])}
    expected = fluid.load(tagger).run(feed)
    exe = fluid.Executor()
    with fluid.scope_guard(fluid.core.Scope()):
        program, feeds, fetches = fluid.io.load_inference_model(
            str(tagger), exe
        )
        got = exe.run(program, feed, fetches)
    assert feeds == ["words"]
    for mine, wanted in zip(got, expected):
        np.testing.assert_allclose(mine, wanted, rtol=1e-6)


def line(name="w", size=1000):
    """A program with a parameter, and its product with an input."""
    x = fluid.layers.data("x", [size])
    return x, fluid.layers.fc(x, 1, param_attr=name, bias_attr=False)


WRITERS = {
    "save": lambda folder, y: fluid.save(y.block.program, f"{folder}/state"),
    "params": lambda folder, y: fluid.io.save_params(None, folder),
    "all": lambda folder, y: fluid.io.save_persistables(
        None, folder, filename="all"
    ),
    "model": lambda folder, y: fluid.io.save_inference_model(
        folder, ["x"], [y], None
    ),
}


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_an_old_file_stays_until_the_new_one_is_whole(write, tmp_path):
    _, y = line()
    started()
    write(str(tmp_path), y)
    old = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    fluid.global_scope()["w"] = np.zeros((1000, 1), np.float32)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, -1))
    try:
        refused(lambda: write(str(tmp_path), y), "too large", error=ResourceExhaustedError)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1))
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == old
    (tmp_path / "file").touch()
    below = str(tmp_path / "file" / "folder")
    refused(lambda: write(below, y), "cannot be made", error=NotFoundError)
    long = str(tmp_path / ("n" * 300))
    refused(lambda: write(long, y), "File name too long", error=NotFoundError)


@pytest.mark.parametrize(
    "name, match",
    [
        ("__model__", "'__model__' and the program would be in one file"),
        ("v", "'v' and ./v would be in one file"),
        ("n" * 300, "File name too long"),
    ],
)
def test_names_of_parameters_that_no_file_can_have(name, match, tmp_path):
    line("./v")
    _, y = line(name)
    started()
    folder = str(tmp_path)
    save = fluid.io.save_params
    refused(lambda: save(None, folder), match, error=SluiceError)
    fluid.io.save_inference_model(folder, ["x"], [y], None, None, "m", "p")
    assert {"m", "p"} <= {*os.listdir(folder)} <= {"m", "p", "v"}
    one = lambda: save(None, folder, filename="__model__")  # noqa: E731
    refused(one, "would be in one file")
