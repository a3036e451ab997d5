// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Runs each check of the catalogue once.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "probes/judge/checks.hpp"
#include "probes/judge/facts.hpp"

namespace pbprobe {

// Result of one check.
struct Asked {
  const Check* check = nullptr;
  bool asked = false;
  Answer answer;
};

// Runs the checks in the order of the catalogue, or only the checks in `ids`. A check without a needed fact gets the
// answer "unknown", with the reason.
[[nodiscard]] std::vector<Asked> run_checks(const Facts& facts, const std::optional<std::set<std::string>>& ids);

// Reports whether a check judges the artifact by this machine's processor, GPUs, driver or packages, or by a run here.
// A build for another processor gets no such check, except the check of the processor itself.
[[nodiscard]] bool compares_with_machine(const Check& check);

// Reports whether the artifact runs with the glibc of a known machine. Nix results and a system's folder have their
// own.
[[nodiscard]] bool is_decided_by_glibc(const Facts& facts);

// Reports whether the subject of checks with this need exists: a build without CUDA needs no check of CUDA.
[[nodiscard]] bool has_subject(Need need, const Facts& facts);

// Explains why a check was not asked. Requires Asked::asked to be false.
[[nodiscard]] std::string why_not_asked(const Check& check, const Facts& facts);

// Returns why no check judges the claim: no check covers a claimed target, or the single file shows no claimed part.
// Returns nullopt if some check does.
[[nodiscard]] std::optional<Seen> unjudged_claim(const Facts& facts);

}  // namespace pbprobe
