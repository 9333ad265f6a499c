"""Prints the sizes of packages: package_sizes.py FOLDER

A megabyte is a million bytes. Of a wheel also what it takes when it is
installed, and its largest files."""

import pathlib
import sys
import zipfile


def parts(wheel):
    """Lines about the files of a wheel."""
    with zipfile.ZipFile(wheel) as files:
        entries = sorted(files.infolist(), key=lambda entry: -entry.compress_size)
    total = sum(entry.file_size for entry in entries)
    yield f"  {total / 1e6:6.1f} MB when installed, without NumPy; of the file:"
    for entry in entries[:5]:
        yield f"  {entry.compress_size / 1e6:6.1f} MB {entry.filename}"


def main(folder):
    for file in sorted(pathlib.Path(folder).iterdir()):
        if file.suffix not in (".deb", ".gz", ".whl"):
            continue
        print(f"{file.stat().st_size / 1e6:6.1f} MB {file}")
        if file.suffix == ".whl" and file.stat().st_size > 1e6:
            print(*parts(file), sep="\n")


if __name__ == "__main__":
    main(sys.argv[1])
