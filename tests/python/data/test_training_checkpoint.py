"""Checkpoints of a training: what they keep, and that they stay whole."""

import json
import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from processes import python
import training

import sluice as sl

SCRIPT = Path(__file__).with_name("training.py")
KILLS = 20


def start(folder):
    return subprocess.Popen(
        [sys.executable, str(SCRIPT), str(folder), "2"],
        stdout=subprocess.PIPE, text=True,
    )


def test_twenty_kills_leave_the_bits_of_an_undisturbed_run(tmp_path):
    whole = start(tmp_path / "whole")
    wanted = whole.communicate(timeout=120)[0].split()
    assert whole.returncode == 0 and len(wanted) == 25
    draw = random.Random(0)
    steps = 0
    for _ in range(KILLS):
        child = start(tmp_path / "killed")
        # At any moment after a step, every second of which is saved.
        said = [child.stdout.readline() for _ in range(draw.randint(1, 3))]
        time.sleep(draw.random() * 0.004)
        child.kill()
        said = [*"".join(said).split(), *child.communicate()[0].split()]
        steps = max([steps, *(int(s) for s in said if len(s) < 9)])
        if said and len(said[-1]) > 9:  # it had come to its end
            assert said[-1] == wanted[-1]
            shutil.rmtree(tmp_path / "killed")
    last = start(tmp_path / "killed")
    assert last.communicate(timeout=120)[0].split()[-1] == wanted[-1]
    assert steps > 10
    names = sorted(os.listdir(tmp_path / "killed"))
    kept = sorted(os.listdir(tmp_path / "whole"))
    # A kill between the last save and what it removes leaves one file more.
    assert len(kept) == 3 and names[-3:] == kept and len(names) <= 4


@pytest.fixture
def trained(exe):
    """A small trained program, its scope and a loader in the middle."""
    train, startup, loss = training.build()
    scope = sl.Scope()
    exe.run(startup, scope=scope)
    loader = sl.io.DataLoader(
        training.Samples(), 8, feed_list=[train.var("x"), train.var("y")]
    )
    batches = iter(loader)
    for _ in range(3):
        exe.run(train, next(batches), [loss], scope)
    return train, scope, loader


def values(program, scope):
    return {
        v.name: scope[v.name].numpy().tobytes()
        for v in program.list_vars()
        if v.persistable
    }


def test_it_keeps_everything(tmp_path, trained):
    train, scope, loader = trained
    assert sl.io.load_checkpoint(tmp_path, train) is None
    assert sl.io.load_checkpoint(tmp_path / "new", train) is None
    path = sl.io.save_checkpoint(
        tmp_path / "new", train, scope, 3, loader, {"best": 0.5}
    )
    other, again = sl.Scope(), sl.io.DataLoader(training.Samples(), 8)
    found = sl.io.load_checkpoint(tmp_path / "new", train, other, again)
    assert found == (path, 3, {"best": 0.5}, [], [], [])
    assert values(train, other) == values(train, scope)
    assert other.step == scope.step > 3  # the start-up program's, too
    assert again.state_dict() == loader.state_dict()
    assert "checkpoint.state" not in scope and "checkpoint.state" not in other
    # Without a loader; other readers of safetensors find the values, too.
    assert sl.io.load_checkpoint(path, train, sl.Scope()).step == 3
    loaded = sl.io.load_params(path, train, sl.Scope(), partial=True)
    assert loaded.superfluous == ["checkpoint.state"]


def test_the_last_ones_stay(tmp_path, trained):
    train, scope, _ = trained
    (tmp_path / "step-000000001.safetensors.saving").write_bytes(b"cut off")
    (tmp_path / "notes.txt").write_text("mine")
    for step in (1, 9, 10, 1_000_000_000, 2_000_000_000):
        sl.io.save_checkpoint(tmp_path, train, scope, step, keep=2)
    assert sorted(os.listdir(tmp_path)) == [
        "notes.txt",
        "step-1000000000.safetensors",
        "step-2000000000.safetensors",
    ]
    assert sl.io.load_checkpoint(tmp_path, train, scope).step == 2_000_000_000
    # A new one stays, whatever its number.
    with pytest.warns(UserWarning, match="read step-2000000000.*later step"):
        path = sl.io.save_checkpoint(tmp_path, train, scope, 5, keep=2)
    assert sl.io.load_checkpoint(path, train, scope).step == 5
    assert len(os.listdir(tmp_path)) == 3


def other_network():
    """Lacks one tensor of training.build, has one more and one reshaped."""
    program = sl.Program()
    for v in training.build()[0].list_vars():
        if v.persistable and v.name != "fc_0.b_0":
            wider = v.name == "fc_2.b_0"
            program.persistable(
                v.name, [4] if wider else v.shape,
                "float64" if v.name == "fc_1.b_0" else v.dtype,
            )
    program.persistable("head", [2])
    return program


