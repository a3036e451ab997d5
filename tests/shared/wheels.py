# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Wheels that an installer takes: METADATA, WHEEL and RECORD as their names say."""

from __future__ import annotations

import base64
import hashlib
import os
import pathlib
import zipfile


def recorded(path: str, content: bytes) -> str:
    """Returns the line of RECORD for a file."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{path},sha256={digest},{len(content)}"


def completed(file: pathlib.Path) -> pathlib.Path:
    """Adds what is missing of a wheel's .dist-info folder, RECORD last. Returns the wheel."""
    parts = file.stem.split("-")
    unnamed = ("torch", "0", "cp311", "cp311", f"linux_{os.uname().machine}")
    name, version, *_, python, abi, platform = parts if len(parts) > 4 else unnamed
    tags = "".join(f"Tag: {python}-{abi}-{one}\n" for one in platform.split("."))
    with zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as archive:
        infos = [member.split("/")[0] for member in archive.namelist() if ".dist-info/" in member]
        info = infos[0] if infos else f"{name}-{version}.dist-info"
        texts = {
            "METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
            "WHEEL": f"Wheel-Version: 1.0\n{tags}",
        }
        for text, content in texts.items():
            if f"{info}/{text}" not in archive.namelist():
                archive.writestr(f"{info}/{text}", content)
        members = [member for member in archive.namelist() if not member.endswith("/")]
        lines = [recorded(member, archive.read(member)) for member in members]
        archive.writestr(f"{info}/RECORD", "\n".join([*lines, f"{info}/RECORD,,"]) + "\n")
    return file
