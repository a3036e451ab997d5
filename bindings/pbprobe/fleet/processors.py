# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Test of each SM of a GPU: its tensor cores compute a tile with a known result, and record the number of their SM.

A library's GEMM shows that a GPU is faulty, not which SM. This test is PTX, which the driver compiles for any GPU.
"""

import ctypes
from typing import Any

import torch

SEED = 717171
STEPS = 64  # along k, of 32 bytes each
TIMES = 200  # tiles of a warp in a launch: half a millisecond
WARPS, BLOCKS = 8, 8  # of a block, and of an SM: all of its four tensor cores at once
NOTES, FIELDS = 32, 4  # wrong elements that are written down: SM, row, column, bits
LEAST_MAJOR = 8  # first major version with BF16

# Type: instruction, type of the sum, elements per 32 bytes, and the range of A and B. BF16 operands have eight bits, so
# that FP32 holds every partial sum.
KINDS = {
    "bf16": ("m16n8k16.row.col.f32.bf16.bf16.f32", "f32", 16, 0, 127),
    "int8": ("m16n8k32.row.col.s32.s8.s8.s32", "s32", 32, -128, 127),
}

# Lane l of a warp, with g = l / 4 and t = l % 4, holds four bytes each of rows g and g + 8 of A and column g of B, and
# columns 2t and 2t + 1 of the sum in both rows.
PTX = """
.version 7.0
.target sm_80
.address_size 64
.visible .entry each_sm(.param .u64 a, .param .u64 b, .param .u64 want, .param .u64 tally, .param .u64 notes)
{{
  .reg .pred %p<8>;
  .reg .b32 %r<20>, %a<4>, %b<2>, %w<4>;
  .reg .{sum} %c<4>;
  .reg .b32 %o<4>;
  .reg .b64 %d<16>;
  ld.param.u64 %d0, [a];      cvta.to.global.u64 %d0, %d0;
  ld.param.u64 %d1, [b];      cvta.to.global.u64 %d1, %d1;
  ld.param.u64 %d2, [want];   cvta.to.global.u64 %d2, %d2;
  ld.param.u64 %d3, [tally];  cvta.to.global.u64 %d3, %d3;
  ld.param.u64 %d4, [notes];  cvta.to.global.u64 %d4, %d4;
  mov.u32 %r0, %tid.x;
  and.b32 %r1, %r0, 31;
  shr.u32 %r2, %r1, 2;        // g
  and.b32 %r3, %r1, 3;        // t
  mul.lo.u32 %r4, %r2, 32;
  mad.lo.u32 %r5, %r3, 4, %r4;
  cvt.u64.u32 %d5, %r5;
  add.u64 %d0, %d0, %d5;
  add.u64 %d1, %d1, %d5;
  mad.lo.u32 %r5, %r3, 8, %r4;
  cvt.u64.u32 %d5, %r5;
  add.u64 %d2, %d2, %d5;
  ld.global.v2.b32 {{%w0, %w1}}, [%d2];
  ld.global.v2.b32 {{%w2, %w3}}, [%d2+256];
  mov.u32 %r6, %smid;
  mul.wide.u32 %d5, %r6, 8;
  add.u64 %d3, %d3, %d5;
  setp.ne.u32 %p0, %r0, 0;
  @!%p0 red.global.add.u32 [%d3], 1;
  mov.u32 %r7, 0;
again:
  mov.b32 %c0, 0; mov.b32 %c1, 0; mov.b32 %c2, 0; mov.b32 %c3, 0;
  mov.u64 %d6, %d0;
  mov.u64 %d7, %d1;
  mov.u32 %r8, 0;
along:
  ld.global.b32 %a0, [%d6];
  ld.global.b32 %a1, [%d6+256];
  ld.global.b32 %a2, [%d6+16];
  ld.global.b32 %a3, [%d6+272];
  ld.global.b32 %b0, [%d7];
  ld.global.b32 %b1, [%d7+16];
  mma.sync.aligned.{instruction} {{%c0, %c1, %c2, %c3}}, {{%a0, %a1, %a2, %a3}}, {{%b0, %b1}}, {{%c0, %c1, %c2, %c3}};
  add.u64 %d6, %d6, 512;
  add.u64 %d7, %d7, 256;
  add.u32 %r8, %r8, 1;
  setp.lt.u32 %p1, %r8, {steps};
  @%p1 bra along;
  mov.b32 %o0, %c0; mov.b32 %o1, %c1; mov.b32 %o2, %c2; mov.b32 %o3, %c3;
  setp.ne.b32 %p2, %o0, %w0;
  setp.ne.b32 %p3, %o1, %w1;
  setp.ne.b32 %p4, %o2, %w2;
  setp.ne.b32 %p5, %o3, %w3;
  or.pred %p6, %p2, %p3;
  or.pred %p7, %p4, %p5;
  or.pred %p6, %p6, %p7;
  @!%p6 bra sound;
  selp.u32 %r9, 1, 0, %p2;
  selp.u32 %r10, 1, 0, %p3;
  add.u32 %r9, %r9, %r10;
  selp.u32 %r10, 1, 0, %p4;
  add.u32 %r9, %r9, %r10;
  selp.u32 %r10, 1, 0, %p5;
  add.u32 %r9, %r9, %r10;
  red.global.add.u32 [%d3+4], %r9;
  atom.global.add.u32 %r11, [%d4], 1;
  setp.ge.u32 %p7, %r11, {notes};
  @%p7 bra sound;
  selp.u32 %r12, 2, 3, %p4;   // which of the four is the first
  selp.b32 %r13, %o2, %o3, %p4;
  selp.u32 %r12, 1, %r12, %p3;
  selp.b32 %r13, %o1, %r13, %p3;
  selp.u32 %r12, 0, %r12, %p2;
  selp.b32 %r13, %o0, %r13, %p2;
  shr.u32 %r14, %r12, 1;
  mad.lo.u32 %r14, %r14, 8, %r2;
  and.b32 %r15, %r12, 1;
  mad.lo.u32 %r15, %r3, 2, %r15;
  mul.wide.u32 %d8, %r11, 16;
  add.u64 %d8, %d8, %d4;
  st.global.v4.b32 [%d8+16], {{%r6, %r14, %r15, %r13}};
sound:
  add.u32 %r7, %r7, 1;
  setp.lt.u32 %p1, %r7, {times};
  @%p1 bra again;
  ret;
}}
"""

Row = dict[str, Any]


def make_source(kind: str) -> str:
    """Returns the PTX for a data type."""
    instruction, total, *_ = KINDS[kind]
    return PTX.format(instruction=instruction, sum=total, steps=STEPS, times=TIMES, notes=NOTES)


def make_operands(kind: str) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Returns A with 16 rows and B with 8 columns, cut along k into tiles of 32 bytes per row, and the exact sum."""
    _, total, elements, least, most = KINDS[kind]
    generator = torch.Generator().manual_seed(SEED)
    a, b = (torch.randint(least, most + 1, (STEPS, rows, elements), generator=generator) for rows in (16, 8))
    want = torch.einsum("sik,sjk->ij", a, b)
    own = torch.int8 if kind == "int8" else torch.bfloat16
    return a.to(own), b.to(own), want.to(torch.float32 if total == "f32" else torch.int32).contiguous()


