// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Comparison of two builds or reports: facts that differ, then figures.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/fields.hpp"

namespace pbprobe {

enum class Change : uint8_t { gained, lost, changed };
enum class Shift : uint8_t { faster, slower, not_shown };

struct FactChange {
  std::string about;  // "SM", "SM of cuBLAS", "PTX", "minimum CPU", "version", "file", "size", …
  Change change = Change::changed;
  std::string what;
  bool regressed = false;             // something that ran before no longer runs, or no longer on that device
  std::vector<std::string> examples;  // mangled names of kernels
};

// The interval of the ratio covers all pairs of a sample before and a sample after.
struct FigureChange {
  std::string what;  // "libtorch bf16 1024x1024x1024 nt on cpu"
  double before_us = 0;
  double after_us = 0;
  double times = 1;  // speedup: median before / median after
  double low = 1;
  double high = 1;
  Shift shift = Shift::not_shown;
};

struct Comparison {
  std::string before;  // name as given by the user
  std::string after;
  std::vector<FactChange> facts;
  std::vector<FigureChange> figures;
  std::vector<std::string> not_compared;  // with the reason
};

struct ComparisonList {
  std::vector<Comparison> comparisons;
};

void fields(auto& visit, SameAs<FactChange> auto& fact) {
  visit("about", fact.about,
        "SM, SM of a library or of few units, PTX, kernels, minimum CPU, CPU capability, version, file, size, "
        "operators or machine");
  visit("change", fact.change, "kind of change");
  visit("what", fact.what, "one sentence");
  visit("regressed", fact.regressed, "something that ran before no longer runs, or no longer on that device");
  visit("examples", fact.examples, "mangled names of kernels");
}

void fields(auto& visit, SameAs<FigureChange> auto& figure) {
  visit("what", figure.what, "product that was timed");
  visit("before_us", figure.before_us, "median, microseconds");
  visit("after_us", figure.after_us, "median, microseconds");
  visit("times", figure.times, "speedup: median before / median after");
  visit("low", figure.low, "lower end of the ratio over all pairs of samples");
  visit("high", figure.high, "upper end of the ratio over all pairs of samples");
  visit("shift", figure.shift, "a difference was shown, and its direction");
}

void fields(auto& visit, SameAs<Comparison> auto& comparison) {
  visit("before", comparison.before, "name as given by the user");
  visit("after", comparison.after, "name as given by the user");
  visit("facts", comparison.facts, "differences between the files of the two artifacts");
  visit("figures", comparison.figures, "products that both runs timed");
  visit("not_compared", comparison.not_compared, "with the reason");
}

void fields(auto& visit, SameAs<ComparisonList> auto& list) {
  visit.constant("schema", "pbprobe.comparison/1");
  visit("comparisons", list.comparisons, "comparison of the first artifact with each other artifact");
}

}  // namespace pbprobe
