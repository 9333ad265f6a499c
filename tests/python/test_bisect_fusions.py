"""bisect and compare if a pass fuses ops under one of both kernel sets."""


import numpy as np
import pytest
from processes import python

import sluice as sl
from sluice import lab
from sluice.lab.__main__ import main

NO_FUSION = "exclude pass=relu_pool2d"


def network(rng, dropout=0.0, is_test=False):
    """Convolutions, each with relu and pooling; the program, a feed, the loss."""
    x = sl.data("x", [4, 1, 20, 20])
    end = x
    for _ in range(2):
        end = sl.layers.pool2d(sl.layers.conv2d(end, 8, 5, act="relu"), 2)
        if dropout:
            end = sl.layers.dropout(end, dropout)
    loss = sl.layers.mean(sl.layers.square(sl.layers.fc(end, 10)))
    if not is_test:
        sl.optimizer.Momentum(0.01).minimize(loss)
    sl.Executor().run(sl.default_startup_program())
    return sl.default_main_program(), {"x": rng.random((4, 1, 20, 20), "float32")}, loss


@pytest.fixture
def wrong(request):
    """The variant of a relu with one wrong element."""
    variant = request.node.name.split("[")[0]

    @sl.kernel("relu", variant=variant, dtypes=["float32"])
    def relu(x):
        y = np.maximum(x, 0)
        y.reshape(-1)[3] += 0.5
        return y

    return f"relu: require variant={variant}"


def test_forward_and_backward_are_parts_of_their_own():
    job = lab.load("lenet", batch=4)
    result = lab.bisect(job.program, job.feed, "default", NO_FUSION, job.fetch_list, scope=job.scope)
    assert not result, str(result)
    assert result.suspects == 4, str(result)  # two poolings in each direction


def test_compare_has_a_row_for_each_of_them(capsys, in_peace):
    compare = ["compare", "lenet", "default", NO_FUSION, "--batch", "4", "--budget", "0.1"]
    out = in_peace(lambda: main(compare) or capsys.readouterr().out,
                   lambda out: "the ops are not listed" not in out)
    lines = out.splitlines()
    assert max(map(len, lines)) <= 100
    assert sum(" pool2d_" in line for line in lines) == 2
    assert main([*compare, "--all"]) == 0
    assert len(capsys.readouterr().out.splitlines()) > 30


def test_random_numbers_between_fused_ops_are_those_of_a(rng):
    program, feed, loss = network(rng, dropout=0.3)
    for a, b in [("default", NO_FUSION), (NO_FUSION, "default")]:
        assert not lab.bisect(program, feed, a, b, [loss])
        assert lab.compare(program, feed, a, b, [loss], budget=0.01)


@pytest.mark.parametrize("is_test", [True, False])
def test_a_wrong_kernel_is_found_where_the_others_are_fused(wrong, is_test, rng):
    program, feed, loss = network(rng, is_test=is_test)
    result = lab.bisect(program, feed, "default", wrong, [loss])
    # Not at the gradients, which only read its output.
    assert len(result.findings) == 2, str(result)
    for finding in result.findings:
        assert "relu_pool2d" in finding.ops and "grad" not in finding.ops
        assert "B is wrong: Out[" in finding.message and "relu/plain" in finding.message
    assert result.runs <= 6


@pytest.mark.parametrize("is_test", [True, False])
def test_a_wrong_kernel_of_a_is_found_where_those_of_b_are_fused(wrong, is_test, rng):
    program, feed, loss = network(rng, is_test=is_test)
    result = lab.bisect(program, feed, wrong, "default", [loss])
    assert len(result.findings) >= 2
    for finding in result.findings:
        assert "A is wrong: Out[" in finding.message and "relu/plain" in finding.message


def test_kernels_of_the_same_names_are_told_apart_by_what_else_differs():
    if not any(k.library == "ONEDNN" for k in sl.kernels("conv2d")):
        pytest.skip("only oneDNN has kernels of both layouts")
    job = lab.load("lenet", batch=2)
    a, b = (f"prefer library=ONEDNN; prefer layout={layout}" for layout in ("NCHW", "NHWC"))
    compared = lab.compare(
        job.program, job.feed, a, b, job.fetch_list, scope=job.scope, budget=0.01
    )
    rows = [op for op in compared.ops if "(NCHW)" in op.kernel_a]
    assert rows, str(compared)
    for op in rows:
        assert op.kernel_a.replace("NCHW", "NHWC") == op.kernel_b


SCRIPT = """
import numpy as np
import sluice as sl
from {module} import bound


@sl.kernel("relu", variant="{module}", dtypes=["float32"])
def relu(x):
    import {module}_later

    y = np.maximum(x, bound)
    y.reshape(-1)[3] += {module}_later.error
    return y


end = sl.data("x", [2, 3, 12, 12])
for _ in range(2):
    end = sl.layers.pool2d(sl.layers.conv2d(end, 8, 3, act="relu"), 2)
program, startup = sl.default_main_program(), sl.default_startup_program()
feed = {{"x": np.random.default_rng(0).random((2, 3, 12, 12), "float32")}}
fetch_list = [end]
"""


@pytest.mark.parametrize(
    "fused, hints",
    [
        ("relu_pool2d", "prefer library=PLAIN"),
        ("fused_conv2d", f"{NO_FUSION}; conv2d: prefer library=ONEDNN"),
    ],
)
def test_the_script_of_a_fused_finding_runs_with_the_modules_of_its_program(
    fused, hints, tmp_path
):
    if fused == "fused_conv2d" and not any(k.library == "ONEDNN" for k in sl.kernels("conv2d")):
        pytest.skip("its pass comes with oneDNN")
    module = f"lab_beside_{fused}"
    path = tmp_path / "net.py"
    path.write_text(SCRIPT.format(module=module))
    (tmp_path / f"{module}.py").write_text("bound = 0\n")
    (tmp_path / f"{module}_later.py").write_text("error = 0.5\n")
    folder = tmp_path / "found"
    wrong = f"#1: require variant={module}; {hints}"
    assert main(["bisect", str(path), hints, wrong, "--script", str(folder)]) == 3
    script = folder / "0" / "reproduce.py"
    assert f"'{fused}'" in script.read_text()
    shown = python(str(script), timeout=60)
    assert shown.returncode == 1, shown.stderr
    assert "the results differ" in shown.stdout
