# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""`python -m pbprobe.fleet`: one rank of a job, or with --node-health this node only."""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from pbprobe import __version__
from pbprobe._environment import PROGRAM
from pbprobe.fleet import __doc__ as description
from pbprobe.fleet.document import document_path, spare_folder
from pbprobe.fleet.health import check_node
from pbprobe.fleet.launch import find_place, host_name
from pbprobe.fleet.settings import GRACE, Settings
from pbprobe.fleet.supervisor import Supervisor

COULD_NOT_RUN = 2


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m pbprobe.fleet",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=f"The job ends within --join, --minutes and {GRACE:.0f} s, whatever a rank does. Exit code of rank 0: "
        "0 nothing failed (with --strict: all passed), 1 something failed, 2 could not run; other ranks end with 0.",
    )
    parser.add_argument(
        "--minutes", type=float, default=3, help="minutes that the job may take once all ranks have joined (3)"
    )
    parser.add_argument(
        "--join", type=float, default=60, metavar="SECONDS", help="seconds to wait for ranks to join (60)"
    )
    parser.add_argument("--output", default="fleet", metavar="FOLDER", help="where reports go (fleet)")
    parser.add_argument("--baseline", metavar="FILE", help="a fleet.json of before, to compare with")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto", help="auto: cuda if a GPU exists")
    parser.add_argument("--host", help="name of this node (default: NODE_NAME, SLURMD_NODENAME or the host name)")
    parser.add_argument("--strict", action="store_true", help="also exit with 1 if a rank gave no answer")
    parser.add_argument("--redact", action="store_true", help="write hashes in place of host names and UUIDs")
    parser.add_argument("--node-health", action="store_true", help="this node only, under 20 s: one line and exit code")
    arguments = parser.parse_args()
    if not 0.05 <= arguments.minutes <= 1440:
        parser.error("--minutes: give 0.05 to 1440")
    if not 1 <= arguments.join <= 3600:
        parser.error("--join: give 1 to 3600 seconds")
    return arguments


def _check_baseline(baseline: str) -> str | None:
    """Checks the baseline before the fleet spends minutes."""
    try:
        document = json.loads(Path(baseline).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        return f"--baseline: {baseline} cannot be read: {error}"
    if not isinstance(document, dict) or document.get("schema") != "pbprobe.fleet/1":
        return f"--baseline: {baseline} is not a fleet.json (pbprobe.fleet/1)"
    return None


def _merge(folder: Path, files: list[str], options: list[str]) -> int:
    command = [
        str(PROGRAM), "merge", *files, *options, "--output", str(folder / "fleet.json"),
        "--exclude", str(folder / "exclude.txt"), "--prometheus", str(folder / "pbprobe.prom"),
        "--junit", str(folder / "fleet.xml"), "--html", str(folder / "fleet.html"),
    ]  # fmt: skip
    return subprocess.run(command, check=False).returncode


def _await_files(settings: Settings, deadline: float) -> None:
    """Waits until the reports in the folder are complete, for a job without a store."""
    files = [document_path(settings.folder, rank) for rank in range(settings.place.world)]
    while time.monotonic() < deadline:
        rows = [json.loads(file.read_text())["ranks"][0] for file in files if file.exists()]
        if all(row["state"] != "running" for row in rows):
            return
        time.sleep(0.25)


def _lead(
    settings: Settings, supervisor: Supervisor, collector: "subprocess.Popen[bytes]", began: float, options: list[str]
) -> int:
    """Rank 0: waits for the gathered reports and starts their judgment. `options` are options of `pbprobe merge`."""
    supervisor.watch()
    left = max(settings.limit - (time.monotonic() - supervisor.begin), 1)
    try:
        answer, _ = collector.communicate(timeout=left)
    except subprocess.TimeoutExpired:
        collector.kill()
        answer = b""
    if not answer:
        _await_files(settings, supervisor.begin + settings.gathering)
    gathered: dict[str, Any] = json.loads(answer) if answer else {"folder": settings.output, "ranks": []}
    folder = Path(gathered["folder"])
    files = []
    for rank in range(settings.place.world):
        here, own = document_path(folder, rank), document_path(settings.folder, rank)
        if rank in gathered["ranks"]:
            files.append(str(here))
        # A report that a rank did not publish may still be in a shared folder. Skips reports of an earlier run.
        elif own.exists() and own.stat().st_mtime >= began:
            files.append(str(own))
    if not files:
        sys.stderr.write(f"pbprobe.fleet: no report in {settings.folder}: see the messages above\n")
        return COULD_NOT_RUN
    code = _merge(folder, files, options)
    if code != COULD_NOT_RUN or folder != settings.folder:
        return code
    spare = spare_folder(f"the verdict could not be written to {folder}")
    return code if spare is None else _merge(spare, files, options)


def main() -> int:
    """Returns the exit code."""
    arguments = _arguments()
    if arguments.node_health:
        return check_node(arguments.device)
    try:
        place = find_place()
    except ValueError as error:
        sys.stderr.write(f"pbprobe.fleet: {error}\n")
        return COULD_NOT_RUN
    if place is None:
        sys.stderr.write(
            "pbprobe.fleet: no launcher started this: use torchrun, srun or mpirun, or --node-health for this node\n"
        )
        return COULD_NOT_RUN
    problem = _check_baseline(arguments.baseline) if arguments.baseline and place.rank == 0 else None
    if problem is not None:
        sys.stderr.write(f"pbprobe.fleet: {problem}\n")
        return COULD_NOT_RUN
    settings = Settings(
        place=place,
        host=arguments.host or host_name(),
        output=str(Path(arguments.output).resolve()),
        version=str(__version__),
        budget=60 * arguments.minutes,
        join=arguments.join,
        device=arguments.device,
        redact=arguments.redact,
    )
    began = time.time()
    leads = place.rank == 0
    collector = subprocess.Popen(settings.command("collector"), stdout=subprocess.PIPE) if leads else None
    supervisor = Supervisor(settings)
    if collector is not None:
        options = ["--baseline", arguments.baseline] if arguments.baseline else []
        if arguments.strict:
            options.append("--strict")
        return _lead(settings, supervisor, collector, began, options)
    supervisor.watch()
    return 0


if __name__ == "__main__":
    sys.exit(main())
