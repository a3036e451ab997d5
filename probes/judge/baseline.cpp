// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/judge/baseline.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "probes/judge/facts.hpp"

namespace pbprobe {
namespace {

const File* libtorch_cpu(const Inventory& inventory) {
  for (const auto& file : inventory.files) {
    if (base_name(file.path).starts_with("libtorch_cpu.so")) return &file;
  }
  return nullptr;
}

// Which of these it needs or has linked in: a beginning of a needed library's name, or a component.
struct Sign {
  std::string_view name;
  std::string_view needed;
  std::string_view contained;
};

std::string shown_by(const Inventory& inventory, std::initializer_list<Sign> signs) {
  const File* file = libtorch_cpu(inventory);
  std::vector<std::string_view> shown;
  for (const Sign& sign : signs) {
    if (file == nullptr) break;
    const auto begins = [&](const std::string& name) { return name.starts_with(sign.needed); };
    const bool needed = std::any_of(file->needed.begin(), file->needed.end(), begins);
    const auto contains = file->links ? file->links->contains : std::vector<std::string>();
    if (needed || std::find(contains.begin(), contains.end(), sign.contained) != contains.end())
      shown.push_back(sign.name);
  }
  return shown.empty() ? "unknown" : fmt::format("{}", fmt::join(shown, " and "));
}

std::string blas_of(const Inventory& inventory) {
  return shown_by(
      inventory,
      {{"MKL", "libmkl_", "MKL"}, {"OpenBLAS", "libopenblas", "OpenBLAS"}, {"NVPL", "libnvpl_blas", "NVPL"}});
}

std::string threads_of(const Inventory& inventory) {
  return shown_by(inventory, {{"libgomp", "libgomp", "-"}, {"libomp", "libomp", "-"}, {"libiomp5", "libiomp5", "-"}});
}

int64_t bytes_of(const Inventory& inventory) {
  int64_t bytes = 0;
  for (const auto& file : inventory.files) bytes += file.size_bytes;
  return bytes;
}

}  // namespace

BuildComparison compare_builds(const Inventory& build, const Inventory& baseline) {
  BuildComparison comparison;
  const auto hold = [&](std::string_view what, const std::string& ours, const std::string& theirs) {
    if (ours != theirs || ours == "unknown")
      comparison.differences.push_back(fmt::format("{} {} against {}", what, ours, theirs));
  };
  hold("torch", std::string(release_of(build.torch_version.value_or("unknown"))),
       std::string(release_of(baseline.torch_version.value_or("unknown"))));
  hold("CUDA", build.cuda_version.value_or("none"), baseline.cuda_version.value_or("none"));
  hold("BLAS", blas_of(build), blas_of(baseline));
  hold("threads by", threads_of(build), threads_of(baseline));
  const int64_t ours = bytes_of(build);
  const int64_t theirs = bytes_of(baseline);
  const double change = theirs > 0 ? 100.0 * (static_cast<double>(ours) / static_cast<double>(theirs) - 1) : 0;
  comparison.size =
      fmt::format("{} MB against {} MB ({:+.0f} %; 50 to 70 % less is promised)", ours >> 20, theirs >> 20, change);
  return comparison;
}

}  // namespace pbprobe
