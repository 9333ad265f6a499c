"""Runs the examples of README.md, CONTRIBUTING.md, docs/ and design/.

A block of Python that begins with `import` begins a script, which the blocks
after it go on with, as if a reader pasted them into one session. C++ programs
are built by tests/consumers/readme, the guides (blocks with a file, row, run or
says) are followed by tests/guides, and notebooks run in pages/test_notebooks.py."""

import os
import pathlib
import re
import shlex

import pytest
from processes import python

import sluice as sl
from sluice import fluid

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
PAGES += sorted([*ROOT.glob("docs/**/*.md"), *ROOT.glob("design/*.md")])
BLOCK = re.compile(r"(?ms)^(`{3,})([^\n`]*)\n(.*?)^\1$")


def name_of(page):
    return str(page.relative_to(ROOT))


BLOCKS = {
    name_of(page): [found.group(2, 3) for found in BLOCK.finditer(page.read_text("utf-8"))]
    for page in PAGES
}
WITH_PYTHON = [
    page
    for page, blocks in BLOCKS.items()
    if any(kind == "python" for kind, _ in blocks)
    and not re.match(r"docs/(ten_minutes|notebooks/.*)\.md$", page)
]
# Others are C++, what is printed, and commands; these are looked at below.
KINDS = {"python", "cpp", "cmake", "text", "sh", ""}


def onnx_file(folder):
    image = sl.data("data", [None, 3, 224, 224])
    y = sl.layers.softmax(sl.layers.fc(sl.layers.pool2d(image, 224, "avg"), 10))
    sl.Executor().run(sl.default_startup_program())
    sl.onnx.save(sl.default_main_program(), folder / "resnet50.onnx", [y])


def fluid_model(folder):
    program, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(program, startup):
        words = fluid.layers.data("words", [1], dtype="int64", lod_level=1)
        tags = fluid.layers.fc(fluid.layers.embedding(words, [20, 4]), 3)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(startup)
    model = str(folder / "lac_model/model")
    fluid.io.save_inference_model(model, ["words"], [tags], exe, program)


# The files that readers of a page have.
FILES = {"docs/onnx.md": onnx_file, "docs/fluid.md": fluid_model}


def run(page, folder):
    """What the Python of a page prints."""
    (folder / "examples").symlink_to(ROOT / "examples")
    FILES.get(page, lambda _: None)(folder)
    printed = ""
    scripts = []
    for kind, text in BLOCKS[page]:
        if kind == "python" and text.startswith("import "):
            scripts.append(text)
        elif kind == "python":
            scripts[-1] += text
    for script in scripts:
        (folder / "page.py").write_text(script)
        done = python(
            "page.py",
            cwd=folder, timeout=120, env={**os.environ, "SLUICE_RECORDS": str(folder / "records.jsonl")},
        )
        assert done.returncode == 0, done.stderr
        printed += done.stdout
    return printed


# What the Python of a page prints.
PRINTS = {
    "README.md": [r"\[array\(\[?0\.9", "conv2d"],
    "docs/choosing_kernels.md": [
        r"#1 manhattan_distance \{'Out': \['manhattan_distance_2.Out'\]\}",
        # Both by type, the second by its index, the first by its variable.
        r"(?s)^0 +man\w+ +plain .*^1 +man\w+ +plain .*"
        r"^1 +man\w+ +plain .*^0 +man\w+ +plain ",
        "(?s)(hint prefers variant=plain.*){2}",
    ],
    "docs/control_flow.md": [
        r"array\(\[\[ 1., -2.\],\s+\[ 3.,  4.\]\]",
        r"array\(\[\[ 32., -64.\],\s+\[ 96., 128.\]\]",
        r"array\(\[-4., -2.\].*\s*.*array\(\[\[-1.,  2.\],\s+\[-4., -2.\]\]",
        "^block 1",
        r"^\[\(2, 3, 64\), \(4, 2, 32\)\]\n"
        r"\[\[1. 1. 2. 2. 4. 4. 8. 8.\]\]\n$",
    ],
    "docs/distributed.md": [r"^step 9: loss 2\."],
    "docs/fluid.md": [r"(?s)^fed: words .*^parameters.*^fed: x .*^parameters"],
    "docs/onnx.md": ["softmax +plain "],
    "docs/ragged.md": [r"\ATrue True\n\[3, 3\]\nTrue bits@LOD\n\Z"],
    "docs/saving.md": [r"\A60 True\n\[\[1, 2\]\]\n\[\[3, 4\]\]\n\Z"],
    "docs/when_results_are_wrong.md": [
        r"log_1.Out            \(2, 4\): -inf to ",
        r"B is wrong: Out\[3, 0\] is",
        "^3 fused_mul: plain under A",
    ],
    "docs/worked_examples.md": [
        rf"^{what}: \[(0.8[5-9]|0.9|1.)" for what in ("sentences", "digits", "odd")
    ],
}
# And the files that it writes.
WRITES = {
    "docs/fluid.md": ["line/__model__"],
    "docs/onnx.md": ["net.onnx", "again.onnx"],
    "docs/saving.md": ["digits_training/step-000000060.safetensors"],
    "docs/worked_examples.md": ["digits.onnx", "odd.onnx"],
}


