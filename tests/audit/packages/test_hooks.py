# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""The gate in other people's builds: pbprobe_check() of the CMake package, cibuildwheel's line, nixpkgs' hook."""

import os
import re
import shlex
import shutil
import subprocess

import pytest
from packages import BUILD, MACHINE, PROGRAM, SOURCE, Library, Package, wheel
from small_builds import unit

BOTH = Library(units=("second90_120.o",))
PROJECT = """\
cmake_minimum_required(VERSION 3.22)
project(spam LANGUAGES C)
find_package(pbprobe REQUIRED)
enable_testing()
file(WRITE ${CMAKE_BINARY_DIR}/spam.c "int spam(void) { return 1; }")
add_library(spam SHARED ${CMAKE_BINARY_DIR}/spam.c ${DEVICE_OBJECT})
"""


def run(*command, **more):
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, **more)


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The component that holds the program, without what the build has not made."""
    prefix = tmp_path_factory.mktemp("installed")
    done = run("cmake", "--install", BUILD, "--component", "program", "--prefix", prefix)
    assert done.returncode == 0, done.stderr
    return prefix


@pytest.fixture
def device_object():
    return unit("first90.o", MACHINE)  # skips where it was not built


def project(folder, prefix, device_object, text):
    """Configured; the caller builds."""
    folder.mkdir()
    (folder / "CMakeLists.txt").write_text(PROJECT + text)
    return run("cmake", "-S", folder, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={prefix}",
               f"-DDEVICE_OBJECT={device_object}")  # fmt: skip


def built(folder):
    return run("cmake", "--build", folder / "build")


def outcomes(folder):
    done = run("ctest", "--output-on-failure", cwd=folder / "build")
    return dict(re.findall(r"Test +#\d+: (\S+) \.+ *(?:\*+)? *(Passed|Failed)", done.stdout))


def test_passes_a_library_with_its_sms_and_fails_one_without(installed, device_object, tmp_path):
    text = """\
