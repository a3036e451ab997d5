// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Cases of each check: recorded facts with a planted fault, and a sound twin.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/judge/cases.hpp"

namespace pbprobe::test {

struct Case {
  std::string id;
  std::string says;  // part of the finding's sentence
  Report planted;
  Report twin;
  std::set<std::string> beside{};  // other checks that find the fault too, below severity `fail`
};

void add_file_cases(std::vector<Case>& cases);             // PB1xx
void add_loading_cases(std::vector<Case>& cases);          // PB16x
void add_part_cases(std::vector<Case>& cases);             // PB166, PB178, PB179
void add_environment_cases(std::vector<Case>& cases);      // PB167 and on
void add_other_machine_cases(std::vector<Case>& cases);    // PB184, PB185, PB218
void add_claims_of_other_cases(std::vector<Case>& cases);  // PB17x
void add_unit_cases(std::vector<Case>& cases);             // PB171 of single units and kernels
void add_version_cases(std::vector<Case>& cases);          // PB172 and PB174 of single files
void add_whole_cases(std::vector<Case>& cases);            // PB182, PB183, PB334
void add_claim_cases(std::vector<Case>& cases);            // SMs that are claimed
void add_device_cases(std::vector<Case>& cases);           // PB330 and on
void add_preflight_cases(std::vector<Case>& cases);        // PB531 and on
void add_import_cases(std::vector<Case>& cases);           // PB541 and on
void add_operator_cases(std::vector<Case>& cases);         // PB551 to PB553, PB338
void add_machine_cases(std::vector<Case>& cases);          // CPUs, GPUs, drivers, running

inline Report h200() {
  return gpu_report("NVIDIA H200", "9.0");
}

template <class Change>
Report with(Report report, Change change) {
  change(report);
  return report;
}

// Returns a report of only files with this claim.
inline Report claimed(Claim claim) {
  claim.text = "the claim";
  return audit_report(std::move(claim));
}

}  // namespace pbprobe::test
