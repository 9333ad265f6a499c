"""Tests that tools/lint/lines.py notices what grows, and circles.py circles, in a
small tree of their own, and that no way of writing makes code cheaper."""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

LINT = pathlib.Path(__file__).parents[2] / "tools" / "lint"
sys.path.insert(0, str(LINT))

import words  # noqa: E402

STEP = "  total += weights[i] * inputs[i] + bias;\n"
TREE = {
    "operators/CMakeLists.txt": "set(library_modules\n  eigen\n)\n",
    "operators/sum_op.cc": "REGISTER_OPERATOR(sum, Schema);\n",
    "platform/a.cc": "void F() {\n" + 200 * STEP + "}\n",
    "memory/a.cc": "void F() {\n" + 200 * STEP + "}\n",
    "onnx/handlers/a.cc": "void Relu(Node& node) {\n  node.Finish();\n}\n",
    "python/sluice/layers/a.py": "def fc(x):\n    return x\n",
    "fluid/sluice/fluid/a.py": '@row("fc")\ndef fc(op):\n    return op\n',
    "fluid/sluice/fluid/b.pyi": "@SluiceOp()\ndef relu(X): ...\n",
    "tests/a_test.cc": "TEST(A, B) {\n" + 40 * STEP + "}\n",
}


class BudgetsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        without = shutil.ignore_patterns("budgets.json")
        shutil.copytree(LINT, self.root / "tools/lint", ignore=without)
        for name, text in TREE.items():
            self.write(name, text)
        self.git("init", "-q")
        self.commit()

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def git(self, *arguments):
        names = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", *names, *arguments], cwd=self.root, check=True)

    def commit(self):
        self.lint("--write")
        self.git("add", "-A")
        self.git("commit", "-qm", "a")

    def lint(self, *arguments, tool="lines.py"):
        command = [sys.executable, "-B", f"tools/lint/{tool}", *arguments]
        done = subprocess.run(command, cwd=self.root, capture_output=True, text=True)
        self.assertEqual(done.stderr, "")
        return done.returncode, done.stdout

    def expect(self, status, *texts):
        found, printed = self.lint()
        for text in texts:
            self.assertIn(text, printed)
        self.assertEqual(found, status, printed)

    def test_a_tree_without_history_passes_and_says_so(self):
        self.expect(0, "nothing to compare with", "2 of       2 lines  row of Fluid")

    def test_a_room_may_grow_by_the_slack_only(self):
        self.write("platform/b.cc", "int a;\n")
        self.expect(0)
        self.write("platform/b.cc", 3 * STEP)
        self.expect(1, "platform: ", "words, its budget (tools/lint/budgets.json) is")

    def test_a_string_or_a_data_file_is_no_way_around(self):
        for name, text in (
            ("platform/b.cc", 'const char* kTable = "' + 40 * "a>b[*]" + '";\n'),
            ("platform/b.json", '{"Relu": {"X": "Input", "alpha": 0.5}}\n' * 4),
        ):
            self.write(name, text)
            self.expect(1, "platform: ")
            (self.root / name).unlink()

    def test_a_longer_typical_case_of_each_kind_fails(self):
        for name, kind in (
            ("operators/sum_op.cc", "op"),
            ("onnx/handlers/a.cc", "handler of ONNX"),
            ("python/sluice/layers/a.py", "layer"),
            ("fluid/sluice/fluid/a.py", "row of Fluid"),
            ("fluid/sluice/fluid/b.pyi", "row of Fluid"),
            ("tests/a_test.cc", "test case"),
        ):
            last = TREE[name].splitlines(True)[-1]
            self.write(name, TREE[name].removesuffix(last) + "\n\n" + last)
            self.expect(1, f"{kind}: ", "at most")
            self.write(name, TREE[name])

    def test_what_a_room_gains_others_must_lose(self):
        self.write("platform/b.cc", 10 * STEP)
        self.lint("--write")
        self.expect(1, "the budget of all rooms rises", "of the rooms without tests rises")
        self.commit()
        self.expect(1, "the budget of all rooms rises")
        self.write("memory/a.cc", 185 * STEP)
        self.write("platform/b.cc", 20 * STEP)
        self.commit()
        self.expect(0)

    def test_tests_do_not_pay_for_code(self):
        self.write("tests/a_test.cc", "TEST(A, B) {\n" + 5 * STEP + "}\n")
        self.write("platform/b.cc", 5 * STEP)
        self.commit()
        self.expect(1, "the budget of the rooms without tests rises")

    def test_what_is_allowed_may_be_added(self):
        path = self.root / "tools/lint/budgets.json"
        self.write("platform/b.cc", 10 * STEP)
        self.lint("--write")
        recorded = json.loads(path.read_text())
        for most, status in (120, 0), (1, 1):
            recorded["allowed"] = {"steps": {"words": most, "tests": 0}}
            path.write_text(json.dumps(recorded))
            self.lint("--write")
            self.expect(status)

    def test_a_recorded_price_does_not_rise(self):
        self.write("python/sluice/layers/a.py", "def fc(x):\n    y = x\n    return y\n")
        self.write("memory/a.cc", 100 * STEP)
        self.commit()
        self.expect(1, "layer rises from 2 to 3 lines")

    def test_a_circle_of_python_files_fails(self):
        low, types = "from . import low\n", "if TYPE_CHECKING:\n    from "
        self.write("python/sluice/__init__.py", "from .high import f\n")
        for in_low, in_high, is_circle in (
            ("", low, False),
            ("from .high import f\n", low, True),
            ("def f():\n    from . import high\n", low, True),
            (types + ".high import f\n", low, True),
            (types + ". import high\n", "def f():\n    from .low import g\n", True),
            (types + ". import f\n", low, False),  # the package gathers names
            ("", "from . import f\n", True),
        ):
            self.write("python/sluice/low.py", in_low)
            self.write("python/sluice/high.py", in_high)
            found, printed = self.lint(tool="circles.py")
            self.assertEqual((found, "each other" in printed), (is_circle,) * 2, in_low)


class WordsTest(unittest.TestCase):
    def test_layout_comments_and_docstrings_are_free(self):
        for suffix, long, short in (
            (".cc", "// Why.\nif (a) {\n  b(\n      1);\n}\n", "if(a)b(1);"),
            (".py", 'def f(a):\n    """What."""\n\n    # Why.\n    return a\n', "def f(a): return a"),
            (".cmake", "# Why.\nset(a\n  b)\n", "set(a b)"),
        ):
            self.assertEqual(words.count(long, suffix), words.count(short, suffix))

    def test_a_string_is_never_cheaper_than_its_text_as_code(self):
        for name in ("rooms.py", "lines.py"):
            code = (LINT / name).read_text()
            as_text = words.count(f"x = {code!r}", ".cc")
            self.assertGreater(as_text, words.count(code, ".py"))
            self.assertLess(as_text, 2 * words.count(code, ".py"))

    def test_numbers_characters_and_raw_strings_are_read_whole(self):
        for text, count in (("1'000'000", 1), ("0x1p-3f + 'a'", 2), ('R"x(a"b)x"', 2), ('"\\""', 1)):
            self.assertEqual(words.count(text, ".cc"), count, text)


if __name__ == "__main__":
    unittest.main()
