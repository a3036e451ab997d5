// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Rows of the catalogue. Each file of checks defines its list.
#pragma once

#include "probes/judge/checks.hpp"
#include "probes/judge/facts.hpp"

namespace pbprobe {

[[nodiscard]] std::vector<Check> baseline_checks();
[[nodiscard]] std::vector<Check> claimed_cpus_checks();
[[nodiscard]] std::vector<Check> claimed_sms_checks();
[[nodiscard]] std::vector<Check> claims_checks();
[[nodiscard]] std::vector<Check> closure_checks();
[[nodiscard]] std::vector<Check> compiler_defects_checks();
[[nodiscard]] std::vector<Check> cpu_checks();
[[nodiscard]] std::vector<Check> device_entries_checks();
[[nodiscard]] std::vector<Check> environment_checks();
[[nodiscard]] std::vector<Check> files_checks();
[[nodiscard]] std::vector<Check> gpu_checks();
[[nodiscard]] std::vector<Check> host_code_checks();
[[nodiscard]] std::vector<Check> identity_checks();
[[nodiscard]] std::vector<Check> imports_checks();
[[nodiscard]] std::vector<Check> loading_checks();
[[nodiscard]] std::vector<Check> nix_checks();
[[nodiscard]] std::vector<Check> operators_checks();
[[nodiscard]] std::vector<Check> other_claims_checks();
[[nodiscard]] std::vector<Check> variant_checks();
[[nodiscard]] std::vector<Check> own_files_checks();
[[nodiscard]] std::vector<Check> packages_checks();
[[nodiscard]] std::vector<Check> preflight_checks();
[[nodiscard]] std::vector<Check> reference_checks();
[[nodiscard]] std::vector<Check> kernel_families_checks();
[[nodiscard]] std::vector<Check> running_checks();
[[nodiscard]] std::vector<Check> runpaths_checks();
[[nodiscard]] std::vector<Check> opened_libraries_checks();
[[nodiscard]] std::vector<Check> stacks_checks();

// Results that checks of other files need. Each function returns false if its check finds a fault.
[[nodiscard]] bool cuda_matches_claim(const Facts& facts);
[[nodiscard]] bool processor_matches_claim(const Facts& facts);
[[nodiscard]] bool claimed_sm_is_shipped(const Facts& facts);
[[nodiscard]] bool gpus_are_usable(const Facts& facts);
[[nodiscard]] bool driver_supports_cuda(const Facts& facts);    // compares major versions
[[nodiscard]] bool glibc_takes_all_stacks(const Facts& facts);  // false also if the version is not known

}  // namespace pbprobe
