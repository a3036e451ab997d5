// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/host_code/aarch64_masks.hpp"

namespace pbprobe {
namespace {

constexpr WordMask kBase[] = {
    // LSE: cas, casp, ld<op>, swp; LDAPR stands among them
    {0x3FA07C00, 0x08A07C00, arm("atomics")},
    {0xBFA07C00, 0x08207C00, arm("atomics")},
    {0x3F208C00, 0x38200000, arm("atomics")},
    {0x3F20FC00, 0x38208000, arm("atomics")},
    {0x3FFFFC00, 0x38BFC000, arm("lrcpc")},
    {0x3F200C00, 0x19000000, arm("ilrcpc")},
    // sqrdmlah, sqrdmlsh: vector, scalar, by element
    {0xBF20F400, 0x2E008400, arm("asimdrdm")},
    {0xFF20F400, 0x7E008400, arm("asimdrdm")},
    {0xBF00D400, 0x2F00D000, arm("asimdrdm")},
    {0xFF00D400, 0x7F00D000, arm("asimdrdm")},
    {0x7FE0E000, 0x1AC04000, arm("crc32")},
    // hashes and ciphers
    {0xFFFFCC00, 0x4E284800, arm("aes")},
    {0xBFE0FC00, 0x0EE0E000, arm("pmull")},
    {0xFFE0CC00, 0x5E000000, arm("sha1")},
    {0xFFE08C00, 0x5E000000, arm("sha2")},
    {0xFFFFEC00, 0x5E280800, arm("sha1")},
    {0xFFFFFC00, 0x5E282800, arm("sha2")},
    {0xFFE0F800, 0xCE608000, arm("sha512")},
    {0xFFE0FC00, 0xCE608800, arm("sha512")},
    {0xFFFFFC00, 0xCEC08000, arm("sha512")},
    {0xFFE0FC00, 0xCE608C00, arm("sha3")},
    {0xFFC08000, 0xCE000000, arm("sha3")},
    {0xFFE00000, 0xCE800000, arm("sha3")},
    {0xFFE08000, 0xCE400000, arm("sm3")},
    {0xFFE0C000, 0xCE408000, arm("sm3")},
    {0xFFE0F800, 0xCE60C000, arm("sm3")},
    {0xFFE0FC00, 0xCE60C800, arm("sm4")},
    {0xFFFFFC00, 0xCEC08400, arm("sm4")},
    // what stands among the FP16 instructions: conversions of v8.0, bf16, jscvt, frint
    {0xFFFF7C00, 0x1EE24000, 0},
    {0xFFFFFC00, 0x1E634000, arm("bf16")},
    {0xFFFFFC00, 0x1E7E0000, arm("jscvt")},
    {0xFFBE7C00, 0x1E284000, arm("frint")},
    {0x9FBFEC00, 0x0E21E800, arm("frint")},
    // FP16, scalar: arithmetic, conversions from and to integers and fixed-point, multiply-add
    {0xFFE00C00, 0x1EE00400, arm("fphp")},
    {0xFFE00C00, 0x1EE00800, arm("fphp")},
    {0xFFE00C00, 0x1EE00C00, arm("fphp")},
    {0xFFE03C00, 0x1EE02000, arm("fphp")},
    {0xFFE01C00, 0x1EE01000, arm("fphp")},
    {0xFFE07C00, 0x1EE04000, arm("fphp")},
    {0x7FE0FC00, 0x1EE00000, arm("fphp")},
    {0x7FE00000, 0x1EC00000, arm("fphp")},
    {0xFFC00000, 0x1FC00000, arm("fphp")},
    // FP16, vector: three registers, two registers, across lanes, pairs, by element, immediates, fixed-point
    {0x9F60C400, 0x0E400400, arm("asimdhp")},
    {0xDF60C400, 0x5E400400, arm("asimdhp")},
    {0x9F7E0C00, 0x0E780800, arm("asimdhp")},
    {0xDF7E0C00, 0x5E780800, arm("asimdhp")},
    {0xBF7FCC00, 0x0E30C800, arm("asimdhp")},
    {0xFF7FCC00, 0x5E30C800, arm("asimdhp")},
    {0xBFC0B400, 0x0F001000, arm("asimdhp")},
    {0xFFC0B400, 0x5F001000, arm("asimdhp")},
    {0x9FC0F400, 0x0F009000, arm("asimdhp")},
    {0xDFC0F400, 0x5F009000, arm("asimdhp")},
    {0xBFF8FC00, 0x0F00FC00, arm("asimdhp")},
    {0x9FF0F400, 0x0F10E400, arm("asimdhp")},
    {0xDFF0F400, 0x5F10E400, arm("asimdhp")},
    {0x9FF0FC00, 0x0F10FC00, arm("asimdhp")},
    {0xDFF0FC00, 0x5F10FC00, arm("asimdhp")},
    {0xBFE0FC00, 0x0E20EC00, arm("asimdfhm")},
    {0xBFE0FC00, 0x2E20CC00, arm("asimdfhm")},
    {0xBFE0FC00, 0x0EA0EC00, arm("asimdfhm")},
    {0xBFE0FC00, 0x2EA0CC00, arm("asimdfhm")},
    {0xBFC0B400, 0x0F800000, arm("asimdfhm")},
    {0xBFC0B400, 0x2F808000, arm("asimdfhm")},
    {0xBFE0E400, 0x2E40C400, arm("fcma") | arm("asimdhp")},
    {0xBFE0EC00, 0x2E40E400, arm("fcma") | arm("asimdhp")},
    {0xBFC09400, 0x2F401000, arm("fcma") | arm("asimdhp")},
    {0xBF20E400, 0x2E00C400, arm("fcma")},
    {0xBF20EC00, 0x2E00E400, arm("fcma")},
    {0xBF009400, 0x2F001000, arm("fcma")},
    // dot products and matrices
    {0x9FE0FC00, 0x0E809400, arm("asimddp")},
    {0x9FC0F400, 0x0F80E000, arm("asimddp")},
    {0xBFE0FC00, 0x0E809C00, arm("i8mm")},
    {0xBFC0F400, 0x0F80F000, arm("i8mm")},
    {0xBFC0F400, 0x0F00F000, arm("i8mm")},
    {0xDFE0FC00, 0x4E80A400, arm("i8mm")},
    {0xFFE0FC00, 0x4E80AC00, arm("i8mm")},
    {0xBFE0FC00, 0x2E40FC00, arm("bf16")},
    {0xBFC0F400, 0x0F40F000, arm("bf16")},
    {0xFFE0FC00, 0x6E40EC00, arm("bf16")},
    {0xBFE0FC00, 0x2EC0FC00, arm("bf16")},
    {0xBFC0F400, 0x0FC0F000, arm("bf16")},
    {0xBFFFFC00, 0x0EA16800, arm("bf16")},
    // flags, barriers, pointer authentication outside the hints
    {0xFFFFFFFF, 0xD500401F, arm("flagm")},
    {0xFFE07C10, 0xBA000400, arm("flagm")},
    {0xFFFFBC1F, 0x3A00080D, arm("flagm")},
    {0xFFFFFFDF, 0xD500401F | 0x40, arm("flagm2")},
    {0xFFFFFFFF, 0xD50330FF, arm("sb")},
    {0xFFFFFBFF, 0xD65F0BFF, arm("paca")},
    {0xFEDFF800, 0xD61F0800, arm("paca")},
    {0xFFFFC000, 0xDAC10000, arm("paca")},
    {0xFF200400, 0xF8200400, arm("paca")},
    // v8.7 to v9.5: memory copies and fills, common short sequences, 128-bit atomics, ordered pairs, hinted branches
    {0xFB200C00, 0x19000400, arm("mops")},
    {0x7FFFF800, 0x5AC01800, arm("cssc")},
    {0x7FFFFC00, 0x5AC02000, arm("cssc")},
    {0x7FE0F000, 0x1AC06000, arm("cssc")},
    {0x7FF00000, 0x11C00000, arm("cssc")},
    {0xFF200C00, 0x19200000, arm("lse128")},
    {0xBFA0EC00, 0x99000800, arm("lrcpc3")},
    {0xBFBFFC00, 0x99800800, arm("lrcpc3")},
    {0xFF000010, 0x54000010, arm("hbc")},
    {0xFFFFFC00, 0xF83FD000, arm("ls64")},
    {0xFFFFFC00, 0xF83F9000, arm("ls64")},
    {0xFFE0EC00, 0xF820A000, arm("ls64")},
    {0xFFFFFFC0, 0xD5031000, arm("wfxt")},
    // SME: all of its space; smstart and smstop are writes of PSTATE
    {0x9E000000, 0x80000000, arm("sme")},
    {0xFFFFF8FF, 0xD503407F, arm("sme")},
};

}  // namespace

std::span<const WordMask> base_masks() {
  return kBase;
}

}  // namespace pbprobe
