// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "tools/cutlass/kernels.hpp"

namespace {

const std::vector<CutlassEntry>& entries() {
  static const std::vector<CutlassEntry> all = [] {
    std::vector<CutlassEntry> list;
    for (const auto add : {add_sm80_bf16, add_sm80_int8, add_sm80_tf32, add_sm90_bf16, add_sm90_int8, add_sm90_tf32}) {
      add(list);
    }
    return list;
  }();
  return all;
}

const CutlassEntry* entry(int index) {
  const bool there = index >= 0 && index < static_cast<int>(entries().size());
  return there ? &entries()[static_cast<size_t>(index)] : nullptr;
}

}  // namespace

int pbprobe_cutlass_count(void) {
  return static_cast<int>(entries().size());
}

const PbprobeCutlassKernel* pbprobe_cutlass_kernel(int index) {
  const CutlassEntry* const found = entry(index);
  return found == nullptr ? nullptr : &found->kernel;
}

int pbprobe_cutlass_run(int index, const PbprobeCutlassCall* call) {
  const CutlassEntry* const found = entry(index);
  return found == nullptr || call == nullptr ? -1 : found->run(*call);
}
