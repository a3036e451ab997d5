// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "tools/cutlass/sm90.cuh"

namespace {
using cute::Int;
using cute::Shape;

template <int kM, int kN, int kK, int kCluster, class Schedule>
CutlassEntry entry(const char* name) {
  return {{"sm90", name, kPbprobeCutlassBf16},
          Sm90<cutlass::bfloat16_t, cutlass::bfloat16_t, float, Shape<Int<kM>, Int<kN>, Int<kK>>,
               Shape<Int<kCluster>, Int<1>, Int<1>>, Schedule>::run};
}
}  // namespace

void add_sm90_bf16(std::vector<CutlassEntry>& all) {
  all.push_back(entry<128, 256, 64, 2, Cooperative>("cooperative 128x256x64, cluster 2x1"));
  all.push_back(entry<128, 128, 64, 2, PingPong>("ping-pong 128x128x64, cluster 2x1"));
  all.push_back(entry<64, 128, 64, 2, PingPong>("ping-pong 64x128x64, cluster 2x1"));
}
