"""sluice-lab bisect finds the kernels that make two kernel sets differ."""

import re

import numpy as np
import pytest
from processes import python

import sluice as sl
from sluice import lab
from sluice.lab.__main__ import main

SCRIPT = """
import numpy as np
import sluice as sl


@sl.kernel("relu", variant="{prefix}_right", dtypes=["float32"])
def right(x):
    return np.maximum(x, 0)


@sl.kernel("relu", variant="{prefix}_wrong", dtypes=["float32"])
def wrong(x):
    y = np.maximum(x, 0)
    y.reshape(-1)[3] += 0.01
    return y


@sl.kernel("relu", variant="{prefix}_slow", dtypes=["float32"])
def slow(x):
    for _ in range(100):
        y = np.maximum(x, 0)
    return y


@sl.kernel("relu", variant="{prefix}_raises", dtypes=["float32"])
def raises(x):
    raise ValueError("not today")


x = sl.data("x", [5, 6])
end = x
for _ in range({pairs}):
    # A scale that adds first is no step of a chain, so that all ops stay.
    end = sl.layers.relu(sl.layers.scale(end, 1.01, bias_after_scale=False))
program = sl.default_main_program()
feed = {{"x": np.ones((5, 6), "f4")}}
fetch_list = [end]
"""


@pytest.fixture
def script(tmp_path, request):
    """A script with 200 ops, and kernels with the test's name as prefix."""
    prefix = request.node.name.split("[")[0]
    path = tmp_path / "net.py"
    path.write_text(SCRIPT.format(prefix=prefix, pairs=100))
    return str(path), prefix


def run(path):
    return python(path, timeout=60)


def test_the_wrong_kernel_of_200_ops_is_found_and_its_script_shows_it(script, tmp_path, capsys):
    path, prefix = script
    others = f"relu: prefer variant={prefix}_right"
    hints = f"#57: require variant={prefix}_wrong; #1: prefer variant=plain; {others}"
    folder = tmp_path / "found"
    assert main(["bisect", path, "default", hints, "--script", str(folder)]) == 3
    out = capsys.readouterr().out
    assert "99 of 200 ops use other kernels; 4 runs needed\n" in out
    out = " ".join(out.split())
    assert f"57 relu: plain under A, python/{prefix}_wrong under B" in out
    assert "B is wrong: Out[0, 3] is" in out
    shown = run(str(folder / "0" / "reproduce.py"))
    assert shown.returncode == 1, shown.stderr
    assert "largest difference 0.0" in shown.stdout
    assert "the results differ" in shown.stdout
    assert not (folder / "1").exists()


def test_a_script_of_kernels_that_agree_exits_with_0(script, tmp_path, capsys):
    path, prefix = script
    folder = tmp_path / "found"
    hints = f"#3: require variant={prefix}_wrong"
    assert main(["bisect", path, "default", hints, "--script", str(folder)]) == 3
    file = folder / "0" / "reproduce.py"
    text = file.read_text()
    assert text.count(f"variant={prefix}_wrong") == 1
    file.write_text(text.replace(f"variant={prefix}_wrong", f"variant={prefix}_right"))
    shown = run(str(file))
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert "the results agree" in shown.stdout


def test_a_kernel_that_raises_is_found(script, tmp_path, capsys):
    path, prefix = script
    folder = tmp_path / "found"
    hints = f"#91: require variant={prefix}_raises"
    assert main(["bisect", path, "default", hints, "--script", str(folder)]) == 3
    out = capsys.readouterr().out
    assert "91 relu" in out and "not today" in out
    shown = run(str(folder / "0" / "reproduce.py"))
    assert shown.returncode == 1
    assert "not today" in shown.stdout


def test_what_takes_longer_is_found(script, capsys):
    path, prefix = script
    assert main(["bisect", path, "default", f"#9: require variant={prefix}_slow", "--time"]) == 3
    out = capsys.readouterr().out
    out = " ".join(out.split())
    assert f"9 relu: plain under A, python/{prefix}_slow under B" in out
    assert re.search(r"runs[^)]*\) under B: .* times as long", out)


@pytest.mark.parametrize("network", ["lenet", "mlp"])
def test_healthy_kernels_do_not_differ(network, capsys):
    assert main(["bisect", network, "default", "reference", "--batch", "4"]) == 0
    assert "no part differs beyond rounding" in capsys.readouterr().out


def images(channels, is_test):
    """Convolutions with channels-last plans, and an op that reads shapes."""
    x = sl.data("x", [2, 3, 16, 16])
    end = sl.layers.conv2d(x, channels, 3, padding=1, act="relu")
    end = sl.layers.batch_norm(sl.layers.conv2d(end, channels, 3, padding=1), act="relu")
    end = sl.layers.elementwise_add(end, sl.layers.conv2d(x, channels, 1))
    loss = sl.layers.mean(sl.layers.square(sl.layers.fc(sl.layers.pool2d(end, 2), 4)))
    if not is_test:
        sl.optimizer.Momentum(0.01).minimize(loss)
    sl.Executor().run(sl.default_startup_program())
    program = sl.default_main_program()
    return program.clone(for_test=True) if is_test else program, loss


