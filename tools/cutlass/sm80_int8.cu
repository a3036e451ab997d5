// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "tools/cutlass/sm80.cuh"

using cutlass::gemm::GemmShape;

namespace {
using Input = int8_t;
using Instruction = GemmShape<16, 8, 32>;

template <int kM, int kN, int kK, int kStages>
CutlassEntry entry(const char* name) {
  return {{"sm80", name, kPbprobeCutlassInt8},
          run_sm80<Input, int32_t, int32_t, GemmShape<kM, kN, kK>, GemmShape<64, 64, kK>, Instruction, kStages>};
}
}  // namespace

void add_sm80_int8(std::vector<CutlassEntry>& all) {
  all.push_back(entry<128, 256, 64, 3>("128x256x64, 3 stages"));
  all.push_back(entry<256, 128, 64, 3>("256x128x64, 3 stages"));
  all.push_back(entry<128, 128, 64, 4>("128x128x64, 4 stages"));
  all.push_back(entry<128, 256, 128, 3>("128x256x128, 3 stages"));
  all.push_back(entry<256, 128, 128, 3>("256x128x128, 3 stages"));
  all.push_back(entry<128, 128, 128, 3>("128x128x128, 3 stages"));
}