def test_other_tensors_are_listed_and_nothing_is_loaded(tmp_path, trained):
    train, scope, loader = trained
    path = sl.io.save_checkpoint(tmp_path, train, scope, 3, loader)
    program, other = other_network(), sl.Scope()
    other["fc_2.w_0"] = np.ones((8, 3), "f4")
    again = sl.io.DataLoader(training.Samples(), 8)
    with pytest.raises(sl.InvalidArgumentError) as error:
        sl.io.load_checkpoint(path, program, other, again)
    assert error.value.check_id == "checkpoint.tensors"
    assert str(error.value).splitlines()[1:] == [
        "  it lacks head",
        "  the program has no fc_0.b_0",
        "  fc_1.b_0: F64 [8] in the program, F32 [8] in the file",
        "  fc_2.b_0: F32 [4] in the program, F32 [3] in the file",
    ]
    assert other.names() == ["fc_2.w_0"] and other["fc_2.w_0"].numpy().all()
    assert other.step == 0 and again.state_dict()["given"] == [0]
    found = sl.io.load_checkpoint(path, program, other, again, strict=False)
    assert found.missing == ["head"] and found.superfluous == ["fc_0.b_0"]
    assert [text[:8] for text in found.reshaped] == ["fc_1.b_0", "fc_2.b_0"]
    assert "fc_2.b_0" not in other and "head" not in other
    assert again.state_dict()["given"] == [3]
    for name in ("fc_2.w_0", "fc_0.w_0"):
        assert (other[name].numpy() == scope[name].numpy()).all()
    none = sl.Program()
    none.persistable("else", [1])
    with pytest.raises(sl.InvalidArgumentError, match="it lacks else"):
        sl.io.load_checkpoint(path, none, other, strict=False)


def test_a_second_build_is_named_in_a_few_lines(tmp_path):
    def build():
        with sl.program_guard(sl.Program(), sl.Program()):
            loss = sl.layers.mean(sl.layers.fc(sl.data("x", [None, 4]), 2))
            sl.optimizer.Adam(0.1).minimize(loss)
            sl.Executor().run(sl.default_startup_program())
            return sl.default_main_program()

    path = sl.io.save_checkpoint(tmp_path, build())
    again = build()
    for strict in (True, False):
        with pytest.raises(sl.InvalidArgumentError) as error:
            sl.io.load_checkpoint(path, again, strict=strict)
        lines = str(error.value).splitlines()
        assert lines[1] == "  it lacks fc_1.w_0" and len(lines) == 11
        assert lines[5] == "  the program has no adam_0.learning_rate_0"
        assert lines[9] == "  and 14 more"
        assert lines[10].endswith("inside `with sluice.unique_name.guard():`")


def test_the_state_of_another_loader_loads_nothing(tmp_path, trained):
    train, scope, loader = trained
    path = sl.io.save_checkpoint(tmp_path, train, scope, 3, loader)
    other = sl.Scope()
    with pytest.raises(sl.InvalidArgumentError, match="batch_size = 9 here"):
        sl.io.load_checkpoint(
            path, train, other, sl.io.DataLoader(training.Samples(), 9)
        )
    assert other.names() == []
    path = sl.io.save_checkpoint(tmp_path, train, scope, 4)
    with pytest.raises(sl.InvalidArgumentError) as error:
        sl.io.load_checkpoint(path, train, other, loader)
    assert error.value.check_id == "checkpoint.loader"
    assert other.names() == []


def test_every_flipped_byte_is_noticed(tmp_path, trained):
    train, scope, loader = trained
    path = Path(sl.io.save_checkpoint(tmp_path, train, scope, 3, loader))
    data = path.read_bytes()
    other = sl.Scope()
    spots = [*range(0, 64), *range(64, len(data), len(data) // 150)]
    for spot in spots:
        changed = bytearray(data)
        changed[spot] ^= 4
        path.write_bytes(changed)
        with pytest.raises(sl.SluiceError):
            sl.io.load_checkpoint(path, train, other)
    for size in (0, 5, 100, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:size])
        with pytest.raises(sl.DataLossError):
            sl.io.load_checkpoint(path, train, other)
    assert other.names() == [] and other.step == 0


def test_a_damaged_newest_one_names_the_last_whole_one(tmp_path, trained):
    train, scope, _ = trained
    files = [
        Path(sl.io.save_checkpoint(tmp_path, train, scope, step))
        for step in (1, 2, 3, 4)
    ]
    for path in files[2:]:
        path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(sl.DataLossError) as error:
        sl.io.load_checkpoint(tmp_path, train, sl.Scope())
    assert "step-000000002.safetensors beside it is whole" in str(error.value)
    with pytest.raises(sl.DataLossError) as error:
        sl.io.load_checkpoint(files[3], train, sl.Scope())
    assert "beside it" not in str(error.value)


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "{}", "[]", "null", "\udcff"),
        pytest.param("[" * 100_000, id="deep"),
        '{"step": 5, "random_step": 0, "loader": null}',
        '{"step": 5, "random_step": -1, "loader": null, "extra": null}',
        '{"step": 5, "random_step": 1180591620717411303424, "loader": null, '
        '"extra": null}',
        '{"step": 5.0, "random_step": 0, "loader": null, "extra": null}',
    ],
)
def test_a_wrong_state_without_checksums_loads_nothing(tmp_path, trained, text):
    train, scope, _ = trained
    body = scope["fc_2.b_0"].numpy().tobytes()
    state = text.encode(errors="surrogateescape")
    header = json.dumps(
        {
            "fc_2.b_0": tensor("F32", 3, 0, 12),
            "checkpoint.state": tensor("U8", len(state), 12, 12 + len(state)),
        }
    ).encode()
    path = tmp_path / "other.safetensors"
    size = len(header).to_bytes(8, "little")
    path.write_bytes(size + header + body + state)
    other = sl.Scope()
    with pytest.raises(sl.DataLossError, match="nothing was loaded") as error:
        sl.io.load_checkpoint(path, train, other, strict=False)
    assert error.value.check_id == "checkpoint.state"
    assert other.names() == [] and other.step == 0


