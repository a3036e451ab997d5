// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include <fmt/ranges.h>

#include "probes/report/roofline.hpp"
#include "probes/report/sections.hpp"

namespace pbprobe::text {
namespace {

std::string rate(double gflops) {
  return gflops < 100 ? fmt::format("{:.1f}", gflops) : fmt::format("{:.0f}", gflops);
}

std::string format_threads(int64_t threads) {
  return threads == 0 ? "GPU" : fmt::format("{}", threads);
}

template <class T>
std::string format_shape(const T& row) {
  return fmt::format("{}×{}×{}", row.m, row.n, row.k);
}

std::string format_peak(const BenchRow& row) {
  if (launch_decides(row)) return "launch";
  return row.peak_fraction ? fmt::format("{:.0f} %", *row.peak_fraction * 100) : "-";
}

std::vector<Cell> make_cells(const BenchRow& row, const std::set<std::string>& peers) {
  std::vector<Cell> cells{{row.kernel, row.best ? Colour::strong : Colour::none},
                          {row.best ? "*" : ""},
                          {row.dtype},
                          right(format_shape(row)),
                          {row.layout},
                          right(format_threads(row.threads)),
                          right(rate(row.gflops)),
                          right(format_peak(row))};
  for (const auto& name : peers) {
    const auto peer = row.peers.find(name);
    const bool there = peer != row.peers.end();
    cells.push_back(right(there ? rate(peer->second.gflops) : "-"));
    cells.push_back(right(there ? fmt::format("{:.2f}×", peer->second.ratio) : "-"));
  }
  return cells;
}

std::vector<Cell> header(const std::set<std::string>& peers) {
  std::vector<Cell> cells{
      {"kernel"}, {""}, {"type"}, right("m×n×k"), {"layout"}, right("threads"), right("GFLOP/s"), right("of peak")};
  for (const auto& name : peers) {
    cells.push_back(right(name));
    cells.push_back(right("ours/it"));
  }
  for (auto& cell : cells) cell.colour = Colour::faint;
  return cells;
}

// Adds the results of the GPU probes, one line per figure.
void add_probes(Page& page, const std::vector<ProbeFigure>& probes) {
  std::vector<std::vector<Cell>> rows;
  for (const auto& figure : probes) {
    std::vector<std::string> remarks;
    if (figure.against) remarks.push_back(fmt::format("{:.3f}× {}", figure.ratio.value_or(0), *figure.against));
    if (figure.per_clock) remarks.push_back(fmt::format("{:.0f} a clock and SM", *figure.per_clock));
    if (figure.fits) remarks.push_back(fmt::format("the rate of {}", *figure.fits == "all" ? "this SM" : *figure.fits));
    if (figure.proved) remarks.emplace_back(*figure.proved ? "bits proved" : "BITS ARE WRONG");
    if (figure.disturbed) remarks.push_back("NOT JUDGED, other processes were active: " + *figure.disturbed);
    const bool wrong = figure.proved == false;
    rows.push_back({{figure.device, Colour::faint},
                    {figure.name},
                    right(format_value(figure)),
                    {fmt::format("{}", fmt::join(remarks, "; ")), wrong ? Colour::bad : Colour::faint}});
  }
  page.table(rows);
}

// Adds the roofline of chosen kernels: the maximum rate of a product, by its instruction and by the bytes it must move.
void add_roofline(Page& page, const Measurements& measurements) {
  std::vector<std::vector<Cell>> rows{{{"roofline"},
                                       right("m×n×k layout"),
                                       right("operations a byte"),
                                       right("roof, GFLOP/s"),
                                       {"set by"},
                                       right("reached")}};
  for (auto& cell : rows.back()) cell.colour = Colour::faint;
  for (const Roof& roof : compute_roofs(measurements, nullptr)) {
    for (const RoofPoint& point : roof.points) {
      if (!roof.gb_per_s || !point.roof || point.of_libtorch) continue;
      rows.push_back(
          {{point.who},
           right(point.shape),
           right(fmt::format("{:.0f}", point.intensity)),
           right(rate(*point.roof)),
           {point.by_memory ? "memory" : "instruction"},
           right(fmt::format("{:.0f} %{}", 100 * point.gflops / *point.roof, point.above ? ": measurement error" : ""),
                 point.above ? Colour::bad : Colour::none)});
    }
  }
  if (rows.size() == 1) return;
  page.blank();
  page.table(rows);
}

// Reports whether stored rows of A and B begin at multiples of 16 bytes, as rows of layers do. cuBLAS is slow on other
// rows.
bool has_aligned_rows(const BenchRow& row) {
  constexpr double kVectorBytes = 16;
  const int64_t a = row.layout.starts_with('n') ? row.k : row.m;
  const int64_t b = row.layout.ends_with('t') ? row.k : row.n;
  const auto is_aligned = [&](int64_t elements) {
    return std::fmod(static_cast<double>(elements) * get_type_bytes(row.dtype), kVectorBytes) == 0;
  };
  return is_aligned(a) && is_aligned(b);
}

// Over many shapes: how the chosen kernels compare with each peer, and how far the model was off. Shapes with aligned
// rows have a line of their own: a mean over both hides either.
void add_summary(Page& page, const Measurements& measurements) {
  constexpr size_t kMany = 20;  // shapes
  std::map<std::string, std::vector<double>> ratios;
  std::map<std::string, size_t> shapes;  // number per type, layout and peer
  std::vector<double> errors;
  for (const auto& row : measurements.rows) {
    if (!row.best || row.gflops <= 0) continue;
    for (const auto& [name, figure] : row.peers) {
      if (figure.ratio <= 0) continue;
      const std::string of = fmt::format("{} {} of {}", row.dtype, row.layout, name);
      ++shapes[of];
      ratios[fmt::format("{}, {} rows", of, has_aligned_rows(row) ? "aligned" : "unaligned")].push_back(figure.ratio);
    }
    const double us =
        2e-3 * static_cast<double>(row.m) * static_cast<double>(row.n) * static_cast<double>(row.k) / row.gflops;
    if (row.model_us) errors.push_back(std::abs(*row.model_us / us - 1));
  }
  std::vector<std::vector<Cell>> rows;
  for (auto& [name, of] : ratios) {
    if (shapes[name.substr(0, name.rfind(','))] < kMany) continue;
    std::ranges::sort(of);
    double sum = 0;
    for (const double ratio : of) sum += std::log(ratio);
    rows.push_back({{name},
                    right(fmt::format("{}", of.size())),
                    right(fmt::format("{:.2f}", std::exp(sum / static_cast<double>(of.size())))),
                    right(fmt::format("{:.2f}", of[of.size() / 20])),
                    right(fmt::format("{:.2f}", of.front()))});
  }
  if (rows.empty()) return;
  rows.insert(rows.begin(), {{"speed of chosen kernels / peer"},
                             right("shapes"),
                             right("geometric mean"),
                             right("5th percentile"),
                             right("least")});
  for (auto& cell : rows.front()) cell.colour = Colour::faint;
  page.blank();
  page.table(rows);
  if (errors.empty()) return;
  const double mean = std::accumulate(errors.begin(), errors.end(), 0.0) / static_cast<double>(errors.size());
  page.paragraph(fmt::format("mean error of the times that dispatch's model predicts: {:.0f} %", 100 * mean), 2);
}

// Returns the other users of the first disturbed row's device. Rows of GPUs name the users of all of them.
std::optional<std::string> find_other_users(const Measurements& measurements) {
  for (const auto& row : measurements.rows)
    if (row.disturbed) return row.disturbed;
  return std::nullopt;
}

}  // namespace

std::string rate_with_unit(double gflops) {
  return gflops >= 10000 ? fmt::format("{:.1f} TFLOP/s", gflops / 1000) : rate(gflops) + " GFLOP/s";
}

std::string format_value(const ProbeFigure& figure) {
  if (figure.unit == "us") return fmt::format("{:.2f} us", figure.value);
  if (figure.unit == "Gop/s") return fmt::format("{:.1f} Top/s", figure.value * 1e-3);
  return fmt::format("{:.0f} {}", figure.value, figure.unit);
}

void add_libtorch_figures(Page& page, const LibtorchRun& run) {
  std::map<std::pair<std::string, std::string>, const LibtorchFigure*> largest;
  const auto work = [](const LibtorchFigure& figure) {
    return static_cast<double>(figure.m) * static_cast<double>(figure.n) * static_cast<double>(figure.k);
  };
  for (const auto& figure : run.figures) {
    const LibtorchFigure*& kept = largest[{figure.device, figure.dtype}];
    if (kept == nullptr || work(figure) > work(*kept)) kept = &figure;
  }
  if (largest.empty()) return;
  Rows rows{{{"device", Colour::faint},
             {"type", Colour::faint},
             right("m×n×k", Colour::faint),
             right("rate", Colour::faint),
             {"CPU capability", Colour::faint}}};
  for (const auto& [key, figure] : largest) {
    const bool on_cpu = figure->device == "cpu";
    std::string remark = on_cpu ? run.cpu_capability.value_or("") : "";
    if (figure->disturbed) remark = "not judged, other processes were active: " + *figure->disturbed;
    rows.push_back({{on_cpu ? "CPU" : "GPU " + figure->device.substr(figure->device.find(':') + 1)},
                    {figure->dtype},
                    right(format_shape(*figure)),
                    right(rate_with_unit(figure->gflops)),
                    {remark, Colour::faint}});
  }
  page.heading("Matrix products of this torch");
  page.fitted_table(without_empty_columns(std::move(rows)), 4);
}

// Reports whether no other pbprobe kernel computed the same product faster on that device.
bool is_fastest(const BenchRow& row, const std::vector<BenchRow>& rows) {
  const auto product = [](const BenchRow& one) {
    return std::tie(one.dtype, one.m, one.n, one.k, one.layout, one.out, one.threads);
  };
  return std::ranges::none_of(rows, [&](const BenchRow& other) {
    const bool same_device = row.threads > 0 || other.target == row.target;
    return same_device && product(other) == product(row) && other.gflops > row.gflops;
  });
}

std::optional<std::string> describe_throttling(const DeviceTrace& trace) {
  std::map<std::string, size_t> counts;
  size_t samples = 0;
  for (const auto& point : trace.points) {
    if (!point.limits) continue;
    ++samples;
    for (const auto& limit : *point.limits) ++counts[limit];
  }
  std::vector<std::string> words;
  for (const auto& [limit, count] : counts) words.push_back(fmt::format("{} in {} %", limit, 100 * count / samples));
  if (words.empty()) return std::nullopt;
  return fmt::format("{} of the samples", fmt::join(words, ", "));
}

void add_throttling(Page& page, const Measurements& measurements) {
  if (!measurements.traces) return;
  for (const auto& trace : *measurements.traces) {
    if (const auto words = describe_throttling(trace))
      page.paragraph(fmt::format("clock of {} limited: {}", trace.device, *words), 2);
  }
}

void add_own_kernels(Page& page, const Measurements& measurements) {
  constexpr size_t kMost = 8;
  std::set<std::string> peers;
  for (const auto& row : measurements.rows) {
    for (const auto& [name, figure] : row.peers) peers.insert(name);
  }
  Rows rows{header(peers)};
  for (const auto& row : measurements.rows) {
    if (row.gflops > 0 && rows.size() <= kMost && is_fastest(row, measurements.rows))
      rows.push_back(make_cells(row, peers));
  }
  if (rows.size() == 1) return;
  for (auto& row : rows) row.erase(row.begin() + 1);  // drop the column of dispatch's choice
  page.heading("This machine (pbprobe's own kernels, each verified)");
  page.fitted_table(without_empty_columns(std::move(rows)), 0, {"threads", "layout", "libtorch", "of peak"});
  if (const auto who = find_other_users(measurements))
    page.paragraph(fmt::format("not judged, because other processes were active: {}", *who), 2);
}

void add_libtorch(Page& page, const LibtorchRun& run) {
  add_probes(page, run.speeds);
  for (const auto& kernel : run.kernels)
    page.entry(kernel.operation, fmt::format("{} ({})", kernel.name, kernel.machine_code), 22);
  for (const auto& start : run.starts) {
    std::vector<std::string> words;
    if (start.first_tensor_seconds)
      words.push_back(fmt::format("first tensor after {:.2f} s", *start.first_tensor_seconds));
    if (start.first_kernel_seconds) words.push_back(fmt::format("first kernel {:.3f} s", *start.first_kernel_seconds));
    if (start.cpu_capability && start.device == "cpu") words.push_back("CPU capability " + *start.cpu_capability);
    if (start.problem) words.push_back(*start.problem);
    page.entry(start.how, fmt::format("{}: {}", start.device, fmt::join(words, "; ")), 28);
  }
}

void add_figures(Page& page, const Measurements& measurements, size_t limit) {
  if (!measurements.probes.empty()) {
    add_probes(page, measurements.probes);
    page.blank();
  }
  std::set<std::string> peers;
  size_t chosen = 0;
  for (const auto& row : measurements.rows) {
    for (const auto& [name, figure] : row.peers) peers.insert(name);
    chosen += row.best ? 1 : 0;
  }
  // A short table shows only kernels that dispatch would choose.
  const bool best_only = measurements.rows.size() > limit && chosen > 0;
  std::vector<std::vector<Cell>> rows;
  if (!measurements.rows.empty()) rows.push_back(header(peers));
  size_t left_out = 0;
  for (const auto& row : measurements.rows) {
    if ((best_only && !row.best) || rows.size() > limit) {
      ++left_out;
    } else {
      rows.push_back(make_cells(row, peers));
    }
  }
  page.table(without_empty_columns(std::move(rows)));
  if (const auto who = find_other_users(measurements))
    page.paragraph(fmt::format("not judged, because other processes were active: {}", *who), 2);
  if (!measurements.exact_cpus.empty()) {
    page.paragraph(
        fmt::format("every kernel of pbprobe is bit-exact on each of {} CPUs", measurements.exact_cpus.size()), 2);
  }
  if (left_out > 0) page.paragraph(fmt::format("and {} more rows: --format json lists all", left_out), 2);
  add_roofline(page, measurements);
  add_summary(page, measurements);
}

}  // namespace pbprobe::text
