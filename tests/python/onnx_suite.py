"""The tests of the onnx package's backend suite that Sluice does not pass.

  python tests/python/onnx_suite.py          prints how many pass
  python tests/python/onnx_suite.py --write  and rewrites LIST

LIST has every test that does not pass, after the reason that Sluice gives.
test_onnx_suite.py compares it with what the installed package shows.
"""

from __future__ import annotations

import argparse
import collections
import importlib.metadata
import os
import pathlib
import re
import tempfile
import warnings

LIST = pathlib.Path(__file__).parents[1] / "onnx" / "suite_failures.txt"
COMMAND = "./dev onnx_suite"
HEAD = f"""\
# The tests of ONNX's backend suite that Sluice does not pass, by reason.
# {COMMAND} writes this file; a test compares it.
"""
# As runner.Runner calls them, without "Model".
KINDS = ("Node", "Simple", "PyTorchConverted", "PyTorchOperator", "Real")


def outcomes() -> dict[str, BaseException | None]:
    """What each test raises, by "Kind/test_name"; None for those that pass."""
    # Values that are cast out of range, by the suite itself.
    warnings.filterwarnings("ignore", category=RuntimeWarning)
    import onnx.backend.test
    from sluice.onnx import backend

    class Everything(backend.SluiceBackend):
        """Models that cannot be loaded fail: they are not skipped."""

        is_compatible = None

    items = onnx.backend.test.BackendTest(Everything, __name__)._test_items
    assert sorted(items) == sorted(kind + "Model" for kind in KINDS)
    found: dict[str, BaseException | None] = {}
    # The suite writes inputs of the real networks there.
    with tempfile.TemporaryDirectory() as folder:
        os.environ["ONNX_MODELS"] = folder
        for kind in KINDS:
            for name, item in sorted(items[kind + "Model"].items()):
                if not name.endswith("_cpu"):
                    continue
                key = f"{kind}/{name.removesuffix('_cpu')}"
                try:
                    item.func(None)
                    found[key] = None
                # unittest.SkipTest, too: nothing is skipped.
                except Exception as error:
                    found[key] = error
        del os.environ["ONNX_MODELS"]
    return found


def reason(error: BaseException) -> str:
    """Why a test does not pass, in one line that is the same for all tests of
    that reason and on every machine."""
    text = str(error).strip()
    lines = text.splitlines() or [""]
    nodes = re.findall(r"^ *node .+ \(([\w.]+)\): (.+)$", text, re.M)
    if nodes:
        types = collections.defaultdict(set)
        for kind, message in nodes:
            types[message].add(kind)
        return "; ".join(
            f"{', '.join(sorted(types[message]))}: {message}"
            for message in sorted(types)
        )
    if isinstance(error, AssertionError):
        # How many elements differ depends on the processor.
        if "Mismatched elements" in text and "shape" not in lines[0]:
            return "other values than expected"
        return f"not as expected: {' '.join(' '.join(lines[:4]).split())}"
    value = re.match(
        r"(?:input|output|initializer) \S+ (?:of the graph )?((?:has|is) .*)",
        lines[0],
    )
    if value:
        return f"an input or output {value[1]}"
    return f"{type(error).__name__}: {lines[0]}"


def listed(found: dict[str, BaseException | None]) -> str:
    """The text of LIST."""
    passed, total = collections.Counter(), collections.Counter()
    groups = collections.defaultdict(list)
    for key, error in found.items():
        kind = key.split("/")[0]
        total[kind] += 1
        if error is None:
            passed[kind] += 1
        else:
            groups[reason(error)].append(key)
    text = f"{HEAD}# onnx {importlib.metadata.version('onnx')}\n"
    for kind in KINDS:
        text += f"# {kind}: {passed[kind]} of {total[kind]} pass\n"
    for why, keys in sorted(
        groups.items(), key=lambda one: (-len(one[1]), one[0])
    ):
        text += f"\n{why}\n"
        text += "".join(f"  {key}\n" for key in sorted(keys))
    return text


def parsed(text: str) -> dict[str, str]:
    """The reason of each test in the text of LIST."""
    reasons, why = {}, ""
    for line in text.splitlines():
        if line.startswith("  "):
            reasons[line.strip()] = why
        elif line and not line.startswith("#"):
            why = line
    return reasons


def compare(old: dict[str, str], new: dict[str, str]) -> str:
    """The differences as text, "" for none."""
    lines = [
        f"passes now: {key} ({old[key]})"
        for key in sorted(old.keys() - new.keys())
    ]
    lines += [
        f"does not pass: {key} ({new[key]})"
        for key in sorted(new.keys() - old.keys())
    ]
    lines += [
        f"another reason: {key} ({new[key]}), before: {old[key]}"
        for key in sorted(old.keys() & new.keys())
        if old[key] != new[key]
    ]
    return "\n".join(lines)


def main() -> None:
    """Run the suite; print what has changed, and the counts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--write", action="store_true", help=f"rewrite {LIST.name}"
    )
    arguments = parser.parse_args()
    text = listed(outcomes())
    before = parsed(LIST.read_text(encoding="utf-8")) if LIST.exists() else {}
    print(compare(before, parsed(text)) or f"{LIST.name} is up to date")
    print(
        "\n".join(line for line in text.splitlines() if line.endswith(" pass"))
    )
    if arguments.write:
        LIST.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
