"""CMake names all that is missing at once, with the line that installs it:
missing_packages_test.py CMAKE COMPILER
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).parents[2]
CMAKE, COMPILER = sys.argv[1:]
OPTIONAL = {"libre2-dev"}  # Sluice is built without it, too
PACKAGES = {*re.search(
    r"^build_packages=\((.*?)\)", (ROOT / "tools/dev/install.sh").read_text(), re.M | re.S
)[1].split()} - OPTIONAL


class MissingPackages(unittest.TestCase):
    def configure(self, *options, **variables):
        """What CMake says, in one line, when it has failed."""
        environment = {name: value for name, value in os.environ.items() if name != "CXX"}
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [CMAKE, "-S", ROOT, "-B", folder, "-DSLUICE_CUDA=EMULATE", *options],
                env=environment | {"CMAKE_GENERATOR": "Ninja"} | variables, capture_output=True, text=True)
        self.assertNotEqual(done.returncode, 0)
        return " ".join(done.stderr.split())

    def test_all_are_named_with_their_versions_and_packages(self):
        missing = ("Boost", "Eigen3", "fmt", "hwy", "nlohmann_json", "CLI11", "Protobuf")
        said = self.configure(
            f"-DCMAKE_CXX_COMPILER={COMPILER}",
            *(f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in missing))
        self.assertIn(
            "cannot find: Boost 1.74, Eigen3 3.4, fmt 9, hwy 1.0, nlohmann_json 3.11, CLI11 2.1,"
            " Protobuf. On Debian", said)
        line = said.split("apt-get install ")[1].split(" Elsewhere")[0].split()
        tools = {"g++", "cmake", "ninja-build", "ccache"}
        self.assertEqual(set(line), PACKAGES - tools)

    def test_a_part_of_boost_is_named(self):
        said = self.configure(
            f"-DCMAKE_CXX_COMPILER={COMPILER}",
            "-DCMAKE_DISABLE_FIND_PACKAGE_boost_context=ON")
        self.assertIn("cannot find: Boost.Context 1.74. On Debian", said)
        self.assertIn("apt-get install libboost-context-dev Elsewhere", said)

    def test_a_version_that_is_too_old_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            for file, text in (("config", ""), ("config-version", "set(PACKAGE_VERSION 8.1)")):
                (pathlib.Path(folder) / f"fmt-{file}.cmake").write_text(text)
            said = self.configure(
                f"-DCMAKE_CXX_COMPILER={COMPILER}", f"-Dfmt_DIR={folder}",
                # Other packages are looked for where there are none.
                "-DCMAKE_FIND_ROOT_PATH=/nowhere", "-DCMAKE_FIND_ROOT_PATH_MODE_PACKAGE=ONLY")
        self.assertIn("fmt 9 (8.1 does not fit)", said)

    def test_without_a_compiler_everything_is_named(self):
        said = self.configure("-G", "Ninja", PATH="/nowhere")
        self.assertIn("a C++20 compiler, and then libraries", said)
        for package in PACKAGES - {"cmake", "ninja-build", "ccache"} | {"python3-dev"}:
            self.assertIn(f" {package} ", said)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
