// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "recipes/src/documents.hpp"

#include <algorithm>

#include <fmt/ranges.h>

#include "core/json.hpp"
#include "core/strings.hpp"
#include "recipes/src/variant_facts.hpp"

namespace pbprobe {
namespace {

std::string lines_table(const Matrix& m) {
  std::string text = "| line | torch | CUDA | Python | variants | driver | nixpkgs |\n|---|---|---|---|---|---|---|\n";
  std::vector<std::string> pythons;
  for (const auto& choice : m.python.choices) pythons.push_back(python_version(choice));
  const auto python = fmt::format("{}", fmt::join(pythons, ", "));
  for (const auto& line : m.lines) {
    const auto variants = line_variants(line, m.python.default_value);
    const auto cpu_only = line.cpu_only.size();
    int64_t floor = 0;
    for (const auto& variant : variants) {
      if (!variant.gpu) continue;
      const auto driver = min_driver(line, *find_target(*variant.gpu), m).value_or(0);
      floor = floor == 0 ? driver : std::min(floor, driver);
    }
    const char* bold = line.id == m.default_line ? "**" : "";
    text += fmt::format(
        "| {0}{1}{0} | {2} | {3} | {10} | {4}{5} | {6} | [{7}](https://github.com/NixOS/nixpkgs/tree/{8}){9} |\n", bold,
        line.id, line.torch, line.cuda_release, variants.size(),
        cpu_only > 0 ? fmt::format(" ({} GPU, {} CPU)", variants.size() - cpu_only, cpu_only) : "", floor,
        line.pin.rev.substr(0, 7), line.pin.rev, line.pin.hash ? "" : ", not verified", python);
  }
  return text;
}

// Finds the result of a recipe in its row of docs/matrix.md: | recipe | torch | CUDA | platform | built | gate | …
std::string find_stand_in_result(std::string_view table, const std::string& name) {
  auto at = table.find("\n| " + name + " |");
  if (at == std::string_view::npos) return "never";
  std::vector<std::string_view> cells;
  const auto row = table.substr(at + 1, table.find('\n', at + 1) - at - 1);
  for (size_t from = 2; from < row.size();) {
    const auto end = row.find(" |", from);
    if (end == std::string_view::npos) break;
    cells.push_back(row.substr(from, end - from));
    from = end + 3;
  }
  if (cells.size() < 6 || cells[4] != "yes") return "failed";
  return fmt::format("built, gate {}", cells[5]);
}

std::string variants_table(std::string_view stand_in, const Matrix& m) {
  const auto& line = m.default_matrix_line();
  std::string text =
      "| recipe | GPUs | CPUs | system | evaluated | in the stand-in | in nixpkgs |\n|---|---|---|---|---|---|---|\n";
  for (const auto& variant : line_variants(line, m.python.default_value)) {
    const auto facts = collect_variant_facts(variant, m);
    text += fmt::format("| [{0}](../.flox/pkgs/{0}.nix) | {1} | {2} | {3} | yes | {4} | never |\n", facts.name,
                        facts.gpu ? fmt::format("{}", fmt::join(facts.gpu_products, ", ")) : "none",
                        fmt::join(facts.cpu_products, ", "), fmt::join(facts.platforms, ", "),
                        find_stand_in_result(stand_in, facts.name));
  }
  return text;
}

// Formats "mma.sync (tf32, bf16), fma.rn.f32 (fp32)".
std::string list_instructions(const Target& target) {
  std::vector<std::pair<std::string, std::vector<std::string>>> by_name;
  for (const auto& path : target.instructions) {
    const auto found = std::ranges::find_if(by_name, [&](const auto& p) { return p.first == path.name; });
    if (found != by_name.end()) {
      found->second.push_back(path.dtype);
    } else {
      by_name.push_back({path.name, {path.dtype}});
    }
  }
  std::string text;
  for (const auto& [name, types] : by_name)
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", name, fmt::join(types, ", "));
  return text;
}

std::string gpu_guide(const Matrix& m) {
  std::string text =
      "| SM | compute capability | GPUs | lines | driver | instructions | note |\n|---|---|---|---|---|---|---|\n";
  for (const auto& target : all_targets()) {
    if (target.kind != TargetKind::gpu || !has_variants(target)) continue;
    std::vector<std::string> lines;
    std::vector<std::string> drivers;
    for (const auto& line : m.lines) {
      const auto variants = line_variants(line, m.python.default_value);
      if (std::ranges::none_of(variants, [&](const auto& v) { return v.gpu == target.id; })) continue;
      lines.push_back(line.id);
      drivers.push_back(fmt::format("{}", min_driver(line, target, m).value_or(0)));
    }
    text += fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", upper(target.id), target.capability.value_or(""),
                        fmt::join(target.products, ", "), fmt::join(lines, ", "), fmt::join(drivers, ", "),
                        list_instructions(target), target.note.value_or(""));
  }
  return text;
}

std::string cpu_guide(const Matrix& m) {
  std::string text =
      "| ISA | look for, in /proc/cpuinfo | first CPUs | flags | best for | not for | note "
      "|\n|---|---|---|---|---|---|---|\n";
  for (const auto& target : all_targets()) {
    if (target.kind != TargetKind::cpu || !has_variants(target)) continue;
    std::vector<std::string> workloads;
    std::vector<std::string> not_for;
    for (const auto& workload : m.workloads) {
      if (std::ranges::find(workload.cpus, target.id) == workload.cpus.end()) not_for.push_back(workload.id);
      for (const auto& id : workload.cpus) {
        if (find_target(id)->architecture != target.architecture) continue;
        if (id == target.id) workloads.push_back(workload.id);
        break;  // the first ISA of this architecture is the choice
      }
    }
    text += fmt::format("| {} | {} | {} | `{}` | {} | {} | {} |\n", target.id, fmt::join(target.recipe_requires, ", "),
                        fmt::join(target.products, ", "), fmt::join(target.recipe_flags, " "),
                        fmt::join(workloads, ", "), fmt::join(not_for, ", "), target.note.value_or(""));
  }
  return text;
}

std::string decision_tree(const Matrix& m) {
  std::string text =
      "1. Run `nvidia-smi --query-gpu=name,compute_cap --format=csv,noheader`, and take the SM with the printed "
      "compute "
      "capability. Without a GPU, take a `cpu` variant.\n";
  text +=
      "2. Run `grep -om1 -wE 'Features.*|flags.*' /proc/cpuinfo`. From the ISAs whose features are all printed, select "
      "by workload:\n";
  for (const auto& workload : m.workloads)
    text += fmt::format("   - {}: {} ({})\n", workload.id, fmt::join(workload.cpus, ", then "), workload.why);
  text += fmt::format(
      "3. `nvidia-smi` prints the CUDA version of the driver. The default line, {}, needs driver {}. With an older "
      "driver, "
      "take an older line that has the SM.\n",
      m.default_line, m.drivers.rbegin()->second);
  return text;
}

std::string_view runner(const std::string& system) {
  return system.starts_with("aarch64") ? "ubuntu-24.04-arm" : "ubuntu-24.04";
}

}  // namespace

