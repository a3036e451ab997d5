// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "recipes/src/variant.hpp"

#include <algorithm>

#include <fmt/ranges.h>

#include "core/strings.hpp"

namespace pbprobe {
namespace {

constexpr std::string_view kFamily = "pytorch";
constexpr std::string_view kPython = "python";
constexpr std::string_view kPattern =
    "a variant is pytorch-python313-LINE-SM-ISA (pytorch-python313-cuda13_0-sm121-armv9) or pytorch-python313-cpu-ISA";

template <class Range>
bool contains(const Range& range, std::string_view value) {
  return std::find(std::begin(range), std::end(range), value) != std::end(range);
}

std::vector<std::string> line_ids(const Matrix& m) {
  std::vector<std::string> ids;
  for (const auto& line : m.lines) ids.push_back(line.id);
  return ids;
}

std::vector<std::string> list_ids(TargetKind kind) {
  std::vector<std::string> ids;
  for (const auto& target : all_targets()) {
    if (target.kind == kind && has_variants(target)) ids.push_back(target.id);
  }
  return ids;
}

std::vector<std::string> list_gpus(const MatrixLine& line) {
  std::vector<std::string> gpus;
  for (const auto& row : line.rows) gpus.insert(gpus.end(), row.gpus.begin(), row.gpus.end());
  return gpus;
}

// Returns the ISAs that the line builds with this SM.
std::vector<std::string> list_cpus(const MatrixLine& line, std::string_view gpu) {
  std::vector<std::string> cpus;
  for (const auto& row : line.rows) {
    if (contains(row.gpus, gpu)) cpus.insert(cpus.end(), row.cpus.begin(), row.cpus.end());
  }
  return cpus;
}

Result<const Target*> require_kind(std::string_view id, TargetKind kind) {
  const auto* target = find_target(id);
  if (target != nullptr && target->kind == kind) return target;
  return make_error(ErrorCode::usage, "unknown {} \"{}\": choose one of {}", kind == TargetKind::gpu ? "SM" : "ISA", id,
                    fmt::join(list_ids(kind), ", "));
}

Result<void> require_python(std::string_view python, const Matrix& m) {
  if (contains(m.python.choices, python)) return {};
  return make_error(ErrorCode::usage, "unknown Python \"{}\": choose one of {}", python,
                    fmt::join(m.python.choices, ", "));
}

Result<const MatrixLine*> require_line(std::string_view id, const Matrix& m) {
  if (const auto* line = m.find_line(id)) return line;
  return make_error(ErrorCode::usage, "unknown line \"{}\": choose one of {}", id, fmt::join(line_ids(m), ", "));
}

// Explains why the line lacks this combination.
Error not_in_line(const MatrixLine& line, const Target& gpu, const Target& cpu, const Matrix& m) {
  if (common_platforms(gpu, cpu).empty())
    return make_error(ErrorCode::usage, "{} with {}: no such machine ({} is found on {} only, {} runs on {})", gpu.id,
                      cpu.id, gpu.id, fmt::join(gpu.platforms, " and "), cpu.id, fmt::join(cpu.platforms, " and "));
  const auto cpus = list_cpus(line, gpu.id);
  if (!cpus.empty())
    return make_error(ErrorCode::usage, "line {} of the matrix has no {} with {}: choose one of {}", line.id, gpu.id,
                      cpu.id, fmt::join(cpus, ", "));
  std::vector<std::string> others;
  for (const auto& other : m.lines) {
    if (contains(list_gpus(other), gpu.id)) others.push_back(other.id);
  }
  const auto builds = cuda_builds(line.cuda, gpu);
  return make_error(ErrorCode::usage, "line {} of the matrix has no {}{}{}: lines that have it: {}", line.id, gpu.id,
                    builds ? "" : ": ", builds ? "" : builds.error().message,
                    others.empty() ? "none" : fmt::format("{}", fmt::join(others, ", ")));
}

// Checks the first part of a pname: "pytorch210" means torch 2.10; "pytorch" fits any line.
Result<void> check_family(std::string_view family, const MatrixLine& line) {
  if (family == kFamily || family == line.pname_prefix) return {};
  return make_error(ErrorCode::usage, "\"{}\": line {} of the matrix builds torch {}, whose names start with {} or {}",
                    family, line.id, line.torch, kFamily, line.pname_prefix);
}

Result<Variant> parse_cpu_only(const std::vector<std::string_view>& parts, std::string python, const Matrix& m) {
  const auto& line = m.default_matrix_line();
  PBPROBE_CHECK(check_family(parts[0], line));
  PBPROBE_TRY(const auto* cpu, require_kind(parts[3], TargetKind::cpu));
  if (!contains(line.cpu_only, cpu->id))
    return make_error(ErrorCode::usage, "no CPU-only variant for {}: choose one of {}", cpu->id,
                      fmt::join(line.cpu_only, ", "));
  return Variant{.line = line.id, .python = std::move(python), .gpu = std::nullopt, .cpu = cpu->id};
}

Result<Variant> parse_parts(const std::vector<std::string_view>& parts, const Matrix& m) {
  std::string python(parts[1].substr(kPython.size()));
  PBPROBE_CHECK(require_python(python, m));
  if (parts.size() == 4 && parts[2] == "cpu") return parse_cpu_only(parts, std::move(python), m);
  if (parts.size() == 5 && parts[3] == "cpu")
    return make_error(ErrorCode::usage, "CPU-only variants belong to no line of CUDA: pytorch-python{}-cpu-{}", python,
                      parts[4]);
  if (parts.size() != 5) return make_error(ErrorCode::usage, "it has {} parts: {}", parts.size(), kPattern);
  PBPROBE_TRY(const auto* line, require_line(parts[2], m));
  PBPROBE_CHECK(check_family(parts[0], *line));
  PBPROBE_TRY(const auto* gpu, require_kind(parts[3], TargetKind::gpu));
  PBPROBE_TRY(const auto* cpu, require_kind(parts[4], TargetKind::cpu));
  if (!contains(list_cpus(*line, gpu->id), cpu->id)) return not_in_line(*line, *gpu, *cpu, m);
  return Variant{.line = line->id, .python = std::move(python), .gpu = gpu->id, .cpu = cpu->id};
}

Result<Variant> parse_name(std::string_view name, const Matrix& m) {
  if (name.find('.') != std::string_view::npos)
    return make_error(ErrorCode::usage,
                      "a variant's name has no dots, which would break attribute paths: cuda13_0, not cuda13.0");
  const auto parts = split(name, '-');
  if (!parts[0].starts_with(kFamily) || parts.size() < 2 || !parts[1].starts_with(kPython))
    return make_error(ErrorCode::usage, "{}", kPattern);
  return parse_parts(parts, m);
}

}  // namespace

std::string variant_name(const Variant& variant) {
  if (!variant.gpu) return fmt::format("{}-{}{}-cpu-{}", kFamily, kPython, variant.python, variant.cpu);
  return fmt::format("{}-{}{}-{}-{}-{}", kFamily, kPython, variant.python, variant.line, *variant.gpu, variant.cpu);
}

std::string variant_pname(const Variant& variant, const Matrix& m) {
  const auto* line = m.find_line(variant.line);
  return (line != nullptr ? line->pname_prefix : std::string(kFamily)) + variant_name(variant).substr(kFamily.size());
}

Result<Variant> parse_variant(std::string_view name, const Matrix& m) {
  PBPROBE_TRY(auto variant, parse_name(name, m), "variant \"{}\"", name);
  return variant;
}

bool looks_like_variant(std::string_view text) {
  return text.starts_with(kFamily) && text.find('-') != std::string_view::npos &&
         text.find(',') == std::string_view::npos;
}

std::vector<std::string> variant_platforms(const Variant& variant) {
  const auto* cpu = find_target(variant.cpu);
  if (cpu == nullptr) return {};
  if (!variant.gpu) return cpu->platforms;
  const auto* gpu = find_target(*variant.gpu);
  return gpu == nullptr ? std::vector<std::string>{} : common_platforms(*gpu, *cpu);
}

std::vector<Variant> line_variants(const MatrixLine& line, std::string_view python) {
  std::vector<Variant> variants;
  for (const auto& row : line.rows) {
    for (const auto& gpu : row.gpus) {
      for (const auto& cpu : row.cpus)
        variants.push_back({.line = line.id, .python = std::string(python), .gpu = gpu, .cpu = cpu});
    }
  }
  for (const auto& cpu : line.cpu_only)
    variants.push_back({.line = line.id, .python = std::string(python), .gpu = std::nullopt, .cpu = cpu});
  return variants;
}

Result<std::vector<Variant>> list_variants(const VariantFilter& filter, const Matrix& m) {
  const std::string python = filter.python.value_or(m.python.default_value);
  const std::string wanted_line = filter.line.value_or(m.default_line);
  PBPROBE_CHECK(require_python(python, m));
  if (wanted_line != "all") PBPROBE_CHECK(require_line(wanted_line, m));
  if (filter.gpu && *filter.gpu != "cpu") PBPROBE_CHECK(require_kind(*filter.gpu, TargetKind::gpu));
  if (filter.cpu) PBPROBE_CHECK(require_kind(*filter.cpu, TargetKind::cpu));
  std::vector<Variant> found;
  for (const auto& line : m.lines) {
    if (wanted_line != "all" && line.id != wanted_line) continue;
    for (auto& variant : line_variants(line, python)) {
      if (filter.gpu && *filter.gpu != variant.gpu.value_or("cpu")) continue;
      if (filter.cpu && *filter.cpu != variant.cpu) continue;
      found.push_back(std::move(variant));
    }
  }
  return found;
}

std::string python_version(std::string_view python) {
  if (python.size() < 2) return std::string(python);
  return fmt::format("{}.{}", python.substr(0, 1), python.substr(1));
}

}  // namespace pbprobe
