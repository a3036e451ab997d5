// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/judge/gpu/code_choice.hpp"

#include <algorithm>
#include <tuple>

namespace pbprobe {
namespace {

// Sources disagree on whether Orin runs code made for 8.0 and 8.6.
constexpr Sm kContestedGpu{8, 7};

struct Candidate {
  std::string name;
  int64_t count = 0;
  Sm sm;
};

// Prefers the later SM, whose code uses more of the chip; for one SM, the more frequent cubin.
void keep_better(std::optional<Candidate>& best, Candidate candidate) {
  const auto rank = [](const Candidate& c) { return std::tuple(c.sm.major, c.sm.minor, c.count); };
  if (!best || rank(candidate) > rank(*best)) best = std::move(candidate);
}

void settle(CodeChoice& choice, GpuCode code, const Candidate& best) {
  choice.code = code;
  choice.best = best.name;
  choice.best_count = best.count;
}

}  // namespace

CodeChoice choose_code(const DeviceCode& code, const Sm& gpu) {
  CodeChoice choice;
  for (const auto* cubins : {&code.cubin, &code.ptx}) {
    for (const auto& [name, count] : *cubins) choice.units = std::max(choice.units, count);
  }
  if (choice.units == 0) return choice;
  const auto in_most = [&](int64_t count) { return count * 2 >= choice.units; };

  std::optional<Candidate> native, same_major, ptx;
  for (const auto& [name, count] : code.cubin) {
    const auto cubin = parse_sm(name);
    if (!cubin || !cubin_runs_on(*cubin, gpu)) continue;
    if (same_capability(*cubin, gpu) && count > choice.exact_count) {
      choice.exact = name;
      choice.exact_count = count;
    }
    if (in_most(count)) keep_better(same_capability(*cubin, gpu) ? native : same_major, {name, count, *cubin});
  }
  for (const auto& [name, count] : code.ptx) {
    const auto cubin = parse_sm(name);
    if (!cubin || !ptx_runs_on(*cubin, gpu) || !in_most(count)) continue;
    keep_better(ptx, {compute_name(*cubin), count, *cubin});
  }

  if (native) {
    settle(choice, GpuCode::native, *native);
  } else if (same_major) {
    settle(choice, GpuCode::same_major, *same_major);
    choice.contested = gpu == kContestedGpu;
  } else if (ptx) {
    settle(choice, GpuCode::ptx, *ptx);
  } else {
    choice.code = GpuCode::none;
  }
  return choice;
}

}  // namespace pbprobe
