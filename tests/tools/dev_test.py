"""Messages of ./dev if it cannot install or compile, with fake programs."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).parents[2]


class Dev(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="dev test ")  # a blank
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "bin").mkdir()
        (self.folder / "build").mkdir()
        self.program("dpkg-query", "exit 1")  # nothing is installed
        self.program("dpkg", "exit 0")

    def program(self, name, script):
        path = self.folder / "bin" / name
        path.write_text(f"#!/bin/bash\n{script}\n")
        path.chmod(0o755)

    def run_dev(self, commands, **variables):
        """Runs bash commands in the folder after the scripts of ./dev."""
        script = "set -euo pipefail\n"
        for name in ("install", "build", "test", "steps", "package"):
            script += f'. "{ROOT}/tools/dev/{name}.sh"\n'
        environment = {
            **os.environ,
            "PATH": f"{self.folder}/bin:{os.environ['PATH']}",
            **variables,
        }
        for name in {"DEMAND", "JOBS"} - set(variables):
            environment.pop(name, None)
        return subprocess.run(
            ["bash", "-c", script + commands],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
        )

    def test_a_user_without_sudo_reads_what_root_should_type(self):
        self.program("id", "echo 1000")
        # No other programs of this machine, such as sudo.
        for name in ("bash", "grep", "cat"):
            (self.folder / "bin" / name).symlink_to(f"/bin/{name}")
        done = self.run_dev("need one two", PATH=f"{self.folder}/bin")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no sudo", done.stderr)
        self.assertIn("apt-get install one two", done.stderr)

    def test_a_failed_installation_says_why_and_what_it_was_for(self):
        self.program("id", "echo 0")
        self.program("apt-get", "echo 'E: Unable to locate package one' >&2; exit 100")
        done = self.run_dev("need one")
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot install one", done.stderr)
        self.assertIn("E: Unable to locate package one", done.stderr)

    def test_without_network_it_asks_for_one(self):
        self.program("id", "echo 0")
        self.program(
            "apt-get",
            "echo 'W: Failed to fetch http://x  Could not resolve x' >&2; exit 100",
        )
        self.assertIn("is there a network?", self.run_dev("need one").stderr)

    def test_what_is_wanted_is_left_out_unless_it_is_demanded(self):
        self.program("id", "echo 0")
        self.program("apt-get", "exit 100")
        done = self.run_dev("want 'training on ranks' one; echo goes on")
        self.assertEqual(done.returncode, 0)
        self.assertIn("left out: training on ranks", done.stderr)
        self.assertIn("goes on", done.stdout)
        done = self.run_dev("want 'training on ranks' one; echo on", DEMAND="1")
        self.assertEqual(done.returncode, 1)

    def test_little_memory_means_fewer_compilers(self):
        lines = "available_megabytes() { echo 1000; }; nproc() { echo 8; }\n"
        done = self.run_dev(lines + "choose_jobs; echo jobs $jobs")
        self.assertIn("jobs 1", done.stdout)
        self.assertIn("1000 MB of memory are free", done.stderr)
        done = self.run_dev(lines + "choose_jobs; echo jobs $jobs", JOBS="4")
        self.assertIn("jobs 4", done.stdout)
        self.assertEqual(done.stderr, "")

    def test_too_little_disk_is_said_before_anything_is_compiled(self):
        self.program("df", "printf 'a\\nb c d 100 e\\n'")
        done = self.run_dev("need_disk build/release 1500")
        self.assertEqual(done.returncode, 1)
        self.assertIn("about 1500 MB", done.stderr)
        self.assertIn("100 MB free", done.stderr)

    def test_the_build_folder_of_another_checkout_is_made_anew(self):
        cache = self.folder / "build" / "release" / "CMakeCache.txt"
        cache.parent.mkdir()
        cache.write_text("CMAKE_HOME_DIRECTORY:INTERNAL=/elsewhere\n")
        self.program("cmake", 'echo "cmake $*" >>build/calls')
        done = self.run_dev("configure release -DX=1; configure release -DX=1")
        self.assertIn("was made for /elsewhere", done.stderr)
        calls = (self.folder / "build" / "calls").read_text().splitlines()
        self.assertEqual(len(calls), 1)  # not twice
        self.assertIn("--fresh", calls[0])
        self.run_dev("configure release -DX=2")
        calls = (self.folder / "build" / "calls").read_text().splitlines()
        self.assertIn("cmake --preset release", calls[1])

    def test_progress_is_a_line_for_each_tenth_and_errors_pass(self):
        lines = "".join(f"[{i}/40] Building x{i}.cc\\n" for i in range(1, 41))
        done = self.run_dev(f"printf '{lines}x.cc:1: error: no\\n' | show_progress")
        self.assertEqual(done.stdout.count("of 40 steps"), 10)
        self.assertIn("100 %", done.stdout)
        self.assertIn("x.cc:1: error: no", done.stdout)
        self.assertNotIn("Building", done.stdout)

    def test_a_build_with_nothing_to_do_prints_nothing(self):
        lines = [
            "Preset CMake variables:", "", '  CMAKE_BUILD_TYPE="Release"', "",
            "[0/2] Re-checking globbed directories...",
            "[1/2] Re-running CMake...", "-- Configuring done",
            "ninja: no work to do.",
        ]
        self.program("cmake", "printf '%s\\n' " + " ".join(f"'{one}'" for one in lines))
        compile = "jobs=1; compile release kmeans"
        done = self.run_dev(compile)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.program("cmake", "echo '[1/2] Building x'; echo 'x.cc:1: error: no'; exit 1")
        done = self.run_dev(compile)
        self.assertEqual((done.returncode, done.stdout), (1, "x.cc:1: error: no\n"))

    def test_on_a_terminal_the_progress_of_a_build_vanishes(self):
        try:
            for end in os.openpty():
                os.close(end)
        except OSError as error:  # as in a chroot without /dev/pts
            self.skipTest(f"no pseudo-terminals here: {error}")
        long = "[1/2] Building CXX object " + 200 * "x"
        self.program("cmake", f"echo '{long}'; echo 'x.cc:1: error: no'")
        commands = f'. "{ROOT}/tools/dev/build.sh"; jobs=1; compile release; echo end'
        terminal = subprocess.run(
            ["script", "-qec", f"stty cols 60; {commands}", "/dev/null"],
            env={**os.environ, "PATH": f"{self.folder}/bin:{os.environ['PATH']}",
                 "SHELL": "/bin/bash", "TERM": "xterm"},
            capture_output=True, stdin=subprocess.DEVNULL, check=False,
        ).stdout.decode()
        shown = [part.rstrip() for part in terminal.split("\r\x1b[K")]
        self.assertEqual(shown[2:], ["x.cc:1: error: no", "end"])
        self.assertIn("1 of 2 steps", shown[1])
        self.assertLess(len(shown[1]), 60)

    def demo(self, *words):
        """Runs a copy of ./dev, which builds nothing and prints its command."""
        (self.folder / "tools" / "dev").mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / "dev", self.folder / "dev")
        for name in ("install", "test", "steps", "package"):
            shutil.copy(ROOT / "tools" / "dev" / f"{name}.sh", self.folder / "tools" / "dev")
        (self.folder / "tools" / "dev" / "build.sh").write_text("build() { :; }\n")
        for path in ("build/venv/bin/python", "build/release/examples/digits"):
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / path).symlink_to("/bin/echo")
        (self.folder / "build" / "release" / "lib").mkdir()
        (self.folder / "build" / "release" / "lib" / "libsluice.so").touch()
        return subprocess.run(["bash", self.folder / "dev", "demo", *words],
                              capture_output=True, text=True)

    def test_an_option_as_first_word_is_for_the_default_demo(self):
        self.assertEqual(self.demo("--epochs", "2").stdout,
                         "examples/train_digits.py --epochs 2\n")

    def test_a_demo_gets_its_options(self):
        self.assertEqual(self.demo("digits", "--explain").stdout, "--explain\n")

    def test_scripts_of_demos_are_there(self):
        names = re.findall(r"\bscript=(\S+) ;;", (ROOT / "dev").read_text())
        self.assertIn("../fluid/book/__main__", names)
        for name in names:
            self.assertTrue((ROOT / "examples" / f"{name}.py").exists(), name)

    def test_an_unknown_demo_gets_the_list(self):
        done = self.demo("digit")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("demo digit: there are train, crf,", done.stderr)

    def test_an_unknown_part_of_a_package_is_refused(self):
        done = self.run_dev("package bag")
        self.assertEqual(done.returncode, 2)
        self.assertIn("./dev package bag: expected nothing, wheel or deb", done.stderr)

    def test_a_wheel_is_not_made_where_it_would_want_a_newer_glibc(self):
        self.program("getconf", "echo glibc 2.41")
        done = self.run_dev("package wheel; echo on")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("here is glibc 2.41", done.stderr)
        self.assertIn("Debian 12", done.stderr)

    def test_a_step_of_a_package_that_fails_shows_its_last_lines(self):
        done = self.run_dev("package_step compiling sh -c 'echo no onnx.proto; exit 3'; echo on")
        self.assertEqual((done.returncode, "on\n" in done.stdout), (1, False))
        self.assertIn("no onnx.proto", done.stderr)
        self.assertIn("compiling failed; all of it: build/log/package.log", done.stderr)

    def test_a_wrong_argument_of_test_is_refused(self):
        done = self.run_dev("run_tests --sanitise")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--sanitize", done.stderr)


if __name__ == "__main__":
    unittest.main()
