// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Proofs of a claimed target by running libtorch. Only a run on this very target proves anything.
#pragma once

#include <optional>
#include <string>

#include "probes/judge/facts.hpp"

namespace pbprobe {

// Outcome of each level; nullopt if only files were judged.
struct ClaimProof {
  std::optional<Outcome> loaded;
  std::optional<Outcome> executed;
  std::optional<Outcome> measured;
  std::string detail;
};

// Judges the areas that ran on `device`: pass, fail, or unknown if none or not all ran. Sets `detail` to the reason.
[[nodiscard]] Outcome judge_areas(const LibtorchRun& run, std::string_view device, std::string& detail);

// Judges the run on the first usable GPU; unknown if this GPU is not the target or nothing ran.
[[nodiscard]] ClaimProof prove_sm(const Facts& facts, const Target& target);
// Judges the run on the CPU; unknown if this CPU is not the target or nothing ran.
[[nodiscard]] ClaimProof prove_isa(const Facts& facts, const Target& target);

// Compares the claimed release with the release that the loaded library returns.
[[nodiscard]] ClaimProof prove_torch(const Facts& facts, const std::string& claimed);

// Takes the worse outcome of each level, and joins the details.
[[nodiscard]] ClaimProof both(const ClaimProof& one, const ClaimProof& other);

}  // namespace pbprobe
