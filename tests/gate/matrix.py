# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""The fault table and the false-alarm table, as Markdown. Exit code 1 where anything in them is off.

    make gate-matrix

Each fault is asked by a policy that makes its check fail; "by default" is what the catalogue makes of it.
PBPROBE_TEST_TORCH is an installed torch of tests/real/builds.py, PBPROBE_TEST_BUILDS the folder of all of them.
"""

from __future__ import annotations

import concurrent.futures
import os
import pathlib
import re
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "shared"), str(HERE.parent / "real")]

import builds  # noqa: E402
import cpu_faults  # noqa: E402
import device_faults  # noqa: E402
import faults  # noqa: E402
import file_faults  # noqa: E402
import gpu_faults  # noqa: E402
import pytest  # noqa: E402
from made import BUILD, SOURCE  # noqa: E402
from variants import old_variants, variants  # noqa: E402

FAULTS = [*gpu_faults.FAULTS, *device_faults.FAULTS, *cpu_faults.FAULTS, *file_faults.FAULTS]
ROW = re.compile(r"^\| (PB\d+) \| \w+ \| \w+ \| (\w+) \|", re.MULTILINE)
SEVERITIES = dict(ROW.findall((SOURCE / "docs/checks.md").read_text()))
MAY_LACK = "no NVRTC"  # its wheel is not everywhere


def row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


def not_made(skip: BaseException) -> tuple[str, bool]:
    """Returns why something was not made, and whether that is wrong."""
    return f"not made: {skip}", not str(skip).startswith(MAY_LACK)


def fault_row(fault: faults.Fault) -> tuple[str, bool]:
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        try:
            answer = faults.gated_fault(fault, pathlib.Path(folder))
        except pytest.skip.Exception as skip:
            reported, off = not_made(skip)
            return row(fault.what, f"`{fault.asked}`", fault.expected, reported, "-", "no" if off else "-"), off
    why = faults.why_not_caught(fault, answer)
    ids = ", ".join(sorted(answer.found) or sorted(answer.unknown - {"claim"}))
    severity = SEVERITIES[fault.expected] if fault.expected in answer.found else "unknown"
    return row(fault.what, f"`{fault.asked}`", fault.expected, ids, severity, why or "yes"), bool(why)


def sound_row(name: str) -> tuple[str, bool]:
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        try:
            answer = faults.gated_sound(name, pathlib.Path(folder))
        except pytest.skip.Exception as skip:
            reported, off = not_made(skip)
            return row("tiny libtorch", f"`{name}`", reported, ""), off
    return answer_row("tiny libtorch", name, answer)


def answer_row(artifact: str, claim: str, answer: faults.Answer) -> tuple[str, bool]:
    against = answer.failed | answer.unknown
    known = ", ".join(sorted(set(answer.found) - against)) or "-"
    return row(artifact, f"`{claim}`", ", ".join(sorted(against)) or "0", known), answer.code != 0


def installed_torch() -> list[tuple[str, pathlib.Path, str]]:
    """The torch that is tested on, if its true claim is known."""
    packages = pathlib.Path(os.environ.get("PBPROBE_TEST_TORCH") or ".")
    version = packages / "torch/version.py"
    if not version.exists():
        return []
    text = version.read_text()
    for build in builds.BUILDS:
        release = build.name.split("-")[1]
        if build.is_wheel and f"'{release}+" in text and build.name.endswith(os.uname().machine + ".whl"):
            return [(f"torch {release}, installed", packages, build.claim)]
    return []


def real_rows() -> list[tuple[str, bool]]:
    rows = [answer_row(name, claim, faults.gated(artifact, claim)) for name, artifact, claim in installed_torch()]
    for build in builds.present():
        with build.artifact() as artifact:
            rows.append(answer_row(build.name, build.claim, faults.gated(artifact, build.claim)))
    return rows


def main() -> int:
    start = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        sound = list(pool.map(sound_row, [*variants(), *old_variants()]))
        made = time.monotonic() - start
        planted = list(pool.map(fault_row, FAULTS))
    real = real_rows()
    print("## Planted faults\n")
    print(row("fault", "claim", "expected", "seen", "by default", "caught"))
    print(row(*("---",) * 6))
    print("\n".join(text for text, _ in planted))
    print("\n## False alarms\n")
    print(row("artifact", "claim", "failures", "below fail"))
    print(row(*("---",) * 4))
    print("\n".join(text for text, _ in (*sound, *real)))
    off = sum(wrong for _, wrong in (*planted, *sound, *real))
    print(f"\n{len(planted)} faults, {len(sound)} sound builds, {len(real)} real ones; {off} rows are off.")
    print(f"Sound builds made and judged in {made:.0f} s, all of it in {time.monotonic() - start:.0f} s.")
    return 1 if off else 0


if __name__ == "__main__":
    sys.exit(main())
