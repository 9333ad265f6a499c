"""Versions of kernels follow the sources that they are compiled from."""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).parents[2] / "cmake/WriteKernelVersions.cmake"


class KernelVersions(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.write(
            "operators/conv/a_kernel.cc",
            '#include "sluice/operators/math/gemm.h"\n',
        )
        self.write(
            "operators/conv/b_kernel.cc", '#include "b.h"\n#include <vector>\n'
        )
        self.write("operators/conv/b.h", "")
        self.write("operators/math/gemm.h", "")
        self.write(
            "operators/math/gemm.cc",
            '#include "sluice/operators/math/tile-inl.h"\n',
        )
        self.write("operators/math/tile-inl.h", "")
        self.write("platform/x.h", "")

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def versions(self):
        """The versions of a_kernel.cc and b_kernel.cc."""
        sources = self.root / "sources.txt"
        sources.write_text(
            "".join(
                f"{self.root}/operators/conv/{name}_kernel.cc\n"
                for name in "ab"
            )
        )
        output = self.root / "versions.cc"
        subprocess.run(
            [
                "cmake",
                "-DNAME=Versions",
                f"-DROOT={self.root}",
                f"-DSOURCES={sources}",
                f"-DOUTPUT={output}",
                "-P",
                SCRIPT,
            ],
            check=True,
        )
        found = re.findall(r'"([0-9a-f]{12})"', output.read_text())
        self.assertEqual(len(found), 2)
        return found

    def changed(self, path, text="// changed\n"):
        """Which versions change with a file."""
        before = self.versions()
        self.write(path, text)
        return [a != b for a, b in zip(before, self.versions(), strict=True)]

    def test_a_kernel_has_the_version_of_its_source(self):
        self.assertEqual(
            self.changed("operators/conv/a_kernel.cc"), [True, False]
        )

    def test_an_included_source_counts_through_its_header(self):
        self.assertEqual(
            self.changed("operators/math/tile-inl.h"), [True, False]
        )

    def test_a_file_beside_it_counts(self):
        self.assertEqual(self.changed("operators/conv/b.h"), [False, True])

    def test_what_is_not_included_does_not_count(self):
        self.write("operators/math/other.h", "")
        self.assertEqual(self.changed("operators/math/other.h"), [False, False])

    def test_the_folder_of_the_tree_does_not_count(self):
        before = self.versions()
        self.setUp()
        self.assertEqual(before, self.versions())

    def test_an_equal_result_is_not_written_again(self):
        self.versions()
        written = (self.root / "versions.cc").stat().st_mtime_ns
        self.versions()
        self.assertEqual(
            (self.root / "versions.cc").stat().st_mtime_ns, written
        )


if __name__ == "__main__":
    sys.exit(unittest.main())
