# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Real builds that tests compare the audit with: their folders, and access to their files.

PBPROBE_TEST_BUILDS names the folder that tests/real/fetch_builds filled; without it the tests that need it are skipped.
"""

import contextlib
import dataclasses
import os
import pathlib
import shutil
import subprocess
import tempfile
import zipfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("PBPROBE_TEST_BUILD", SOURCE / "build")) / "bin/pbprobe"
FOLDER = os.environ.get("PBPROBE_TEST_BUILDS")
DEBIAN = "libtorch1.13_1.13.1+dfsg-4_amd64"


@dataclasses.dataclass(frozen=True)
class Build:
    name: str
    claim: str  # what is true of it
    findings: frozenset = frozenset()  # ids that are true of it without a claim
    claimed_findings: frozenset = frozenset()  # further ones that are true of it with the claim
    untrue: str | None = None  # a CPU that it was not compiled for, though it would run there

    @property
    def is_wheel(self):
        return self.name.endswith(".whl")

    @property
    def source(self):
        return pathlib.Path(FOLDER or ".") / (self.name if self.is_wheel else self.name + ".deb")

    @contextlib.contextmanager
    def artifact(self):
        """The wheel, or the folder that the package unpacks to."""
        if self.is_wheel:
            yield self.source
            return
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder) / self.name
            subprocess.run(["dpkg-deb", "-x", self.source, root], check=True)
            yield root

    @contextlib.contextmanager
    def file(self, path):
        """One of its files, on disk."""
        with self.artifact() as artifact, tempfile.TemporaryDirectory() as folder:
            if not self.is_wheel:
                yield artifact / path
                return
            copy = pathlib.Path(folder) / pathlib.PurePath(path).name
            with zipfile.ZipFile(artifact) as wheel, wheel.open(path) as member, copy.open("wb") as out:
                shutil.copyfileobj(member, out, 1 << 24)
            yield copy


def wheel(version, platform, **facts):
    return Build(f"torch-{version}-cp311-cp311-manylinux_2_28_{platform}.whl", **facts)


# PB320: CUTLASS's kernels for SM 9.0a and later are also compiled for plain SMs, and only trap there. PB205: DEFAULT's
# upsample and sort call copies that the linker took from SVE256's objects. PB126: there is no MAGMA for aarch64. PB128:
# the package holds three links to libraries that Debian does not build. None of its files states the version 1.13.1.
COMMON = "python=3.11,avx2,avx512,sm80,sm86,sm90,sm120"
TRAPS = frozenset({"PB320"})
BUILDS = (
    wheel(
        "2.8.0",
        "x86_64",
        claim="torch=2.8.0,cuda=12.8," + COMMON,
        claimed_findings=TRAPS,
    ),
    wheel(
        "2.11.0",
        "x86_64",
        claim="torch=2.11.0,cuda=13.0," + COMMON,
        claimed_findings=TRAPS,
    ),
    wheel(
        "2.15.0",
        "x86_64",
        claim="torch=2.15.0,cuda=13.2," + COMMON,
        claimed_findings=TRAPS,
    ),
    wheel("2.10.0", "aarch64", claim="torch=2.10.0,python=3.11", untrue="armv8_2", findings=frozenset({"PB205"})),
    wheel(
        "2.15.0",
        "aarch64",
        claim="torch=2.15.0,cuda=13.2,python=3.11,sm80,sm90,sm110,sm120",
        claimed_findings=TRAPS,
        untrue="armv8_2",
        findings=frozenset({"PB126", "PB205"}),
    ),
    Build(DEBIAN, claim="avx2,avx512", findings=frozenset({"PB128"})),
)


def present():
    """Returns all builds, or none if one is missing."""
    missing = [build.source.name for build in BUILDS if not build.source.exists()]
    if FOLDER and missing:
        raise FileNotFoundError(f"{FOLDER} lacks {', '.join(missing)}: run tests/real/fetch_builds {FOLDER}")
    return BUILDS if FOLDER else ()


def table():
    """`pbprobe audit --table` of all of them."""
    with contextlib.ExitStack() as stack:
        artifacts = [stack.enter_context(build.artifact()) for build in present()]
        done = subprocess.run([PROGRAM, "audit", "--table", *artifacts], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"pbprobe audit --table: exit code {done.returncode}\n{done.stderr}")
    return done.stdout
