// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/judge/checks.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/check_pages.hpp"
#include "probes/judge/subjects.hpp"

namespace pbprobe {
namespace {

const std::vector<Check>& table() {
  static const std::vector<Check> checks = [] {
    std::vector<Check> all;
    // Rows that state no subject get the subject of their list.
    const auto add = [&](Subject subject, std::initializer_list<std::vector<Check> (*)()> lists) {
      for (const auto list : lists) {
        for (auto& check : list()) {
          if (check.subject == Subject::artifact) check.subject = subject;
          all.push_back(std::move(check));
        }
      }
    };
    add(Subject::cpu, {claimed_cpus_checks, cpu_checks, host_code_checks});
    add(Subject::gpu, {claimed_sms_checks, compiler_defects_checks, device_entries_checks, gpu_checks,
                       kernel_families_checks, reference_checks});
    add(Subject::running, {running_checks});
    add(Subject::baseline, {baseline_checks});
    add(Subject::closure, {nix_checks});
    add(Subject::artifact,
        {claims_checks, closure_checks, environment_checks, files_checks, identity_checks, imports_checks,
         loading_checks, opened_libraries_checks, operators_checks, other_claims_checks, own_files_checks,
         packages_checks, preflight_checks, runpaths_checks, stacks_checks, variant_checks});
    std::ranges::sort(all, {}, &Check::id);
    return all;
  }();
  return checks;
}

struct RetiredCheck {
  std::string_view id;
  std::string_view why;
};

constexpr std::array kRetired{
    RetiredCheck{.id = "PB507",
                 .why = "it compared kernels with operators, and other threads; `python -m pbprobe.speed` compares "
                        "operators with operators"}};

std::string_view get_need_word(Need need) {
  switch (need) {
    case Need::host: return "host";
    case Need::inventory: return "inventory";
    case Need::whole: return "a whole artifact";
    case Need::run: return "a started libtorch";
    case Need::claim: return "claim";
    case Need::gpu_claim: return "claimed SM";
    case Need::cpu_claim: return "claimed ISA";
    case Need::torch_claim: return "claimed torch";
    case Need::cuda_claim: return "claimed CUDA";
    case Need::python_claim: return "claimed Python";
    case Need::blas_claim: return "claimed BLAS";
    case Need::file_claim: return "a claim file";
    case Need::wheel_variant: return "a wheel variant";
    case Need::cuda_build: return "a CUDA build";
    case Need::package: return "a Python package";
    case Need::store: return "a Nix result";
    case Need::baseline: return "a baseline";
    case Need::reference:
    case Need::record: return "a gate";
    case Need::environment: return "other packages beside it";
    case Need::rows: return "the packages beside it";
    case Need::processors: return "an environment";
    case Need::other: return "another package than torch";
    case Need::preflight: return "a preflight";
    case Need::imports: return "an import";
    case Need::operators: return "a comparison of operators";
    case Need::emulated: return "an emulated CPU";
  }
  return "";
}

}  // namespace

std::span<const Check> all_checks() {
  return table();
}

const Check* find_check(std::string_view id) {
  const auto found = std::ranges::find_if(table(), [&](const Check& check) { return check.id == id; });
  return found == table().end() ? nullptr : &*found;
}

std::string_view explain_retirement(std::string_view id) {
  for (const RetiredCheck& retired : kRetired)
    if (retired.id == id) return retired.why;
  return {};
}

bool needs(const Check& check, Need need) {
  return std::ranges::find(check.needs, need) != check.needs.end();
}

bool asks(Need need) {
  return std::ranges::any_of(table(), [&](const Check& check) { return needs(check, need); });
}

std::vector<std::string_view> list_needs(const Check& check) {
  std::vector<std::string_view> words;
  for (const Need need : check.needs) words.push_back(get_need_word(need));
  return words;
}

std::string checks_markdown() {
  std::string text =
      "# Checks\n\n"
      "Written by `make generate` from the catalogue in `probes/judge`. An identifier is stable, and never "
      "used again for another check. A check whose facts are missing has no answer; if it decides, the verdict is "
      "then unknown, and unknown is not pass. pbprobe asks a check that needs a claim only if there is a claim, and a "
      "check that needs a CUDA build, a Python package or a Nix result only for such an artifact. Without facts of a "
      "machine (`pbprobe audit`), pbprobe asks no check that needs a host or a started libtorch. For a single file, "
      "pbprobe asks no check that needs a whole artifact.\n\n"
      "| check | about | level | severity | asks | needs | decides | remedy |\n|---|---|---|---|---|---|---|---|\n";
  for (const auto& check : all_checks()) {
    text += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} |\n", check.id, name_of(check.subject),
                        name_of(check.level), name_of(check.severity), check_question(check.id),
                        fmt::join(list_needs(check), ", "), check.decides ? "yes" : "", check.remedy);
  }
  text += "\nNo longer asked:\n\n";
  for (const RetiredCheck& retired : kRetired) text += fmt::format("- {}: {}.\n", retired.id, retired.why);
  return text;
}

}  // namespace pbprobe
