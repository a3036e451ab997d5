// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/report/html/chart.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "probes/report/page.hpp"

namespace pbprobe::html {
namespace {

constexpr double kRowHeight = 26;

std::string view_box(double width, double height) {
  return fmt::format("0 0 {} {}", decimal(width), decimal(height));
}

void add_line(Writer& writer, std::string_view classes, double x1, double y1, double x2, double y2) {
  writer.add_empty("path", {{"class", std::string(classes)},
                            {"d", fmt::format("M{} {}L{} {}", decimal(x1), decimal(y1), decimal(x2), decimal(y2))}});
}

void add_text(Writer& writer, double x, double y, const std::string& text, std::string_view anchor = "start",
              std::string_view classes = "") {
  writer.add(
      "text",
      {{"x", decimal(x)}, {"y", decimal(y)}, {"text-anchor", std::string(anchor)}, {"class", std::string(classes)}},
      text);
}

// Label of a tick. "8 GHz" has a space, "1.05" has none.
std::string plain(double value) {
  return decimal(value, value != 0 && std::abs(value) < 1 ? 2 : value < 10 ? 2 : 0);
}

}  // namespace

Scale::Scale(double low, double high, double from, double to, bool log)
    : low_(low), high_(high > low ? high : low + 1), from_(from), to_(to), log_(log && low > 0) {}

double Scale::at(double value) const {
  const auto place = [this](double v) { return log_ ? std::log10(std::max(v, 1e-12)) : v; };
  const double part = (place(value) - place(low_)) / (place(high_) - place(low_));
  return from_ + std::clamp(part, 0.0, 1.0) * (to_ - from_);
}

std::vector<double> Scale::ticks() const {
  std::vector<double> ticks;
  if (log_) {
    for (double tick = std::pow(10, std::ceil(std::log10(low_) - 1e-9)); tick <= high_ * 1.0001; tick *= 10)
      ticks.push_back(tick);
    return ticks;
  }
  constexpr double kSteps[] = {1, 2, 2.5, 5, 10};
  const double rough = (high_ - low_) / 5;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = power;
  for (const double one : kSteps) {
    step = one * power;
    if (step >= rough) break;
  }
  for (double tick = std::ceil(low_ / step) * step; tick <= high_ + step * 1e-6; tick += step) ticks.push_back(tick);
  return ticks;
}

void add_ratios(Writer& writer, const std::string& title, const std::vector<RatioBar>& bars) {
  constexpr double kWidth = 860;
  constexpr size_t kMaxLetters = 58;
  constexpr double kLetter = 7;  // about as wide
  size_t longest = 0;
  for (const auto& bar : bars) longest = std::max(longest, text::columns(bar.label));
  const double left = std::max(180.0, kLetter * static_cast<double>(std::min(longest, kMaxLetters)) + 24);
  double low = 0.95;
  double high = 1.05;
  for (const auto& bar : bars) {
    low = std::min(low, bar.low);
    high = std::max(high, bar.high);
  }
  const double margin = 0.06 * (high - low);
  const double height = 40 + kRowHeight * static_cast<double>(bars.size());
  const Scale x(low - margin, high + margin, left, kWidth - 70);
  const auto svg = writer.open(
      "svg", {{"class", "chart"}, {"viewBox", view_box(kWidth, height)}, {"role", "img"}, {"aria-label", title}});
  for (const double tick : x.ticks()) {
    add_line(writer, "grid", x.at(tick), 6, x.at(tick), height - 22);
    add_text(writer, x.at(tick), height - 8, plain(tick) + "×", "middle");
  }
  add_line(writer, "axis", x.at(1), 2, x.at(1), height - 22);
  double y = 6 + kRowHeight / 2;
  for (const auto& bar : bars) {
    const auto group = writer.open("g", {{"class", std::string(bar.series)}});
    add_text(writer, left - 12, y + 4, text::shortened(bar.label, kMaxLetters, "…"), "end", "label");
    const double from = std::min(x.at(1), x.at(bar.value));
    writer.add_empty("rect", {{"class", "fill"},
                              {"x", decimal(from)},
                              {"y", decimal(y - 6)},
                              {"width", decimal(std::max(1.0, std::abs(x.at(bar.value) - x.at(1))))},
                              {"height", "12"},
                              {"rx", "2"},
                              {"fill-opacity", "0.45"}});
    add_line(writer, "range", x.at(bar.low), y, x.at(bar.high), y);
    for (const double end : {bar.low, bar.high}) add_line(writer, "range", x.at(end), y - 5, x.at(end), y + 5);
    writer.add_empty("circle",
                     {{"class", "fill halo"}, {"cx", decimal(x.at(bar.value))}, {"cy", decimal(y)}, {"r", "4.5"}});
    add_text(writer, kWidth - 62, y + 4, fmt::format("{:.2f}×", bar.value), "start", "label");
    y += kRowHeight;
  }
}

void add_trace(Writer& writer, const std::string& title, std::string_view unit, std::string_view series,
               const std::vector<std::pair<double, double>>& points) {
  constexpr double kWidth = 560;
  constexpr double kHeight = 170;
  constexpr double kLeft = 52;
  if (points.empty()) return;
  double low = points.front().second;
  double high = low;
  for (const auto& [seconds, value] : points) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  const double margin = std::max(0.12 * (high - low), 0.01 * high + 0.5);
  const Scale x(0, std::max(points.back().first, 0.1), kLeft, kWidth - 12);
  const Scale y(std::max(0.0, low - margin), high + margin, kHeight - 28, 30);
  const auto svg =
      writer.open("svg", {{"class", "chart small"},
                          {"viewBox", view_box(kWidth, kHeight)},
                          {"role", "img"},
                          {"aria-label", fmt::format("{}: from {} to {} {}", title, plain(low), plain(high), unit)}});
  add_text(writer, kLeft, 18, fmt::format("{}, {}", title, unit), "start", "title");
  for (const double tick : y.ticks()) {
    add_line(writer, "grid", kLeft, y.at(tick), kWidth - 12, y.at(tick));
    add_text(writer, kLeft - 8, y.at(tick) + 4, plain(tick), "end");
  }
  for (const double tick : x.ticks()) add_text(writer, x.at(tick), kHeight - 10, plain(tick) + " s", "middle");
  std::string path;
  for (const auto& [seconds, value] : points)
    path += fmt::format("{}{} {}", path.empty() ? "M" : "L", decimal(x.at(seconds), 1), decimal(y.at(value), 1));
  const auto group = writer.open("g", {{"class", std::string(series)}});
  writer.add_empty("path", {{"class", "line"}, {"d", path}});
  if (points.size() == 1)
    writer.add_empty("circle", {{"class", "fill"},
                                {"cx", decimal(x.at(points[0].first))},
                                {"cy", decimal(y.at(points[0].second))},
                                {"r", "3"}});
}

void add_time_lines(Writer& writer, const std::string& title, std::string_view unit,
                    const std::vector<TimeLine>& lines) {
  constexpr double kWidth = 860;
  constexpr double kHeight = 260;
  constexpr double kLeft = 52;
  double high = 0;
  size_t rounds = 0;
  for (const auto& line : lines) {
    rounds = std::max(rounds, line.values.size());
    for (const double value : line.values) high = std::max(high, value);
  }
  if (rounds == 0) return;
  const Scale x(0, static_cast<double>(rounds), kLeft, kWidth - 12);
  const Scale y(0, high * 1.05, kHeight - 28, 30);
  {
    const auto list = writer.open("ul", {{"class", "key"}});
    for (const auto& line : lines) {
      const auto item = writer.open("li");
      {
        const auto sample =
            writer.open("svg", {{"class", "chart"}, {"viewBox", view_box(18, 12)}, {"aria-hidden", "true"}});
        const auto group = writer.open("g", {{"class", std::string(line.series)}});
        add_line(writer, "line", 0, 6, 18, 6);
      }
      writer.text(line.label);
    }
  }
  const auto svg = writer.open("svg", {{"class", "chart"},
                                       {"viewBox", view_box(kWidth, kHeight)},
                                       {"role", "img"},
                                       {"aria-label", fmt::format("{}: up to {} {}", title, plain(high), unit)}});
  add_text(writer, kLeft, 18, fmt::format("{}, {}", title, unit), "start", "title");
  for (const double tick : y.ticks()) {
    add_line(writer, "grid", kLeft, y.at(tick), kWidth - 12, y.at(tick));
    add_text(writer, kLeft - 8, y.at(tick) + 4, plain(tick), "end");
  }
  for (const double tick : x.ticks()) add_text(writer, x.at(tick), kHeight - 10, plain(tick), "middle");
  for (const auto& line : lines) {
    std::string path;
    for (size_t i = 0; i < line.values.size(); ++i)
      path += fmt::format("{}{} {}", path.empty() ? "M" : "L", decimal(x.at(static_cast<double>(i) + 0.5), 1),
                          decimal(y.at(line.values[i]), 1));
    const auto group = writer.open("g", {{"class", std::string(line.series)}});
    writer.add_empty("path", {{"class", "line"}, {"d", path}});
  }
}

}  // namespace pbprobe::html
