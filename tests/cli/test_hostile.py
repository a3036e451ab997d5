# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Names that are written for the terminal, and not for people: each renderer shows them, and none lets them act."""

import json
import os
import shutil
import subprocess
import sys
import unicodedata
import xml.etree.ElementTree
import zipfile

import pytest
from gated import CLAIM
from test_cli import PROGRAM, run

RED, CLEAR, C1, TURN, NEXT = "\033[31m", "\033[2J", "\u009b31m", "\u202e", "\nPASS  forged\n"
HOSTILE = f"{RED}{CLEAR}{C1}{TURN}"


def harmless(data: bytes, lines: bool = True) -> str:
    text = data.decode("utf-8")  # strictly
    acting = {
        character
        for character in text
        if unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp", "Cs") and character not in "\n"
    }
    assert not acting, [hex(ord(character)) for character in acting]
    if lines:
        assert not [line for line in text.splitlines() if line.startswith("PASS  forged")], text
    return text


@pytest.fixture(scope="module")
def site(sound, tmp_path_factory):
    """Names of files, sonames, sections, symbols, needed libraries, RUNPATHs and fields of metadata, all hostile."""
    folder = shutil.copytree(sound, tmp_path_factory.mktemp("hostile") / f"site{RED}{TURN}")
    library = folder / "torch/lib"
    source = folder / "code.S"
    source.write_text(
        f'.section ".text{RED}{TURN}","ax"\n.globl "axpy{HOSTILE}"\n"axpy{HOSTILE}":\n vaddps %zmm0,%zmm1,%zmm2\n ret\n'
    )
    object_ = folder / "code.o"
    subprocess.run(["cc", "-c", "-o", object_, source], check=True)
    for name in (f"libtorch_{HOSTILE}.so", f"libtorch_line{NEXT}.so", "libtorch_empty.so"):
        command = ["cc", "-shared", "-nostdlib", f"-Wl,-soname,lib{HOSTILE}.so", f"-Wl,-rpath,/tmp/{HOSTILE}"]
        subprocess.run([*command, "-o", library / name, object_], check=True)
    (library / f"libtorch_needed{HOSTILE}.so").unlink(missing_ok=True)
    user = folder / "user.c"
    user.write_text("int user;\n")
    command = ["cc", "-shared", "-nostdlib", "-Wl,--no-as-needed", f"-L{library}", f"-l:libtorch_{HOSTILE}.so"]
    subprocess.run([*command, "-o", library / "libtorch_user.so", user], check=True)
    (library / os.fsdecode(b"libtorch_\xff\xfe.so")).write_bytes(b"damaged")
    (library / f"libtorch_damaged{HOSTILE}.so").write_bytes(b"\x7fELF")
    (library / f"libgone{HOSTILE}.so").symlink_to(f"/nowhere{HOSTILE}")
    (folder / "torch/version.py").write_text(
        f"__version__ = '2.10.0{HOSTILE}'\ncuda = '13.0{HOSTILE}'\ngit_version = 'x{HOSTILE}'\n"
    )
    info = folder / "torch-2.10.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Name: torch\nVersion: 2.10.0{HOSTILE}\nRequires-Dist: nvidia-nccl-cu13{HOSTILE}==2.28{HOSTILE}\n"
    )
    (info / "WHEEL").write_text(f"Tag: cp313-cp313-linux{HOSTILE}_x86_64\nTag: {HOSTILE}\n")
    for file in (source, object_, user):
        file.unlink()
    return folder


def output(*command, **options):
    ended = run_bytes(*command, **options)
    return harmless(ended.stdout) + harmless(ended.stderr)


def run_bytes(*command, timeout=60):
    return subprocess.run([PROGRAM, *command], capture_output=True, timeout=timeout, check=False)


@pytest.mark.parametrize(
    "command",
    [
        ["audit"],
        ["audit", "--table"],
        ["audit", "--claim", CLAIM],
        ["audit", "--format", "json"],
        ["audit", "--device-code-only"],
        ["gate", "--claim", CLAIM],
        ["gate", "--claim", CLAIM, "--explain"],
        ["gate", "--claim", CLAIM, "--format", "json"],
        ["report", "--budget", "2"],
        ["report", "--budget", "2", "--format", "json"],
    ],
    ids=" ".join,
)
def test_escapes_names_in_every_renderer(site, command):
    text = output(*command, site)
    assert "libtorch_" in text or "table" in str(command) or "device" in str(command)
    if "json" in command:
        json.loads(text)


def test_names_stay_what_they_are_in_json(site):
    document = json.loads(run_bytes("audit", "--format", "json", site).stdout)
    paths = [file["path"] for file in document["files"]]
    assert f"torch/lib/libtorch_{HOSTILE}.so" in paths
    assert f"torch/lib/libtorch_line{NEXT}.so" in paths


def test_files_that_are_written_are_as_harmless(site, keys, tmp_path):
    report = tmp_path / "report.txt"
    run_bytes("report", site, "--budget", "2", "--output", report)
    harmless(report.read_bytes())