std::string variants_markdown(std::string_view stand_in, const Matrix& m) {
  const auto& line = m.default_matrix_line();
  std::string text =
      "# Variants\n\nWritten by `make generate` from `recipes/matrix.json` and `recipes/targets.json`.\n\n";
  text += "`pbprobe recommend` selects the variant for your machine, and prints the reason.\n\n## Lines\n\n";
  text += lines_table(m);
  text += fmt::format(
      "\nThe recipes of {} are in `.flox/pkgs`; `pbprobe recipes write --line LINE --output FOLDER` writes the recipes "
      "of "
      "another line.\n\n## The {} variants of {}\n\n",
      m.default_line, line_variants(line, m.python.default_value).size(), m.default_line);
  text +=
      "*Evaluated*: in the tests, Nix evaluates the recipe to a derivation that matches the matrix. *In the stand-in*: "
      "`make matrix` built and judged the recipe in a small stand-in for nixpkgs ([matrix.md](matrix.md)). *In "
      "nixpkgs*: built completely in the pinned nixpkgs.\n\n";
  text += variants_table(stand_in, m) + "\n## Choose a variant\n\n" + decision_tree(m);
  text += "\n## GPUs\n\n" + gpu_guide(m) + "\n## CPUs\n\n" + cpu_guide(m);
  text += "\n## Additional settings of some variants\n\n";
  for (const auto& rule : m.rules) {
    std::vector<std::string> ids = rule.gpus;
    ids.insert(ids.end(), rule.cpus.begin(), rule.cpus.end());
    text += fmt::format("- {}: {}\n", fmt::join(ids, ", "), rule.note);
  }
  text += "\n## Stated elsewhere, and wrong\n\n| stated | in fact | source |\n|---|---|---|\n";
  for (const auto& c : m.corrections) text += fmt::format("| {} | {} | <{}> |\n", c.stated, c.fact, c.source);
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
