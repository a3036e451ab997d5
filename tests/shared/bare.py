# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Bare systems to try the wheel in: a release in its own root folder, installed by debootstrap.

Requires root, for chroot and mounts. The mounts belong to the started process, and end with it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]
KEPT = SOURCE / "build/bare"  # pristine systems and their packages, for the next run
DEBIAN = {"bullseye": "Debian 11", "bookworm": "Debian 12", "trixie": "Debian 13"}
UBUNTU = {"jammy": "Ubuntu 22.04", "noble": "Ubuntu 24.04"}
USER = 10001

# In namespaces of its own: the pristine system below, what the test changed above, and the folders that it shows.
ENTER = r"""
set -e
mount --make-rprivate /
if [ -n "$READ_ONLY" ]; then kind=ro; else kind=rw; fi
mount -t overlay overlay -o "lowerdir=$LOWER,upperdir=$UPPER,workdir=$WORK,$kind" "$ROOT"
mount -t proc proc "$ROOT/proc"
mount -t tmpfs tmpfs "$ROOT/tmp"
for device in null zero full random urandom tty; do mount --bind "/dev/$device" "$ROOT/dev/$device"; done
for shown in $SHOWN; do
  mount --bind "${shown%%=*}" "$ROOT${shown#*=}"
  mount -o remount,bind,ro "$ROOT${shown#*=}"
done
exec /usr/sbin/chroot --userspec="$USER_ID:$USER_ID" "$ROOT" "$@"
"""


def require() -> None:
    """Skips if debootstrap or root is missing."""
    for tool, package in (("debootstrap", "debootstrap"), ("unshare", "util-linux")):
        if not shutil.which(tool):
            pytest.skip(f"{tool} is not installed: apt-get install {package}")
    if os.geteuid() != 0:
        pytest.skip("takes root: chroot and mounts")


def mirror() -> str:
    """Returns the Debian mirror in the sources of this machine."""
    command = ["apt-get", "indextargets", "--format", "$(REPO_URI) $(COMPONENT)"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for line in shown.splitlines():
        place, component = line.split()
        if component == "main" and place.rstrip("/").endswith("/debian"):
            return place
    pytest.skip("no Debian mirror among this machine's apt sources")


def pristine(release: str, packages: tuple[str, ...]) -> Path:
    """The root folder of a release with these packages: made once."""
    require()
    folder = KEPT / "-".join([release, *packages])
    if (folder / "etc/os-release").exists():
        return folder
    half = folder.with_name(folder.name + ".half")
    shutil.rmtree(half, ignore_errors=True)
    (KEPT / "cache").mkdir(parents=True, exist_ok=True)
    command = ["debootstrap", "--variant=minbase", f"--cache-dir={KEPT / 'cache'}"]
    command += [f"--include={','.join(packages)}"] if packages else []
    if release in UBUNTU:
        keyring = Path("/usr/share/keyrings/ubuntu-archive-keyring.gpg")
        checked = (
            f"--keyring={keyring}" if keyring.exists() else "--no-check-gpg"
        )  # Debian 12 has no package of its keys
        command += [checked, "--components=main,universe", release, half, "", "gutsy"]  # debootstrap's own mirror of it
    else:
        command += [release, half, mirror()]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        shutil.rmtree(half, ignore_errors=True)
        pytest.skip(f"{release} could not be installed: {(done.stdout + done.stderr).strip().splitlines()[-1]}")
    half.rename(folder)
    return folder


@dataclass
class System:
    """A bare system that a test may change; the pristine one below stays as it is."""

    lower: Path
    scratch: Path

    def __post_init__(self) -> None:
        for name in ("upper", "work", "root"):
            (self.scratch / name).mkdir(parents=True)
        (self.scratch / "upper/etc").mkdir()
        shutil.copyfile("/etc/resolv.conf", self.scratch / "upper/etc/resolv.conf")

    def copy(self, source: Path, target: str) -> None:
        """Into it, as COPY of a container file does: a target that ends in a slash is a folder."""
        place = self.scratch / "upper" / target.lstrip("/")
        place = place / source.name if target.endswith("/") else place
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, place)

    def run(
        self,
        *command: str | Path,
        user: int = 0,
        read_only: bool = False,
        network: bool = True,
        shown: dict[Path, str] | None = None,
        env: dict[str, str] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Runs a command. `shown` maps folders or files of this machine to their read-only places in the system."""
        for place in (shown or {}).values():
            (self.scratch / "upper" / place.lstrip("/")).mkdir(parents=True, exist_ok=True)
        inside = {
            "LOWER": str(self.lower),
            "UPPER": str(self.scratch / "upper"),
            "WORK": str(self.scratch / "work"),
            "ROOT": str(self.scratch / "root"),
            "READ_ONLY": "yes" if read_only else "",
            "SHOWN": " ".join(f"{source}={place}" for source, place in (shown or {}).items()),
            "USER_ID": str(user),
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": "/root" if user == 0 else "/tmp",
            "LC_ALL": "C.UTF-8",
            "DEBIAN_FRONTEND": "noninteractive",
            **(env or {}),
        }
        apart = [] if network else ["--net"]
        words = [
            "unshare",
            *apart,
            "--mount",
            "--pid",
            "--fork",
            "--kill-child",
            "--ipc",
            "sh",
            "-c",
            ENTER,
            "sh",
            *command,
        ]
        return subprocess.run(
            list(map(str, words)), capture_output=True, text=True, check=False, env=inside, cwd="/", timeout=900
        )
