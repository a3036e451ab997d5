// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "tools/cutlass/sm80.cuh"

using cutlass::gemm::GemmShape;

namespace {
using Input = float;
using Instruction = GemmShape<16, 8, 8>;

template <int kM, int kN, int kK, int kStages>
CutlassEntry entry(const char* name) {
  return {{"sm80", name, kPbprobeCutlassTf32},
          run_sm80<Input, float, float, GemmShape<kM, kN, kK>, GemmShape<64, 64, kK>, Instruction, kStages>};
}
}  // namespace

void add_sm80_tf32(std::vector<CutlassEntry>& all) {
  all.push_back(entry<128, 256, 16, 3>("128x256x16, 3 stages"));
  all.push_back(entry<256, 128, 16, 3>("256x128x16, 3 stages"));
  all.push_back(entry<128, 128, 16, 4>("128x128x16, 4 stages"));
  all.push_back(entry<128, 256, 32, 3>("128x256x32, 3 stages"));
  all.push_back(entry<256, 128, 32, 3>("256x128x32, 3 stages"));
  all.push_back(entry<128, 128, 32, 3>("128x128x32, 3 stages"));
}