# 16 channels: [N, C, H, W] and [N, H, W, C] look the same.
@pytest.mark.parametrize("channels", [8, 16])
@pytest.mark.parametrize("is_test", [True, False])
def test_plans_with_other_layouts_and_fusions_are_compared(channels, is_test, rng):
    program, loss = images(channels, is_test)
    feed = {"x": rng.random((2, 3, 16, 16), "float32")}
    for a, b in [
        ("prefer layout=NCHW", "prefer layout=NHWC"),
        ("prefer layout=NHWC", "prefer layout=NCHW"),
        ("default", "reference"),
    ]:
        result = lab.bisect(program, feed, a, b, [loss])
        assert result.suspects >= 2
        assert not result, str(result)


def test_a_wrong_kernel_is_found_across_layouts(rng):
    @sl.kernel("batch_norm", variant="lab_no_bias", dtypes=["float32"])
    def batch_norm(x, scale, bias, mean, variance, epsilon, momentum, is_test, data_format):
        axes = (1, -1, 1, 1) if data_format == "NCHW" else (1, 1, 1, -1)
        y = (x - mean.reshape(axes)) / np.sqrt(variance.reshape(axes) + epsilon)
        y = y * scale.reshape(axes) + 0.5
        return [y.astype("float32")] + [np.zeros_like(mean)] * 4

    program, loss = images(8, True)
    feed = {"x": rng.random((2, 3, 16, 16), "float32")}
    result = lab.bisect(
        program,
        feed,
        "prefer layout=NHWC",
        "batch_norm: require variant=lab_no_bias; prefer layout=NCHW",
        [loss],
    )
    assert ["python/lab_no_bias" in f.kernels_b for f in result.findings] == [True], str(result)
    assert "batch_norm" in result.findings[0].message


def test_random_ops_are_no_difference():
    x = sl.data("x", [64])
    end = sl.layers.dropout(sl.layers.relu(x), 0.5)
    program = sl.default_main_program()
    feed = {"x": np.ones(64, "f4")}
    result = lab.bisect(program, feed, "default", "relu: prefer variant=plain", [end])
    assert not result, str(result)


def test_a_tolerance_is_kept_to(script):
    path, prefix = script
    job = lab.load(path)
    b = f"#57: require variant={prefix}_wrong"
    assert lab.bisect(job.program, job.feed, "", b, job.fetch_list, atol=0.005)
    assert not lab.bisect(job.program, job.feed, "", b, job.fetch_list, atol=0.02)


def test_compare_shows_the_plans_that_run_uses(capsys, in_peace):
    compare = ["compare", "lenet", "reference", "default", "--budget", "0.3"]
    out = in_peace(lambda: main(compare) or capsys.readouterr().out,
                   lambda out: "the ops are not listed" not in out)
    assert re.search(r"\AA: reference kernels  .*\nB: no hints +run .* ops ", out)
    assert re.search("^all results (within bound|equal)$", out, re.M)
    assert all(len(line) <= 100 for line in out.splitlines())
    # Ops that passes fused on one side only.
    assert re.search(r"^ *\d+ +\S.*\w\+\w", out, re.M)
    assert re.search(r"^\.\.\. .*\b[0-9]+ ops the same: --all", out, re.M)


def test_compare_shows_all_ops_if_asked(capsys):
    assert main(["compare", "mlp", "default", "default", "--batch", "2", "--all",
                 "--budget", "0.1"]) == 0
    out = capsys.readouterr().out
    assert "0 of " in out and " softmax" in out and "  same\n" in out
    assert "--all" not in out


def test_compare_names_what_differs(script, capsys):
    path, prefix = script
    hints = f"#57: require variant={prefix}_wrong"
    assert main(["compare", path, "default", hints, "--budget", "0.1"]) == 3
    out = " ".join(capsys.readouterr().out.split())
    assert f"1 of 200 ops DIFFERS; the first is #57 relu: plain under A, python/{prefix}" in out
    assert "B is wrong: Out[0, 3] is" in out


BAD = {
    "kernels": (["bisect", "mlp", "defualt", "default"], "expected default, reference"),
    "tolerance": (["bisect", "mlp", "default", "default", "--rtol", "-1"], "no tolerance of 0"),
    "hints": (["bisect", "mlp", "default", "relu: require variant=plan"], "did you mean plain"),
    "program": (["bisect", "lenett", "default", "default"], "did you mean lenet?"),
}


@pytest.mark.parametrize("arguments, message", BAD.values(), ids=BAD)
def test_bad_input_is_named(arguments, message, capsys):
    try:
        status = main(arguments)
    except SystemExit as end:
        status = end.code
    assert status in (1, 2)
    err = capsys.readouterr().err
    assert message in err, err
    assert "Traceback" not in err


def test_a_kernel_set_comes_from_a_file(tmp_path):
    path = tmp_path / "hints.txt"
    path.write_text("relu: require variant=plain\n")
    assert lab.kernel_set(str(path)) == "relu: require variant=plain\n"
    assert lab.kernel_set("default") == ""
    assert "variant=plain" in lab.kernel_set("reference")
