// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/report/text.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "probes/report/sections.hpp"

namespace pbprobe {
namespace {

using text::Page;

constexpr size_t kReportRows = 8;
constexpr size_t kAllRows = 100000;

void add_list(Page& page, std::string_view title, const std::vector<std::string>& sentences, size_t limit) {
  if (sentences.empty()) return;
  page.heading(title);
  for (size_t i = 0; i < sentences.size() && i < limit; ++i) page.entry("-", sentences[i], 2);
  if (sentences.size() > limit)
    page.entry("-", fmt::format("and {} more: --format json has them all", sentences.size() - limit), 2);
}

std::vector<std::string> words_of(const std::optional<std::vector<NotRun>>& not_run) {
  std::vector<std::string> words;
  if (!not_run) return words;
  for (const auto& one : *not_run) words.push_back(one.what);
  return words;
}

struct Component {
  int64_t files = 0;
  int64_t size_bytes = 0;
};

void add_components(Page& page, const Inventory& inventory) {
  std::map<std::string, Component> components;
  for (const auto& file : inventory.files) {
    Component& component = components[file.component.value_or("other")];
    component.files += 1;
    component.size_bytes += file.size_bytes;
  }
  std::vector<std::vector<text::Cell>> rows;
  for (const auto& [name, component] : components) {
    rows.push_back({{name},
                    {fmt::format("{} {}", component.files, component.files == 1 ? "file" : "files"), {}, true},
                    {text::bytes(component.size_bytes), {}, true}});
  }
  page.heading("Components");
  page.table(rows);
}

}  // namespace

std::string render_report(const Report& report, const TextOptions& options) {
  Page page(options);
  text::add_verdict(page, report);
  if (report.verdict) {
    text::add_levels(page, *report.verdict);
    text::add_gpu_outcomes(page, *report.verdict);
  }
  if (report.inventory) text::add_device_code(page, *report.inventory);
  if (report.verdict) text::add_findings(page, *report.verdict);
  if (report.measurements && !report.measurements->rows.empty()) {
    page.heading("Measured, each verified first (* what dispatch would choose)");
    text::add_figures(page, *report.measurements, kReportRows);
  }
  if (report.measurements && report.measurements->libtorch) {
    const LibtorchRun& run = *report.measurements->libtorch;
    if (!run.speeds.empty() || !run.starts.empty()) {
      page.heading("libtorch, as it started and ran");
      text::add_libtorch(page, run);
    }
  }
  if (report.measurements) add_list(page, "Could not run", words_of(report.measurements->not_run), 3);
  if (report.measurements) add_list(page, "Not measured", report.measurements->notes, 3);
  page.heading("Environment");
  if (report.host) text::add_environment(page, *report.host);
  if (report.inventory) page.entry("torch", text::torch_line(*report.inventory));
  page.entry("pbprobe", fmt::format("{} ({}), {}", report.version, report.commit, report.created));
  return std::move(page).take();
}

std::string render_host(const Host& host, const TextOptions& options) {
  Page page(options);
  text::add_environment(page, host);
  if (host.driver.state != DriverState::ok) page.entry("", host.driver.sentence);
  page.entry("features", fmt::format("{}", fmt::join(host.cpu.features, " ")));
  return std::move(page).take();
}

std::string render_audit(const Report& report, const TextOptions& options) {
  Page page(options);
  if (!report.inventory) return {};
  const Inventory& inventory = *report.inventory;
  if (report.claim) {
    text::add_verdict(page, report);
    if (report.verdict) text::add_levels(page, *report.verdict);
    page.blank();
  }
  text::add_package(page, report);
  if (inventory.platform) page.entry("platform", *inventory.platform);
  if (inventory.git_version) page.entry("commit", *inventory.git_version);
  if (inventory.store_closure)
    page.entry("closure", inventory.store_closure->problem.value_or(
                              fmt::format("{} store paths", inventory.store_closure->paths.size())));
  if (!inventory.files.empty()) add_components(page, inventory);
  text::add_versions(page, inventory);
  text::add_libraries(page, inventory);
  page.heading("Device code");
  bool any = false;
  for (const auto& file : inventory.files) {
    if (!file.device_code && !file.self_loaded_code) continue;
    page.paragraph(file.path, 2);
    if (file.device_code) {
      page.paragraph(text::device_code_line(*file.device_code), 6);
      for (const auto& line : text::device_code_details(*file.device_code)) page.paragraph(line, 6);
    }
    if (file.self_loaded_code)
      page.paragraph("among its constants, loaded by itself: " + text::device_code_line(*file.self_loaded_code), 6);
    any = true;
  }
  if (!any) page.paragraph("none", 2);
  text::add_host_code(page, inventory);
  if (report.verdict) text::add_findings(page, *report.verdict);
  std::vector<std::string> problems = inventory.problems;
  for (const auto& file : inventory.files) {
    if (file.problem) problems.push_back(fmt::format("{}: {}", file.path, *file.problem));
  }
  add_list(page, "Not read", problems, kAllRows);
  return std::move(page).take();
}

std::string render_bench(const Measurements& measurements, const TextOptions& options) {
  Page page(options);
  text::add_figures(page, measurements, kAllRows);
  if (measurements.libtorch && measurements.libtorch->problem)
    add_list(page, "libtorch", {*measurements.libtorch->problem}, 1);
  add_list(page, "Problems", measurements.problems, kAllRows);
  add_list(page, "Could not run", words_of(measurements.not_run), kAllRows);
  add_list(page, "Not measured", measurements.notes, kAllRows);
  return std::move(page).take();
}

}  // namespace pbprobe
