// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "recipes/src/variant_facts.hpp"

#include <algorithm>

#include <fmt/ranges.h>

#include "core/sm.hpp"
#include "core/strings.hpp"
#include "recipes/src/claim.hpp"

namespace pbprobe {
namespace {

bool covers(const std::vector<std::string>& ids, const std::string& id) {
  return ids.empty() || std::ranges::find(ids, id) != ids.end();
}

bool applies(const MatrixRule& rule, const Variant& variant) {
  if (!variant.gpu && !rule.gpus.empty()) return false;
  return covers(rule.cpus, variant.cpu) && (!variant.gpu || covers(rule.gpus, *variant.gpu));
}

std::string without_dots(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), '.'), text.end());
  return text;
}

std::string_view runner(const std::string& system) {
  return system.starts_with("aarch64") ? "ubuntu-24.04-arm" : "ubuntu-24.04";
}

}  // namespace

std::optional<int64_t> min_driver(const MatrixLine& line, const Target& gpu, const Matrix& m) {
  // Within a major version, CUDA runs on the first driver of that version, if that driver knows the chip.
  const auto major = line.cuda.substr(0, line.cuda.find('.')) + ".0";
  std::optional<int64_t> floor;
  if (const auto found = m.drivers.find(major); found != m.drivers.end()) floor = found->second;
  if (gpu.first_cuda) {
    if (const auto found = m.drivers.find(*gpu.first_cuda); found != m.drivers.end())
      floor = std::max(floor.value_or(0), found->second);
  }
  return floor;
}

std::optional<int64_t> max_driver(std::string_view capability) {
  const auto sm = parse_sm(capability);
  if (!sm) return std::nullopt;
  std::optional<int64_t> last;
  for (const auto& [below, branch] : matrix().last_drivers.below) {
    if (*sm < *parse_sm(below)) last = std::min(last.value_or(branch), branch);
  }
  return last;
}

std::string describe_drivers(int64_t first, std::optional<int64_t> last) {
  return last ? fmt::format("driver {} to {}", first, *last) : fmt::format("driver {} or later", first);
}

VariantFacts collect_variant_facts(const Variant& variant, const Matrix& m) {
  const auto& line = *m.find_line(variant.line);
  const auto& cpu = *find_target(variant.cpu);
  VariantFacts facts{.name = variant_name(variant),
                     .pname = variant_pname(variant, m),
                     .claim = make_variant_claim(variant, m),
                     .platforms = variant_platforms(variant),
                     .gpu = variant.gpu,
                     .cpu = variant.cpu,
                     .cpu_flags = cpu.recipe_flags,
                     .cpu_requires = cpu.recipe_requires,
                     .cpu_products = cpu.products};
  if (variant.gpu) {
    const auto& gpu = *find_target(*variant.gpu);
    facts.gpu_arch_sm = gpu.capability;
    facts.gpu_arch_num = without_dots(gpu.capability.value_or(""));
    facts.gpu_products = gpu.products;
    facts.min_driver = min_driver(line, gpu, m);
    facts.description = fmt::format("PyTorch {} with CUDA {} for {} ({}) and {}", line.torch, line.cuda, upper(gpu.id),
                                    fmt::join(gpu.products, ", "), cpu.id);
    if (gpu.note) facts.notes.push_back(fmt::format("{}: {}", gpu.id, *gpu.note));
  } else {
    facts.description =
        fmt::format("PyTorch {} without CUDA for {} ({})", line.torch, cpu.id, fmt::join(cpu.products, ", "));
  }
  if (cpu.note) facts.notes.push_back(fmt::format("{}: {}", cpu.id, *cpu.note));
  for (const auto& rule : m.rules) {
    if (!applies(rule, variant)) continue;
    facts.notes.push_back(rule.note);
    for (const auto& [key, value] : rule.environment) facts.environment[key] = value;
  }
  return facts;
}

std::string render_variant(const VariantFacts& facts) {
  std::string text = fmt::format("{}\n  {}\n\n", facts.name, facts.description);
  const auto row = [&text](std::string_view key, const std::string& value) {
    if (!value.empty()) text += fmt::format("  {:<10} {}\n", key, value);
  };
  row("claims", fmt::format("exactly {}; torch {}{}, Python {}, {}", fmt::join(facts.claim.targets, " + "),
                            facts.claim.torch.value_or("?"), facts.claim.cuda ? ", CUDA " + *facts.claim.cuda : "",
                            facts.claim.python.value_or("?"), facts.claim.blas.value_or("?")));
  row("runs on", fmt::format("{}", fmt::join(facts.platforms, ", ")));
  row("GPUs", fmt::format("{}", fmt::join(facts.gpu_products, ", ")));
  row("CPUs", fmt::format("{}", fmt::join(facts.cpu_products, ", ")));
  const std::string drivers =
      facts.min_driver ? "; " + describe_drivers(*facts.min_driver, max_driver(facts.gpu_arch_sm.value_or(""))) : "";
  row("needs", fmt::format("{}{}", fmt::join(facts.cpu_requires, ", "), drivers));
  row("CPU flags", fmt::format("{}", fmt::join(facts.cpu_flags, " ")));
  row("SM", facts.gpu_arch_sm.value_or(""));
  row("pname", facts.pname);
  for (const auto& [key, value] : facts.environment) row("build", key + "=" + value);
  for (const auto& note : facts.notes) row("note", note);
  return text;
}

std::string list_text(const std::vector<Variant>& variants) {
  std::string text;
  for (const auto& variant : variants) text += variant_name(variant) + "\n";
  return text;
}

Json list_json(const std::vector<Variant>& variants, const Matrix& m) {
  Json rows = Json::array();
  for (const auto& variant : variants) rows.push_back(to_json(collect_variant_facts(variant, m)));
  return Json{{"schema", "pbprobe.variants/1"}, {"variants", std::move(rows)}};
}

Json github_matrix(const std::vector<Variant>& variants) {
  Json include = Json::array();
  for (const auto& variant : variants) {
    const auto system = variant_platforms(variant).front();
    include.push_back(Json{{"name", variant_name(variant)},
                           {"line", variant.line},
                           {"sm", variant.gpu.value_or("cpu")},
                           {"isa", variant.cpu},
                           {"python", variant.python},
                           {"system", system},
                           {"runner", runner(system)}});
  }
  return Json{{"include", std::move(include)}};
}

}  // namespace pbprobe
