"""Lists the lines of onnx/ that the fuzzers have run, by folder and file.

    python3 tests/fuzz/coverage.py BUILD [--functions]

BUILD is a build folder configured with coverage.cmake, after runs.
"""

import argparse
import collections
import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def counts(build: pathlib.Path):
    """{file: {line: runs}} and {file: {function: runs}} of the sources."""
    lines = collections.defaultdict(collections.Counter)
    functions = collections.defaultdict(collections.Counter)
    for data in build.glob("**/sluice_onnx.dir/**/*.gcda"):
        command = [
            "gcov",
            "--json-format",
            "--stdout",
            "--demangled-names",
            data,
        ]
        told = subprocess.run(
            command, cwd=build, capture_output=True, check=True
        )
        for told_file in map(json.loads, told.stdout.splitlines()):
            for file in told_file["files"]:
                path = pathlib.Path(build, file["file"]).resolve()
                if path.suffix != ".cc" or ROOT / "onnx" not in path.parents:
                    continue
                name = str(path.relative_to(ROOT))
                for line in file["lines"]:
                    lines[name][line["line_number"]] += line["count"]
                for function in file["functions"]:
                    count = function["execution_count"]
                    functions[name][function["demangled_name"]] += count
    return lines, functions


def share(lines) -> str:
    run = sum(count > 0 for count in lines.values())
    return f"{100 * run / len(lines):5.1f} % of {len(lines):5}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument(
        "--functions", action="store_true", help="that never run"
    )
    options = parser.parse_args()
    lines, functions = counts(options.build.resolve())
    folders = collections.defaultdict(dict)
    for name in sorted(lines):
        for group in (str(pathlib.Path(name).parent), "all"):
            folders[group] |= {
                (name, line): n for line, n in lines[name].items()
            }
    for name in sorted(lines):
        print(share(lines[name]), name)
        if options.functions:
            for function, count in functions[name].items():
                if count == 0:
                    print("    never:", function[:120])
    for folder, counted in folders.items():
        print(share(counted), folder)


if __name__ == "__main__":
    main()
