# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Claim files: what each library of a package holds, what is left out and why, and a kernel's own metadata.json."""

import json
import subprocess

import pytest
from packages import FAILED, MACHINE, PASSED, PROGRAM, Library, Package, device, wheel

MODULE = f"spam/_C.cpython-311-{MACHINE}-linux-gnu.so"
COULD_NOT_RUN = 2
BOTH = Library(units=("second90_120.o",))
ONLY_90 = Library(units=("first90.o",))
HOST_ONLY = Library()


def spam(**libraries):
    return Package("spam-kernels", {"spam/_C.abi3.so": BOTH, "spam/_moe.abi3.so": ONLY_90} | libraries)


def gate(artifact, tmp_path, claims, *more):
    file = tmp_path / ("spam.json" if isinstance(claims, dict) else "spam.claims")
    file.write_text(json.dumps(claims) if isinstance(claims, dict) else claims)
    command = [PROGRAM, "gate", artifact, "--claim-file", file, "--format", "json", *more]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def read_verdict(done, exit_code):
    assert done.returncode == exit_code, done.stdout + done.stderr
    return json.loads(done.stdout)["verdict"]


def found(verdict):
    return {finding["id"]: finding["what"] for finding in verdict["findings"] if finding["severity"] == "fail"}


SOUND = "# what each library is for\nclaim sm90\nfiles spam/_C*.so sm90,sm120\n"


def test_passes_each_library_by_its_own_claim(tmp_path):
    verdict = read_verdict(gate(wheel(spam(), tmp_path), tmp_path, SOUND), PASSED)
    assert (verdict["outcome"], found(verdict)) == ("pass", {})
    assert {row["claim"]: (row["claimed"], row["shipped"]) for row in verdict["claims"]} == {
        "SM": ("sm90", "pass"),
        "files": ("spam/_C*.so", "pass"),
    }


def test_passes_the_same_claim_file_in_json(tmp_path):
    claims = {
        "schema": "pbprobe.claims/1",
        "claim": "sm90",
        "files": [{"files": "_C*.so", "claim": "sm90,sm_120"}],
        "ignore": [{"files": "_host.so", "reason": "host code only"}],
    }
    package = spam(**{"spam/_host.so": HOST_ONLY})
    verdict = read_verdict(gate(wheel(package, tmp_path), tmp_path, claims), PASSED)
    [row] = [row for row in verdict["claims"] if row["claim"] == "files"]
    assert row["detail"] == "_host.so left out: host code only"


@pytest.mark.parametrize(
    ("claims", "says"),
    [
        (
            "files _moe*.so sm90,sm120\n",
            "sm_120 is claimed, and file _moe.abi3.so in _moe*.so of spam-kernels 1.0 holds",
        ),
        ("files _C*.so sm90a\n", "sm_90a is claimed, and file _C.abi3.so in _C*.so of spam-kernels 1.0 holds"),
        (
            "files _C*.so compute_80\n",
            "compute_80 is claimed, and file _C.abi3.so in _C*.so of spam-kernels 1.0 holds PTX",
        ),
        ("files *.so sm90\n", "sm_90 is claimed, and file _host.so in *.so of spam-kernels 1.0 holds no device code"),
        ("files _host.so sm90\n", "sm_90 is claimed, and no file of _host.so of spam-kernels 1.0 holds device code"),
        ("files _fa.so cuda=12.8\n", "CUDA 12.8 is claimed, and _fa.so of spam-kernels 1.0 links libraries of CUDA 13"),
    ],
)
def test_fails_a_library_that_breaks_its_claim(tmp_path, claims, says):
    needs_13 = Library(units=("first90.o",), needs=("libcudart.so.13",))
    package = spam(**{"spam/_host.so": HOST_ONLY, "spam/_fa.so": needs_13})
    seen = found(read_verdict(gate(wheel(package, tmp_path), tmp_path, claims), FAILED))
    assert seen.keys() == {"PB175"}
    assert seen["PB175"].startswith(says)


def test_applies_the_last_matching_pattern(tmp_path):
    artifact = wheel(spam(), tmp_path)
    general_first = "files spam/*.so sm90,sm120\nfiles _moe*.so sm90\n"
    assert found(read_verdict(gate(artifact, tmp_path, general_first), PASSED)) == {}
    general_last = "files _moe*.so sm90\nfiles spam/*.so sm90,sm120\n"
    assert found(read_verdict(gate(artifact, tmp_path, general_last), FAILED)).keys() == {"PB175", "PB176"}


@pytest.mark.parametrize(
    ("claims", "says"),
    [
        (
            SOUND + "files spam/_gone*.so sm90\n",
            '"spam/_gone*.so" of the claim file decides on no file of spam-kernels 1.0',
        ),
        (
            SOUND + "ignore *.cubin made here\n",
            '"*.cubin", which the claim file ignores, matches no file of spam-kernels 1.0',
        ),
    ],
)
def test_reports_a_pattern_without_a_file(tmp_path, claims, says):
    assert found(read_verdict(gate(wheel(spam(), tmp_path), tmp_path, claims), FAILED)) == {"PB176": says}


def test_ignored_files_need_no_claim(tmp_path):
    artifact = wheel(spam(), tmp_path)
    claims = "claim sm90,sm120\n"
    assert found(read_verdict(gate(artifact, tmp_path, claims), FAILED)).keys() == {"PB171"}
    claims += "ignore spam/_moe*.so MoE is for Hopper\n"
    assert found(read_verdict(gate(artifact, tmp_path, claims), PASSED)) == {}


