// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Every pattern of bits 31 to 10 was given to llvm-mc 14 with and without each extension; these rows hold exactly those
// that it takes only with it. tests/audit/aarch64_truth.py asks it again.
#include "probes/audit/host_code/aarch64_masks.hpp"

namespace pbprobe {
namespace {

constexpr WordMask kSveRows[] = {
    {0xBF3EE000, 0x04068000, arm("sve2")},       {0xBF3EE000, 0x040C8000, arm("sve2")},
    {0xBF3DE000, 0x040D8000, arm("sve2")},       {0xFFA0F800, 0x04203800, arm("sve2")},
    {0xFF20F400, 0x04206000, arm("sve2")},       {0xFFE0F000, 0x04206000, arm("sve2")},
    {0xFF20F800, 0x04206800, arm("sve2")},       {0xFF20F800, 0x04207000, arm("sve2")},
    {0xFF28F400, 0x04283400, arm("sve2")},       {0xFF30F400, 0x04303400, arm("sve2")},
    {0xFF60F400, 0x04603400, arm("sve2")},       {0xBFA0F400, 0x04A03400, arm("sve2")},
    {0xFF20F800, 0x05202800, arm("sve2")},       {0xFF3FE000, 0x052D8000, arm("sve2")},
    {0xBFE0E000, 0x05600000, arm("sve2")},       {0xFF20E400, 0x25200000, arm("sve2")},
    {0xFF20DC00, 0x25201000, arm("sve2")},       {0xFF20E000, 0x44002000, arm("sve2")},
    {0xFF20B800, 0x44003000, arm("sve2")},       {0xFF22E000, 0x44028000, arm("sve2")},
    {0xFF28E000, 0x44088000, arm("sve2")},       {0xFF3EC000, 0x44088000, arm("sve2")},
    {0xFF30E000, 0x44108000, arm("sve2")},       {0xFF3B6000, 0x44112000, arm("sve2")},
    {0xFF3CC000, 0x44148000, arm("sve2")},       {0xFF20F800, 0x44200800, arm("sve2")},
    {0xFF20F800, 0x44201000, arm("sve2")},       {0xFF20F800, 0x4420F000, arm("sve2")},
    {0xFF20F400, 0x4420F000, arm("sve2")},       {0xFF609800, 0x44400800, arm("sve2")},
    {0xFE60E000, 0x44404000, arm("sve2")},       {0xFE60D000, 0x44404000, arm("sve2")},
    {0xFF6E6000, 0x44442000, arm("sve2")},       {0xDF7BE000, 0x44508000, arm("sve2")},
    {0xDF7CE000, 0x44548000, arm("sve2")},       {0xFEA0A800, 0x44800800, arm("sve2")},
    {0xFEA09800, 0x44801000, arm("sve2")},       {0xFF80E000, 0x44802000, arm("sve2")},
    {0xFFDA6000, 0x44802000, arm("sve2")},       {0xFEA0E000, 0x44804000, arm("sve2")},
    {0xFF80D000, 0x44804000, arm("sve2")},       {0xDFFEE000, 0x4488A000, arm("sve2")},
    {0xDFBBE000, 0x44908000, arm("sve2")},       {0xDFBCE000, 0x44948000, arm("sve2")},
    {0xDFE0D000, 0x44A04000, arm("sve2")},       {0xFEA0E000, 0x44A06000, arm("sve2")},
    {0xFFA0C000, 0x44A08000, arm("sve2")},       {0xFFA08400, 0x44A08000, arm("sve2")},
    {0xFFA09000, 0x44A08000, arm("sve2")},       {0xDFE0D800, 0x44A08000, arm("sve2")},
    {0xFEA0E000, 0x44A0C000, arm("sve2")},       {0xFF20B800, 0x45009000, arm("sve2")},
    {0xFF3ED800, 0x4500D800, arm("sve2")},       {0xFF20F800, 0x4500F800, arm("sve2")},
    {0xFFA8B000, 0x4508A000, arm("sve2")},       {0xFF28E000, 0x4508E000, arm("sve2")},
    {0xFFB0B000, 0x4510A000, arm("sve2")},       {0xFF30E000, 0x4510E000, arm("sve2")},
    {0xFFA0E000, 0x45208000, arm("sve2")},       {0xFFE0DC00, 0x45208000, arm("sve2")},
    {0xFFA8C000, 0x45280000, arm("sve2")},       {0xFFFFB000, 0x45280000, arm("sve2")},
    {0xFFFFA800, 0x45280000, arm("sve2")},       {0xFFB0C000, 0x45300000, arm("sve2")},
    {0xFFFFB000, 0x45300000, arm("sve2")},       {0xFFFFA800, 0x45300000, arm("sve2")},
    {0xFF60A000, 0x45400000, arm("sve2")},       {0xFF603800, 0x45400800, arm("sve2")},
    {0xFF609000, 0x45401000, arm("sve2")},       {0xFF604800, 0x45404000, arm("sve2")},
    {0xFF40E000, 0x45406000, arm("sve2")},       {0xFFE09400, 0x45408000, arm("sve2")},
    {0xFFE0B000, 0x4540A000, arm("sve2")},       {0xFFE0C000, 0x45600000, arm("sve2")},
    {0xFFFF9000, 0x45600000, arm("sve2")},       {0xFFFF8800, 0x45600000, arm("sve2")},
    {0xFFA03400, 0x45800000, arm("sve2")},       {0xFFA0A000, 0x45800000, arm("sve2")},
    {0xFFA03800, 0x45800800, arm("sve2")},       {0xFFA09000, 0x45801000, arm("sve2")},
    {0xFFA04800, 0x45804000, arm("sve2")},       {0xFFA0D000, 0x4580C000, arm("sve2")},
    {0xFEFFE000, 0x640AA000, arm("sve2")},       {0xFFFEE000, 0x64CAA000, arm("sve2")},
    {0xFFFBE000, 0x651AA000, arm("sve2")},       {0xFFFDE000, 0x651CA000, arm("sve2")},
    {0xFF60C000, 0x84008000, arm("sve2")},       {0xFEE0E000, 0x8400A000, arm("sve2")},
    {0xFF60A000, 0xC4008000, arm("sve2")},       {0xFEE0A000, 0xC4008000, arm("sve2")},
    {0xFE60E000, 0xC400C000, arm("sve2")},       {0xFE60E000, 0xE4002000, arm("sve2")},
    {0xFEA0E000, 0xE4002000, arm("sve2")},       {0xFF20E000, 0xE4002000, arm("sve2")},
    {0xFFE0F800, 0x45006800, arm("sveaes")},     {0xFFFDF800, 0x4520E000, arm("sveaes")},
    {0xFFE0FC00, 0x4520F400, arm("svesha3")},    {0xFFE0FC00, 0x4520F000, arm("svesm4")},
    {0xFFFFEC00, 0x4523E000, arm("svesm4")},     {0xFF20F800, 0x4500B000, arm("svebitperm")},
    {0xFF20F400, 0x4500B000, arm("svebitperm")}, {0xFF60FC00, 0x64604000, arm("svebf16")},
    {0xFF60FC00, 0x64608000, arm("svebf16")},    {0xFFE0FC00, 0x6460E400, arm("svebf16")},
    {0xFEFFE000, 0x648AA000, arm("svebf16")},    {0xFFE0F000, 0x64E04000, arm("svebf16")},
    {0xFFE0F800, 0x64E08000, arm("svebf16")},    {0xFFE0FC00, 0x44807800, arm("svei8mm")},
    {0xFFE0F800, 0x44A01800, arm("svei8mm")},    {0xFF60FC00, 0x45009800, arm("svei8mm")},
    {0xFFA0FC00, 0x45809800, arm("svei8mm")},    {0xFFE0FC00, 0x64A0E400, arm("svef32mm")},
    {0xFFE0F000, 0x05A00000, arm("svef64mm")},   {0xFFE0E800, 0x05A00800, arm("svef64mm")},
    {0xFFE0FC00, 0x64E0E400, arm("svef64mm")},   {0xFE70C000, 0xA4200000, arm("svef64mm")},
    {0xFE68E000, 0xA4200000, arm("svef64mm")},   {0xFE64E000, 0xA4200000, arm("svef64mm")},
    {0xFE61E000, 0xA4200000, arm("svef64mm")},   {0xFE62E000, 0xA4200000, arm("svef64mm")},
};

}  // namespace

std::span<const WordMask> sve_masks() {
  return kSveRows;
}

}  // namespace pbprobe
