// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Writes the committed files that are made from code: `make generate`. With --check it only compares.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "core/check_pages.hpp"
#include "core/compiler_defects.hpp"
#include "core/cuda_releases.hpp"
#include "core/facts/comparison.hpp"
#include "core/facts/environment.hpp"
#include "core/facts/node.hpp"
#include "core/facts/report.hpp"
#include "core/targets.hpp"
#include "core/torch_symbols.hpp"
#include "probes/fleet/facts.hpp"
#include "probes/judge/checks.hpp"
#include "probes/judge/policy/policy.hpp"
#include "recipes/src/claim.hpp"
#include "recipes/src/matrix.hpp"
#include "recipes/src/public_wheels.hpp"
#include "recipes/src/verify.hpp"

namespace {

namespace fs = std::filesystem;

struct Generated {
  std::string_view path;  // from the repository's root
  std::function<std::string(const fs::path& root)> text;
};

std::string schema_text(std::string_view id, std::string_view title, const pbprobe::Json& of_type) {
  pbprobe::Json schema{{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"$id", id}, {"title", title}};
  schema.update(of_type);
  return pbprobe::dump_schema(schema);
}

template <class T>
std::string schema_text(std::string_view id, std::string_view title) {
  return schema_text(id, title, pbprobe::json_schema<T>());
}

std::string policy_schema_text() {
  return schema_text("pbprobe.policy/1", "Requirements of a gate, besides the claim", pbprobe::policy_schema());
}

// The judge and the recipes do not know each other; their checks are one catalogue all the same.
std::string recipe_checks_markdown() {
  std::string text =
      "\n## Recipes\n\nQuestions of `pbprobe recipes verify` about each recipe; the rows are in "
      "`recipes/src/recipe_checks.cpp`.\n\n| check | severity | asks | remedy |\n|---|---|---|---|\n";
  for (const auto& check : pbprobe::recipe_checks()) {
    for (const std::string_view cell :
         {check.id, pbprobe::name_of(check.severity), pbprobe::check_question(check.id), check.remedy})
      text += "| " + std::string(cell) + " ";
    text += "|\n";
  }
  return text;
}

std::string read(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return std::move(text).str();
}

// Below the table, so that its rows stay what scripts read.
std::string links_to_pages() {
  std::string links;
  const auto add = [&](std::string_view id) {
    links += (links.empty() ? "[" : ",\n[") + std::string(id) + "](checks/" + std::string(id) + ".md)";
  };
  for (const auto& check : pbprobe::all_checks()) add(check.id);
  for (const auto& check : pbprobe::recipe_checks()) add(check.id);
  return "\n## Pages\n\nPage of each check, which `pbprobe explain` prints: question, reason, example, fix and "
         "waiver.\n\n" +
         links + ".\n";
}

const std::vector<Generated>& all_files() {
  static const std::vector<Generated> files{
      {"docs/checks.md",
       [](const fs::path&) { return pbprobe::checks_markdown() + recipe_checks_markdown() + links_to_pages(); }},
      {"docs/report.schema.json",
       [](const fs::path&) { return schema_text<pbprobe::Report>("pbprobe.report/1", "Report of pbprobe"); }},
      {"docs/environment.schema.json",
       [](const fs::path&) {
         return schema_text<pbprobe::Environment>("pbprobe.environment/1", "Packages of an environment");
       }},
      {"docs/comparison.schema.json",
       [](const fs::path&) {
         return schema_text<pbprobe::ComparisonList>("pbprobe.comparison/1", "Differences of builds or reports");
       }},
      {"docs/node.schema.json",
       [](const fs::path&) { return schema_text<pbprobe::NodeReport>("pbprobe.node/1", "Report of one node"); }},
      {"docs/fleet.schema.json",
       [](const fs::path&) { return schema_text<pbprobe::Fleet>("pbprobe.fleet/1", "Merged report of a fleet"); }},
      {"docs/policy.schema.json", [](const fs::path&) { return policy_schema_text(); }},
      {"docs/claims.schema.json",
       [](const fs::path&) {
         return schema_text("pbprobe.claims/1", "Claims of the libraries of a package", pbprobe::claim_file_schema());
       }},
      {"recipes/targets.schema.json",
       [](const fs::path&) { return schema_text<pbprobe::TargetTable>("pbprobe.targets/1", "The table of targets"); }},
      {"recipes/cuda_components.schema.json",
       [](const fs::path&) {
         return schema_text<pbprobe::ToolkitTable>("pbprobe.cuda_components/1", "Releases of the CUDA toolkit");
       }},
      {"recipes/compilers.schema.json",
       [](const fs::path&) {
         return schema_text<pbprobe::CompilerDefects>("pbprobe.compilers/1", "Published defects of NVIDIA's compilers");
       }},
      {"recipes/torch_symbols.schema.json",
       [](const fs::path&) {
         return schema_text<pbprobe::TorchSymbolTable>("pbprobe.torch_symbols/1",
                                                       "Which releases of torch export which symbols");
       }},
      {"recipes/reference_builds.schema.json",
       [](const fs::path&) {
         return schema_text<pbprobe::ReferenceBuilds>("pbprobe.reference_builds/1",
                                                      "Contents of the public builds of torch");
       }},
      {"recipes/public_wheels.schema.json",
       [](const fs::path&) {
         return schema_text<pbprobe::PublicWheels>("pbprobe.public_wheels/1", "Which SMs public wheels hold");
       }},
      {"recipes/matrix.schema.json", [](const fs::path&) { return pbprobe::matrix_schema(); }},
  };
  return files;
}

bool write(const fs::path& file, const std::string& text) {
  std::ofstream stream(file, std::ios::binary);
  stream << text;
  stream.close();
  return static_cast<bool>(stream);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string_view> arguments(argv + 1, argv + argc);
  const bool check = arguments.size() == 2 && arguments[1] == "--check";
  if (arguments.empty() || (arguments.size() > 1 && !check)) {
    std::fputs("usage: pbprobe_generate ROOT [--check]\n", stderr);
    return 2;
  }
  int stale = 0;
  for (const auto& [path, make] : all_files()) {
    const fs::path file = fs::path(arguments[0]) / path;
    const std::string text = make(arguments[0]);
    if (read(file) == text) continue;
    if (check) {
      std::fprintf(stderr, "%s is not what the code says: run `make generate` and commit it\n", file.c_str());
      ++stale;
    } else if (write(file, text)) {
      std::printf("wrote %s\n", file.c_str());
    } else {
      std::fprintf(stderr, "%s cannot be written: check the permissions of its folder\n", file.c_str());
      return 2;
    }
  }
  return stale == 0 ? 0 : 1;
}
