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
struct Proof {
  std::optional<Outcome> loaded;
  std::optional<Outcome> executed;
  std::optional<Outcome> measured;
  std::string detail;
};

[[nodiscard]] Proof prove_sm(const Facts& facts, const Target& target);
[[nodiscard]] Proof prove_isa(const Facts& facts, const Target& target);

// The loaded library's own word.
[[nodiscard]] Proof prove_torch(const Facts& facts, const std::string& claimed);

// Each level is as good as the worst of the two; the details follow each other.
[[nodiscard]] Proof both(const Proof& one, const Proof& other);

}  // namespace pbprobe
