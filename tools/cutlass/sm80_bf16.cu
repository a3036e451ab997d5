// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "tools/cutlass/sm80.cuh"

using cutlass::gemm::GemmShape;

namespace {
using Input = cutlass::bfloat16_t;
using Instruction = GemmShape<16, 8, 16>;

template <int kM, int kN, int kK, int kStages>
CutlassEntry entry(const char* name) {
  return {
      {"sm80", name, kPbprobeCutlassBf16},
      run_sm80<Input, cutlass::bfloat16_t, float, GemmShape<kM, kN, kK>, GemmShape<64, 64, kK>, Instruction, kStages>};
}
}  // namespace

void add_sm80_bf16(std::vector<CutlassEntry>& all) {
  all.push_back(entry<128, 256, 32, 3>("128x256x32, 3 stages"));
  all.push_back(entry<256, 128, 32, 3>("256x128x32, 3 stages"));
  all.push_back(entry<128, 128, 32, 4>("128x128x32, 4 stages"));
  all.push_back(entry<128, 256, 64, 3>("128x256x64, 3 stages"));
  all.push_back(entry<256, 128, 64, 3>("256x128x64, 3 stages"));
  all.push_back(entry<128, 128, 64, 3>("128x128x64, 3 stages"));
}
