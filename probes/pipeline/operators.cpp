// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/pipeline/operators.hpp"

#include <optional>

#include <fmt/format.h>

#include "core/program.hpp"
#include "core/temp_folder.hpp"
#include "probes/audit/loader/imports.hpp"
#include "probes/audit/loader/inside_root.hpp"
#include "probes/audit/packages/preflight.hpp"
#include "probes/operators/run_operators.hpp"
#include "probes/pipeline/foreign.hpp"
#include "probes/pipeline/python.hpp"

namespace pbprobe {
namespace {

namespace fs = std::filesystem;

constexpr double kInstallSeconds = 300;
constexpr const char* kFindMissing =
    "import importlib.util as u; print(*[n for n in ('numpy', 'expecttest') if u.find_spec(n) is None])";

// Installs what torch's database of operators imports and the environment lacks. Returns the cause of a failure.
std::optional<std::string> install_missing(const fs::path& python, const fs::path& folder,
                                           const std::vector<std::string>& environment) {
  const auto asked = run_program({.arguments = {python.string(), "-c", kFindMissing}, .environment = environment});
  if (!asked || asked->exit_code != 0)
    return fmt::format("{} does not start: {}", python.string(), asked ? asked->err : asked.error().message);
  std::vector<std::string> words{
      python.string(), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", folder.string()};
  const size_t fixed = words.size();
  for (const char* name : {"numpy", "expecttest"}) {
    if (asked->out.find(name) != asked->out.npos) words.emplace_back(name);
  }
  if (words.size() == fixed) return std::nullopt;
  const auto installed = run_program({.arguments = words, .environment = environment, .seconds = kInstallSeconds});
  if (installed && installed->exit_code == 0) return std::nullopt;
  return "torch's database of operators needs numpy and expecttest, and pip could not install them into a temporary "
         "folder: install both into this environment";
}

OperatorRun make_problem(const std::string& device, std::string why, Obstacle obstacle) {
  return {.device = device, .problem = std::move(why), .obstacle = obstacle};
}

std::vector<std::string> list_devices(const Report& report) {
  std::vector<std::string> devices{"cpu"};
  const bool any_gpu = report.host && report.host->driver.state == DriverState::ok && !report.host->gpus.empty();
  if (any_gpu && report.inventory->cuda_version) devices.emplace_back("cuda");
  return devices;
}

// Returns one run per device.
std::vector<OperatorRun> compute(const fs::path& packages, const std::vector<std::string>& devices,
                                 const OperatorOptions& options) {
  std::vector<OperatorRun> runs;
  const auto refuse_all = [&](const std::string& why, Obstacle obstacle) {
    for (const auto& device : devices) runs.push_back(make_problem(device, why, obstacle));
    return runs;
  };
  const fs::path python = Imports(packages, system_env()("LD_LIBRARY_PATH").value_or("")).python();
  if (python.empty()) return refuse_all("no interpreter fits this torch", Obstacle::missing);
  const auto scratch = TempFolder::make();
  if (!scratch) return refuse_all(scratch.error().message, Obstacle::permission);
  const fs::path installed = scratch->path() / "packages";
  const std::string before = system_env()("PYTHONPATH").value_or("");
  const auto environment = move_writable_folders(
      scratch->path(), {{"PYTHONPATH", before.empty() ? installed.string() : before + ":" + installed.string()}});
  if (options.progress) options.progress("looking for numpy and expecttest");
  if (const auto why = install_missing(python, installed, environment)) return refuse_all(*why, Obstacle::missing);
  for (const auto& device : devices) {
    runs.push_back(run_operators({.python = python,
                                  .program = resolve_program(options.program),
                                  .device = device,
                                  .seconds = options.seconds,
                                  .only = options.only,
                                  .plant = options.plant,
                                  .environment = environment,
                                  .scratch = scratch->path(),
                                  .progress = options.progress}));
  }
  return runs;
}

}  // namespace

void compare_operators(Report& report, const OperatorOptions& options) {
  if (!report.inventory) return;
  const auto packages = packages_of(*report.inventory);
  if (packages && root_above(*packages).empty()) {
    report.operators = compute(*packages, list_devices(report), options);
  } else {
    report.problems.push_back("operators were not compared: this torch is in no environment of this system");
  }
}

}  // namespace pbprobe
