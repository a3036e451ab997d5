// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/pipeline/operators.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/host/host.hpp"
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
constexpr double kComputeSeconds = 90;
constexpr double kCompileSeconds = 300;  // 70 functions took 453 s on two busy cores
// Prints what the database imports and the environment lacks. Up to torch 2.10 it imports setuptools too.
constexpr const char* kFindMissing =
    "import importlib.util as u, pathlib, re\n"
    "torch = u.find_spec('torch').submodule_search_locations[0]\n"
    "file = pathlib.Path(torch, 'utils/cpp_extension.py')\n"
    "text = file.read_text(encoding='utf-8') if file.exists() else ''\n"
    "wanted = ['numpy', 'expecttest', *re.findall(r'^import (setuptools)\\b', text, re.M)]\n"
    "print(*[name for name in wanted if u.find_spec(name) is None])\n";

// Installs what torch's database of operators imports and the environment lacks. Returns the cause of a failure.
std::optional<std::string> install_missing(const fs::path& python, const fs::path& folder,
                                           const std::vector<std::string>& environment) {
  const auto asked = run_program({.arguments = {python.string(), "-c", kFindMissing}, .environment = environment});
  if (!asked || asked->exit_code != 0)
    return fmt::format("{} does not start: {}", python.string(), asked ? asked->err : asked.error().message);
  std::vector<std::string> missing;
  for (const char* name : {"numpy", "expecttest", "setuptools"}) {
    if (asked->out.find(name) != asked->out.npos) missing.emplace_back(name);
  }
  if (missing.empty()) return std::nullopt;
  std::vector<std::string> words{
      python.string(), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", folder.string()};
  // torch 2.11 requires setuptools below 82.
  for (const auto& name : missing) words.push_back(name == "setuptools" ? "setuptools<82" : name);
  const auto installed = run_program({.arguments = words, .environment = environment, .seconds = kInstallSeconds});
  if (installed && installed->exit_code == 0) return std::nullopt;
  return fmt::format(
      "torch's database of operators needs {}, and pip could not install what is missing into a temporary folder: "
      "install it into this environment",
      fmt::join(missing, " and "));
}

// Run of all operators, or of torch.compile, on one device.
struct Mode {
  std::string device;
  bool compiled = false;
};

OperatorRun make_problem(const Mode& mode, std::string why, Obstacle obstacle) {
  return {.device = mode.device, .compiled = mode.compiled, .problem = std::move(why), .obstacle = obstacle};
}

// Returns what torch.compile needs on the device and the preflight did not find; nullopt if it found everything.
std::optional<std::string> find_missing_tool(const Report& report, const std::string& device) {
  if (!report.preflight) return std::nullopt;
  const Preflight& preflight = *report.preflight;
  if (preflight.python_header && !preflight.python_header->there)
    return fmt::format("torch.compile needs {}, which is missing", preflight.python_header->path);
  if (device == "cpu")
    return preflight.cxx_compiler.path ? std::nullopt
                                       : std::optional("torch.compile finds no " + preflight.cxx_compiler.called);
  if (!preflight.c_compiler) return "torch.compile needs Triton, which is missing";
  if (!preflight.c_compiler->path) return "Triton finds no " + preflight.c_compiler->called;
  for (const auto& ptxas : preflight.ptxas) {
    if (ptxas.problem) return fmt::format("Triton cannot start {}: {}", ptxas.path, *ptxas.problem);
  }
  return std::nullopt;
}

std::vector<Mode> list_modes(const Report& report, const OperatorOptions& options) {
  std::vector<std::string> devices{"cpu"};
  const bool any_gpu = report.host && report.host->driver.state == DriverState::ok && !report.host->gpus.empty();
  if (any_gpu && report.inventory->cuda_version) devices.emplace_back("cuda");
  std::vector<Mode> modes;
  for (const bool compiled : {false, true}) {
    if (!(compiled ? options.compile : options.compute)) continue;
    for (const auto& device : devices) modes.push_back({device, compiled});
  }
  return modes;
}

// Returns what torch may take of unified memory; nullopt if no GPU shares the machine's memory.
std::optional<int64_t> find_unified_limit(const Report& report) {
  const auto& gpus = report.host->gpus;
  const bool any = std::ranges::any_of(gpus, [](const Gpu& gpu) { return gpu.unified_memory == true; });
  const auto available = any ? available_memory_bytes({}) : std::nullopt;
  return available ? std::optional(get_unified_share(*available)) : std::nullopt;
}

// Returns one run per mode.
std::vector<OperatorRun> compute(const fs::path& packages, const Report& report, const OperatorOptions& options) {
  const std::vector<Mode> modes = list_modes(report, options);
  std::vector<OperatorRun> runs;
  const auto refuse_all = [&](const std::string& why, Obstacle obstacle) {
    for (const auto& mode : modes) runs.push_back(make_problem(mode, why, obstacle));
    return runs;
  };
  const fs::path python = Imports(packages, system_env()("LD_LIBRARY_PATH").value_or("")).python();
  if (python.empty()) return refuse_all("no interpreter fits this torch", Obstacle::missing);
  const auto scratch = TempFolder::make();
  if (!scratch) return refuse_all(scratch.error().message, Obstacle::not_permitted);
  const fs::path installed = scratch->path() / "packages";
  const std::string before = system_env()("PYTHONPATH").value_or("");
  const auto environment = move_writable_folders(
      scratch->path(), {{"PYTHONPATH", before.empty() ? installed.string() : before + ":" + installed.string()}});
  if (options.progress) options.progress("looking for the modules that torch's database of operators imports");
  if (const auto why = install_missing(python, installed, environment)) return refuse_all(*why, Obstacle::missing);
  for (const auto& mode : modes) {
    if (const auto missing = mode.compiled ? find_missing_tool(report, mode.device) : std::nullopt) {
      runs.push_back(make_problem(mode, *missing, Obstacle::missing));
      continue;
    }
    runs.push_back(
        run_operators({.python = python,
                       .program = resolve_program(options.program),
                       .device = mode.device,
                       .compile = mode.compiled,
                       .memory_bytes = mode.device == "cuda" ? find_unified_limit(report) : std::nullopt,
                       .seconds = options.seconds.value_or(mode.compiled ? kCompileSeconds : kComputeSeconds),
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
  const auto packages = find_packages_folder(*report.inventory);
  if (packages && root_above(*packages).empty()) {
    report.operators = compute(*packages, report, options);
  } else {
    report.problems.push_back(
        "operators were not compared: this torch is not in an environment of this system: install it in one");
  }
}

}  // namespace pbprobe
