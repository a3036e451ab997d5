// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "probes/report/html/chart.hpp"
#include "probes/report/html/sections.hpp"
#include "probes/report/sections.hpp"

namespace pbprobe::html {
namespace {

std::string device_words(const std::string& device) {
  return device == "cpu" ? "CPU" : "GPU " + device.substr(device.find(':') + 1);
}

Cell rate_cell(double gflops) {
  return {text::rate_with_unit(gflops), Colour::none, gflops};
}

Cell percent_cell(double part) {
  return {fmt::format("{:.0f} %", 100 * part), Colour::none, part};
}

std::vector<Cell> make_row_cells(const RoofPoint& point) {
  const std::string range = fmt::format("{} to {}", short_rate(point.low), short_rate(point.high));
  Cell reached{"-"};
  if (point.roof) reached = percent_cell(point.gflops / *point.roof);
  const char* set_by = !point.roof ? "-" : point.by_memory ? "memory" : "instruction";
  return {{point.who},
          {point.dtype},
          {point.shape.empty() ? "-" : point.shape},
          rate_cell(point.gflops),
          {range + "op/s"},
          point.roof ? rate_cell(*point.roof) : Cell{"-"},
          {set_by},
          reached,
          {point.above       ? "above its roof: measurement error"
           : point.disturbed ? "not judged: other processes were active"
                             : "-",
           point.above ? Colour::bad : Colour::doubt}};
}

void add_roof(Document& page, const Roof& roof) {
  page.body().add("h3", roof.device);
  const auto above = std::ranges::count_if(roof.points, [](const auto& point) { return point.above; });
  if (above > 0)
    page.add_warning(fmt::format(
        "{} of {} figures are above their roof, which is impossible: the ceiling or the figure has a measurement "
        "error, for example because other processes used the machine. Measure again when the machine is idle.",
        above, roof.points.size()));
  add_roofline(page.body(), roof);
  Table table{
      .caption = fmt::format("The figures of {}", roof.device),
      .head = {"kernel", "type", "m×n×k", "rate", "middle 80 % of samples", "roof", "set by", "reached", "remark"}};
  for (const auto& point : roof.points) table.rows.push_back(make_row_cells(point));
  drop_empty_columns(table.head, table.rows);
  const auto details = page.body().open("details");
  page.body().add("summary", "These figures as a table");
  page.add(table);
}

std::vector<Cell> make_row_cells(const BenchRow& row, const std::set<std::string>& peers) {
  const std::string threads = row.threads == 0 ? "GPU" : fmt::format("{}", row.threads);
  std::vector<Cell> cells{{row.kernel},
                          {row.best ? "✓" : "-", Colour::good},
                          {row.target},
                          {row.dtype},
                          {fmt::format("{}×{}×{}", row.m, row.n, row.k)},
                          {row.layout},
                          {threads},
                          rate_cell(row.gflops)};
  if (launch_decides(row))
    cells.push_back({"launch", Colour::faint});
  else
    cells.push_back(row.peak_fraction ? percent_cell(*row.peak_fraction) : Cell{"-"});
  for (const auto& name : peers) {
    const auto peer = row.peers.find(name);
    cells.push_back(peer == row.peers.end()
                        ? Cell{"-"}
                        : Cell{fmt::format("{:.2f}×", peer->second.ratio), Colour::none, peer->second.ratio});
  }
  cells.push_back(
      {row.disturbed ? "not judged, other processes were active: " + *row.disturbed : row.note.value_or("-"),
       row.disturbed ? Colour::doubt : Colour::faint});
  return cells;
}

void add_device_trace(Document& page, const DeviceTrace& trace) {
  page.body().add("h3", device_words(trace.device));
  if (const auto words = text::describe_throttling(trace)) page.body().add("p", "Clock limited: " + *words);
  const auto pictures = page.body().open("div", {{"class", "traces"}});
  const auto draw = [&](const char* title, std::string_view unit, std::string_view series,
                        std::optional<double> TracePoint::*of) {
    std::vector<std::pair<double, double>> points;
    for (const auto& point : trace.points) {
      if (point.*of) points.emplace_back(point.seconds, *(point.*of));
    }
    html::add_trace(page.body(), title, unit, series, points);
  };
  draw("Clock", "MHz", "s1", &TracePoint::clock_mhz);
  draw("Power", "W", "s2", &TracePoint::power_watts);
  draw("Temperature", "°C", "s5", &TracePoint::celsius);
}

}  // namespace

void add_rooflines(Document& page, const Measurements& measurements, const Host* host) {
  const auto roofs = compute_roofs(measurements, host);
  if (roofs.empty()) return;
  const auto section = page.open_section(
      "Roofline",
      "Measured rates of memory and instructions of each device in this run, and the share that matrix products and "
      "other operations reached. A bar through a point covers the middle 80 % of its samples.");
  for (const auto& roof : roofs) add_roof(page, roof);
}

void add_kernels(Document& page, const Measurements& measurements) {
  if (measurements.rows.empty()) return;
  std::set<std::string> peers;
  for (const auto& row : measurements.rows) {
    for (const auto& [name, figure] : row.peers) peers.insert(name);
  }
  Table table{
      .caption =
          "✓ marks the kernel that dispatch would choose; \"launch\" means that the launch takes most of the time",
      .head = {"kernel", "chosen", "target", "type", "m×n×k", "layout", "threads", "rate", "of peak"}};
  for (const auto& name : peers) table.head.push_back("ours/" + name);
  table.head.emplace_back("remark");
  for (const auto& row : measurements.rows) table.rows.push_back(make_row_cells(row, peers));
  drop_empty_columns(table.head, table.rows);
  const auto section =
      page.open_section("This machine: pbprobe's own kernels", "Each kernel was verified before it was timed.");
  page.add(table);
}

void add_libtorch(Document& page, const LibtorchRun& run) {
  if (run.figures.empty() && run.areas.empty()) return;
  const auto section = page.open_section("This torch, as it ran");
  if (run.problem) page.add_warning(*run.problem);
  Table figures{.caption = "Its matrix products",
                .head = {"device", "type", "m×n×k", "layout", "threads", "rate", "remark"}};
  for (const auto& figure : run.figures)
    figures.rows.push_back(
        {{device_words(figure.device)},
         {figure.dtype},
         {fmt::format("{}×{}×{}", figure.m, figure.n, figure.k)},
         {figure.layout},
         {figure.threads == 0 ? "GPU" : fmt::format("{}", figure.threads)},
         rate_cell(figure.gflops),
         {figure.disturbed ? "not judged, other processes were active: " + *figure.disturbed : "-", Colour::doubt}});
  drop_empty_columns(figures.head, figures.rows);
  if (!figures.rows.empty()) page.add(figures);
  Table areas{.caption = "Small programs, each compared with a reference in FP64",
              .head = {"area", "device", "result", "why"}};
  for (const auto& area : run.areas) {
    const bool fault = area.problem && !area.obstacle;
    const char* result = area.skipped ? "not asked" : !area.problem ? "✓" : fault ? "✗" : "unknown";
    areas.rows.push_back({{area.area},
                          {device_words(area.device)},
                          {result, area.skipped    ? Colour::faint
                                   : !area.problem ? Colour::good
                                   : fault         ? Colour::bad
                                                   : Colour::doubt},
                          {area.problem.value_or(area.skipped.value_or("-")), Colour::faint}});
  }
  drop_empty_columns(areas.head, areas.rows);
  if (!areas.rows.empty()) page.add(areas);
}

void add_operators(Document& page, const std::vector<OperatorRun>& runs) {
  const auto section = page.open_section("Operators of torch, compared with double precision on the CPU");
  Table summary{.caption = "Each operator by its worst type", .head = {"device", "result"}};
  Table results{.caption = "Operators that are wrong, crashed or did not run",
                .head = {"operator", "type", "device", "result", "why"}};
  for (const auto& run : runs) {
    summary.rows.push_back({{device_words(run.device)}, {text::summarize_operators(run)}});
    for (const auto& result : run.results) {
      const bool is_fault = result.state != OperatorState::not_run;
      results.rows.push_back({{result.name},
                              {result.type},
                              {device_words(run.device)},
                              {is_fault ? "✗" : "not run", is_fault ? Colour::bad : Colour::faint},
                              {result.reason.value_or("-"), Colour::faint}});
    }
  }
  page.add(summary);
  if (!results.rows.empty()) page.add(results);
}

void add_probes(Document& page, const Measurements& measurements) {
  std::vector<ProbeFigure> probes = measurements.probes;
  if (measurements.libtorch)
    probes.insert(probes.end(), measurements.libtorch->speeds.begin(), measurements.libtorch->speeds.end());
  if (probes.empty()) return;
  Table table{.caption = "Rates of memories, launches and instructions",
              .head = {"device", "what", "figure", "against", "ratio", "bits proved"}};
  for (const auto& figure : probes)
    table.rows.push_back(
        {{device_words(figure.device)},
         {figure.name},
         {text::format_value(figure), Colour::none, figure.value},
         {figure.against.value_or("-")},
         figure.ratio ? Cell{fmt::format("{:.3f}×", *figure.ratio), Colour::none, figure.ratio} : Cell{"-"},
         {!figure.proved   ? "-"
          : *figure.proved ? "✓"
                           : "✗",
          figure.proved.value_or(true) ? Colour::good : Colour::bad}});
  drop_empty_columns(table.head, table.rows);
  const auto section = page.open_section("GPU probes");
  page.add(table);
}

void add_traces(Document& page, const Measurements& measurements) {
  if (!measurements.traces || measurements.traces->empty()) return;
  const auto section = page.open_section("Clock, power and temperature", "During the measurement.");
  for (const auto& trace : *measurements.traces) add_device_trace(page, trace);
}

void add_baseline(Document& page, const BaselineComparison& beside) {
  const auto section = page.open_section("Beside a generic build", beside.path);
  page.add({{"size", fmt::format("{} against {}", text::bytes(beside.bytes), text::bytes(beside.baseline_bytes))}});
  for (const auto& difference : beside.differences) page.add_warning("not comparable: " + difference);
  if (beside.problem) page.add_warning("not measured: " + *beside.problem);
  if (beside.gains.empty()) return;
  std::vector<RatioBar> bars;
  Table table{.caption = "Speedup over the baseline", .head = {"area", "device", "speedup", "at least", "at most", ""}};
  table.head.back() = "shown";
  for (const auto& gain : beside.gains) {
    const GainClass shown = classify_gain(gain);
    const bool more = shown == GainClass::more;
    const bool less = shown == GainClass::less;
    bars.push_back({fmt::format("{}, {}", gain.area, device_words(gain.device)), gain.gain, gain.low, gain.high,
                    more   ? "sgood"
                    : less ? "sbad"
                           : "snone"});
    table.rows.push_back({{gain.area},
                          {device_words(gain.device)},
                          {fmt::format("{:.2f}×", gain.gain), Colour::none, gain.gain},
                          {fmt::format("{:.2f}", gain.low), Colour::none, gain.low},
                          {fmt::format("{:.2f}", gain.high), Colour::none, gain.high},
                          {more   ? "gain"
                           : less ? "slower"
                                  : "no gain shown",
                           more   ? Colour::good
                           : less ? Colour::bad
                                  : Colour::doubt}});
  }
  {
    const auto scroll = page.body().open_scroll("Gains over the baseline");
    add_ratios(page.body(), "Speedup over the baseline, with 95 % intervals", bars);
  }
  page.add(table);
}

void add_what_did_not_run(Document& page, const Measurements& measurements) {
  std::vector<std::string> sentences = measurements.problems;
  for (const auto& fault : measurements.kernel_faults.value_or(std::vector<KernelFault>()))
    sentences.push_back(fmt::format("{}; {}", fault.what, describe_trials(fault)));
  for (const auto& one : measurements.not_run.value_or(std::vector<NotRun>())) sentences.push_back(one.what);
  if (sentences.empty() && measurements.notes.empty()) return;
  const auto section = page.open_section("Parts that were not measured");
  const auto list = [&](const std::vector<std::string>& lines) {
    const auto items = page.body().open("ul");
    for (const auto& line : lines) page.body().add("li", line);
  };
  if (!sentences.empty()) list(sentences);
  if (measurements.notes.empty()) return;
  const auto details = page.body().open("details");
  page.body().add("summary", "Notes and output of child processes");
  list(measurements.notes);
}

}  // namespace pbprobe::html