def test_claim_and_claim_file_together(tmp_path):
    artifact = wheel(spam(), tmp_path)
    assert read_verdict(gate(artifact, tmp_path, "files _C*.so sm120\n", "--claim", "sm90"), PASSED)
    assert "leave one" in gate(artifact, tmp_path, SOUND, "--claim", "sm90").stderr


@pytest.mark.parametrize(
    ("claims", "says"),
    [
        ("", "it claims nothing"),
        ("sm90\n", 'line 1: a line begins with "sm90": write claim, files or ignore'),
        ("# a\nfiles _C*.so sm9x\n", 'line 2: "sm9x" is nothing to claim of single files'),
        ("files _C*.so avx2\n", '"avx2" is nothing to claim of single files'),
        ("files _C*.so\n", '"" is nothing to claim of single files'),
        ("claim sm90\nclaim sm120\n", "line 2: the claim file claims the whole artifact twice"),
        ("claim sm999\n", "sm999"),
        ("claim sm90\nignore _C*.so\n", "line 2: say why _C*.so is ignored"),
        ({"schema": "pbprobe.claims/1", "claims": "sm90"}, "claims: a claim file has no such key"),
        ({"schema": "pbprobe.claims/1", "files": [{"files": "a"}]}, "files[0].claim: required key is missing"),
        ({"schema": "pbprobe.claims/2"}, 'expected "pbprobe.claims/1"'),
        ({"backend": {"type": "xpu"}}, "pbprobe reads SMs only from backend.archs of type cuda"),
        ({"backend": {"type": "cuda", "archs": ["gfx90a"]}}, '"gfx90a" is not a capability'),
        ({"backend": {"type": "cuda", "archs": []}}, "it names none"),
        ({"backend": {"type": "cuda", "archs": 9}}, "backend"),
    ],
)
def test_exits_with_2_for_an_invalid_claim_file(tmp_path, claims, says):
    done = gate(wheel(spam(), tmp_path), tmp_path, claims)
    assert done.returncode == COULD_NOT_RUN, done.stdout
    assert says in " ".join(done.stderr.split())


def kernel(folder, archs, units):
    """Writes a folder as Hugging Face's kernel-builder does."""
    folder.mkdir(parents=True)
    library = Package("x", {"_spam_1234.abi3.so": Library(units=units, needs=("libcudart.so.13",))}).write(
        folder.parent / "made"
    )
    (library / "_spam_1234.abi3.so").rename(folder / "_spam_1234.abi3.so")
    (folder / "__init__.py").write_text("")
    backend = {"type": "cuda", "archs": archs}
    (folder / "metadata.json").write_text(json.dumps({"version": 1, "python-depends": [], "backend": backend}))
    return folder


@pytest.mark.parametrize(
    ("archs", "exit_code", "ids"),
    [(["9.0", "12.0"], PASSED, set()), (["8.0", "9.0"], FAILED, {"PB175"}), (["9.0a"], FAILED, {"PB175"}),
     (["9.0+PTX"], FAILED, {"PB175"})],
)  # fmt: skip
def test_judges_a_kernel_by_its_own_metadata(tmp_path, archs, exit_code, ids):
    folder = kernel(tmp_path / "build/kernel", archs, ("second90_120.o",))
    done = subprocess.run([PROGRAM, "gate", folder, "--format", "json"], capture_output=True, text=True, check=False)
    verdict = read_verdict(done, exit_code)
    assert found(verdict).keys() == ids
    named = subprocess.run([PROGRAM, "gate", folder, "--claim-file", folder / "metadata.json"], check=False)
    assert named.returncode == exit_code


def test_takes_torch_and_cuda_from_the_folder_of_a_kernel(tmp_path):
    folder = kernel(tmp_path / f"torch29-cxx11-cu126-{MACHINE}-linux", ["9.0"], ("first90.o",))
    done = subprocess.run([PROGRAM, "gate", folder, "--format", "json"], capture_output=True, text=True, check=False)
    assert found(read_verdict(done, FAILED)) == {
        "PB175": f"CUDA 12.6 is claimed, and * of {folder.name} links libraries of CUDA 13"
    }
    [claim] = json.loads(done.stdout)["claim"]["files"]
    assert (claim["torch"], claim["cuda"]) == ("2.9", "12.6")


def test_raw_cubins_of_a_kernel_may_be_its_device_code(tmp_path):
    package = spam(**{"spam/cubins/gemm.cubin": device("sm_100a.cubin")})
    claims = "claim sm90\nfiles spam/cubins/* sm_100a\n"
    assert found(read_verdict(gate(wheel(package, tmp_path), tmp_path, claims), PASSED)) == {}
    claims = "claim sm90\nfiles spam/cubins/* sm100,sm103\n"
    assert found(read_verdict(gate(wheel(package, tmp_path), tmp_path, claims), FAILED)).keys() == {"PB175"}


def test_accepts_a_claim_file_for_a_single_library(tmp_path):
    site = spam().write(tmp_path / "site")
    module = site / "spam/_C.abi3.so"
    assert found(read_verdict(gate(module, tmp_path, "files * sm_90,sm_120\n"), PASSED)) == {}
    assert found(read_verdict(gate(module, tmp_path, "files * sm_90,sm_80\n"), FAILED)).keys() == {"PB175"}
