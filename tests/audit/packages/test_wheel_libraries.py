# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Libraries of a wheel: the loader takes the first of a name, torch's folders belong to torch, and what is needed comes
from the wheel, its requirements or the system of its tag.
"""

import json
import subprocess
import zipfile

import pytest
from packages import FAILED, MACHINE, PASSED, PROGRAM, Library, wheel
from small_builds import Build, linked
from test_identity import added, gated, rewritten, spam
from wheels import completed


def test_judges_the_library_that_the_loader_takes(tmp_path):
    """Two libraries of the wheel have the name that a module needs; the first folder of its RUNPATH decides."""
    help_ = 'extern "C" void help() {}\n'
    code = 'extern "C" void help();\nvoid f() { help(); }\n'
    user = Library(code=code, needs=("libhelp.so.1",), runpath=("$ORIGIN/first", "$ORIGIN/second"))
    for first, second, expected in ((help_, "", []), ("", help_, ["PB163"])):
        more = {"spam/first/libhelp.so.1": Library(code=first), "spam/second/libhelp.so.1": Library(code=second)}
        package = spam().but(libraries={**spam().libraries, "spam/user.so": user, **more})
        found = gated(wheel(package, tmp_path / f"{len(expected)}"), FAILED if expected else PASSED)
        assert [identifier for identifier, _ in found] == expected
        assert all("user.so needs help" in what for _, what in found)


@pytest.mark.parametrize("folder", ["torch/lib/", "torchgen/", "spam_kernels-1.0.data/platlib/torch/lib/"])
@pytest.mark.parametrize("name", ["libspam.so", "libtorch_cpu.so", "spam.py"])
def test_fails_member_in_folder_of_torch(tmp_path, folder, name):
    content = b"" if name.endswith(".py") else linked(name, Library()).read_bytes()
    file = rewritten(wheel(spam(), tmp_path), added(folder + name, content))
    done = subprocess.run(
        [PROGRAM, "gate", file, "--claim", "sm90", "--format", "json"], capture_output=True, text=True, check=False
    )
    findings = {one["id"]: one["what"] for one in json.loads(done.stdout)["verdict"]["findings"]}
    assert done.returncode == FAILED
    assert findings["PB182"] == f"the wheel installs {folder + name} into the folder of the package torch"
    twin = rewritten(
        wheel(spam(), tmp_path / "twin"), added("spam/torch/lib/" + name.replace("torch_cpu", "spam"), content)
    )
    assert gated(twin, PASSED) == []


LIB = "torch/lib/"
# Runpath of libtorch_cpu.so, library that it needs, METADATA of torch, and whether something provides the library.
NEEDS = {
    "unknown": ("$ORIGIN", "libfarmhash.so.1", (), False),
    "unknown, and NVIDIA's folders": ("$ORIGIN/../../nvidia/cublas/lib", "libfarmhash.so.1", (), False),
    "required": ("$ORIGIN", "libfarmhash.so.1", ("farmhash",), True),
    "the environment's folder": ("$ORIGIN/../../../..", "libsycl.so.8", (), True),
    "CUDA": ("$ORIGIN/../../nvidia/cublas/lib", "libcublas.so.13", (), True),
    "system": ("$ORIGIN", "libm.so.6", (), True),
}


@pytest.mark.parametrize("case", NEEDS)
def test_fails_a_torch_that_needs_a_library_of_nothing(tmp_path, case):
    runpath, name, requirements, provided = NEEDS[case]
    user = Library(needs=(name,), runpath=(runpath,))
    site = Build({LIB + "libtorch_cpu.so": user}, requires=requirements).write(tmp_path / "site")
    file = tmp_path / f"torch-2.11.0+cpu-cp311-cp311-manylinux_2_39_{MACHINE}.whl"
    with zipfile.ZipFile(file, "w") as archive:
        for path in sorted(site.rglob("*")):
            archive.write(path, path.relative_to(site))
    command = [PROGRAM, "gate", completed(file), "--claim", "torch=2.11.0", "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = [one["what"] for one in json.loads(done.stdout)["verdict"]["findings"] if one["id"] == "PB182"]
    says = f"libtorch_cpu.so needs {name}, which neither this tag allows nor another package provides"
    assert [says in what for what in found] == ([] if provided else [True])
