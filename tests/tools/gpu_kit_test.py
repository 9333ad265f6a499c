"""The runner of the GPU kit, on programs that pass, fail, die and hang."""

import json
import os
import pathlib
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tools" / "gpu_kit"))
import parts  # noqa: E402
import runner  # noqa: E402

# A stand-in for a GoogleTest program, whose tests do what their names say.
PROGRAM = """#!/bin/sh
case "$*" in *--gtest_list_tests*)
  echo "Running main() from somewhere"
  echo "Suite."
  for test in $TESTS; do echo "  $test  # GetParam() = 1"; done
  echo "  DISABLED_test"
  exit ;;
esac
echo process >>"$COUNT"
filter=${1#--gtest_filter=}
failed=
for test in $(echo "$filter" | tr : ' '); do
  echo "[ RUN      ] $test"
  if [ -n "$failed" ]; then echo "[  SKIPPED ] $test (0 ms)"; continue; fi
  case $test in
    *passes*) echo "[       OK ] $test (7 ms)" ;;
    *skips*) echo "no GPU"; echo "[  SKIPPED ] $test (0 ms)" ;;
    *fails*)
      echo "expected 1, got 2"
      echo "[  FAILED  ] $test, where GetParam() = 1 (1500 ms)"
      failed=1 ;;
    *dies*) echo "about to die"; kill -SEGV $$ ;;
    *hangs*) sleep 30 ;;
  esac
done
[ -z "$failed$LATE" ] || exit 9
"""
# Prints the result of each op of its last argument; `dies` ends it.
SANITIZER = """#!/bin/sh
[ "$1" = --version ] && exit 0
for ops; do :; done
for op in $(echo "$ops" | tr , ' '); do
  if [ "$op" = dies ]; then
    echo "========= Invalid __global__ write under $2"
    exit 9
  fi
  echo "{\\"op\\":\\"$op\\"}"
done
echo "========= ERROR SUMMARY: 0 errors"
"""


class GpuKitTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.script("program", PROGRAM)
        os.environ.update(COUNT=str(self.folder / "count"), LATE="")

    def script(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def kit(self, **settings):
        return runner.Kit(self.folder, self.folder, **settings)

    def part(self):
        return json.loads((self.folder / "gpu_kit.json").read_text())["parts"][
            0
        ]

    def run_tests(self, tests, part_seconds=30, mode="emulated", **options):
        os.environ["TESTS"] = tests
        kit = self.kit()
        kit.mode = mode
        kit.run_part(
            7,
            "tests",
            part_seconds,
            lambda: runner.run_tests(
                kit, str(self.folder / "program"), seconds=1, **options
            ),
        )
        self.failures = kit.finish()
        return self.part()

    def outcomes(self, part):
        return [f"{item['name']}: {item['status']}" for item in part["items"]]

    def processes(self):
        return len((self.folder / "count").read_text().splitlines())

    def test_reports_each_test_once(self):
        part = self.run_tests("passes skips")
        self.assertEqual(
            self.outcomes(part),
            ["Suite.passes: passed", "Suite.skips: left out"],
        )
        self.assertEqual(part["items"][0]["seconds"], 0.007)
        self.assertEqual(part["items"][1]["detail"], "no GPU\n")
        self.assertEqual((part["passed"], part["left_out"]), (1, 1))
        self.assertEqual((self.failures, self.processes()), (0, 1))

    def test_goes_on_in_a_new_process_after_a_failure_a_death_and_a_hang(self):
        part = self.run_tests(
            "passes1 fails passes2 dies passes3 hangs passes4"
        )
        failed = {"fails", "dies", "hangs"}
        self.assertEqual(
            self.outcomes(part),
            [
                f"Suite.{test}: {'failed' if test in failed else 'passed'}"
                for test in os.environ["TESTS"].split()
            ],
        )
        fails, dies, hangs = (part["items"][i] for i in (1, 3, 5))
        self.assertEqual(fails["detail"], "expected 1, got 2\n")
        self.assertIn("signal 11 (Segmentation fault)\nabout", dies["detail"])
        self.assertIn("limit", hangs["detail"])
        # How to see it again, for failures only.
        self.assertIn(
            f"run.sh --exec emulated {self.folder}/program "
            "--gtest_filter=Suite.fails",
            fails["command"],
        )
        self.assertNotIn("command", part["items"][0])
        self.assertEqual((self.failures, self.processes()), (3, 4))

    def test_on_a_gpu_nothing_may_be_skipped(self):
        part = self.run_tests("skips", mode="gpu")
        self.assertEqual(self.outcomes(part), ["Suite.skips: failed"])

    def test_can_give_each_test_a_process(self):
        part = self.run_tests("passes1 passes2", one_process_each=True)
        self.assertEqual(part["passed"], 2)
        self.assertEqual(self.processes(), 2)

    def test_tests_that_are_listed_and_do_not_run_are_a_failure(self):
        lazy = 'case "$*" in *list_tests*) exec ./real "$@" ;; esac\n'
        self.script("real", PROGRAM)
        text = lazy.replace("./real", str(self.folder / "real"))
        self.script("program", f"#!/bin/sh\n{text}")
        part = self.run_tests("passes1 passes2")
        self.assertEqual(self.failures, 1)
        self.assertIn(
            "Suite.passes1, Suite.passes2", part["items"][0]["detail"]
        )

    def test_a_process_that_fails_while_it_ends_is_a_failure(self):
        os.environ["LATE"] = "1"
        part = self.run_tests("passes")
        self.assertEqual(
            [i["status"] for i in part["items"]], ["passed", "failed"]
        )

    def test_a_program_that_lists_nothing_is_a_failure(self):
        self.script("program", "#!/bin/sh\n")
        part = self.run_tests("")
        self.assertIn("it lists no tests", part["items"][0]["detail"])

    def test_what_the_part_has_no_time_for_is_a_failure(self):
        part = self.run_tests("hangs passes", 0.5, one_process_each=True)
        self.assertEqual(self.failures, 2)
        self.assertIn(
            "1 tests were not run, Suite.passes the first",
            part["items"][1]["detail"],
        )

    def test_an_error_of_a_part_is_a_failure_and_the_next_part_runs(self):
        kit, done = self.kit(jobs=2), []

        def broken():
            raise RuntimeError("broken")

        kit.run_part(1, "raises", 10, broken)
        kit.run_part(
            2, "works", 10, lambda: kit.parallel("all", range(100), done.append)
        )
        self.assertEqual(kit.finish(), 1)
        self.assertEqual(sorted(done), list(range(100)))
        self.assertIn("broken", self.part()["items"][0]["detail"])

    def test_work_that_the_part_has_no_time_for_is_one_failure(self):
        kit = self.kit()
        kit.run_part(
            1,
            "slow",
            0.1,
            lambda: kit.parallel(
                "sleeping", range(10), lambda _: time.sleep(0.15)
            ),
        )
        self.assertEqual(kit.finish(), 1)
        self.assertIn("9 of 10 were not run", self.part()["items"][0]["detail"])

    def test_a_limit_ends_a_program_with_all_that_it_started(self):
        kit, outcomes = self.kit(), []
        mark = self.folder / "mark"
        self.script("slow", f"#!/bin/sh\n(sleep 2; touch {mark}) &\nsleep 30\n")
        self.script("left", f"#!/bin/sh\n(sleep 2; touch {mark}) &\n")
        begin = time.monotonic()
        kit.run_part(
            1,
            "both",
            60,
            lambda: outcomes.extend(
                kit.run([str(self.folder / name)], 0.5)
                for name in ("slow", "left", "missing")
            ),
        )
        self.assertLess(time.monotonic() - begin, 1.9)
        self.assertTrue(outcomes[0].timed_out)
        self.assertTrue(outcomes[1].ok)
        self.assertIn("No such file", outcomes[2].ending)
        time.sleep(2.2)
        self.assertFalse(mark.exists())
        kit.finish()

    def test_an_endless_output_keeps_its_beginning_and_its_end(self):
        kit, outcomes = self.kit(), []
        line = (
            "import sys; print('first'); print('x' * (9 << 20)); print('last')"
        )
        kit.run_part(
            1,
            "long",
            60,
            lambda: outcomes.append(kit.run([sys.executable, "-c", line], 30)),
        )
        kit.finish()
        output = outcomes[0].output
        self.assertTrue(output.startswith("first\n"))
        self.assertTrue(output.endswith("last\n"))
        self.assertLess(len(output), 9 << 20)

    def test_the_sanitizer_goes_on_after_an_op_that_ends_the_process(self):
        self.script("tools/compute-sanitizer", SANITIZER)
        ops = "a b c d e dies f g h i j"
        self.script(
            "bin/sluice_kernel_outputs",
            f"#!/bin/sh\nfor op in {ops}; do echo $op; done\n",
        )
        path = os.environ["PATH"]
        self.addCleanup(os.environ.update, PATH=path)
        os.environ["PATH"] = f"{self.folder / 'tools'}:{path}"
        kit = self.kit()
        kit.mode = "gpu"
        kit.run_part(3, "sanitizer", 30, lambda: parts.run_sanitizers(kit))
        # The four tools, with the ops in four processes each: b, dies and j
        # share one.
        self.assertEqual(kit.finish(), 4)
        part = self.part()
        self.assertEqual(part["passed"], 16)
        wanted = {
            "memcheck/a,e,h: passed",
            "memcheck/b,dies: failed",
            "memcheck/i: passed",
            "initcheck/d,g: passed",
        }
        self.assertLessEqual(wanted, set(self.outcomes(part)))
        for item in part["items"]:
            if item["status"] == "failed":
                self.assertIn("Invalid __global__ write", item["detail"])

    def test_earlier_results_get_a_number_and_other_files_stay(self):
        (self.folder / "mine").write_text("data")
        for tests in ("passes", "fails", "dies"):
            self.run_tests(tests)

        def first(name):
            content = json.loads((self.folder / name).read_text())
            return content["parts"][0]["items"][0]["name"]

        self.assertEqual(first("gpu_kit.json.1"), "Suite.passes")
        self.assertEqual(first("gpu_kit.json.2"), "Suite.fails")
        self.assertEqual(first("gpu_kit.json"), "Suite.dies")
        self.assertTrue((self.folder / "gpu_kit.log.1").exists())
        self.assertEqual((self.folder / "mine").read_text(), "data")
        self.assertFalse(list(self.folder.glob("tmp*")))

    def test_commands_are_quoted_for_the_shell(self):
        kit = runner.Kit(pathlib.Path("/a kit"), self.folder)
        self.assertEqual(
            kit.shell(["b/c", "", "it's", "$x=*"], "gpu"),
            "'/a kit/run.sh' --exec gpu b/c '' 'it'\"'\"'s' '$x=*'",
        )
        kit.finish()


if __name__ == "__main__":
    unittest.main()