# A policy that lets the hostile files pass, so that there is evidence of them.
def test_evidence_is_harmless(site, sound, keys, tmp_path):
    build = shutil.copytree(sound, tmp_path / f"site{RED}")
    shutil.copy(build / "torch/lib/libc10.so", build / f"torch/lib/libother{HOSTILE}{NEXT}.so")
    folder = tmp_path / "evidence"
    ended = run("gate", build, "--claim", CLAIM, "--evidence", folder, "--sign", keys / "key")
    assert folder.exists(), ended.stdout + ended.stderr
    for file in folder.iterdir():
        harmless(file.read_bytes())
    xml.etree.ElementTree.parse(folder / "junit.xml")
    statement = json.loads((folder / "statement.intoto.json").read_text())
    assert f"torch/lib/libother{HOSTILE}{NEXT}.so" in [subject["name"] for subject in statement["subject"]]
    output("verify", folder, "--key", keys / "pub")
    output("gate", "--from", folder)
    report = json.loads((folder / "report.json").read_text())
    report["inventory"]["torch_version"] = HOSTILE
    (folder / "report.json").write_text(json.dumps(report))
    output("verify", folder, "--key", keys / "pub")
    output("gate", "--from", folder)
    output("gate", "--join", folder, folder)


def spoiled(value):
    if isinstance(value, dict):
        return {key: inner if key in ("schema",) else spoiled(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [spoiled(inner) for inner in value]
    return value + HOSTILE + NEXT if isinstance(value, str) else value


# Every text of a report by itself, so that no field is refused before another is shown.
def test_renders_a_foreign_report_safely(sound, tmp_path):
    own = json.loads(run("report", sound, "--budget", "2", "--format", "json").stdout)
    file = tmp_path / f"report{HOSTILE}.json"
    shown = 0
    for change in leaves(own):
        document = json.loads(json.dumps(own))
        change(document)
        file.write_text(json.dumps(document))
        for command in (["report"], ["report", "--format", "json"], ["audit"], ["gate", "--claim", CLAIM]):
            shown += "PASS" in output(*command, file)
        if len(command) == 0:
            break
    file.write_text(json.dumps(spoiled(own)))
    output("report", file)
    assert shown > 0


def leaves(document):
    """Changes of the texts of each section at once, but for words of ours, which are refused."""
    for section in ("host", "inventory", "measurements", "problems"):
        if not document.get(section):
            continue

        def change(copy, section=section):
            copy[section] = careful(copy[section])

        yield change


KEPT = {"schema", "machine", "layout", "state", "kind", "type", "level", "outcome", "severity", "affinity"}


def careful(value, key=""):
    if isinstance(value, dict):
        return {name: careful(inner, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [careful(inner, key) for inner in value]
    if isinstance(value, str) and key not in KEPT:
        return value + HOSTILE + NEXT
    return value


@pytest.mark.parametrize(
    "command",
    [
        ["audit", f"/nowhere/{HOSTILE}"],
        ["audit", os.fsdecode(b"/nowhere/\xff")],
        ["gate", "x", "--claim", f"sm{HOSTILE}"],
        ["gate", "x", "--claim", CLAIM, "--policy", f"p{HOSTILE}"],
        ["report", f"/nowhere/{HOSTILE}"],
        ["verify", f"/nowhere/{HOSTILE}", "--key", "x"],
        ["recipes", "recommend", "--host", f"/nowhere/{HOSTILE}"],
        [f"word{HOSTILE}"],
    ],
)
def test_errors_are_harmless(command):
    assert "nowhere" in output(*command) or command[0] == "gate" or command[0].startswith("word")


def test_audits_a_hostile_wheel_safely(sound, tmp_path):
    wheel = tmp_path / f"torch-2.10.0{RED}-cp313-cp313-linux_x86_64.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for file in sorted(sound.rglob("*")):
            archive.write(file, file.relative_to(sound))
        archive.writestr(f"torch/lib/libtorch{HOSTILE}.so", b"\x7fELF damaged")
        archive.writestr(f"../{HOSTILE}", b"refused")
        archive.writestr(f"torch/lib/{NEXT}.so", b"damaged")
    for command in (["audit"], ["audit", "--table"], ["audit", "--format", "json"], ["gate", "--claim", CLAIM]):
        output(*command, wheel)


# On a terminal the only colours are ours, and progress names the artifact.
def test_writes_no_foreign_sequence_to_a_terminal(site):
    script = (
        "import os, pty, sys\n"
        "data = []\n"
        "def read(file):\n"
        "    piece = os.read(file, 65536)\n"
        "    data.append(piece)\n"
        "    return b''.join([]) or b' '\n"
        "pty.spawn(sys.argv[2:], read)\n"
        "open(sys.argv[1], 'wb').write(b''.join(data))\n"
    )
    log = site.parent / "log"
    environment = {**os.environ, "TERM": "xterm", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
    environment.pop("NO_COLOR", None)
    subprocess.run(
        [sys.executable, "-c", script, log, PROGRAM, "audit", "--claim", CLAIM, site],
        env=environment,
        check=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        timeout=60,
    )
    text = log.read_bytes().decode().replace("\r\n", "\n").replace("\r\033[K", "")
    for colour in ("1;32", "1;31", "1;33", "2", "1", "0"):
        text = text.replace(f"\033[{colour}m", "")
    assert "reading" in text
    harmless(text.encode())


def test_python_shows_as_little(site):
    code = "import sys, pbprobe; r = pbprobe.report(sys.argv[1], budget=2); sys.stdout.write(r.to_json())"
    environment = {**os.environ, "PYTHONPATH": str(PROGRAM.parent.parent / "python"), "PYTHONIOENCODING": "utf-8"}
    ended = subprocess.run(
        [sys.executable, "-c", code, site], capture_output=True, env=environment, check=False, timeout=120
    )
    harmless(ended.stdout)
    harmless(ended.stderr)
    assert b"libtorch_" in ended.stdout, ended.stderr
