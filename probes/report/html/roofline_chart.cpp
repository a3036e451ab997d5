// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "probes/report/html/chart.hpp"

namespace pbprobe::html {
namespace {

constexpr double kWidth = 920;
constexpr double kHeight = 430;
constexpr double kLeft = 66;
constexpr double kRight = 24;
constexpr double kTop = 26;
constexpr double kBottom = 48;

struct Frame {
  Scale x;
  Scale y;
  double most_intensity;
  double least_intensity;
};

Frame compute_frame(const Roof& roof) {
  double left = 1e9;
  double right = 0;
  double low = 1e12;
  double high = 0;
  for (const auto& point : roof.points) {
    left = std::min(left, point.intensity);
    right = std::max(right, point.intensity);
    low = std::min(low, point.low);
    high = std::max(high, point.high);
  }
  for (const auto& ceiling : roof.ceilings) {
    high = std::max(high, ceiling.gflops);
    // The picture must show the knee.
    if (roof.gb_per_s) right = std::max(right, 1.5 * ceiling.gflops / *roof.gb_per_s);
  }
  left = std::max(left * 0.5, 0.05);
  right = std::max(right * 2.5, left * 10);
  low = std::max(low * 0.4, 1e-3);
  high *= 2.2;
  return {Scale(left, right, kLeft, kWidth - kRight, true), Scale(low, high, kHeight - kBottom, kTop, true), right,
          left};
}

void add_grid(Writer& writer, const Frame& frame) {
  for (const double tick : frame.x.ticks()) {
    writer.add_empty(
        "path",
        {{"class", "grid"},
         {"d", fmt::format("M{} {}V{}", decimal(frame.x.at(tick)), decimal(kTop), decimal(kHeight - kBottom))}});
    writer.add("text",
               {{"x", decimal(frame.x.at(tick))}, {"y", decimal(kHeight - kBottom + 18)}, {"text-anchor", "middle"}},
               decimal(tick));
  }
  for (const double tick : frame.y.ticks()) {
    writer.add_empty(
        "path", {{"class", "grid"},
                 {"d", fmt::format("M{} {}H{}", decimal(kLeft), decimal(frame.y.at(tick)), decimal(kWidth - kRight))}});
    writer.add("text", {{"x", decimal(kLeft - 8)}, {"y", decimal(frame.y.at(tick) + 4)}, {"text-anchor", "end"}},
               short_rate(tick));
  }
  writer.add("text", {{"x", decimal((kLeft + kWidth) / 2)}, {"y", decimal(kHeight - 8)}, {"text-anchor", "middle"}},
             "operations for each byte moved");
  writer.add("text", {{"x", "4"}, {"y", "14"}}, "operations a second");
}

// The slope of the memory, up to the highest ceiling.
void add_memory(Writer& writer, const Roof& roof, const Frame& frame) {
  if (!roof.gb_per_s) return;
  const double top = roof.ceilings.empty() ? frame.most_intensity * *roof.gb_per_s : roof.ceilings.front().gflops;
  const double end = std::min(top / *roof.gb_per_s, frame.most_intensity);
  // Clipped where the picture ends, so that the slope keeps its place.
  double begin = frame.least_intensity;
  for (double at = frame.least_intensity; at < end && frame.y.at(at * *roof.gb_per_s) >= kHeight - kBottom; at *= 1.02)
    begin = at;
  const double x1 = frame.x.at(begin);
  const double y1 = frame.y.at(begin * *roof.gb_per_s);
  const double x2 = frame.x.at(end);
  const double y2 = frame.y.at(end * *roof.gb_per_s);
  writer.add_empty("path", {{"class", "axis"},
                            {"stroke-width", "2"},
                            {"d", fmt::format("M{} {}L{} {}", decimal(x1), decimal(y1), decimal(x2), decimal(y2))}});
  const double angle = std::atan2(y2 - y1, x2 - x1) * 180 / 3.14159265;
  const double x = x1 + 0.5 * (x2 - x1);
  const double y = y1 + 0.5 * (y2 - y1) - 8;
  writer.add("text",
             {{"class", "label"},
              {"text-anchor", "middle"},
              {"transform", fmt::format("translate({} {}) rotate({})", decimal(x), decimal(y), decimal(angle, 1))}},
             fmt::format("memory {:.0f} GB/s", *roof.gb_per_s));
}

// Ceilings too near to be distinguished are one line with all names.
void add_ceilings(Writer& writer, const Roof& roof, const Frame& frame) {
  constexpr double kApart = 15;  // minimum distance of two lines of text
  double last = -1e9;
  for (size_t i = 0; i < roof.ceilings.size();) {
    const double y = frame.y.at(roof.ceilings[i].gflops);
    std::vector<std::string> names;
    size_t next = i;
    for (; next < roof.ceilings.size() && frame.y.at(roof.ceilings[next].gflops) - y < kApart; ++next)
      names.push_back(fmt::format("{} {}", roof.ceilings[next].name, short_rate(roof.ceilings[next].gflops)));
    for (size_t one = i; one < next; ++one) {
      const double gflops = roof.ceilings[one].gflops;
      const double knee =
          roof.gb_per_s ? std::max(gflops / *roof.gb_per_s, frame.least_intensity) : frame.least_intensity;
      writer.add_empty("path", {{"class", "axis"},
                                {"stroke-width", one == 0 ? "2" : "1"},
                                {"d", fmt::format("M{} {}H{}", decimal(frame.x.at(knee)), decimal(frame.y.at(gflops)),
                                                  decimal(kWidth - kRight))}});
    }
    if (names.size() > 3) names = {names[0], fmt::format("{} more", names.size() - 1)};
    if (y - last >= kApart)
      writer.add("text",
                 {{"x", decimal(kWidth - kRight)}, {"y", decimal(y - 5)}, {"text-anchor", "end"}, {"class", "label"}},
                 fmt::format("{}", fmt::join(names, " · ")));
    last = y;
    i = next;
  }
}

void add_mark(Writer& writer, double x, double y, bool is_diamond) {
  if (is_diamond)
    writer.add_empty(
        "path", {{"class", "fill halo"}, {"d", fmt::format("M{} {}l6 6l-6 6l-6 -6z", decimal(x), decimal(y - 6))}});
  else
    writer.add_empty("circle", {{"class", "fill halo"}, {"cx", decimal(x)}, {"cy", decimal(y)}, {"r", "5"}});
}

using Series = std::map<std::string, std::string>;  // CSS class by data type

Series assign_series(const Roof& roof) {
  constexpr const char* kClasses[] = {"s1", "s2", "s3", "s4", "s5", "s6"};
  Series series;
  for (const auto& point : roof.points) series.emplace(point.dtype, "");
  size_t i = 0;
  for (auto& [dtype, name] : series) name = kClasses[i++ % std::size(kClasses)];
  return series;
}

void add_points(Writer& writer, const Roof& roof, const Frame& frame, const Series& series) {
  for (const auto& point : roof.points) {
    const auto group = writer.open("g", {{"class", point.above       ? "sbad"
                                                   : point.disturbed ? "snone"
                                                                     : series.at(point.dtype)}});
    writer.add("title",
               fmt::format("{} {}{}{}: {}op/s{}", point.who, point.dtype, point.shape.empty() ? "" : " ", point.shape,
                           short_rate(point.gflops), point.above ? ", above its roof: measurement error" : ""));
    const double x = frame.x.at(point.intensity);
    writer.add_empty(
        "path",
        {{"class", "range"},
         {"d", fmt::format("M{} {}V{}", decimal(x), decimal(frame.y.at(point.low)), decimal(frame.y.at(point.high)))}});
    add_mark(writer, x, frame.y.at(point.gflops), point.of_libtorch);
    if (point.above)
      writer.add_empty("circle",
                       {{"class", "line"}, {"cx", decimal(x)}, {"cy", decimal(frame.y.at(point.gflops))}, {"r", "11"}});
  }
}

void add_key(Writer& writer, const Series& series) {
  const auto list = writer.open("ul", {{"class", "key"}});
  const auto entry = [&](std::string_view classes, bool is_diamond, const std::string& text) {
    const auto item = writer.open("li");
    {
      const auto svg = writer.open("svg", {{"class", "chart"}, {"viewBox", "0 0 20 14"}, {"aria-hidden", "true"}});
      const auto group = writer.open("g", {{"class", std::string(classes)}});
      add_mark(writer, 10, 7, is_diamond);
    }
    writer.text(text);
  };
  for (const auto& [dtype, classes] : series) entry(classes, false, dtype);
  entry("snone", false, "round: pbprobe's kernel");
  entry("snone", true, "diamond: this torch");
}

}  // namespace

std::string short_rate(double gflops) {
  constexpr const char* kUnits[] = {"G", "T", "P"};
  size_t unit = 0;
  if (gflops < 1) return fmt::format("{} M", decimal(gflops * 1e3, 0));
  while (gflops >= 1000 && unit + 1 < std::size(kUnits)) {
    gflops /= 1000;
    ++unit;
  }
  return fmt::format("{} {}", decimal(gflops, gflops < 10 ? 2 : gflops < 100 ? 1 : 0), kUnits[unit]);
}

void add_roofline(Writer& writer, const Roof& roof) {
  const Frame frame = compute_frame(roof);
  const Series series = assign_series(roof);
  const auto above = std::ranges::count_if(roof.points, [](const auto& point) { return point.above; });
  const std::string words =
      fmt::format("Roofline of {}: {} points below {} measured ceilings{}", roof.device, roof.points.size(),
                  roof.ceilings.size(), above > 0 ? fmt::format(", but {} above its roof", above) : "");
  const auto scroll = writer.open_scroll(words);
  {
    const auto svg = writer.open("svg", {{"class", "chart"},
                                         {"viewBox", fmt::format("0 0 {} {}", kWidth, kHeight)},
                                         {"role", "img"},
                                         {"aria-label", words}});
    add_grid(writer, frame);
    add_memory(writer, roof, frame);
    add_ceilings(writer, roof, frame);
    add_points(writer, roof, frame, series);
  }
  add_key(writer, series);
}

}  // namespace pbprobe::html
