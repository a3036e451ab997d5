// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Families of kernels of libtorch's files for the claimed SM, compared with other SMs of the file and with the release.
#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/strings.hpp"
#include "probes/judge/gpu/device_code.hpp"
#include "probes/judge/subjects.hpp"

namespace pbprobe {
namespace {

using Families = std::map<std::string, int64_t>;

// In libtorch_cuda.so of torch 2.11.0 with CUDA 13.0, all SMs from 8.0 to 12.0 have the same 21,132 names, and SM 7.5
// lacks 15 of them. Another build of a release has other names if switches or compilers differ.
constexpr double kMaxMissingBesideOthers = 0.005;
constexpr double kMaxMissingOfRelease = 0.02;
constexpr size_t kNamedFamilies = 6;

// Families that a switch of torch's build removes: USE_FLASH_ATTENTION, USE_MEM_EFF_ATTENTION.
constexpr std::array<std::string_view, 2> kSwitchedFamilies{"flash_", "fmha_cutlass"};

// Kernels that are missing from a file for one SM.
struct Loss {
  int64_t kernels = 0;  // kernels to compare with
  int64_t missing = 0;
  std::string families;  // "radixSortKVInPlace (200), softmax_warp_forward (192)": those that lose most
};

Loss find_loss(const Families& held, const Families& wanted) {
  Loss loss;
  std::vector<std::pair<int64_t, std::string_view>> families;
  for (const auto& [family, count] : wanted) {
    loss.kernels += count;
    const auto own = held.find(family);
    const int64_t missing = count - (own == held.end() ? 0 : own->second);
    if (missing <= 0) continue;
    loss.missing += missing;
    families.emplace_back(-missing, family);
  }
  std::ranges::sort(families);
  std::vector<std::string> named;
  for (const auto& [missing, family] : families) {
    if (named.size() < kNamedFamilies) named.push_back(fmt::format("{} ({})", family, -missing));
  }
  if (families.size() > kNamedFamilies) named.push_back(fmt::format("{} more", families.size() - kNamedFamilies));
  loss.families = fmt::format("{}", fmt::join(named, ", "));
  return loss;
}

bool exceeds(const Loss& loss, double limit) {
  return static_cast<double>(loss.missing) > limit * static_cast<double>(loss.kernels);
}

// Sums the families of the censuses with the capability of `chip`, with any suffix.
Families sum_families(const Censuses& censuses, const Sm& chip) {
  Families sum;
  for (const auto& [name, census] : censuses) {
    const auto sm = parse_sm(name);
    if (!sm || !same_capability(*sm, chip) || !census.families) continue;
    for (const auto& [family, count] : *census.families) sum[family] += count;
  }
  return sum;
}

// Lists the SMs without suffix that most units of a file have code for: each of them should have all kernels.
std::vector<Sm> list_common_sms(const Censuses& censuses) {
  int64_t most = 0;
  for (const auto& [name, census] : censuses) most = std::max(most, census.cubins);
  std::vector<Sm> sms;
  for (const auto& [name, census] : censuses) {
    const auto sm = parse_sm(name);
    if (sm && sm->suffix == '\0' && census.families && census.cubins * 2 >= most) sms.push_back(*sm);
  }
  std::ranges::sort(sms);
  return sms;
}

// SMs to compare with: the older ones, since a kernel may need a newer SM; the next newer one if there is no older.
std::vector<Sm> list_comparable_sms(const Censuses& censuses, const Sm& chip) {
  std::vector<Sm> older;
  for (const Sm& sm : list_common_sms(censuses)) {
    if (sm < chip) older.push_back(sm);
    if (chip < sm && older.empty()) return {sm};
  }
  return older;
}

std::optional<Sentence> compare_with_other_sms(const Censuses& censuses, const Sm& chip, std::string_view file,
                                               std::string_view target) {
  const Families held = sum_families(censuses, chip);
  for (const Sm& other : list_comparable_sms(censuses, chip)) {
    const Loss loss = find_loss(held, *censuses.at(sm_name(other)).families);
    if (exceeds(loss, kMaxMissingBesideOthers))
      return say("{} is claimed, and {} of the {} kernels that {} holds for {} are missing for the claimed target: {}",
                 target, loss.missing, loss.kernels, file, sm_name(other), loss.families);
  }
  return std::nullopt;
}

// Removes the families of a switch that is off: no SM of the file has any of them.
Families without_switched_off(Families wanted, const Censuses& censuses) {
  for (const std::string_view prefix : kSwitchedFamilies) {
    const auto has_prefix = [&](const auto& family) { return family.first.starts_with(prefix); };
    const bool any = std::ranges::any_of(censuses, [&](const auto& census) {
      const auto& families = census.second.families;
      return families && std::any_of(families->begin(), families->end(), has_prefix);
    });
    if (!any) std::erase_if(wanted, has_prefix);
  }
  return wanted;
}

// Returns the families of this file in the reference; null if they are not known, or not comparable.
const Families* find_reference_families(const Facts& facts, const File& file) {
  const auto& reference = facts.report.reference;
  const Inventory& inventory = *facts.inventory;
  if (!reference || reference->cuda != inventory.cuda_version.value_or("")) return nullptr;
  if (reference->torch != get_release(inventory.torch_version.value_or(""))) return nullptr;
  const std::string name(base_name(file.path));
  if (name == kLibtorchCuda) return reference->families ? &*reference->families : nullptr;
  const auto row = reference->files.find(name);
  if (row == reference->files.end() || !row->second.families || !file.links) return nullptr;
  const auto& linked = row->second.linked;
  const auto& versions = file.links->versions;
  const bool same = std::includes(versions.begin(), versions.end(), linked.begin(), linked.end());
  return same ? &*row->second.families : nullptr;
}

std::optional<Sentence> compare_with_release(const Facts& facts, const File& file, const Sm& chip,
                                             std::string_view target) {
  const Families* reference = find_reference_families(facts, file);
  if (reference == nullptr) return std::nullopt;
  const Censuses& censuses = *file.device_code->census;
  const Loss loss = find_loss(sum_families(censuses, chip), without_switched_off(*reference, censuses));
  if (!exceeds(loss, kMaxMissingOfRelease)) return std::nullopt;
  return say(
      "{} is claimed, and {} of the {} kernels that {} has in the reference build {} are missing for the claimed "
      "target: {}",
      target, loss.missing, loss.kernels, base_name(file.path), facts.report.reference->build, loss.families);
}

Answer families_are_complete(const Facts& facts) {
  Answer answer;
  if (!claimed_sm_is_shipped(facts)) return answer;  // reported already
  for (const auto& file : facts.inventory->files) {
    if (!is_own(*facts.inventory, file) || file.problem || !file.device_code || !file.device_code->census) continue;
    if (first_false_entry(*file.device_code) != nullptr) continue;  // reported already
    const Censuses& censuses = *file.device_code->census;
    for (const Target* target : facts.claimed_gpus) {
      const Sm chip = get_target_sm(*target).value_or(Sm{});
      if (sum_families(censuses, chip).empty()) continue;  // not counted, or reported already
      auto fault = compare_with_other_sms(censuses, chip, base_name(file.path), target->id);
      if (!fault) fault = compare_with_release(facts, file, chip, target->id);
      if (fault) answer.seen.push_back({std::move(*fault), file.path});
    }
  }
  return answer;
}

}  // namespace

std::vector<Check> kernel_families_checks() {
  using enum Need;
  return {
      {.id = "PB337",
       .needs = {gpu_claim, inventory, whole, reference},
       .proves = ClaimPart::sm,
       .remedy = "look for source files that were compiled without this SM, or whose object files were replaced",
       .ask = families_are_complete},
  };
}

}  // namespace pbprobe
