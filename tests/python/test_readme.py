import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run_python_of(page, tmp_path, blocks=slice(None), folder=ROOT):
    scripts = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.S)
    path = tmp_path / "page.py"
    path.write_text("".join(scripts[blocks]))
    done = subprocess.run(
        [sys.executable, path],
        cwd=folder,
        env=os.environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def kinds_of_lines(explained):
    """How each line of an explanation begins, and its ops, fused or not."""
    lines = explained.strip().splitlines()[1:]
    kinds = [x.split() if x[:1] == "#" else x.split(" ")[0] for x in lines if not x[:1].isdigit()]
    return kinds + "+".join(re.findall(r"^\d+ +([a-z]\w+(?:\+\w+)*) ", explained, re.M)).split("+")


def test_the_example_trains(tmp_path):
    text = run_python_of("README.md", tmp_path)
    share = float(re.search(r"\[array\(\[?([0-9.]+)", text).group(1))
    assert share > 0.9
    assert "conv2d" in text


def test_ten_minutes_show_choose_and_measure_kernels(tmp_path, monkeypatch):
    monkeypatch.setenv("SLUICE_RECORDS", str(tmp_path / "records.jsonl"))
    text = run_python_of("docs/ten_minutes.md", tmp_path)
    assert text.startswith("(32, 10)\n")
    # What a busy machine measures too badly is not kept.
    estimated, plain, _ = text.split("\nprogram, cpu, ")[1:]
    page = (ROOT / "docs/ten_minutes.md").read_text()
    printed = re.search(r"```text\nprogram, cpu, (.*?)```", page, re.S)
    assert kinds_of_lines(printed.group(1)) == kinds_of_lines(estimated)
    assert re.search(r"^\[Kernel\(op='relu', .*variant='mine'\)\]$", text, re.M)
    assert "(estimates; tuning measures)" in estimated
    assert re.search(r"^0 +conv2d +\w+ ", estimated, re.M)
    assert re.search(r"^0 +conv2d +plain .*hint requires variant=plain", plain, re.M)
    assert re.search("^all results (within bound|equal)$", plain, re.M)
    assert re.search(r"^[0-9]+ signatures? measured", plain, re.M)


def test_ragged_text_trains_with_few_plans(tmp_path):
    page, first = "docs/ragged.md", slice(1)
    assert run_python_of(page, tmp_path, first) == "True True\n"


def test_a_beam_search_finds_sentences(tmp_path):
    page, second = "docs/ragged.md", slice(1, 2)
    assert run_python_of(page, tmp_path, second) == "[3, 3]\n"


def test_hints_reach_one_op_from_python(tmp_path):
    text = run_python_of("docs/choosing_kernels.md", tmp_path)
    assert "#1 manhattan_distance {'Out': ['manhattan_distance_2.Out']}" in text
    variants = re.findall(r"^[01] +manhattan_distance +(\w+) ", text, re.M)
    # Both by type, the second by index, the first by variable.
    hinted = [variants[i] for i in (0, 1, 3, 4)]
    assert hinted == ["plain"] * 4, text
    assert text.count("hint prefers variant=plain") == 2


def test_what_is_wrong_is_found_as_the_page_says(tmp_path):
    page = "docs/when_results_are_wrong.md"
    text = run_python_of(page, tmp_path)
    printed = re.search(r"```text\n(.*?)```", (ROOT / page).read_text(), re.S)
    line = re.escape(printed.group(1)).replace("page", ".*page", 1)
    assert re.match(line, text), text
    assert "log_1.Out            (2, 4): -inf to " in text
    assert "B is wrong: Out[3, 0] is" in text
    assert re.search(r"^3 fused_elementwise: plain under A", text, re.M), text


def test_the_worked_examples_work(tmp_path):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    text = run_python_of("docs/worked_examples.md", tmp_path, folder=tmp_path)
    shares = dict(re.findall(r"^(\w+): \[([0-9.]+)\]$", text, re.M))
    assert list(shares) == ["sentences", "digits", "odd"]
    assert all(float(share) > 0.85 for share in shares.values()), shares
    assert re.search("^all results within bound$", text, re.M), text
    written = sorted(file.name for file in tmp_path.glob("*.onnx"))
    assert written == ["digits.onnx", "odd.onnx"]
