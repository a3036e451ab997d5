// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Two builds, or two reports, beside each other: what the files of one have and the other has not, then figures.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/fields.hpp"

namespace pbprobe {

enum class Change : uint8_t { gained, lost, changed };
enum class Shift : uint8_t { faster, slower, not_shown };

[[nodiscard]] std::span<const EnumName<Change>> enum_names(Change);
[[nodiscard]] std::span<const EnumName<Shift>> enum_names(Shift);

struct FactChange {
  std::string
      about;  // "SM", "SM of cuBLAS", "PTX", "kernels", "minimum CPU", "CPU capability", "version", "file", "size"
  Change change = Change::changed;
  std::string what;
  bool regressed = false;             // something that ran before runs no longer, or not there
  std::vector<std::string> examples;  // of kernels: names, as mangled
};

// The ratio's interval holds every pair of one run's samples with the other's.
struct FigureChange {
  std::string what;  // "libtorch bf16 1024x1024x1024 nt on cpu"
  double before_us = 0;
  double after_us = 0;
  double times = 1;  // as fast: of the medians
  double low = 1;
  double high = 1;
  Shift shift = Shift::not_shown;
};

struct Comparison {
  std::string before;  // as it was named
  std::string after;
  std::vector<FactChange> facts;
  std::vector<FigureChange> figures;
  std::vector<std::string> not_compared;  // and why
};

struct ComparisonList {
  std::vector<Comparison> comparisons;
};

template <class Visitor, SameAs<FactChange> T>
void fields(Visitor& visit, T& fact) {
  visit(
      "about", fact.about,
      "SM, SM of a library or of few units, PTX, kernels, minimum CPU, CPU capability, version, file, size or machine");
  visit("change", fact.change, "what became of it");
  visit("what", fact.what, "one sentence");
  visit("regressed", fact.regressed, "something that ran before runs no longer, or not there");
  visit("examples", fact.examples, "of kernels: names, as mangled");
}

template <class Visitor, SameAs<FigureChange> T>
void fields(Visitor& visit, T& figure) {
  visit("what", figure.what, "what was timed");
  visit("before_us", figure.before_us, "median, microseconds");
  visit("after_us", figure.after_us, "median, microseconds");
  visit("times", figure.times, "as fast as before, by the medians");
  visit("low", figure.low, "of all pairs of samples");
  visit("high", figure.high, "of all pairs of samples");
  visit("shift", figure.shift, "whether a difference was shown");
}

template <class Visitor, SameAs<Comparison> T>
void fields(Visitor& visit, T& comparison) {
  visit("before", comparison.before, "as it was named");
  visit("after", comparison.after, "as it was named");
  visit("facts", comparison.facts, "what the files of one have and the other's have not");
  visit("figures", comparison.figures, "what both timed");
  visit("not_compared", comparison.not_compared, "and why");
}

template <class Visitor, SameAs<ComparisonList> T>
void fields(Visitor& visit, T& list) {
  visit.constant("schema", "pbprobe.comparison/1");
  visit("comparisons", list.comparisons, "of the first one with each other");
}

}  // namespace pbprobe