@pytest.mark.parametrize("page", WITH_PYTHON)
def test_the_python_of_a_page_does_what_it_says(page, tmp_path):
    text = run(page, tmp_path).replace(f"{tmp_path}/", "")
    for pattern in PRINTS[page]:
        assert re.search(pattern, text, re.M), (pattern, text)
    assert all((tmp_path / file).is_file() for file in WRITES.get(page, ()))
    shown = "".join(block for kind, block in BLOCKS[page] if kind == "text")
    if page == "docs/when_results_are_wrong.md":
        assert text.startswith(shown)
    if page == "docs/worked_examples.md":
        share = re.compile(r"(?m)^(\w+): \[([0-9.]+)\]$")
        printed = {what: float(number) for what, number in share.findall(text)}
        said = {what: float(number) for what, number in share.findall(shown)}
        assert printed == pytest.approx(said, abs=0.05)


def test_every_block_is_of_a_kind_that_is_tried():
    other = {
        (page, kind)
        for page, blocks in BLOCKS.items()
        for kind, _ in blocks
        if kind not in KINDS and not re.search(r" (file=|new=|row=|run|says=|word$)", kind)
    }
    assert not other


def commands():
    """The commands of pages, in blocks and in prose, without their comments."""
    found = set()
    for page in PAGES:
        shown = re.findall(r"`([^`]+)`", BLOCK.sub("", page.read_text("utf-8")))
        for kind, text in BLOCKS[name_of(page)]:
            if kind == "" or kind.startswith("sh"):
                shown += text.replace("\\\n", " ").splitlines()
        for line in shown:
            line = re.sub(r"(^|\s)# .*", "", line)
            for command in re.split(r" [|] |; |&&", line):
                if command.split()[:1] in (["./dev"], ["sluice-lab"]):
                    found.add(tuple(shlex.split(command)))
    return sorted(words for words in found if len(words) > 1)


def names_of_cases(text):
    """The words that a `case` of the shell knows."""
    return set(re.findall(r"\w+", " ".join(re.findall(r"(?m)^ +((?:\w+ \| )*\w+)\)", text))))


DEV = (ROOT / "dev").read_text()


def dev_accepts(command, name="", *options):
    assert command in names_of_cases(DEV.rpartition("case $command in")[2])
    names = {
        "demo": names_of_cases(DEV.partition("\ndemo() {")[2].partition("\n}")[0]),
        "bench": {path.stem.partition("_")[2] for path in ROOT.glob("benchmarks/bench_*")},
        "build": set(re.findall(r'"name": "(\w+)"', (ROOT / "CMakePresets.json").read_text())),
    }
    if name.islower() and not name.startswith("-"):
        assert name in names.get(command, {name})
    scripts = [*ROOT.glob("tools/dev/*.sh"), ROOT / "docs/build.py", *ROOT.glob("examples/*.py")]
    known = DEV + "".join(one.read_text() for one in scripts)
    for option in (name, *options):
        if option.startswith("--"):
            assert option in known, option


def lab_accepts(*arguments):
    from sluice.lab.__main__ import _parser

    if len(arguments) == 1:  # the command as such
        arguments += ("--help",)
    given = [one for one in arguments if one != "..."] + ["A", "B", "C"] * ("..." in arguments)
    try:
        _parser().parse_args(given)
    except SystemExit as end:
        assert end.code == 0, given


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_a_command_of_a_page_exists(words):
    {"./dev": dev_accepts, "sluice-lab": lab_accepts}[words[0]](*words[1:])
