# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""tools/move-records on two cubins that differ in one of two kernels.

test_move_records.py NVCC CUOBJDUMP
"""

import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

TOOL = Path(__file__).parents[2] / "tools" / "move-records"
SOURCE = """
extern "C" __global__ void same_nt(int* to) { *to = 1; }
extern "C" __global__ void same_nn(int* to) { *to = 2; }
extern "C" __global__ void other_nt(int* to) { *to = 3; }
extern "C" __global__ void other_nn(int* to) { *to = OTHER; }
#if OTHER == 5  // has longer instructions
extern "C" __global__ void new_nt(float* to) { atomicAdd(to, 1.0f); }
#endif
"""


def compile_cubin(nvcc, folder, other):
    (folder / "source.cu").write_text(SOURCE)
    cubin = folder / f"{other}.cubin"
    subprocess.run([nvcc, "-cubin", "-arch=sm_90", f"-DOTHER={other}", folder / "source.cu", "-o", cubin], check=True)
    return cubin


def move(cuobjdump, folder, old, new):
    """Returns the exit code, the output, and the digest of each record."""
    digest = hashlib.sha256(old.read_bytes()).hexdigest()
    digests = {"same_sm90": digest, "other_sm90": digest, "elsewhere_sm90": "0"}
    records = folder / "records.json"
    records.write_text(json.dumps([{"kernel": kernel, "digest": it} for kernel, it in digests.items()]))
    command = [sys.executable, TOOL, records, old, new, "--cuobjdump", cuobjdump]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = {record["kernel"]: record["digest"] for record in json.loads(records.read_text())}
    return done.returncode, done.stdout + done.stderr, found


def test_moves_only_records_of_the_same_code(nvcc, cuobjdump, folder):
    old, new = (compile_cubin(nvcc, folder, other) for other in (4, 5))
    before, after = (hashlib.sha256(cubin.read_bytes()).hexdigest() for cubin in (old, new))
    assert before != after
    code, said, found = move(cuobjdump, folder, old, new)
    assert code == 1, said
    assert found == {"same_sm90": after, "other_sm90": before, "elsewhere_sm90": "0"}
    assert "other_sm90: its machine code differs" in said
    assert "same_sm90" not in said


def test_refuses_what_is_no_cubin(nvcc, cuobjdump, folder):
    old = compile_cubin(nvcc, folder, 4)
    code, said, found = move(cuobjdump, folder, old, folder / "source.cu")
    assert (code, found["same_sm90"]) == (2, hashlib.sha256(old.read_bytes()).hexdigest()), said
    assert "source.cu: is no cubin" in said
    code, said, _ = move(folder / "missing", folder, old, old)
    assert code == 2
    assert "missing: is missing" in said


def main():
    for test in (test_moves_only_records_of_the_same_code, test_refuses_what_is_no_cubin):
        with tempfile.TemporaryDirectory() as folder:
            test(*sys.argv[1:3], Path(folder))
            print(f"{test.__name__}: passed")


if __name__ == "__main__":
    main()
