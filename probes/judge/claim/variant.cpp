// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Compares the properties of a wheel variant (PEP 817 and PEP 825, drafts) with its files.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/cpu_needs.hpp"
#include "core/facts/environment.hpp"
#include "probes/judge/claim/claimed_files.hpp"
#include "probes/judge/claim/other_claims.hpp"
#include "probes/judge/subjects.hpp"

namespace pbprobe {
namespace {

std::string format_property(const VariantProperty& property) {
  return fmt::format("{} :: {} :: {}", property.provider, property.feature, property.value);
}

// "120_real" is machine code for 12.0, "90_virtual" is PTX for 9.0. Properties have no suffixes.
void ask_sm_arch(Answer& answer, const VariantProperty& property, const ClaimedFiles& all) {
  const size_t mark = property.value.find('_');
  const auto sm = parse_sm(property.value.substr(0, mark));
  const std::string kind = mark == std::string::npos ? "" : property.value.substr(mark + 1);
  if (!sm || (kind != "real" && kind != "virtual")) {
    answer.seen.push_back({say("{} in variant.json is malformed: write a value of sm_arch as 120_real or 120_virtual",
                               format_property(property))});
  } else if (kind == "real") {
    ask_machine_code(answer, format_property(property), *sm, all);
  } else {
    ask_ptx(answer, format_property(property), *sm, all);
  }
}

// CUDA's libraries of one major run on each driver of that major.
void ask_cuda_bound(Answer& answer, const VariantProperty& property, const Distribution& row) {
  const auto bound = parse_major_minor(property.value + (property.value.find('.') == std::string::npos ? ".0" : ""));
  const bool lower = property.feature == "cuda_version_lower_bound";
  if (!bound || (!lower && property.feature != "cuda_version_upper_bound")) return;
  for (const auto& major : row.cuda) {
    const MajorMinor needed{std::stoll(major), 0};
    const bool true_here = lower ? bound->major >= needed.major : needed < *bound;
    if (!true_here)
      answer.seen.push_back({say("variant.json states {}, and {} links libraries of CUDA {}", format_property(property),
                                 row.name, major)});
  }
}

// Returns the CPU features that the properties state, with the names of /proc/cpuinfo.
std::vector<std::string> features_stated(const std::vector<VariantProperty>& properties) {
  std::vector<std::string> features;
  for (const auto& [provider, feature, value] : properties) {
    if (provider == "x86_64" && feature == "level") {
      const auto level = list_hwcaps_features(fmt::format("lib/glibc-hwcaps/x86-64-{}/lib.so", value));
      if (level) features.insert(features.end(), level->begin(), level->end());
    } else if (value == "on" && (provider == "x86_64" || provider == "aarch64")) {
      features.push_back(feature == "sse3" ? "pni" : feature);
    }
  }
  return features;
}

bool is_cpu_property(const VariantProperty& property) {
  return property.provider == "x86_64" || property.provider == "aarch64";
}

// Compares the unguarded host code with the CPU properties, if the variant states any.
void ask_cpu(Answer& answer, const WheelVariant& variant, const Inventory& inventory) {
  const bool stated = std::ranges::any_of(variant.properties, is_cpu_property);
  const bool version = std::ranges::any_of(variant.properties, [](const auto& property) {
    return property.provider == "aarch64" && property.feature == "version";
  });
  if (!stated || version) return;  // pbprobe has no table of the features of Arm architecture versions
  const auto has = features_stated(variant.properties);
  const File* unread = nullptr;
  for (const auto& file : inventory.files) {
    const bool of_cpu = file.links.has_value();
    if (of_cpu && !file.host_code) unread = &file;
    if (!file.host_code) continue;
    std::vector<std::string> needs;
    for (const auto& [feature, count] : file.host_code->unguarded) needs.push_back(feature);
    const auto missing = missing_features(needs, has);
    if (!missing.empty())
      answer.seen.push_back({say("{} needs {} on every CPU, which the properties of {} in variant.json do not state",
                                 base_name(file.path), fmt::format("{}", fmt::join(missing, ", ")), variant.label),
                             file.path});
  }
  if (unread != nullptr)
    answer.unknown = Seen{.what = say("the host code of {} was not analysed", base_name(unread->path)),
                          .remedy = "audit the wheel itself: pbprobe does not read the code of a saved report again"};
}

void ask_blas(Answer& answer, const VariantProperty& property, const Inventory& inventory) {
  const std::string name = property.value == "mkl" ? "MKL" : property.value == "openblas" ? "OpenBLAS" : "";
  if (property.feature != "library" || name.empty()) return;
  const bool there = std::ranges::any_of(inventory.files, [&](const File& file) {
    const std::string library = "lib" + property.value;
    const auto named = [&](const std::string& one) { return one.starts_with(library); };
    return std::ranges::any_of(file.needed, named) ||
           (file.links && std::ranges::find(file.links->contains, name) != file.links->contains.end());
  });
  if (!there)
    answer.seen.push_back(
        {say("variant.json states {}, and no file links or contains that library", format_property(property))});
}

Answer properties_are_true(const Facts& facts) {
  const Inventory& inventory = *facts.inventory;
  const WheelVariant& variant = *inventory.variant;
  const ClaimedFiles all{.inventory = inventory, .name = facts.torch};
  const Distribution row = make_distribution(inventory);
  Answer answer;
  for (const auto& property : variant.properties) {
    if (property.provider == "nvidia" && property.feature == "sm_arch") ask_sm_arch(answer, property, all);
    if (property.provider == "nvidia") ask_cuda_bound(answer, property, row);
    if (property.provider == "blas_lapack") ask_blas(answer, property, inventory);
    if (property.provider == "abi_dependency" && property.feature == "torch")
      add_answer(answer, ask_torch_symbols(property.value, all));
  }
  ask_cpu(answer, variant, inventory);
  return answer;
}

}  // namespace

std::vector<Check> variant_checks() {
  using enum Need;
  return {
      {.id = "PB177",
       .needs = {wheel_variant, inventory, whole},
       .of_any = true,
       .remedy = "correct variant.json to match the build, or build what variant.json states",
       .ask = properties_are_true},
  };
}

}  // namespace pbprobe
