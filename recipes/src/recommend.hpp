// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Recommends a build for a machine: a variant of the matrix, public wheels, reasons, alternatives, and impossible
// choices. A pure function of the facts of the host.
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
  std::optional<std::string> variant;  // nullopt if no variant fits this machine
  std::string reason;
  std::optional<int64_t> min_driver;
  std::optional<int64_t> max_driver;
  std::vector<std::string> todo;  // required steps before the build runs, such as a newer driver
  std::vector<Alternative> next;
  std::vector<std::string> not_possible;
  bool wheel_first = false;           // the torch of pip has native code here, or serves mixed GPUs
  std::vector<std::string> commands;  // commands that build the variant
  WheelsAdvice wheels;
};

// workload: id in the matrix; "" selects the first. Errors: usage, for an unknown workload.
[[nodiscard]] Result<Recommendation> recommend(const Host& host, std::string_view workload, const Matrix& m = matrix());

[[nodiscard]] std::string render_recommendation(const Recommendation& recommendation);

void fields(auto& visit, SameAs<Alternative> auto& alternative) {
  visit("variant", alternative.variant);
  visit("why", alternative.why);
}

void fields(auto& visit, SameAs<Recommendation> auto& r) {
  visit.constant("schema", "pbprobe.recommendation/1");
  visit("workload", r.workload);
  visit("variant", r.variant, "name of the variant; null if no variant fits this machine");
  visit("reason", r.reason);
  visit("min_driver", r.min_driver, "first driver branch");
  visit("max_driver", r.max_driver,
        "last driver branch for the GPUs of the machine; null if current drivers support them");
  visit("todo", r.todo, "required steps before the build runs");
  visit("next", r.next, "alternatives, best first");
  visit("not_possible", r.not_possible, "impossible choices with reasons");
  visit("wheel_first", r.wheel_first,
        "the torch of pip has native code for this GPU, or code for each of several: try it first");
  visit("commands", r.commands, "commands that build the variant");
  visit("wheels", r.wheels, "public wheels that run here");
}

}  // namespace pbprobe
