// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Compares the kernels of a build with a generic build, by name and by count.
#include <algorithm>
#include <charconv>
#include <set>
#include <tuple>

#include "core/sm.hpp"
#include "core/strings.hpp"
#include "core/targets.hpp"
#include "probes/judge/evidence/baseline.hpp"
#include "probes/judge/facts.hpp"
#include "probes/judge/gpu/device_code.hpp"

namespace pbprobe {
namespace {

constexpr size_t kKernelsNamedPerRow = 10;
using Names = std::set<std::string>;

size_t digits_end(std::string_view text, size_t at) {
  while (at < text.size() && is_digit(text[at])) ++at;
  return at;
}

// Zeroes the path hashes in nvcc's names of file-local symbols: "_GLOBAL__N__758183f4_8_Sleep_cu_088d913f" has two.
void forget_hashes(std::string& name) {
  constexpr size_t kHash = 8;
  for (const std::string_view mark : {"_GLOBAL__N__", "_INTERNAL_"}) {
    for (size_t at = name.find(mark); at != std::string::npos; at = name.find(mark, at + 1)) {
      const size_t first = at + mark.size();
      const size_t length = first + kHash + 1;
      const size_t end = digits_end(name, length);
      if (end == length || end >= name.size() || end - length > 4) continue;
      const size_t second = end + 1 + std::stoul(name.substr(length, end - length)) + 1;
      if (second + kHash > name.size()) continue;
      name.replace(first, kHash, kHash, '0');
      name.replace(second, kHash, kHash, '0');
    }
  }
}

// Returns the end of the SM list that begins at `at` ("_SM_750_800", "_750_800"); `at` if there is no list.
size_t sms_end(std::string_view text, size_t at) {
  constexpr std::string_view kMark = "_SM";
  size_t end = text.substr(at).starts_with(kMark) ? at + kMark.size() : at;
  size_t listed = at;
  while (end < text.size() && text[end] == '_' && digits_end(text, end + 1) > end + 1)
    listed = end = digits_end(text, end + 1);
  return listed;
}

// Removes the SMs that a file was compiled for from its names, and the length prefix that includes them:
// "31THRUST_300001_SM_750_800_900_NS", "20CUB_300001_SM_900".
void forget_sms(std::string& name) {
  for (const std::string_view mark : {"THRUST_", "CUB_"}) {
    for (size_t at = name.find(mark); at != std::string::npos; at = name.find(mark, at + 1)) {
      size_t begin = at;
      while (begin > 0 && is_digit(name[begin - 1])) --begin;
      size_t length = 0;  // needed because a digit may follow the name
      std::from_chars(name.data() + begin, name.data() + at, length);
      if (length <= mark.size() || length > name.size() - at) continue;
      const std::string_view until_end = std::string_view(name).substr(0, at + length);
      const size_t sms = digits_end(until_end, at + mark.size());
      const size_t end = sms_end(until_end, sms);
      if (end == sms) continue;
      name.erase(sms, end - sms);
      name.erase(begin, at - begin);
      at = begin;
    }
  }
}

const Censuses* census_of_cuda(const Inventory& inventory) {
  const File* file = file_named(inventory, kLibtorchCuda);
  const bool there = file != nullptr && file->device_code && file->device_code->census;
  return there ? &*file->device_code->census : nullptr;
}

// Counts the code of each SM without suffix.
std::map<std::string, ReferenceCode> reference_code(const Censuses& censuses) {
  std::map<std::string, ReferenceCode> code;
  for (const auto& [name, census] : censuses) {
    const auto sm = parse_sm(name);
    if (!sm || sm->suffix != '\0') continue;
    code[name] = {.units = census.cubins, .kernels = census.kernels, .code_bytes = census.code_bytes};
  }
  return code;
}

// Returns the stable kernel names for `chip`; nullopt if the audit did not read the names.
std::optional<Names> collect_kernel_names(const Censuses& censuses, const Sm& chip) {
  Names names;
  for (const auto& [name, census] : censuses) {
    const auto cubin = parse_sm(name);
    if (!cubin || !same_capability(*cubin, chip) || census.kernels == 0) continue;
    if (!census.names) return std::nullopt;
    for (const auto& kernel : *census.names) names.insert(stable_name(kernel));
  }
  return names;
}

// Returns the nearest of the baseline's common SMs, with the same major version first.
std::optional<Sm> nearest(const Censuses& censuses, const Sm& chip) {
  int64_t most = 0;
  for (const auto& [name, census] : censuses) most = std::max(most, census.cubins);
  std::optional<Sm> best;
  const auto distance = [&](const Sm& sm) {
    return std::tuple(sm.major != chip.major, std::llabs(get_sm_number(chip) - get_sm_number(sm)));
  };
  for (const auto& [name, census] : censuses) {
    const auto sm = parse_sm(name);
    if (!sm || sm->suffix != '\0' || census.cubins * 2 < most) continue;
    if (!best || distance(*sm) < distance(*best)) best = *sm;
  }
  return best;
}

bool have_same_release(const Inventory& build, const Inventory& baseline) {
  return get_release(build.torch_version.value_or("")) == get_release(baseline.torch_version.value_or(""));
}

}  // namespace

std::string stable_name(std::string_view name) {
  std::string stable(name);
  forget_hashes(stable);
  forget_sms(stable);
  return stable;
}

std::optional<std::vector<MissingKernels>> compare_kernels(const Inventory& build, const Inventory& baseline,
                                                           const Claim& claim) {
  const Censuses* ours = census_of_cuda(build);
  const Censuses* theirs = census_of_cuda(baseline);
  if (ours == nullptr || theirs == nullptr) return std::nullopt;
  if (!have_same_release(build, baseline) || build.cuda_version != baseline.cuda_version) return std::nullopt;
  std::vector<MissingKernels> missing;
  for (const auto& id : claim.targets) {
    const Target* target = find_target(id);
    const auto chip = target == nullptr ? std::nullopt : get_target_sm(*target);
    const auto other = chip ? nearest(*theirs, *chip) : std::nullopt;
    if (!other) continue;
    const auto names = collect_kernel_names(*ours, *chip);
    const auto wanted = theirs->at(sm_name(*other)).names;
    if (!names || !wanted) return std::nullopt;
    MissingKernels row{.sm = sm_name(*chip), .baseline_sm = sm_name(*other)};
    for (const auto& kernel : *wanted) {
      ++row.kernels;
      if (names->contains(stable_name(kernel))) continue;
      ++row.missing;
      if (row.first.size() < kKernelsNamedPerRow) row.first.push_back(kernel);
    }
    missing.push_back(std::move(row));
  }
  return missing;
}

std::optional<ReferenceBuild> make_reference(const Inventory& build, const Inventory& baseline) {
  const Censuses* censuses = census_of_cuda(baseline);
  if (censuses == nullptr || !have_same_release(build, baseline)) return std::nullopt;
  ReferenceBuild reference{.torch = baseline.torch_version.value_or(""),
                           .cuda = baseline.cuda_version.value_or(""),
                           .platform = baseline.platform.value_or(""),
                           .build = baseline.artifact};
  reference.code = reference_code(*censuses);
  for (const auto& file : baseline.files) {
    if (file.component != kLibtorch || !file.device_code || !file.device_code->census || !file.links) continue;
    if (base_name(file.path) == kLibtorchCuda) continue;
    reference.files[std::string(base_name(file.path))] = {.linked = file.links->versions,
                                                          .code = reference_code(*file.device_code->census)};
  }
  return reference;
}

}  // namespace pbprobe
