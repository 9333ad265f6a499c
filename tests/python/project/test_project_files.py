"""What README, the pages and the files around the code say about versions,
packages, licences and speed is what the build and the measurements have."""

import json
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
RESULTS = ROOT / "benchmarks" / "results"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def text(name):
    return (ROOT / name).read_text("utf-8")


VERSION = re.search(r"^  VERSION ([0-9.]+)", text("CMakeLists.txt"), re.M)[1]


def test_the_version_is_in_one_place():
    fluid = tomllib.loads(text("fluid/pyproject.toml"))
    for project in (PROJECT, fluid):
        assert "version" in project["project"]["dynamic"]
    (entry,) = [one for one in PROJECT["tool"]["dynamic-metadata"] if one.get("field") == "version"]
    assert re.search(entry["regex"], text(entry["input"]), re.M)["value"] == VERSION
    hatch = fluid["tool"]["hatch"]["version"]
    assert re.search(hatch["pattern"], text("fluid/" + hatch["path"]), re.M)["version"] == VERSION
    assert re.search(r"^version", text("CITATION.cff"), re.M) is None


def test_the_pages_are_about_this_version():
    newest = re.search(r"^## (\S+) \((not released yet|\d{4}-\d\d-\d\d)\)$", text("CHANGELOG.md"), re.M)
    assert newest and newest[1] == VERSION
    assert f"version {VERSION}" in text("README.md")


def test_a_package_index_shows_no_broken_picture_or_link():
    readme = text("README.md")
    assert "<img " in readme and "](docs/" in readme
    for one in PROJECT["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]:
        readme = re.sub(one["pattern"], one["replacement"], readme)
    assert "<img" not in readme
    prose = re.sub(r"(?ms)^```.*?^```$", "", readme)
    assert [link for link in re.findall(r"\]\(([^)]*)\)", prose) if "://" not in link] == []
    assert {"## Get it", "## What it is not"} <= set(readme.splitlines())


# What CMake looks for: its name in the notices, "" for what no package contains.
NOTICES = {
    "Boost": "Boost",
    "CLI11": "CLI11",
    "CUDAToolkit": "CUDA",
    "Eigen3": "Eigen",
    "GTest": "GoogleTest",
    "MPI": "Open MPI",
    "OpenMP": "libgomp",
    "Protobuf": "Protocol Buffers",
    "Python": "",
    "Python3": "",
    "Threads": "",
    "dnnl": "oneDNN",
    "fmt": "fmt",
    "hwy": "Highway",
    "nanobind": "nanobind",
    "nlohmann_json": "JSON for Modern C++",
}


def used_by_cmake():
    files = [ROOT / "CMakeLists.txt", *ROOT.glob("cmake/*.cmake"), *ROOT.glob("*/**/CMakeLists.txt")]
    ours = [file for file in files if {"build", "consumers"}.isdisjoint(file.relative_to(ROOT).parts)]
    call = r"""^ *(?:find_package\(|sluice_need\((?:[\w-]+|"[^"]*") )(\w+)"""
    found = {name for file in ours for name in re.findall(call, file.read_text(), re.M)}
    return found - {"sluice", "PkgConfig"}


def test_what_the_build_uses_is_in_the_notices():
    notices = text("THIRD_PARTY_NOTICES.md")
    assert used_by_cmake() == set(NOTICES)
    assert [name for name in NOTICES.values() if name not in notices] == []
    extras = PROJECT["project"]["optional-dependencies"].values()
    names = [re.match(r"[\w-]+", one)[0] for one in sum(extras, PROJECT["project"]["dependencies"])]
    ours = {"sluice-fluid", "onednn-cpu-gomp"}  # oneDNN, by another name
    missing = [one for one in names if one not in ours and one.lower() not in notices.lower()]
    assert missing == []


def test_the_texts_of_licences_go_with_packages():
    notices = text("THIRD_PARTY_NOTICES.md")
    named = set(re.findall(r"`licenses/([\w.-]+)`", notices))
    assert named == {file.name for file in (ROOT / "licenses").iterdir()}
    carried = PROJECT["project"]["license-files"]
    assert {"LICENSE", "THIRD_PARTY_NOTICES.md", "licenses/*"} <= set(carried)


def test_the_packages_of_a_build_are_those_of_dev_setup():
    page = text("docs/installing.md").partition("\n## From source")[2]
    told = set(re.search(r"apt-get install ((?:[^`\n]|\\\n)+)\n```", page)[1].replace("\\\n", " ").split())
    install = text("tools/dev/install.sh")

    def packages(kind):
        return set(re.search(rf"^{kind}_packages=\(([^)]*)\)", install, re.M)[1].split())

    assert told == packages("build") - {"ccache"} | packages("python")


PAGE = text("docs/benchmarks.md")
FOLDERS = dict(re.findall(r"^\| ([A-Z]) \|[^|]*\| `([\w-]+)` \|", PAGE, re.M))
ROWS = re.findall(r"^\| ([^|]+) \| ([^|]*) \| ([^|]*) \| \**([\d.]+)(\**) \| `([\w/]+)` \| ([A-Z]) \|$", PAGE, re.M)


def measured(row, machine):
    """The row of a file of results, in milliseconds from there on."""
    files = (RESULTS / FOLDERS[machine]).glob("*.json")
    found = {one["id"]: one for file in files for one in json.loads(file.read_text())["rows"]}[row]
    factor, unit = (1e-3, "ms") if found["unit"] == "us" and found["value"] >= 1000 else (1, found["unit"])
    peers = {name: value * factor for name, value in found["peers"].items() if not name.startswith("sluice")}
    return found["value"] * factor, unit.replace("G pairs/s", "G/s").removeprefix("x"), peers


def shows(cell, value, unit):
    number, _, shown = re.search(r"([\d.]+)( (\S+))?$", cell).groups()
    assert float(number) == float(f"{value:.3g}") and (shown or "") == unit, (cell, value)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[5])
def test_a_figure_of_the_page_was_measured(row):
    _, ours, other, ratio, bold, name, machine = row
    value, unit, peers = measured(name, machine)
    if unit == "of onnxruntime":
        better = 1 / value
    else:
        more = unit.endswith("/s")
        best = (max if more else min)(peers.values())
        shows(ours.strip(), value, unit)
        shows(other, best, unit)
        better = value / best if more else best / value
    assert float(ratio) == pytest.approx(better, abs=0.006 if better < 10 else 0.5)
    assert bool(bold) == (better < 1)


def test_readme_tells_the_figures_of_the_page():
    told = re.search(r"image networks answer ([\d.]+) times as fast", text("README.md"))[1]
    (shown,) = [ratio for _, _, _, ratio, _, name, _ in ROWS if name == "models/geometric_mean/t2"]
    assert float(told) == round(float(shown), 1)


def test_the_page_of_benchmarks_has_all_its_rows():
    assert len(ROWS) == len(re.findall(r"\| [A-Z] \|$", PAGE, re.M)) >= 20
    assert any(bold for *_, bold, _, _ in ROWS)
