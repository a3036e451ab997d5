// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Comparison of two builds or reports: facts that differ, then figures.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "core/fields.hpp"

namespace pbprobe {

enum class Change : uint8_t { gained, lost, changed };
enum class Shift : uint8_t { faster, slower, not_shown };

struct FactChange {
  FIELD(std::string, about,
        "SM, SM of a library or of few units, PTX, kernels, minimum CPU, CPU capability, version, file, size, "
        "operators or machine");
  FIELD(Change, change, "kind of change") = Change::changed;
  FIELD(std::string, what, "one sentence");
  FIELD(bool, regressed, "something that ran before no longer runs, or no longer on that device") = false;
  FIELD(std::vector<std::string>, examples, "mangled names of kernels");
};

// The interval of the ratio covers all pairs of a sample before and a sample after.
struct FigureChange {
  FIELD(std::string, what, "product that was timed");  // "libtorch bf16 1024x1024x1024 nt on cpu"
  FIELD(double, before_us, "median, microseconds") = 0;
  FIELD(double, after_us, "median, microseconds") = 0;
  FIELD(double, times, "speedup: median before / median after") = 1;
  FIELD(double, low, "lower end of the ratio over all pairs of samples") = 1;
  FIELD(double, high, "upper end of the ratio over all pairs of samples") = 1;
  FIELD(Shift, shift, "a difference was shown, and its direction") = Shift::not_shown;
};

struct Comparison {
  FIELD(std::string, before, "name as given by the user");
  FIELD(std::string, after, "name as given by the user");
  FIELD(std::vector<FactChange>, facts, "differences between the files of the two artifacts");
  FIELD(std::vector<FigureChange>, figures, "products that both runs timed");
  FIELD(std::vector<std::string>, not_compared, "with the reason");
};

// Reports whether a fact regressed or a figure is slower.
[[nodiscard]] inline bool has_regressed(const Comparison& comparison) {
  return std::any_of(comparison.facts.begin(), comparison.facts.end(),
                     [](const FactChange& fact) { return fact.regressed; }) ||
         std::any_of(comparison.figures.begin(), comparison.figures.end(),
                     [](const FigureChange& figure) { return figure.shift == Shift::slower; });
}

struct ComparisonList {
  SCHEMA("pbprobe.comparison/1");
  FIELD(std::vector<Comparison>, comparisons, "comparison of the first artifact with each other artifact");
};

}  // namespace pbprobe
