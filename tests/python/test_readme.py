import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_the_example_trains(tmp_path):
    text = (ROOT / "README.md").read_text()
    (script,) = re.findall(r"```python\n(.*?)```", text, re.S)
    path = tmp_path / "train.py"
    path.write_text(script)
    done = subprocess.run(
        [sys.executable, path],
        cwd=ROOT,
        env=os.environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    share = float(re.search(r"\[array\(\[?([0-9.]+)", done.stdout).group(1))
    assert share > 0.9
    assert "conv2d" in done.stdout
