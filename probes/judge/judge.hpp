// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The judge: facts in, verdict out. It reads nothing and starts nothing, so that a verdict can be computed again from
// its evidence.
#pragma once

#include <string>
#include <vector>

#include "core/facts/report.hpp"
#include "probes/judge/checks.hpp"

namespace pbprobe {

// Judges host, claim, inventory, measurements and problems; a verdict that is already there is ignored. Any finding of
// severity fail fails; else a deciding question without an answer leaves it unknown; else it passes. An inventory
// without a machine (no host, nothing measured, no problem of a step) is judged by its files alone.
[[nodiscard]] Verdict judge(const Report& facts);

// What became of one check of the catalogue.
struct Asked {
  const Check* check = nullptr;
  bool asked = false;
  Answer answer;
};

// Every check in the catalogue's order, with the verdict that comes of them.
struct Judged {
  std::vector<Asked> checks;
  Verdict verdict;
};

[[nodiscard]] Judged judge_in_full(const Report& facts);

// Whether there is what such a check is about: nobody asks of a CUDA that was neither claimed nor built with.
[[nodiscard]] bool has_subject(Need need, const Facts& facts);

// A finding of this check, as the catalogue has it.
[[nodiscard]] Finding finding_of(const Check& check, const Seen& seen);

}  // namespace pbprobe
