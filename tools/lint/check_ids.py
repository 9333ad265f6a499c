"""Checks that every check has a unique id, `component.what`."""

import re
import sys

import rooms

# The id follows the error code, like in SLUICE_ENFORCE(condition, code, "id",
# ...) and Fail(code, "id", ...), or the condition of a shape function:
# context.Require(condition, "id", ...), or three ? "id" : "id" for two ops.
FORM = r"[a-z0-9_]+\.[a-z0-9_.]+"
CHECK = re.compile(
    r'\bErrorCode::k[A-Z]\w*,\s*"([^"]*)"'
    rf'|\.Require\((?:[^;"]|"(?!{FORM}")[^"]*")*((?:"{FORM}"[^;"]*)+)'
)


def main():
    problems = []
    seen = {}
    for path in rooms.files(".h", ".cc", ".cu", ".cuh"):
        if not rooms.room_of(path):
            continue
        text = (rooms.ROOT / path).read_text()
        for match in CHECK.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            here = f"{path}:{line}"
            for check_id in re.findall(f'"({FORM})"', match[2] or "") or [match[1]]:
                if not re.fullmatch(FORM, check_id):
                    problems.append(f'{here}: "{check_id}" is not component.what')
                elif check_id in seen:
                    problems.append(
                        f'{here}: "{check_id}" is the check at {seen[check_id]}'
                    )
                seen.setdefault(check_id, here)
    return rooms.report(problems)


if __name__ == "__main__":
    sys.exit(main())
