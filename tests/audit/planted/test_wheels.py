# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Wheels from strangers: what is hostile is refused by name, and the rest of the audit goes on."""

import json
import subprocess
import warnings
import zipfile

import pytest
from builds import CPU, cpu
from made import MACHINE, PROGRAM

SHM = "torch/lib/libshm.so"
STORED, DEFLATED = zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED


def wheel(folder, add=lambda archive: None):
    """Writes the wheel of a sound build with the members that `add` writes."""
    build = cpu().write(folder / "build")
    file = folder / "torch-2.11.0-cp311-cp311-linux_x86_64.whl"
    with zipfile.ZipFile(file, "w", DEFLATED) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of two members with one name
        for path in sorted(build.rglob("*")):
            archive.write(path, path.relative_to(build))
        add(archive)
    return file


def link(name, target):
    entry = zipfile.ZipInfo(name)
    entry.external_attr = 0o120777 << 16
    return lambda archive: archive.writestr(entry, target)


def member(name, content=b"\x7fELF", method=STORED):
    return lambda archive: archive.writestr(name, content, method)


def audit(file):
    result = subprocess.run([PROGRAM, "audit", file, "--format", "json"], capture_output=True, text=True, check=False)
    assert "terminate called" not in result.stderr
    return result, json.loads(result.stdout) if result.stdout else None


HOSTILE = [
    ("torch/lib/../../../evil.so", member("torch/lib/../../../evil.so"), "leads out of the archive"),
    ("/etc/evil.so", member("/etc/evil.so"), "has an absolute name"),
    ("C:evil.so", member("C:evil.so"), "has a drive in its name"),
    (CPU, member(CPU), "appears twice"),
    (SHM, link(SHM, "/etc/passwd"), "is a link"),
]


@pytest.mark.parametrize(("name", "add", "says"), HOSTILE, ids=[row[2] for row in HOSTILE])
def test_rejects_hostile_member_and_reads_rest(tmp_path, name, add, says):
    result, inventory = audit(wheel(tmp_path, add))
    assert result.returncode == 1
    [problem] = inventory["problems"]
    assert f"member {name} " in problem
    assert says in problem
    assert [file["path"] for file in inventory["files"]] == [CPU]
    assert inventory["files"][0]["problem"] is None
    assert inventory["torch_version"] == "2.11.0+cpu"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["build", "torch-2.11.0-cp311-cp311-linux_x86_64.whl"]


def test_accepts_sound_wheel(tmp_path):
    result, inventory = audit(wheel(tmp_path))
    assert inventory["problems"] == []
    assert result.returncode == 0


LIES = [
    ("called", lambda whole, at: whole[: at + 30] + b"T" + whole[at + 31 :], "is called Torch/lib/libtorch_cpu.so"),
    ("checksum", lambda whole, at: whole[: at + 14] + bytes(4) + whole[at + 18 :], "has another checksum"),
    ("size", lambda whole, at: whole[: at + 22] + b"\1\0\0\0" + whole[at + 26 :], "has another size"),
]


@pytest.mark.parametrize(("name", "lie", "says"), LIES, ids=[row[0] for row in LIES])
def test_names_directory_that_misstates_member(tmp_path, name, lie, says):
    file = wheel(tmp_path, lambda archive: archive.write(tmp_path / "build" / CPU, SHM))
    whole = file.read_bytes()
    file.write_bytes(lie(whole, whole.index(CPU.encode()) - 30))  # its local header
    result, inventory = audit(file)
    assert result.returncode == 1
    assert f"member {CPU} {says}" in inventory["problems"][0]
    assert [file["path"] for file in inventory["files"]] == [SHM]


def test_damaged_data_is_a_problem_of_its_file(tmp_path):
    file = wheel(tmp_path, lambda archive: archive.write(tmp_path / "build" / CPU, SHM))
    whole = bytearray(file.read_bytes())
    whole[whole.index(CPU.encode()) + 400] ^= 0xFF
    file.write_bytes(whole)
    result, inventory = audit(file)
    assert result.returncode == 1
    problems = {file["path"]: file["problem"] for file in inventory["files"]}
    assert problems[SHM] is None
    assert f"member {CPU}: " in problems[CPU]
    assert "download it again" in problems[CPU]


def test_reads_wheel_of_many_members(tmp_path):
    """tensorflow 2.21.0 has 23,963 members."""

    def many(archive):
        for i in range(24000):
            archive.writestr(f"torch/{i}", b"")

    result, inventory = audit(wheel(tmp_path, many))
    assert (result.returncode, inventory["problems"]) == (0, [])
    assert [file["path"] for file in inventory["files"]] == [CPU]


@pytest.mark.parametrize("keeps", [0.0, 0.5, 0.999])
def test_rejects_truncated_wheel_in_one_line(tmp_path, keeps):
    file = wheel(tmp_path)
    whole = file.read_bytes()
    file.write_bytes(whole[: int(len(whole) * keeps)])
    result, _ = audit(file)
    assert result.returncode == 2
    lines = result.stderr.splitlines()
    assert len(lines) == 1
    assert "again" in lines[0]


NAMES = [
    ("torch-2.11.0%2Bcpu-cp311-cp311-linux_{}.whl", None, ""),
    ("torch-2.11.0+CPU-1-cp311-cp311-manylinux_2_39_{}.manylinux_2_40_{}.whl", None, ""),
    ("torch.whl", None, ""),
    ("torch-2.9.1-cp311-cp311-linux_{}.whl", "PB120", "2.9.1-cp311-cp311-linux_"),
    ("torch-2.11.0rc1-cp311-cp311-linux_{}.whl", "PB120", "says torch 2.11.0rc1"),
    (
        "torch-2.11.0%2Bcu130-cp311-cp311-linux_{}.whl",
        "PB120",
        ("says torch 2.11.0+cu130, and torch's files say 2.11.0+cpu"),
    ),
    ("torch-2.11.0-cp311-cp311-linux_sparc64.whl", "PB121", "says linux_sparc64, and its files are built for"),
]


def findings(file):
    command = [PROGRAM, "audit", file, "--claim", "torch=2.11.0", "--format", "json"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    return result.returncode, {one["id"]: one["what"] for one in json.loads(result.stdout)["verdict"]["findings"]}


@pytest.mark.parametrize(("name", "check", "says"), NAMES, ids=[row[0] for row in NAMES])
def test_compares_wheel_name_with_content(tmp_path, name, check, says):
    file = wheel(tmp_path)
    code, found = findings(file.rename(tmp_path / name.replace("{}", MACHINE)))
    assert set(found) == ({check} if check else set())
    assert code == (1 if check else 0)
    assert says in found.get(check, "")


@pytest.mark.parametrize("name", ["torch", "other"])
def test_requires_one_package_in_wheel(tmp_path, name):
    text = f"Metadata-Version: 2.4\nName: {name}\nVersion: 1.0\n"
    code, found = findings(wheel(tmp_path, member(f"{name}-1.0.dist-info/METADATA", text, DEFLATED)))
    assert (code, set(found)) == (1, {"PB134"})
    assert f"{name}-1.0.dist-info ({name} 1.0)" in found["PB134"]
    (tmp_path / "twin").mkdir()
    code, found = findings(wheel(tmp_path / "twin", member(f"torch/{name}-1.0.dist-info/METADATA", text, DEFLATED)))
    assert (code, found) == (0, {})
