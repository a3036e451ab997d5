// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Checks that torch.compile and Triton find the programs, libraries and folders that they use on this machine.
#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "probes/judge/subjects.hpp"

namespace pbprobe {
namespace {

constexpr Sm kFirstBlackwell{10, 0};  // first SM for which Triton calls its other ptxas
constexpr Sm kFirstWithSuffix{9, 0};  // first SM for which Triton compiles with the suffix `a`

// Returns the GPUs that Triton compiles for.
std::vector<Sm> usable_gpus(const Facts& facts) {
  std::vector<Sm> gpus;
  if (!facts.cuda_build || facts.host->driver.state != DriverState::ok) return gpus;
  for (const auto& gpu : facts.host->gpus) {
    const auto sm = parse_sm(gpu.capability);
    if (sm && !gpu.problem && std::ranges::find(gpus, *sm) == gpus.end()) gpus.push_back(*sm);
  }
  return gpus;
}

struct Packages {
  std::string_view system;  // prefix of the system's name
  std::string_view command;
  std::string_view compilers;
  std::string_view headers;  // {} is the interpreter's version
};

constexpr std::array<Packages, 9> kPackages{{
    {"Debian", "apt-get install", "gcc g++", "python{}-dev"},
    {"Ubuntu", "apt-get install", "gcc g++", "python{}-dev"},
    {"Fedora", "dnf install", "gcc gcc-c++", "python{}-devel"},
    {"Red Hat", "dnf install", "gcc gcc-c++", "python{}-devel"},
    {"Rocky", "dnf install", "gcc gcc-c++", "python{}-devel"},
    {"AlmaLinux", "dnf install", "gcc gcc-c++", "python{}-devel"},
    {"Amazon Linux", "dnf install", "gcc gcc-c++", "python{}-devel"},
    {"openSUSE", "zypper install", "gcc gcc-c++", "python3-devel"},
    {"NixOS", "nix shell", "nixpkgs#gcc", ""},
}};

const Packages* get_packages(const Facts& facts) {
  const auto found =
      std::ranges::find_if(kPackages, [&](const Packages& one) { return facts.host->os.starts_with(one.system); });
  return found == kPackages.end() ? nullptr : &*found;
}

std::string how_to_get_compilers(const Facts& facts) {
  const Packages* const packages = get_packages(facts);
  if (packages == nullptr) return "install gcc and g++, or name others: CC=/path/to/gcc CXX=/path/to/g++";
  return fmt::format("{} {}", packages->command, packages->compilers);
}

Seen report_missing_compiler(const CalledCompiler& compiler, std::string_view who) {
  const bool words = compiler.called.find(' ') != std::string::npos;
  return {.what = say("{}={} names no program{}: {} fails", *compiler.variable, compiler.called,
                      make_words(words ? " (Triton takes it as one path, without arguments)" : ""), make_words(who)),
          .remedy = fmt::format("unset {}, or set it to the path of a compiler", *compiler.variable)};
}

Answer compilers_exist(const Facts& facts) {
  const Preflight& preflight = *facts.report.preflight;
  const auto& c = preflight.c_compiler;
  const auto& cxx = preflight.cxx_compiler;
  const bool lacks_c = c && !c->path && !usable_gpus(facts).empty();
  const bool lacks_cxx = !cxx.path;
  Answer answer;
  if (lacks_c && c->variable) answer.seen.push_back(report_missing_compiler(*c, "Triton"));
  if (lacks_cxx && cxx.variable) answer.seen.push_back(report_missing_compiler(cxx, "torch.compile on the CPU"));
  const bool plain_c = lacks_c && !c->variable;
  const bool plain_cxx = lacks_cxx && !cxx.variable;
  if (plain_c || plain_cxx) {
    const std::string called = plain_c && plain_cxx ? c->called + " or " + cxx.called
                               : plain_c            ? c->called
                                                    : cxx.called;
    const std::string_view who = plain_c && plain_cxx ? "torch.compile and Triton fail"
                                 : plain_c            ? "Triton fails, and with it torch.compile on a GPU"
                                                      : "torch.compile fails on the CPU";
    answer.seen.push_back(
        {.what = say("no {} on PATH: {}", called, make_words(who)), .remedy = how_to_get_compilers(facts)});
  }
  return answer;
}

Answer python_header_exists(const Facts& facts) {
  const auto& header = facts.report.preflight->python_header;
  if (!header || header->there) return {};
  // "3.11" for "/usr/include/python3.11/Python.h"
  const std::string folder = header->path.substr(0, header->path.rfind('/'));
  const std::string version = folder.substr(folder.rfind("python") + 6);
  Seen seen{.what =
                say("{} is missing: code that torch.compile and Triton generate includes this header", header->path)};
  const Packages* const packages = get_packages(facts);
  const bool of_system = header->path.starts_with("/usr/include/");
  if (of_system && packages != nullptr && !packages->headers.empty())
    seen.remedy =
        fmt::format("{} {}", packages->command, fmt::vformat(packages->headers, fmt::make_format_args(version)));
  return {.seen = {seen}};
}

std::string folder_of_driver(const Facts& facts) {
  const std::string library = facts.host->driver.library.value_or("");
  return library.starts_with('/') ? library.substr(0, library.rfind('/')) : "/folder/of/libcuda";
}

Answer driver_can_be_linked(const Facts& facts) {
  const auto& driver = facts.report.preflight->driver;
  if (!driver || driver->path || usable_gpus(facts).empty()) return {};
  const std::string folder = folder_of_driver(facts);
  const std::string name_it = "export TRITON_LIBCUDA_PATH=" + folder;
  if (driver->variable)
    return {.seen = {{.what = say("{}={}: this folder holds no {}, with which Triton links its launchers",
                                  *driver->variable, driver->folders.front(), driver->name),
                      .remedy = name_it}}};
  if (!driver->ldconfig) return {};  // this Triton finds the library without ldconfig
  if (!driver->ldconfig_there)
    return {.seen = {{.what = say("Triton asks {} for the folder of libcuda, and that program is missing",
                                  *driver->ldconfig),
                      .remedy = name_it}}};
  if (driver->folders.empty())
    return {.seen = {{.what = say("the cache of {} has no libcuda.so.1: Triton does not find the driver to link with",
                                  *driver->ldconfig),
                      .remedy = fmt::format("run `ldconfig {}` as root, or {}", folder, name_it)}}};
  return {.seen = {{.what = say("this Triton links with the library {}, which is not in {}", driver->name,
                                fmt::format("{}", fmt::join(driver->folders, ", "))),
                    .remedy = fmt::format("ln -s libcuda.so.1 {}/{}", driver->folders.front(), driver->name)}}};
}

const CalledPtxas* find_called_ptxas(const Preflight& preflight, const Sm& gpu) {
  const std::string_view name = gpu < kFirstBlackwell ? "ptxas" : "ptxas-blackwell";
  const auto found = std::ranges::find(preflight.ptxas, name, &CalledPtxas::name);
  return found == preflight.ptxas.end() ? nullptr : &*found;
}

// Returns why Triton cannot compile for this GPU with `ptxas`; nullopt if it can.
std::optional<Seen> find_ptxas_fault(const CalledPtxas& ptxas, Sm gpu) {
  const std::string ignored =
      ptxas.ignored ? fmt::format("; {}={} names no file", *ptxas.variable, *ptxas.ignored) : "";
  const std::string variable = ptxas.name == "ptxas" ? "TRITON_PTXAS_PATH" : "TRITON_PTXAS_BLACKWELL_PATH";
  if (ptxas.problem)
    return Seen{.what = say("Triton cannot start {}: {}{}", ptxas.path, *ptxas.problem, make_words(ignored)),
                .where = ptxas.path,
                .remedy = ptxas.variable && !ptxas.ignored
                              ? fmt::format("unset {}, or set it to a ptxas that starts", variable)
                              : fmt::format("install triton again, or give it a ptxas: {}=/path/to/ptxas", variable)};
  if (!ptxas.compiler) return std::nullopt;
  if (gpu >= kFirstWithSuffix) gpu.suffix = 'a';
  const auto& knows = ptxas.compiler->knows;
  const auto is_it = [&](const std::string& name) { return parse_sm(name) == gpu; };
  if (std::any_of(knows.begin(), knows.end(), is_it)) return std::nullopt;
  return Seen{.what = say("{} {} does not support {}, for which Triton compiles here{}", ptxas.name,
                          ptxas.compiler->version.value_or("of unknown version"), sm_name(gpu), make_words(ignored)),
              .where = ptxas.path,
              .remedy = fmt::format("give Triton the ptxas of a CUDA that knows it: {}=/path/to/ptxas", variable)};
}

Answer ptxas_knows_gpus(const Facts& facts) {
  Answer answer;
  for (const Sm& gpu : usable_gpus(facts)) {
    const CalledPtxas* const ptxas = find_called_ptxas(*facts.report.preflight, gpu);
    auto seen = ptxas == nullptr ? std::nullopt : find_ptxas_fault(*ptxas, gpu);
    if (seen) answer.seen.push_back(std::move(*seen));
  }
  return answer;
}

// The driver compiles only PTX. Without its cache, each start compiles again.
bool is_used(const Facts& facts, const CompiledCache& cache) {
  const bool any_gpu = !usable_gpus(facts).empty();
  if (cache.of == "TorchInductor") return true;
  if (cache.of == "Triton") return any_gpu;
  return any_gpu && std::ranges::any_of(facts.gpus, [](const GpuOutcome& gpu) { return gpu.code == GpuCode::ptx; });
}

Answer caches_can_be_written(const Facts& facts) {
  std::vector<const CompiledCache*> lost;
  for (const auto& cache : facts.report.preflight->caches) {
    if (cache.problem && is_used(facts, cache)) lost.push_back(&cache);
  }
  if (lost.empty()) return {};
  std::vector<std::string> whose, variables;
  for (const CompiledCache* cache : lost) {
    whose.push_back(cache->path.empty() ? cache->of : fmt::format("{} ({})", cache->of, cache->path));
    variables.push_back(
        fmt::format("{}=/tmp/{}", cache->variable.value_or(""), cache->of.substr(0, cache->of.find(' '))));
  }
  return {.seen = {{.what = say("compiled code cannot be stored in the cache of {}: {}",
                                fmt::format("{}", fmt::join(whose, ", ")), *lost.front()->problem),
                    .remedy = fmt::format("name folders that this user can write to and load from: export {}",
                                          fmt::join(variables, " "))}}};
}

Check make_preflight_check(Check check) {
  using enum Need;
  check.subject = Subject::running;
  check.level = Level::executed;
  check.severity = Severity::warn;
  check.needs = {host, inventory, preflight};
  return check;
}

}  // namespace

std::vector<Check> preflight_checks() {
  return {
      make_preflight_check({.id = "PB531",
                            .remedy = "install gcc and g++, or name others: CC=/path/to/gcc CXX=/path/to/g++",
                            .ask = compilers_exist}),
      make_preflight_check({.id = "PB532",
                            .remedy = "install the headers of this Python, or use one that brings them (uv, conda)",
                            .ask = python_header_exists}),
      make_preflight_check(
          {.id = "PB533", .remedy = "export TRITON_LIBCUDA_PATH=/folder/of/libcuda", .ask = driver_can_be_linked}),
      make_preflight_check({.id = "PB534",
                            .remedy = "give Triton a ptxas that knows this GPU: TRITON_PTXAS_PATH=/path/to/ptxas, from "
                                      "10.0 on TRITON_PTXAS_BLACKWELL_PATH",
                            .ask = ptxas_knows_gpus}),
      make_preflight_check(
          {.id = "PB535",
           .remedy =
               "name folders that this user can write to: TRITON_CACHE_DIR, TORCHINDUCTOR_CACHE_DIR, CUDA_CACHE_PATH",
           .ask = caches_can_be_written}),
  };
}

}  // namespace pbprobe