class Driver:
    """libcuda, in the context that torch made. Errors: RuntimeError."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL("libcuda.so.1")

    def _call(self, function: str, *arguments: object) -> None:
        code = getattr(self._library, function)(*arguments)
        if code != 0:
            raise RuntimeError(f"{function} answers {code}")

    def load(self, source: str) -> ctypes.c_void_p:
        """Compiles PTX for the current device and returns its kernel, a CUfunction."""
        module, kernel = ctypes.c_void_p(), ctypes.c_void_p()
        self._call("cuModuleLoadData", ctypes.byref(module), source.encode())
        self._call("cuModuleGetFunction", ctypes.byref(kernel), module, b"each_sm")
        return kernel

    def launch(self, kernel: ctypes.c_void_p, blocks: int, tensors: list[torch.Tensor]) -> None:
        """Launches the kernel on the current stream of torch."""
        pointers = [ctypes.c_void_p(tensor.data_ptr()) for tensor in tensors]
        arguments = (ctypes.c_void_p * len(pointers))(*(ctypes.addressof(pointer) for pointer in pointers))
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        self._call("cuLaunchKernel", kernel, blocks, 1, 1, 32 * WARPS, 1, 1, 0, stream, arguments, None)


def find_wrong_sms(kind: str, tally: torch.Tensor, notes: torch.Tensor, want: torch.Tensor) -> list[Row]:
    """Returns a WrongResult of docs/node.schema.json for each SM with wrong results, with its first noted element."""
    first: dict[int, tuple[int, int, float]] = {}
    for sm, row, column, bits in notes[1 : 1 + min(int(notes[0, 0]), NOTES)].tolist():
        got = torch.tensor([bits], dtype=torch.int32).view(want.dtype)
        first.setdefault(sm, (row, column, float(got[0])))
    found = []
    for sm in tally[:, 1].nonzero().flatten().tolist():
        entry = {"what": f"mma_{kind} on SM {sm}", "how": "the exact result", "count": int(tally[sm, 1]), "seed": SEED}
        if sm in first:
            row, column, value = first[sm]
            entry |= {"row": row, "column": column, "expected": float(want[row, column]), "got": value}
        found.append(entry)
    return found


class Processors:
    """Tests all SMs of a device repeatedly during the soak. If that is impossible, `why` has the reason."""

    def __init__(self, device: torch.device) -> None:
        self.count = torch.cuda.get_device_properties(device).multi_processor_count
        self.why: str | None = None
        self._state: dict[str, tuple[ctypes.c_void_p, list[torch.Tensor]]] = {}
        if torch.cuda.get_device_capability(device)[0] < LEAST_MAJOR:
            self.why = "the tensor cores of this GPU have no BF16"
            return
        try:
            self._driver = Driver()
            for kind in KINDS:
                tensors = [tensor.to(device) for tensor in make_operands(kind)]
                # SM numbers may exceed their count if some SMs are disabled.
                tally = torch.zeros(4 * self.count, 2, dtype=torch.int32, device=device)
                notes = torch.zeros(1 + NOTES, FIELDS, dtype=torch.int32, device=device)
                self._state[kind] = self._driver.load(make_source(kind)), [*tensors, tally, notes]
        except (OSError, RuntimeError, AttributeError) as error:
            self.why = str(error).split("\n")[0]

    def step(self) -> None:
        """Queues a launch of each kind."""
        if self.why is not None:
            return
        try:
            for kernel, tensors in self._state.values():
                self._driver.launch(kernel, BLOCKS * self.count, tensors)
        except RuntimeError as error:
            self.why = str(error)

    def write(self, row: Row) -> None:
        """Records the number of tested SMs, and the faulty ones."""
        if self.why is not None:
            row["facts"]["sms_verified"] = f"none: {self.why}"
            return
        asked = []
        for kind, (_, tensors) in self._state.items():
            want, tally, notes = (tensor.cpu() for tensor in tensors[2:])
            asked.append(int((tally[:, 0] > 0).sum()))
            known = {wrong["what"] for wrong in row["wrong"]}
            row["wrong"] += [wrong for wrong in find_wrong_sms(kind, tally, notes, want) if wrong["what"] not in known]
        row["facts"]["sms_verified"] = f"{min(asked)} of {self.count}"
