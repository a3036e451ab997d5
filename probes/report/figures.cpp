// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <set>

#include <fmt/format.h>

#include "probes/report/sections.hpp"

namespace pbprobe::text {
namespace {

std::string rate(double gflops) {
  return gflops < 100 ? fmt::format("{:.1f}", gflops) : fmt::format("{:.0f}", gflops);
}

std::string threads_of(int64_t threads) {
  return threads == 0 ? "GPU" : fmt::format("{}", threads);
}

template <class T>
std::string shape_of(const T& row) {
  return fmt::format("{}×{}×{}", row.m, row.n, row.k);
}

Cell right(std::string text, Colour colour = Colour::none) {
  return {std::move(text), colour, true};
}

std::vector<Cell> cells_of(const BenchRow& row, const std::set<std::string>& peers) {
  std::vector<Cell> cells{{row.kernel, row.best ? Colour::strong : Colour::none},
                          {row.best ? "*" : ""},
                          {row.dtype},
                          right(shape_of(row)),
                          {row.layout},
                          right(threads_of(row.threads)),
                          right(rate(row.gflops)),
                          right(row.peak_fraction ? fmt::format("{:.0f} %", *row.peak_fraction * 100) : "-")};
  for (const auto& name : peers) {
    const auto peer = row.peers.find(name);
    const bool there = peer != row.peers.end();
    cells.push_back(right(there ? rate(peer->second.gflops) : "-"));
    cells.push_back(right(there ? fmt::format("{:.2f}×", peer->second.ratio) : "-"));
  }
  return cells;
}

std::vector<Cell> header(const std::set<std::string>& peers) {
  std::vector<Cell> cells{{"kernel"},      {""}, {"type"}, right("m×n×k"), {""}, right("threads"), right("GFLOP/s"),
                          right("of peak")};
  for (const auto& name : peers) {
    cells.push_back(right(name));
    cells.push_back(right("ours/it"));
  }
  for (auto& cell : cells) cell.colour = Colour::faint;
  return cells;
}

}  // namespace

void add_figures(Page& page, const Measurements& measurements, size_t limit) {
  std::set<std::string> peers;
  size_t chosen = 0;
  for (const auto& row : measurements.rows) {
    for (const auto& [name, figure] : row.peers) peers.insert(name);
    chosen += row.best ? 1 : 0;
  }
  // A short table keeps what dispatch would choose.
  const bool best_only = measurements.rows.size() > limit && chosen > 0;
  std::vector<std::vector<Cell>> rows;
  if (!measurements.rows.empty()) rows.push_back(header(peers));
  size_t left_out = 0;
  for (const auto& row : measurements.rows) {
    if ((best_only && !row.best) || rows.size() > limit) {
      ++left_out;
    } else {
      rows.push_back(cells_of(row, peers));
    }
  }
  page.table(rows);
  if (!measurements.exact_cpus.empty()) {
    page.paragraph(
        fmt::format("every kernel is right, bit for bit, on each of {} CPUs", measurements.exact_cpus.size()), 2);
  }
  if (left_out > 0) page.paragraph(fmt::format("and {} more rows: --format json has them all", left_out), 2);
}

}  // namespace pbprobe::text
