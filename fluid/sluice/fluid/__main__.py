"""``python -m sluice.fluid SCRIPT [arguments]``: Sluice in place of paddle."""

from __future__ import annotations

import os
import runpy
import sys


def main() -> None:
    """Run a script."""
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print(
            "usage: python -m sluice.fluid SCRIPT [arguments]\n\n"
            "Run a script in which `import paddle` and `import paddle.fluid` "
            "mean Sluice."
        )
        sys.exit(0 if len(sys.argv) > 1 else 2)
    if not os.path.exists(sys.argv[1]):
        sys.exit(f"python -m sluice.fluid: there is no file {sys.argv[1]}")
    from . import as_paddle  # noqa: F401

    del sys.argv[0]
    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
