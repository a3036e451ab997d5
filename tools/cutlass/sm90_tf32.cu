// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "tools/cutlass/sm90.cuh"

namespace {
using cute::Int;
using cute::Shape;

template <int kM, int kN, int kK, int kCluster, class Schedule>
CutlassEntry entry(const char* name) {
  return {{"sm90", name, kPbprobeCutlassTf32},
          Sm90<cutlass::tfloat32_t, float, float, Shape<Int<kM>, Int<kN>, Int<kK>>,
               Shape<Int<kCluster>, Int<1>, Int<1>>, Schedule>::run};
}
}  // namespace

void add_sm90_tf32(std::vector<CutlassEntry>& all) {
  all.push_back(entry<128, 256, 32, 2, Cooperative>("cooperative 128x256x32, cluster 2x1"));
  all.push_back(entry<128, 128, 32, 2, PingPong>("ping-pong 128x128x32, cluster 2x1"));
  all.push_back(entry<64, 128, 32, 2, PingPong>("ping-pong 64x128x32, cluster 2x1"));
}
