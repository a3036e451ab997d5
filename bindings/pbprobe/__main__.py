# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""`python -m pbprobe` and the console script `pbprobe`: the program that the package ships."""

from __future__ import annotations

import os
import sys

from pbprobe._environment import PROGRAM, not_started, torch_folder


def main() -> None:
    """Runs the program in place of this process. Without an artifact, the program uses this interpreter's torch."""
    torch = torch_folder()
    if torch is not None:
        os.environ.setdefault("PBPROBE_TORCH", str(torch))
    try:
        os.execv(PROGRAM, [str(PROGRAM), *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"pbprobe: {not_started(str(PROGRAM), error)}")


if __name__ == "__main__":
    main()
