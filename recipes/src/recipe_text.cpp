// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Writes recipes. A recipe is short, and states its own facts for readers and grep.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "recipes/src/variant_facts.hpp"
#include "recipes/src/write.hpp"

namespace pbprobe {
namespace {

// Escapes text for an indented string of Nix (two single quotes).
std::string escape_indented_string(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.compare(i, 2, "''") == 0) {
      out += "'''";
      ++i;
    } else if (text.compare(i, 2, "${") == 0) {
      out += "''$";
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string quoted_or_null(const std::optional<std::string>& text) {
  return text ? quote_nix(*text) : "null";
}

std::string quoted_list(const std::vector<std::string>& items) {
  std::string out = "[";
  for (const auto& item : items) out += " " + quote_nix(item);
  return out + " ]";
}

std::string arguments(const Variant& variant, std::string_view blas) {
  std::string text = "{\n  system ? builtins.currentSystem,\n";
  if (variant.gpu)
    text += "  cudaToolkitRepo ? builtins.getEnv \"CUDA_TOOLKIT_REPO\", # a checkout with CUDA packages of its own\n";
  return text + fmt::format("  blasProvider ? {}, # or {}\n}}:\n\n", quote_nix(std::string(blas)),
                            blas == "mkl" ? "\"openblas\"" : "\"mkl\"");
}

std::string facts_part(const Variant& variant, const VariantFacts& facts, const MatrixLine& line) {
  std::string text = fmt::format("let\n  pname = {};\n", quote_nix(facts.pname));
  text += fmt::format("  version = {};\n\n", quote_nix(line.torch));
  if (variant.gpu) {
    text += fmt::format("  # {}\n", fmt::join(facts.gpu_products, ", "));
    text += fmt::format("  gpuArchNum = {};\n", quote_nix(*facts.gpu_arch_num));
    text += fmt::format("  gpuArchSM = {};\n\n", quote_nix(*facts.gpu_arch_sm));
  }
  text += fmt::format("  # {}\n", fmt::join(facts.cpu_products, ", "));
  text += "  cpuFlags = [\n";
  for (const auto& flag : facts.cpu_flags) text += fmt::format("    {}\n", quote_nix(flag));
  text += "  ];\n\n";
  if (!line.pin.hash) text += "  # hash = null: not verified until `pbprobe recipes lock --fill` has run\n";
  text += fmt::format("  nixpkgs = {{\n    rev = {};\n    hash = {};\n  }};\n\n", quote_nix(line.pin.rev),
                      quoted_or_null(line.pin.hash));
  return text;
}

std::string cuda_overlay(const MatrixLine& line) {
  return fmt::format(
      "      # CUDA {} for the whole set: torch, MAGMA and NCCL\n"
      "      (final: prev: {{ cudaPackages = final.{}; }})\n",
      line.cuda, line.cuda_packages);
}

std::string patch_overlay(const RecipePatch& patch) {
  return fmt::format(
      "      # {}: {}\n"
      "      (final: prev: {{\n"
      "        {} = patchOnce prev.{} (\n"
      "          final.fetchpatch {{\n"
      "            name = {};\n"
      "            url = {};\n"
      "            hash = {};\n"
      "          }}\n"
      "        );\n"
      "      }})\n",
      patch.package, patch.why, patch.package, patch.package, quote_nix(patch.name), quote_nix(patch.url),
      quote_nix(patch.hash));
}

std::string torch_overlay(const MatrixLine& line) {
  const auto& source = *line.source;
  return fmt::format(
      "      # torch {} in every Python set\n"
      "      (final: prev: {{\n"
      "        pythonPackagesExtensions = prev.pythonPackagesExtensions ++ [\n"
      "          (pyfinal: pyprev: {{\n"
      "            torch = upgradeTorch pyprev.torch {{\n"
      "              inherit version;\n"
      "              dropPatches = {};\n"
      "              src = final.fetchFromGitHub {{\n"
      "                owner = {};\n"
      "                repo = {};\n"
      "                tag = {};\n"
      "                fetchSubmodules = {};\n"
      "                hash = {};\n"
      "              }};\n"
      "            }};\n"
      "          }})\n"
      "        ];\n"
      "      }})\n",
      line.torch, source.drop_patches ? "true" : "false", quote_nix(source.owner), quote_nix(source.repo),
      quote_nix(source.tag), source.submodules ? "true" : "false", quote_nix(source.hash.value_or("")));
}

std::string overlays_part(const Variant& variant, const MatrixLine& line) {
  std::string text = "  overlays =\n    { patchOnce, upgradeTorch }:\n    [\n";
  if (variant.gpu) {
    text += cuda_overlay(line);
    for (const auto& patch : line.patches) text += patch_overlay(patch);
  }
  if (line.source) text += torch_overlay(line);
  return text + "    ];\nin\n";
}

std::string call_part(const Variant& variant, const VariantFacts& facts, const MatrixLine& line,
                      const RecipeImports& imports) {
  std::string text = "import " + imports.path + "/torch.nix {\n  inherit\n    pname\n    version\n    system\n";
  if (variant.gpu) text += "    gpuArchNum\n    gpuArchSM\n    cudaToolkitRepo\n";
  text += "    cpuFlags\n    nixpkgs\n    overlays\n    blasProvider\n    ;\n";
  text += fmt::format("  python = {};\n", quote_nix(variant.python));
  if (variant.gpu) {
    text += fmt::format("  cuda = {};\n", quote_nix(line.cuda));
    if (facts.min_driver) text += fmt::format("  driver = {};\n", *facts.min_driver);
    if (!line.cuda_components.empty()) {
      text += "  cudaComponents = {\n";
      for (const auto& component : line.cuda_components)
        text += fmt::format("    {} = {};\n", component.attribute, quote_nix(component.name));
      text += "  };\n";
    }
  }
  if (!facts.environment.empty()) {
    text += "  environment = {\n";
    for (const auto& [key, value] : facts.environment) text += fmt::format("    {} = {};\n", key, quote_nix(value));
    text += "  };\n";
  }
  text += fmt::format("  platforms = {};\n", quoted_list(facts.platforms));
  text += fmt::format("  description = {};\n", quote_nix(facts.description));
  text += "  longDescription = ''\n";
  if (variant.gpu && facts.min_driver)
    text += fmt::format("    CUDA {}; driver {} or later.\n", line.cuda, *facts.min_driver);
  text += fmt::format("    CPU: {}.\n", fmt::join(facts.cpu_requires, ", "));
  for (const auto& note : facts.notes) text += fmt::format("    Note: {}.\n", escape_indented_string(note));
  text += "  '';\n";
  return text + fmt::format("  claim = {};\n}}\n", quote_nix(facts.name));
}

std::string component_text(const CudaComponent& component, const MatrixLine& line, const RecipeImports& imports) {
  std::string text = fmt::format("# {} of CUDA {}, as the recipes use it.\n", component.attribute, line.cuda);
  text += "{ system ? builtins.currentSystem }:\n\nimport " + imports.path + "/cuda.nix {\n  inherit system;\n";
  text += fmt::format("  name = {};\n  attribute = {};\n  cudaPackages = {};\n", quote_nix(component.name),
                      quote_nix(component.attribute), quote_nix(line.cuda_packages));
  text += fmt::format("  nixpkgs = {{\n    rev = {};\n    hash = {};\n  }};\n}}\n", quote_nix(line.pin.rev),
                      quoted_or_null(line.pin.hash));
  return text;
}

std::string pbprobe_text(const std::string& python) {
  return fmt::format(
      "# pbprobe itself, against the torch of the nixpkgs that flox gives.\n"
      "{{ pkgs }}:\n\n"
      "import ../../recipes/nix/pbprobe.nix {{\n"
      "  inherit pkgs;\n"
      "  torch = pkgs.python{}Packages.torch;\n"
      "  python = pkgs.python{};\n"
      "}}\n",
      python, python);
}

}  // namespace

std::string quote_nix(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\' || c == '$') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string recipe_text(const Variant& variant, std::string_view blas, const Matrix& m, const RecipeImports& imports) {
  const auto& line = *m.find_line(variant.line);
  const auto facts = collect_variant_facts(variant, m);
  return add_recipe_head(fmt::format("# {}.\n", facts.description) + arguments(variant, blas) +
                         facts_part(variant, facts, line) + overlays_part(variant, line) +
                         call_part(variant, facts, line, imports));
}

Result<std::vector<GeneratedFile>> recipe_files(const WriteOptions& options, const Matrix& m) {
  PBPROBE_TRY(const auto variants, list_variants({.line = options.line, .python = options.python}, m));
  const auto* line = m.find_line(options.line);
  if (line == nullptr) return make_error(ErrorCode::usage, "recipes are written for one line at a time");
  if (std::ranges::find(m.blas.choices, options.blas) == m.blas.choices.end())
    return make_error(ErrorCode::usage, "unknown BLAS \"{}\": choose one of {}", options.blas,
                      fmt::join(m.blas.choices, ", "));
  if (line->source && !line->source->hash)
    return make_error(ErrorCode::usage, "{}: the source of torch {} has no hash: run `pbprobe recipes lock --fill`",
                      line->id, line->torch);
  std::vector<GeneratedFile> files;
  for (const auto& variant : variants)
    files.push_back({variant_name(variant) + ".nix", recipe_text(variant, options.blas, m, options.imports)});
  for (const auto& component : line->cuda_components)
    files.push_back({component.name + ".nix", add_recipe_head(component_text(component, *line, options.imports))});
  // The recipe of pbprobe builds the checkout that contains it.
  if (!options.imports.written) files.push_back({"pbprobe.nix", add_recipe_head(pbprobe_text(options.python))});
  for (auto& file : imported_files(options.imports)) files.push_back(std::move(file));
  return files;
}

}  // namespace pbprobe
