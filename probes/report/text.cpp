// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/report/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "probes/report/sections.hpp"

namespace pbprobe {
namespace {

using text::Page;

constexpr size_t kAllRows = 100000;

std::vector<std::string> list_obstacles(const std::optional<std::vector<NotRun>>& not_run) {
  std::vector<std::string> words;
  if (!not_run) return words;
  for (const auto& one : *not_run) words.push_back(one.what);
  return words;
}

std::vector<std::string> list_obstacles(const std::optional<std::vector<KernelFault>>& faults) {
  std::vector<std::string> words;
  for (const auto& fault : faults.value_or(std::vector<KernelFault>()))
    words.push_back(fmt::format("{}; {}", fault.what, describe_trials(fault)));
  return words;
}

void add_measured(Page& page, const Measurements& measurements) {
  if (measurements.libtorch) text::add_libtorch_figures(page, *measurements.libtorch);
  text::add_own_kernels(page, measurements);
  text::add_throttling(page, measurements);
  // Obstacles that prevent a verdict are among the findings. Adds the others.
  std::vector<std::string> not_run;
  for (const auto& words : list_obstacles(measurements.not_run))
    not_run.push_back(text::strip_child_output(page, words));
  text::add_list(page, "Could not run", not_run, page.verbose() ? kAllRows : 3);
}

void add_inventory(Page& page, const Report& report) {
  if (report.verdict) text::add_gpu_outcomes(page, *report.verdict);
  if (report.inventory) text::add_device_code(page, *report.inventory);
  if (report.environment) text::add_packages(page, *report.environment);
  if (report.measurements) {
    const Measurements& measurements = *report.measurements;
    if (!measurements.rows.empty() || !measurements.probes.empty()) {
      page.heading("All kernels of pbprobe (* chosen by dispatch)");
      text::add_figures(page, measurements, kAllRows);
    }
    const auto& run = measurements.libtorch;
    if (run && (!run->speeds.empty() || !run->starts.empty() || !run->kernels.empty())) {
      page.heading("Start and run of libtorch");
      text::add_libtorch(page, *run);
    }
    text::add_list(page, "Parts that were not measured, and output", measurements.notes, kAllRows);
  }
  text::add_list(page, "Steps that could not run", report.problems, kAllRows);
  if (report.preflight) {
    page.heading("Compilers of torch.compile and Triton");
    text::add_preflight(page, *report.preflight);
  }
  page.heading("Environment");
  if (report.host) text::add_environment(page, *report.host);
  if (report.inventory) page.entry("torch", text::torch_line(*report.inventory));
  page.entry("pbprobe", fmt::format("{} ({}), {}", report.version, report.commit, report.created));
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

void text::add_list(Page& page, std::string_view title, const std::vector<std::string>& sentences, size_t limit) {
  if (sentences.empty()) return;
  page.heading(title);
  for (size_t i = 0; i < sentences.size() && i < limit; ++i) page.entry("-", sentences[i], 2);
  if (sentences.size() > limit)
    page.entry("-", fmt::format("and {} more: --format json lists all", sentences.size() - limit), 2);
}

std::string render_quiet(const Report& report, const TextOptions& options) {
  Page page(options);
  std::string line = fmt::format("{}  {}", text::verdict_line(page, report.verdict), text::format_subject(report));
  if (report.verdict) line += ": " + text::strip_child_output(page, report.verdict->reason);
  page.line({{line}});
  return std::move(page).take();
}

std::string render_report(const Report& report, const TextOptions& options) {
  Page page(options);
  text::add_verdict(page, report);
  if (report.verdict) {
    text::add_claimed(page, *report.verdict);
    text::add_devices(page, *report.verdict);
    text::add_findings(page, *report.verdict, text::Blocks::below_verdict);
  }
  if (report.measurements) add_measured(page, *report.measurements);
  if (report.operators) text::add_operators(page, *report.operators);
  if (options.verbose) add_inventory(page, report);
  text::add_summary(page, report);
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
    if (report.verdict) text::add_claimed(page, *report.verdict);
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
      page.paragraph(
          "among its constants, loaded by the file itself: " + text::device_code_line(*file.self_loaded_code), 6);
    any = true;
  }
  if (!any) page.paragraph("none", 2);
  text::add_host_code(page, inventory);
  if (report.verdict)
    text::add_findings(page, *report.verdict, report.claim ? text::Blocks::below_verdict : text::Blocks::all);
  std::vector<std::string> problems = inventory.problems;
  for (const auto& file : inventory.files) {
    if (file.problem) problems.push_back(fmt::format("{}: {}", file.path, *file.problem));
  }
  text::add_list(page, "Not read", problems, kAllRows);
  return std::move(page).take();
}

std::string render_bench(const Measurements& measurements, const TextOptions& options) {
  Page page(options);
  text::add_figures(page, measurements, kAllRows);
  if (measurements.libtorch && measurements.libtorch->problem)
    text::add_list(page, "libtorch", {*measurements.libtorch->problem}, 1);
  text::add_list(page, "Problems", measurements.problems, kAllRows);
  text::add_list(page, "Kernels that failed", list_obstacles(measurements.kernel_faults), kAllRows);
  text::add_list(page, "Could not run", list_obstacles(measurements.not_run), kAllRows);
  text::add_list(page, "Not measured", measurements.notes, kAllRows);
  return std::move(page).take();
}

}  // namespace pbprobe
