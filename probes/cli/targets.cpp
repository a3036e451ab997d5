// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/facts/target_list.hpp"
#include "core/json.hpp"
#include "kernels/gemm/evidence.hpp"
#include "kernels/gemm/table.hpp"
#include "probes/cli/cli.hpp"

namespace pbprobe::cli {
namespace {

ListedKernel listed(const Kernel& kernel) {
  const Evidence evidence = find_evidence(kernel);
  std::optional<std::string> device;
  if (evidence.record) {
    device = evidence.record->device;
    if (evidence.record->via) *device += fmt::format(" ({})", *evidence.record->via);
  }
  return {.name = std::string(kernel.name),
          .dtype = std::string(name_of(kernel.dtype)),
          .instruction = std::string(kernel.instruction),
          .evidence = std::string(name_of(evidence.level)),
          .device = std::move(device)};
}

TargetList list_targets() {
  TargetList list;
  for (const auto& target : all_targets()) {
    ListedTarget row{.id = target.id, .kind = target.kind, .products = target.products};
    if (const TargetBuild* build = find_build(target.id)) {
      row.built = build->built;
      if (!build->built) row.why_not = std::string(build->why_not);
    }
    for (const auto& kernel : kernel_table()) {
      if (kernel.target == target.id) row.kernels.push_back(listed(kernel));
    }
    list.targets.push_back(std::move(row));
  }
  return list;
}

Result<int> run(Format format) {
  const TargetList list = list_targets();
  return write_output(format == Format::json ? json_text(to_json(list)) : render_targets(list, text_options()));
}

}  // namespace

void add_targets(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("targets", "List targets, kernels and their evidence");
  static Format format = Format::text;
  add_format(*command, format);
  set_run(*command, exit_code, [] { return run(format); });
}

}  // namespace pbprobe::cli
