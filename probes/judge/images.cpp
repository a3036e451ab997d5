// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/judge/images.hpp"

#include <algorithm>
#include <charconv>

namespace pbprobe {
namespace {

// Orin is said to refuse code made for 8.0 by some, and to run it by others.
constexpr Capability kContestedImage{8, 0};
constexpr Capability kContestedGpu{8, 7};

// Families exist from here on.
constexpr int64_t kFirstFamilyMajor = 10;

std::optional<int64_t> parse_number(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

struct Candidate {
  std::string name;
  int64_t count = 0;
  Capability made_for;
};

// A later minor is made for more of this chip; of two alike, the more frequent.
void keep_better(std::optional<Candidate>& best, Candidate candidate) {
  const auto rank = [](const Candidate& c) { return std::pair(c.made_for.major * 1000 + c.made_for.minor, c.count); };
  if (!best || rank(candidate) > rank(*best)) best = std::move(candidate);
}

void settle(ImageChoice& choice, GpuImage image, const Candidate& best) {
  choice.image = image;
  choice.best = best.name;
  choice.best_count = best.count;
}

}  // namespace

std::optional<Capability> parse_capability(std::string_view text) {
  const auto dot = text.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const auto rest = text.substr(dot + 1);
  const auto major = parse_number(text.substr(0, dot));
  const auto minor = parse_number(rest.substr(0, rest.find('.')));  // "12.9.1" is 12.9
  if (!major || !minor) return std::nullopt;
  return Capability{*major, *minor};
}

std::optional<Image> parse_image(std::string_view name) {
  if (!name.starts_with("sm_")) return std::nullopt;
  name.remove_prefix(3);
  Image image;
  if (name.ends_with('a') || name.ends_with('f')) {
    image.suffix = name.back();
    name.remove_suffix(1);
  }
  const auto number = parse_number(name);
  if (!number || *number < 10) return std::nullopt;
  image.made_for = {*number / 10, *number % 10};
  return image;
}

bool cubin_runs_on(const Image& image, const Capability& gpu) {
  if (image.suffix == 'a') return image.made_for == gpu;
  if (image.suffix == 'f' && gpu.major < kFirstFamilyMajor) return false;
  return image.made_for.major == gpu.major && image.made_for.minor <= gpu.minor;
}

bool ptx_runs_on(const Image& image, const Capability& gpu) {
  if (image.suffix != 0) return cubin_runs_on(image, gpu);
  return std::pair(image.made_for.major, image.made_for.minor) <= std::pair(gpu.major, gpu.minor);
}

ImageChoice choose_image(const DeviceCode& code, const Capability& gpu) {
  ImageChoice choice;
  for (const auto* images : {&code.cubin, &code.ptx}) {
    for (const auto& [name, count] : *images) choice.units = std::max(choice.units, count);
  }
  if (choice.units == 0) return choice;
  const auto in_most = [&](int64_t count) { return count * 2 >= choice.units; };

  std::optional<Candidate> native, same_major, ptx;
  for (const auto& [name, count] : code.cubin) {
    const auto image = parse_image(name);
    if (!image || !cubin_runs_on(*image, gpu)) continue;
    if (image->made_for == gpu && count > choice.exact_count) {
      choice.exact = name;
      choice.exact_count = count;
    }
    if (in_most(count)) keep_better(image->made_for == gpu ? native : same_major, {name, count, image->made_for});
  }
  for (const auto& [name, count] : code.ptx) {
    const auto image = parse_image(name);
    if (!image || !ptx_runs_on(*image, gpu) || !in_most(count)) continue;
    keep_better(ptx, {"compute_" + name.substr(3), count, image->made_for});
  }

  if (native) {
    settle(choice, GpuImage::native, *native);
  } else if (same_major) {
    settle(choice, GpuImage::same_major, *same_major);
    choice.contested = same_major->made_for == kContestedImage && gpu == kContestedGpu;
  } else if (ptx) {
    settle(choice, GpuImage::ptx, *ptx);
  } else {
    choice.image = GpuImage::none;
  }
  return choice;
}

}  // namespace pbprobe
