// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Charts as inline SVG. Each chart has a text for screen readers, and its figures are also in a table.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/facts/trace.hpp"
#include "probes/report/html/writer.hpp"
#include "probes/report/roofline.hpp"

namespace pbprobe::html {

// Axis of a chart: converts values (`low` to `high`) to coordinates (`from` to `to`), also logarithmically.
class Scale {
 public:
  Scale(double low, double high, double from, double to, bool log = false);
  [[nodiscard]] double at(double value) const;
  // Returns round values in the range for the ticks of the axis (powers of ten if logarithmic); at() converts them.
  [[nodiscard]] std::vector<double> ticks() const;

 private:
  double low_, high_, from_, to_;
  bool log_;
};

// Formats a rate in GFLOP/s: "1.2 T", "850 G".
[[nodiscard]] std::string short_rate(double gflops);

// Ceilings that were measured, and points below them.
void add_roofline(Writer& writer, const Roof& roof);

// Bar for a speedup with its interval: right of 1 is a gain.
struct RatioBar {
  std::string label;
  double value = 1;
  double low = 1;
  double high = 1;
  std::string_view series;  // "sgood", "sbad", "snone"
};
void add_ratios(Writer& writer, const std::string& title, const std::vector<RatioBar>& bars);

// Adds a chart of one quantity over time.
void add_trace(Writer& writer, const std::string& title, std::string_view unit, std::string_view series,
               const std::vector<std::pair<double, double>>& points);

// A value a round: several lines over the same rounds, with a key.
struct TimeLine {
  std::string label;
  std::string_view series;  // "s1" to "s6", "snone"
  std::vector<double> values;
};
void add_time_lines(Writer& writer, const std::string& title, std::string_view unit,
                    const std::vector<TimeLine>& lines);

}  // namespace pbprobe::html
