// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/judge/evidence/baseline.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "probes/judge/facts.hpp"

namespace pbprobe {
namespace {

// Signs of a library: the prefix of a needed file's name, or a component that is linked in.
struct Sign {
  std::string_view name;
  std::string_view needed;
  std::string_view contained;
};

std::string find_shown_libraries(const Inventory& inventory, std::initializer_list<Sign> signs) {
  const File* file = file_named(inventory, kLibtorchCpu);
  std::vector<std::string_view> shown;
  for (const Sign& sign : signs) {
    if (file == nullptr) break;
    const auto begins = [&](const std::string& name) { return name.starts_with(sign.needed); };
    const bool needed = std::ranges::any_of(file->needed, begins);
    const auto contains = file->links ? file->links->contains : std::vector<std::string>();
    if (needed || std::ranges::find(contains, sign.contained) != contains.end()) shown.push_back(sign.name);
  }
  return shown.empty() ? "unknown" : fmt::format("{}", fmt::join(shown, " and "));
}

std::string find_blas(const Inventory& inventory) {
  return find_shown_libraries(
      inventory,
      {{"MKL", "libmkl_", "MKL"}, {"OpenBLAS", "libopenblas", "OpenBLAS"}, {"NVPL", "libnvpl_blas", "NVPL"}});
}

std::string find_thread_library(const Inventory& inventory) {
  return find_shown_libraries(inventory,
                              {{"libgomp", "libgomp", "-"}, {"libomp", "libomp", "-"}, {"libiomp5", "libiomp5", "-"}});
}

std::optional<std::string> version_of_onednn(const File& file) {
  const auto found = file.links->versions.find("oneDNN");
  return found == file.links->versions.end() ? std::nullopt : std::optional(found->second);
}

// Returns the version of the oneDNN in libtorch_cpu or in a needed file; "none" without oneDNN; else "unknown".
std::string find_onednn(const Inventory& inventory) {
  const File* file = file_named(inventory, kLibtorchCpu);
  if (file == nullptr || !file->links) return "unknown";
  if (const auto own = version_of_onednn(*file)) return *own;
  const auto is_onednn = [](std::string_view name) { return name.starts_with("libdnnl.so"); };
  if (std::ranges::any_of(file->needed, is_onednn)) {
    for (const auto& other : inventory.files) {
      if (!is_onednn(base_name(other.path)) || !other.links) continue;
      if (const auto own = version_of_onednn(other)) return *own;
    }
    return "unknown";
  }
  const auto& contains = file->links->contains;
  const bool known = !contains.empty() && std::ranges::find(contains, "oneDNN") == contains.end();
  return known ? "none" : "unknown";
}

int64_t sum_file_bytes(const Inventory& inventory) {
  int64_t bytes = 0;
  for (const auto& file : inventory.files) bytes += file.size_bytes;
  return bytes;
}

std::string join_cubin_names(const BaselineComparison& comparison, std::string_view device, GainClass wanted) {
  std::vector<std::string> sentences;
  for (const auto& gain : comparison.gains) {
    if (gain.device == device && !gain.disturbed && classify_gain(gain) == wanted)
      sentences.push_back(fmt::format("{} {:.2f}", gain.area, gain.gain));
  }
  return fmt::format("{}", fmt::join(sentences, ", "));
}

}  // namespace

std::string describe_gain(const AreaGain& gain) {
  return fmt::format("{} on {}: {:.2f} times as fast ({:.2f} to {:.2f})", gain.area, gain.device, gain.gain, gain.low,
                     gain.high);
}

std::string size_sentence(const BaselineComparison& comparison) {
  const auto ours = static_cast<double>(comparison.bytes);
  const auto theirs = static_cast<double>(comparison.baseline_bytes);
  return fmt::format("{} MB against {} MB of the baseline ({:+.0f} %; specialized builds promise 50 to 70 % less)",
                     comparison.bytes >> 20, comparison.baseline_bytes >> 20,
                     theirs > 0 ? 100.0 * (ours / theirs - 1) : 0);
}

BaselineComparison compare_builds(const Inventory& build, const Inventory& baseline) {
  BaselineComparison comparison{
      .path = baseline.artifact, .bytes = sum_file_bytes(build), .baseline_bytes = sum_file_bytes(baseline)};
  const auto hold = [&](std::string_view what, const std::string& ours, const std::string& theirs) {
    if (ours != theirs || ours == "unknown")
      comparison.differences.push_back(fmt::format("{} {} against {}", what, ours, theirs));
  };
  hold("torch", std::string(get_release(build.torch_version.value_or("unknown"))),
       std::string(get_release(baseline.torch_version.value_or("unknown"))));
  hold("CUDA", build.cuda_version.value_or("none"), baseline.cuda_version.value_or("none"));
  hold("BLAS", find_blas(build), find_blas(baseline));
  hold("oneDNN", find_onednn(build), find_onednn(baseline));
  hold("threads by", find_thread_library(build), find_thread_library(baseline));
  return comparison;
}

Measured summarize_gains(const std::optional<BaselineComparison>& comparison, std::string_view device) {
  if (!comparison) return {.detail = "no baseline was measured: give --baseline LIBTORCH"};
  if (!comparison->differences.empty())
    return {.detail =
                fmt::format("not comparable with {}: {}", comparison->path, fmt::join(comparison->differences, ", "))};
  const bool any = std::ranges::any_of(comparison->gains, [&](const AreaGain& gain) { return gain.device == device; });
  if (!any) return {.detail = comparison->problem.value_or(fmt::format("nothing was measured on {}", device))};
  const std::string lost = join_cubin_names(*comparison, device, GainClass::less);
  if (!lost.empty()) return {Outcome::fail, fmt::format("slower than the baseline: {}", lost)};
  const auto disturbed = std::ranges::find_if(
      comparison->gains, [&](const AreaGain& gain) { return gain.device == device && gain.disturbed.has_value(); });
  if (disturbed != comparison->gains.end())
    return {.detail = fmt::format("not judged, since others used the GPU: {}", *disturbed->disturbed)};
  const std::string more = join_cubin_names(*comparison, device, GainClass::more);
  return {Outcome::pass, more.empty() ? "no gain shown over the baseline" : fmt::format("gains: {}", more)};
}

}  // namespace pbprobe