pbprobe_check(spam SMS 90)
pbprobe_check(spam NAME real SMS 9.0 90-real sm_90)
pbprobe_check(spam NAME another SMS 90 120)
pbprobe_check(spam NAME exactly SMS 90a)
pbprobe_check(spam NAME as_ptx SMS 90-virtual)
set_target_properties(spam PROPERTIES CUDA_ARCHITECTURES "90-real")
pbprobe_check(spam NAME of_target)
"""
    done = project(tmp_path / "spam", installed, device_object, text)
    assert done.returncode == 0, done.stderr
    assert built(tmp_path / "spam").returncode == 0
    assert outcomes(tmp_path / "spam") == {
        "spam.pbprobe": "Passed",
        "real": "Passed",
        "another": "Failed",
        "exactly": "Failed",
        "as_ptx": "Failed",
        "of_target": "Passed",
    }


def test_checks_a_claim_file_in_a_build_step(installed, device_object, tmp_path):
    text = 'file(WRITE ${CMAKE_BINARY_DIR}/c "files * sm_120")\n'
    text += "pbprobe_check(spam CLAIM_FILE ${CMAKE_BINARY_DIR}/c POST_BUILD)"
    assert project(tmp_path / "spam", installed, device_object, text).returncode == 0
    done = built(tmp_path / "spam")
    assert done.returncode != 0
    assert "PB175" in done.stdout + done.stderr
    text = text.replace("sm_120", "sm_90")
    assert project(tmp_path / "sound", installed, device_object, text).returncode == 0
    assert built(tmp_path / "sound").returncode == 0


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("pbprobe_check(eggs SMS 90)", "eggs is not a target"),
        ("pbprobe_check(spam SMS new)", '"new" is not an SM'),
        ("pbprobe_check(spam)", "has no CUDA_ARCHITECTURES"),
        ("pbprobe_check(spam SMS 90 CLAIM_FILE c)", "in place of SMS"),
        ("pbprobe_check(spam 90)", "unknown words 90"),
        ("add_library(part OBJECT ${CMAKE_BINARY_DIR}/spam.c)\npbprobe_check(part SMS 90)", "part is not linked"),
    ],
)
def test_function_reports_its_limits(installed, device_object, tmp_path, text, says):
    done = project(tmp_path / "spam", installed, device_object, text)
    assert done.returncode != 0
    assert says in " ".join(done.stderr.split())


def line_of_documentation():
    text = (SOURCE / "docs/gate.md").read_text()
    return re.search(r'repair-wheel-command = "(.*)"', text)[1]


@pytest.mark.parametrize(("claims", "passes"), [("claim sm90,sm120\n", True), ("claim sm90,sm80\n", False)])
def test_cibuildwheel_s_line_lets_through_what_holds_its_claim(tmp_path, claims, passes):
    """Fills in the braces and starts a shell, as cibuildwheel does. auditwheel is a plain copy here: it needs
    patchelf."""
    (tmp_path / "wheel.claims").write_text(claims)
    (tmp_path / "repaired").mkdir()
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "pbprobe").symlink_to(PROGRAM)
    (programs / "auditwheel").write_text('#!/bin/sh\n[ "$1 $2" = "repair -w" ] && cp "$4" "$3"\n')
    (programs / "auditwheel").chmod(0o755)
    artifact = wheel(Package("spam", {"spam/_C.abi3.so": BOTH}), tmp_path)
    names = {"wheel": artifact, "dest_dir": tmp_path / "repaired", "project": tmp_path, "package": tmp_path}
    command = line_of_documentation().format(**{name: shlex.quote(str(path)) for name, path in names.items()})
    done = run("sh", "-c", command, env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"})
    assert (done.returncode == 0) == passes, done.stdout + done.stderr
    assert ("PB171" in done.stdout) != passes


# Sources a setup hook and runs its functions in their phase, like stdenv.
BUILDER = """\
set -e
preInstallCheckHooks=()
mkdir dist; cp "$wheel" dist/NAME
source "$hook"
for each in "${preInstallCheckHooks[@]}"; do "$each"; done
mkdir "$out"
"""
EXPRESSION = """\
{{ claim }}: derivation {{
  name = "spam"; system = builtins.currentSystem; builder = "{bash}"; args = [ "{builder}" ];
  PATH = "{path}"; wheel = "{wheel}"; hook = "{hook}"; pbprobeClaim = claim;
}}
"""


@pytest.mark.parametrize(("claim", "passes"), [("sm90,sm120", True), ("sm80", False), ("", False)])
def test_nix_builds_only_what_holds_its_claim(tmp_path, claim, passes):
    if shutil.which("nix-build") is None:
        pytest.skip("nix-build is not installed: apt install nix-bin")
    artifact = wheel(Package("spam", {"spam/_C.abi3.so": BOTH}), tmp_path)
    builder = tmp_path / "builder.sh"
    builder.write_text(BUILDER.replace("NAME", artifact.name))
    expression = tmp_path / "spam.nix"
    path = f"{PROGRAM.parent}:/usr/bin:/bin"
    hook = SOURCE / "recipes/nix/check-hook.sh"
    expression.write_text(
        EXPRESSION.format(bash=shutil.which("bash"), builder=builder, path=path, wheel=artifact, hook=hook)
    )
    store = tmp_path / "nix"
    places = {"NIX_STORE_DIR": store / "store", "NIX_STATE_DIR": store / "var", "NIX_LOG_DIR": store / "log"}
    env = {
        **os.environ,
        **{name: str(folder) for name, folder in places.items()},
        "HOME": str(tmp_path),
        "NIX_REMOTE": "",
    }
    options = ["--option", "sandbox", "false", "--option", "build-users-group", "", "--no-out-link"]
    done = run("nix-build", expression, "--argstr", "claim", claim, *options, env=env)
    assert (done.returncode == 0) == passes, done.stderr
    assert passes or ("PB171" if claim else "nothing is claimed") in done.stderr
