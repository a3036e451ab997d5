// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// A folder of packages, a row each.
#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/demangle.hpp"
#include "core/sm.hpp"
#include "core/torch_names.hpp"
#include "core/torch_symbols.hpp"
#include "probes/report/sections.hpp"
#include "probes/report/text.hpp"

namespace pbprobe {
namespace {

using text::Cell;
using text::Colour;
using text::Page;

constexpr size_t kMaxNotes = 5;

// "75 80 90a".
std::string numbers(const std::map<std::string, int64_t>& names) {
  std::set<Sm> sms;
  for (const auto& [name, count] : names) {
    if (const auto sm = parse_sm(name)) sms.insert(*sm);
  }
  std::string text;
  for (const auto& sm : sms) text += (text.empty() ? "" : " ") + sm_name(sm).substr(3);
  return text.empty() ? "-" : text;
}

// Returns "75 80 (8.7), 120 (9.0)": SMs with the PTX ISA version that a driver must support.
std::string format_ptx(const Distribution& row) {
  std::map<std::string, std::map<std::string, int64_t>> by_version;
  for (const auto& [sm, count] : row.ptx) {
    const auto version = row.ptx_versions.find(sm);
    by_version[version == row.ptx_versions.end() ? "?" : version->second][sm] = count;
  }
  std::vector<std::string> groups;
  for (const auto& [version, sms] : by_version) groups.push_back(fmt::format("{} ({})", numbers(sms), version));
  return groups.empty() ? "-" : fmt::format("{}", fmt::join(groups, ", "));
}

// Returns the Python tags of the extension modules; without such modules, the wheel tags: "py3".
std::string format_python(const Distribution& row) {
  std::set<std::string> words(row.python.begin(), row.python.end());
  for (const auto& tag : row.tags) {
    if (row.python.empty()) words.insert(tag.substr(0, tag.find('-')));
  }
  return words.empty() ? "-" : fmt::format("{}", fmt::join(words, " "));
}

// ": 2.10, 2.11": the releases that have all that it takes.
std::string format_releases(const Distribution& row) {
  if (row.unknown_torch_symbol) {
    const bool old = has_old_string(*row.unknown_torch_symbol);
    return fmt::format(": none of {}{}", known_torch_releases(),
                       old ? " (_GLIBCXX_USE_CXX11_ABI=0, for torch 2.6 or older)" : "");
  }
  return row.torch_releases.empty() ? "" : ": " + join_ranges(row.torch_releases);
}

std::string format_torch(const Distribution& row) {
  switch (row.torch_abi) {
    case TorchAbi::none: return "-";
    case TorchAbi::stable: return "stable" + format_releases(row);
    case TorchAbi::cxx: return fmt::format("C++ ({}){}", row.torch_symbols, format_releases(row));
    case TorchAbi::own: return "is torch";
  }
  return "";
}

// Returns the linked CUDA versions; without any, the toolkits that made the cubins.
std::string format_cuda(const Distribution& row) {
  if (!row.cuda.empty()) return fmt::format("{}", fmt::join(row.cuda, " "));
  if (!row.toolkits.empty()) return fmt::format("made by {}", fmt::join(row.toolkits, " "));
  return "-";
}

Cell make_worst_cell(const Distribution& row) {
  if (!row.problems.empty() && !row.worst) return {"not all read", Colour::doubt};
  if (!row.worst) return {"-", Colour::faint};
  const Colour colour = *row.worst == Severity::fail   ? Colour::bad
                        : *row.worst == Severity::warn ? Colour::doubt
                                                       : Colour::none;
  return {fmt::format("{} {}", name_of(*row.worst), row.findings.front().id), colour};
}

std::vector<Cell> titles(std::initializer_list<const char*> names) {
  std::vector<Cell> cells;
  for (const char* name : names) cells.push_back({name, Colour::strong});
  return cells;
}

void add_rows(Page& page, const Environment& environment) {
  std::vector<std::vector<Cell>> rows{
      titles({"package", "version", "torch ABI", "Python", "min CPU", "CUDA", "SMs", "PTX", "worst finding"})};
  for (const auto& row : environment.distributions) {
    const std::string own = numbers(row.cubin);
    const std::string sms = own == "-" && !row.self_loaded.empty() ? "(" + numbers(row.self_loaded) + ")" : own;
    rows.push_back({{row.name},
                    {row.version.value_or("-")},
                    {format_torch(row)},
                    {format_python(row)},
                    {row.minimum_cpu.value_or("-")},
                    {format_cuda(row)},
                    {sms},
                    {format_ptx(row)},
                    make_worst_cell(row)});
  }
  page.table(text::without_empty_columns(std::move(rows)));
}

// "native 40, PTX 2, none 6".
Cell served_cell(const ServedGpu& gpu) {
  std::vector<std::string> parts;
  const auto add = [&](int64_t count, const char* word) {
    if (count > 0) parts.push_back(fmt::format("{} {}", word, count));
  };
  add(gpu.native, "native");
  add(gpu.same_major, "same family");
  add(gpu.ptx, gpu.ptx_taken == false ? "PTX (driver too old)" : "PTX");
  add(gpu.none, "none");
  const Colour colour = gpu.code == GpuCode::none ? Colour::bad : gpu.none > 0 ? Colour::doubt : Colour::good;
  return parts.empty() ? Cell{"-", Colour::faint} : Cell{fmt::format("{}", fmt::join(parts, ", ")), colour};
}

bool has_kernels(const Distribution& row) {
  return row.gpus && std::any_of(row.gpus->begin(), row.gpus->end(),
                                 [](const ServedGpu& gpu) { return gpu.code != GpuCode::unknown; });
}

void add_gpus(Page& page, const Environment& environment) {
  page.heading("Kernels by best code for each GPU");
  std::vector<std::vector<Cell>> rows{titles({"package"})};
  for (const auto& sm : environment.sms) rows.front().push_back({sm, Colour::strong});
  for (const auto& row : environment.distributions) {
    if (!has_kernels(row)) continue;
    rows.push_back({{row.name}});
    for (const auto& gpu : *row.gpus) rows.back().push_back(served_cell(gpu));
  }
  if (rows.size() == 1) return page.paragraph("no package contains device code", 2);
  page.table(rows);
}

void add_lacking(Page& page, const Distribution& row, const ServedGpu& gpu) {
  const int64_t all = gpu.native + gpu.same_major + gpu.ptx + gpu.none;
  std::string line = fmt::format("{} on {}: {} of {} kernels", row.name, gpu.sm, gpu.none, all);
  if (gpu.kept_by_suffix > 0)
    line += fmt::format(
        ", {} of them only because of the suffix of their SM: `a` is for one capability, `f` for its family",
        gpu.kept_by_suffix);
  page.paragraph(line, 2);
  for (const auto& group : gpu.lacking) {
    page.paragraph(fmt::format("{} only for {}", group.kernels, fmt::join(group.only_for, ", ")), 4);
    for (const auto& name : group.first) page.paragraph(function_name(name), 8);
  }
}

void add_all_lacking(Page& page, const Environment& environment) {
  bool any = false;
  for (const auto& row : environment.distributions) {
    for (const auto& gpu : row.gpus.value_or(std::vector<ServedGpu>())) {
      if (gpu.lacking.empty()) continue;
      if (!any) page.heading("Kernels that do not run on a GPU");
      any = true;
      add_lacking(page, row, gpu);
    }
  }
}

// Reports whether the problems below the table repeat this finding. There, unreadable files have the command that fixes
// them.
bool stands_below(const Finding& finding, const Distribution& row) {
  return std::ranges::any_of(row.problems, [&](const std::string& problem) { return problem.ends_with(finding.what); });
}

void add_findings(Page& page, const Environment& environment) {
  bool any = false;
  for (const auto& row : environment.distributions) {
    for (const auto& finding : row.findings) {
      if (finding.severity == Severity::note || stands_below(finding, row)) continue;
      if (!any) page.heading("Findings");
      any = true;
      page.entry(fmt::format("{}  {}  {}", name_of(finding.severity), finding.id, row.name), finding.what, 30);
      page.entry("", "fix: " + finding.remedy, 30);
    }
  }
}

void add_shared_libraries(Page& page, const Environment& environment) {
  if (environment.shared_libraries.empty()) return;
  page.heading("Libraries in several places, and the copy that a process with torch loads");
  for (const auto& library : environment.shared_libraries) {
    std::string line = library.taken;
    if (!library.how.empty()) line += fmt::format(", by {}", library.how);
    if (!library.passed_over.empty()) line += fmt::format("; not {}", fmt::join(library.passed_over, ", "));
    if (!library.beside.empty())
      line += fmt::format("; copies under other names, loaded beside it: {}", fmt::join(library.beside, ", "));
    page.entry(library.name, line, 30);
  }
}

void add_problems(Page& page, const Environment& environment) {
  std::vector<std::string> problems = environment.problems;
  for (const auto& row : environment.distributions)
    problems.insert(problems.end(), row.problems.begin(), row.problems.end());
  text::add_list(page, "Defects and unreadable files", problems, problems.size());
  if (!environment.reinstall) return;
  page.heading("Command that reinstalls damaged files");
  page.line({{*environment.reinstall}});
}

}  // namespace

void text::add_packages(Page& page, const Environment& environment) {
  page.heading("Packages");
  add_rows(page, environment);
  add_shared_libraries(page, environment);
  if (environment.reinstall) page.entry("reinstall", *environment.reinstall);
}

std::string render_environment(const Environment& environment, const TextOptions& options) {
  Page page(options);
  const size_t count = environment.distributions.size();
  std::string line =
      fmt::format("{} {} with shared objects or device code", count, count == 1 ? "package" : "packages");
  if (environment.without_files > 0) line += fmt::format(", {} without", environment.without_files);
  page.line({{line, Colour::strong}, {fmt::format(": {}", fmt::join(environment.artifacts, ", "))}});
  page.blank();
  if (count > 0) add_rows(page, environment);
  if (!environment.sms.empty()) {
    add_gpus(page, environment);
    add_all_lacking(page, environment);
  }
  // Damaged files are the cause of most other findings then.
  if (environment.reinstall) add_problems(page, environment);
  add_findings(page, environment);
  add_shared_libraries(page, environment);
  if (!environment.reinstall) add_problems(page, environment);
  text::add_list(page, "Noted", environment.notes, kMaxNotes);
  return std::move(page).take();
}

}  // namespace pbprobe
