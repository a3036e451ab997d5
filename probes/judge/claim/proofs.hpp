// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// What running proves of a claimed target: nothing but what ran on that very target.
#pragma once

#include <optional>
#include <string>

#include "probes/judge/facts.hpp"

namespace pbprobe {

// Null where the level was not asked: no machine was looked at.
struct ClaimProof {
  std::optional<Outcome> loaded;
  std::optional<Outcome> executed;
  std::optional<Outcome> measured;
  std::string detail;
};

// Small programs of every area, on this device: all right, one wrong, or none run, with why.
[[nodiscard]] Outcome areas_on(const LibtorchRun& run, std::string_view device, std::string& detail);

[[nodiscard]] ClaimProof prove_sm(const Facts& facts, const Target& target);
[[nodiscard]] ClaimProof prove_isa(const Facts& facts, const Target& target);

// The loaded library's own word.
[[nodiscard]] ClaimProof prove_torch(const Facts& facts, const std::string& claimed);

// Each level is as good as the worst of the two; the details follow each other.
[[nodiscard]] ClaimProof both(const ClaimProof& one, const ClaimProof& other);

}  // namespace pbprobe
