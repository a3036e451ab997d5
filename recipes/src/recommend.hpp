// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The build for a machine: a variant of the matrix, a wheel of pip, why, what would be next, and what is not possible.
// A pure function of the host's facts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/facts/host.hpp"
#include "core/result.hpp"
#include "recipes/src/public_wheels.hpp"
#include "recipes/src/variant.hpp"

namespace pbprobe {

struct Alternative {
  std::string variant;
  std::string why;
};

struct Recommendation {
  std::string workload;
  std::optional<std::string> variant;  // null: nothing of the matrix is for this machine
  std::string reason;
  std::optional<int64_t> min_driver;
  std::vector<std::string> todo;  // before it runs: a newer driver
  std::vector<Alternative> next;
  std::vector<std::string> not_possible;
  bool wheel_first = false;           // pip's torch is native here too, and takes minutes
  std::vector<std::string> commands;  // that build the variant
  WheelsAdvice wheels;
};

// workload: an id of the matrix; empty: its first. Errors: usage, for an unknown workload.
[[nodiscard]] Result<Recommendation> recommend(const Host& host, std::string_view workload, const Matrix& m = matrix());

[[nodiscard]] std::string render_recommendation(const Recommendation& recommendation);

template <class Visitor, SameAs<Alternative> T>
void fields(Visitor& visit, T& alternative) {
  visit("variant", alternative.variant);
  visit("why", alternative.why);
}

template <class Visitor, SameAs<Recommendation> T>
void fields(Visitor& visit, T& r) {
  visit.constant("schema", "pbprobe.recommendation/1");
  visit("workload", r.workload);
  visit("variant", r.variant, "null: nothing of the matrix is for this machine");
  visit("reason", r.reason);
  visit("min_driver", r.min_driver, "first driver branch");
  visit("todo", r.todo, "what to do before it runs");
  visit("next", r.next, "what would be next");
  visit("not_possible", r.not_possible, "and why");
  visit("wheel_first", r.wheel_first, "torch of pip has native code for this GPU, so that it is the first to try");
  visit("commands", r.commands, "that build the variant");
  visit("wheels", r.wheels, "the public wheels that run here");
}

}  // namespace pbprobe
