# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Operators on signed evidence. Each answers how it is asked again: by `verify`, `gate --from` or `--join`."""

from __future__ import annotations

import base64
import json
import pathlib
import random
import subprocess
from collections.abc import Callable

FILES = ("report.json", "junit.xml", "pbprobe.sarif", "statement.intoto.json", "statement.dsse.json")
OTHERS = ".others"  # behind the names of the files that another key signed
VERIFY, FROM, JOIN = "verify", "from", "join"


def make_keys(folder: pathlib.Path) -> None:
    for name in ("key", "other"):
        subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", folder / name], check=True)
        subprocess.run(["openssl", "pkey", "-in", folder / name, "-pubout", "-out", folder / f"{name}.pub"], check=True)


Files = dict[str, bytes]
Change = Callable[[Files, random.Random], str]
CHANGES: list[tuple[str, str, Change]] = []  # name, how it is asked, what is done
KEEPS: list[tuple[str, str, Change]] = []


def changes(verb: str, *asked: str):
    def add(change: Change) -> Change:
        CHANGES.extend((f"{verb} evidence", how, change) for how in asked)
        return change

    return add


@changes("hide", VERIFY)
def one_byte(files, rng):
    name = rng.choice(sorted(files))
    at = rng.randrange(len(files[name]))
    content = bytearray(files[name])
    content[at] ^= 1 << rng.randrange(8)
    files[name] = bytes(content)
    return f"{name}: byte {at}"


@changes("drop", VERIFY)
def a_file(files, rng):
    """Not the bundle of Sigstore, which older evidence lacks."""
    name = rng.choice([name for name in FILES if name in files])
    del files[name]
    return name


@changes("truncate", VERIFY)
def a_file_cut_short(files, rng):
    name = rng.choice(sorted(files))
    length = rng.randrange(len(files[name]))
    files[name] = files[name][:length]
    return f"{name}: {length} bytes"


@changes("swap", VERIFY)
def two_files(files, rng):
    one, two = rng.sample(sorted(files), 2)
    files[one], files[two] = files[two], files[one]
    return f"{one} and {two}"


@changes("relabel", VERIFY, FROM, JOIN)
def another_outcome_in_the_report(files, rng):
    report = json.loads(files["report.json"])
    what = rng.choice(("outcome", "claim", "version", "kernels"))
    text = files["report.json"]
    if what == "outcome":
        report["verdict"]["outcome"] = "fail"
    elif what == "claim":
        report["claim"]["torch"] = "2.9.1"
    elif what == "version":
        report["inventory"]["torch"] = "2.9.1"
    else:
        report["inventory"]["files"] = report["inventory"]["files"][1:]
    files["report.json"] = json.dumps(report).encode()
    return what if files["report.json"] != text else ""


@changes("relabel", VERIFY, FROM, JOIN)
def a_key_twice_in_the_report(files, rng):
    text = files["report.json"].decode()
    files["report.json"] = text.replace("{", '{"schema": "pbprobe.report/1", ', 1).encode()
    return "schema"


@changes("relabel", VERIFY, FROM, JOIN)
def another_payload_in_the_envelope(files, rng):
    envelope = json.loads(files["statement.dsse.json"])
    payload = base64.b64decode(envelope["payload"])
    other = payload.replace(b"PASSED", b"passed", 1) if b"PASSED" in payload else payload + b" "
    envelope["payload"] = base64.b64encode(other).decode()
    files["statement.dsse.json"] = json.dumps(envelope).encode()
    return "payload"


@changes("relabel", VERIFY)
def another_signature(files, rng):
    envelope = json.loads(files["statement.dsse.json"])
    envelope["signatures"][0]["sig"] = base64.b64encode(rng.randbytes(64)).decode()
    files["statement.dsse.json"] = json.dumps(envelope).encode()
    return "signature"


@changes("relabel", VERIFY, FROM, JOIN)
def a_statement_of_another_subject(files, rng):
    statement = json.loads(files["statement.intoto.json"])
    subject = rng.choice(statement["subject"])
    subject["digest"] = {"sha256": rng.randbytes(32).hex()}
    files["statement.intoto.json"] = json.dumps(statement).encode()
    return subject["name"]


@changes("add", VERIFY)
def a_file_that_was_not_signed(files, rng):
    files[rng.choice(("report2.json", "junit.xml.bak", "README"))] = b"{}"
    return "added"


@changes("swap", VERIFY)
def what_another_key_signed(files, rng):
    """Replaces files by the attestation of another key for the same build."""
    names = rng.choice((FILES, FILES[-1:], FILES[-2:]))  # report and statement are the same, byte for byte
    files |= {name: files[name + OTHERS] for name in names}
    return ", ".join(names)


def keeps(verb: str, *asked: str):
    def add(change: Change) -> Change:
        KEEPS.extend((f"{verb} evidence", how, change) for how in asked)
        return change

    return add


@keeps("move", VERIFY, FROM, JOIN)
def the_folder(files, rng):
    return "elsewhere"
