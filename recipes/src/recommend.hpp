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
  FIELD(std::string, variant);
  FIELD(std::string, why);
};

struct Recommendation {
  SCHEMA("pbprobe.recommendation/1");
  FIELD(std::string, workload);
  FIELD(std::optional<std::string>, variant, "name of the variant; null if no variant fits this machine");
  FIELD(std::string, reason);
  FIELD(std::optional<int64_t>, min_driver, "first driver branch");
  FIELD(std::optional<int64_t>, max_driver,
        "last driver branch for the GPUs of the machine; null if current drivers support them");
  FIELD(std::vector<std::string>, todo, "required steps before the build runs");
  FIELD(std::vector<Alternative>, next, "alternatives, best first");
  FIELD(std::vector<std::string>, not_possible, "impossible choices with reasons");
  FIELD(bool, wheel_first,
        "the torch of pip has native code for this GPU, or code for each of several: try it first") = false;
  FIELD(std::vector<std::string>, commands, "commands that build the variant");
  FIELD(WheelsAdvice, wheels, "public wheels that run here");
};

// workload: id in the matrix; "" selects the first. Errors: usage, for an unknown workload.
[[nodiscard]] Result<Recommendation> recommend(const Host& host, std::string_view workload, const Matrix& m = matrix());

[[nodiscard]] std::string render_recommendation(const Recommendation& recommendation);

}  // namespace pbprobe