def tensor(dtype, count, begin, end):
    return {"dtype": dtype, "shape": [count], "data_offsets": [begin, end]}


def test_wrong_arguments_and_files(tmp_path, trained):
    train, scope, _ = trained
    for arguments, check in [
        (dict(step=-1), "loader.natural"),
        (dict(keep=0), "python.positive"),
        (dict(extra={"a": scope}), "checkpoint.extra"),
    ]:
        with pytest.raises(sl.InvalidArgumentError) as error:
            sl.io.save_checkpoint(tmp_path, train, scope, **arguments)
        assert error.value.check_id == check
    taken = sl.Program()
    taken.persistable("checkpoint.state", [1])
    with pytest.raises(sl.InvalidArgumentError) as error:
        sl.io.save_checkpoint(tmp_path, taken, scope)
    assert error.value.check_id == "checkpoint.reserved_name"
    with pytest.raises(sl.FailedPreconditionError, match="no value"):
        sl.io.save_checkpoint(tmp_path, train, sl.Scope())
    assert os.listdir(tmp_path) == []
    (tmp_path / "file").write_text("")
    with pytest.raises(sl.NotFoundError) as error:
        sl.io.save_checkpoint(tmp_path / "file" / "in", train, scope)
    assert error.value.check_id == "checkpoint.folder"
    with pytest.raises(sl.NotFoundError) as error:
        sl.io.load_checkpoint(tmp_path / "none.safetensors", train, scope)
    assert error.value.check_id == "checkpoint.file"
    sl.io.save_params(tmp_path / "params", train, scope)
    with pytest.raises(sl.DataLossError, match="load_params reads") as error:
        sl.io.load_checkpoint(tmp_path / "params", train, scope)
    assert error.value.check_id == "checkpoint.no_state"
    nested = len(b"[" * 10**6).to_bytes(8, "little") + b"[" * 10**6
    for text in (json.dumps([1]).encode() * 99, nested):
        (tmp_path / "text").write_bytes(text)
        with pytest.raises(sl.DataLossError) as error:
            sl.io.load_checkpoint(tmp_path / "text", train, scope)
        assert error.value.check_id == "checkpoint.header"


@pytest.mark.parametrize(
    "dtype", ["float16", "bfloat16", "int64", "uint8", "bool", "float8_e4m3fn",
              "float8_e5m2fnuz", "float8_e8m0fnu", "int4", "float4_e2m1fn"]
)
def test_every_dtype_comes_back(tmp_path, dtype):
    program, scope = sl.Program(), sl.Scope()
    name = program.persistable("x", [3], dtype).name
    numpy_dtype = np.dtype(getattr(sl, dtype))
    scope[name] = sl.Tensor(np.array([1, 2, 1]).astype(numpy_dtype))
    sl.io.save_checkpoint(tmp_path, program, scope)
    other = sl.Scope()
    sl.io.load_checkpoint(tmp_path, program, other)
    assert other[name].numpy().tolist() == [1, 1 if dtype == "bool" else 2, 1]


def test_the_page_on_saving_trains_on_after_an_end(tmp_path):
    root = SCRIPT.parents[3]
    page = (root / "docs/saving.md").read_text()
    section = page.partition("## Training that goes on")[2]
    script = section.partition("```python\n")[2].partition("```")[0]
    (tmp_path / "examples").symlink_to(root / "examples")
    # It ends when it has saved twice; then it goes on.
    killed = script.replace("if step % 10", "if step == 25: 1 / 0\n        if step % 10")
    for code, wanted in [(killed, ""), (script, "60 True\n"), (script, "60 True\n")]:
        done = python("-c", code, cwd=tmp_path, timeout=120)
        assert done.stdout == wanted, done.stderr
        last = sorted(os.listdir(tmp_path / "digits_training"))[-1]
        assert last == f"step-0000000{'60' if wanted else '20'}.safetensors"
