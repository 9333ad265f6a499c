"""Checks that includes refer to the same room or a lower one, in rooms with
floors to the same floor or a lower one, and that headers include no heavy
headers."""

import re
import sys

import rooms

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">]+)[">]', re.M)
CONDITION = re.compile(r"^[ \t]*#[ \t]*(?:el)?if(?:n?def)?\b(.*)$", re.M)
# Preprocessor conditions allowed in headers: whether it is C++, and the toggles
# of Highway's repeated inclusion.
ALLOWED_CONDITION = re.compile(r"__cplusplus|HWY_TARGET_TOGGLE|HWY_ONCE")
# Also allowed in -inl headers, which are compiled once for each target.
ALLOWED_IN_PART = re.compile(r"HWY_TARGET|_INL_H_\b")
# The second file runs the threads of an emulated CUDA block.
BOOST = ("platform/place.h", "platform/cuda_emulation/fiber.cc")
HEAVY = ("Eigen/", "unsupported/Eigen/", "hwy/", "nlohmann/", "google/")


def check(path, text):
    here = rooms.room_of(path)
    floor = rooms.floor_of(path)
    header = path.suffix == ".h"

    def problem(match, sentence):
        line = text.count("\n", 0, match.start()) + 1
        return f"{path}:{line}: {sentence}"

    if floor == -1:
        yield f"{path}: lies on no floor of {here} (tools/lint/rooms.py)"
    for match in INCLUDE.finditer(text):
        quote, name = match.groups()
        if quote == '"' and not name.startswith("sluice/"):
            yield problem(match, f'write "sluice/<room>/...", not "{name}"')
        there = rooms.room_of(name.removeprefix("sluice/"))
        if not name.startswith("sluice/"):
            there = None
        if name in ("sluice/sluice.h", "sluice/lab.h", "sluice/ops.h"):
            yield problem(match, f"{name} is for users, not for rooms")
        if there and there != here and there not in rooms.ROOMS[here]:
            yield problem(match, f"{here} may not include {there} ({name})")
        included = name.removeprefix("sluice/")
        below = rooms.floor_of(included)
        if there == here and floor is not None and below > floor:
            yield problem(
                match,
                f"{path.parent} may not include {rooms.FLOORS[here][below]}, a floor "
                f"above it ({name})",
            )
        if name.startswith("boost/") and str(path) not in BOOST:
            yield problem(match, f"only {BOOST[0]} includes {name}")
        eigen_functor = here == "operators/math" and "Eigen/" in name
        highway_part = path.name.endswith("-inl.h") and name.startswith("hwy/")
        heavy = name.startswith(HEAVY) and not (eigen_functor or highway_part)
        if header and heavy:
            yield problem(match, f"{name} belongs in a .cc, not in a header")
    if header:
        for match in CONDITION.finditer(text):
            asked = match.group(1)
            part = path.name.endswith("-inl.h")
            if part and ALLOWED_IN_PART.search(asked):
                continue
            if not ALLOWED_CONDITION.search(asked):
                yield problem(
                    match,
                    f"a header asks for {match.group(1).strip()}; "
                    "let CMake choose between two sources",
                )


def main():
    problems = []
    for path in rooms.files(".h", ".cc", ".cu", ".cuh"):
        if rooms.room_of(path):
            problems += check(path, (rooms.ROOT / path).read_text())
    return rooms.report(problems)


if __name__ == "__main__":
    sys.exit(main())
