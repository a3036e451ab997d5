# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Small builds for the gate, by a real compiler."""

import hashlib
import pathlib
import subprocess

CLAIM = "avx2,only,torch=2.10.0"
FILES = [
    "junit.xml",
    "pbprobe.sarif",
    "report.json",
    "statement.dsse.json",
    "statement.intoto.json",
    "statement.sigstore.json",
]

CODE = """
extern "C" void axpy(float* y, const float* x, float a, int n) { for (int i = 0; i < n; ++i) y[i] += a * x[i]; }
extern "C" int sum(const int* x, int n) { int s = 0; for (int i = 0; i < n; ++i) s += x[i]; return s; }
// Of the CPU capability that every build of torch has.
namespace at::native::DEFAULT { void scale(float* y, int n) { for (int i = 0; i < n; ++i) y[i] *= 3; } }
#ifdef ONEDNN  // as oneDNN answers
struct Version { int major, minor, patch; const char* hash; unsigned cpu, gpu; };
extern "C" const Version* dnnl_version() { static const Version ver = {ONEDNN, "0123456789abcdef", 1, 0}; return &ver; }
#endif
"""


# Sums in vectors. -ffast-math would also link what makes the CPU flush subnormal numbers to zero, and fail by PB217.
VECTORS = ("-O3", "-fassociative-math", "-fno-signed-zeros", "-fno-trapping-math")


def build(folder: pathlib.Path, *flags: str) -> pathlib.Path:
    """Builds a small CPU torch that a claim can be checked on."""
    library = folder / "torch/lib"
    library.mkdir(parents=True)
    source = folder.parent / "code.cpp"
    source.write_text(CODE)
    for name in ("libtorch_cpu.so", "libc10.so"):
        command = ["g++", *VECTORS, *flags, "-shared", "-fPIC", f"-Wl,-soname,{name}"]
        subprocess.run([*command, "-o", library / name, source], check=True)
    (folder / "torch/version.py").write_text(f"__version__ = '2.10.0'\ncuda = None\ngit_version = '{'0' * 40}'\n")
    (folder / "torch/__init__.py").touch()
    return folder


def digest(path: pathlib.Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
