// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/judge/images.hpp"

#include <algorithm>
#include <tuple>

namespace pbprobe {
namespace {

// Orin is said to refuse code made for 8.0 by some, and to run it by others.
constexpr Sm kContestedImage{8, 0};
constexpr Sm kContestedGpu{8, 7};

struct Candidate {
  std::string name;
  int64_t count = 0;
  Sm sm;
};

// A later minor is made for more of this chip; of two alike, the more frequent.
void keep_better(std::optional<Candidate>& best, Candidate candidate) {
  const auto rank = [](const Candidate& c) { return std::tuple(c.sm.major, c.sm.minor, c.count); };
  if (!best || rank(candidate) > rank(*best)) best = std::move(candidate);
}

void settle(ImageChoice& choice, GpuImage image, const Candidate& best) {
  choice.image = image;
  choice.best = best.name;
  choice.best_count = best.count;
}

}  // namespace

ImageChoice choose_image(const DeviceCode& code, const Sm& gpu) {
  ImageChoice choice;
  for (const auto* images : {&code.cubin, &code.ptx}) {
    for (const auto& [name, count] : *images) choice.units = std::max(choice.units, count);
  }
  if (choice.units == 0) return choice;
  const auto in_most = [&](int64_t count) { return count * 2 >= choice.units; };

  std::optional<Candidate> native, same_major, ptx;
  for (const auto& [name, count] : code.cubin) {
    const auto image = parse_sm(name);
    if (!image || !cubin_runs_on(*image, gpu)) continue;
    if (same_capability(*image, gpu) && count > choice.exact_count) {
      choice.exact = name;
      choice.exact_count = count;
    }
    if (in_most(count)) keep_better(same_capability(*image, gpu) ? native : same_major, {name, count, *image});
  }
  for (const auto& [name, count] : code.ptx) {
    const auto image = parse_sm(name);
    if (!image || !ptx_runs_on(*image, gpu) || !in_most(count)) continue;
    keep_better(ptx, {compute_name(*image), count, *image});
  }

  if (native) {
    settle(choice, GpuImage::native, *native);
  } else if (same_major) {
    settle(choice, GpuImage::same_major, *same_major);
    choice.contested = same_capability(same_major->sm, kContestedImage) && gpu == kContestedGpu;
  } else if (ptx) {
    settle(choice, GpuImage::ptx, *ptx);
  } else {
    choice.image = GpuImage::none;
  }
  return choice;
}

}  // namespace pbprobe
