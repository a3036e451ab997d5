// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT

#include "core/facts/json.hpp"
#include "core/open_file.hpp"
#include "core/printable.hpp"
#include "probes/cli/cli.hpp"
#include "recipes/src/evaluate.hpp"
#include "recipes/src/lock.hpp"
#include "recipes/src/variant_facts.hpp"
#include "recipes/src/verify.hpp"
#include "recipes/src/write.hpp"

namespace pbprobe::cli {
namespace {

enum class ListFormat { text, json, github_matrix };

struct RecipesArguments {
  Format format = Format::text;
  ListFormat list_format = ListFormat::text;
  VariantFilter filter;
  std::string name;
  std::filesystem::path folder = ".flox/pkgs";
  std::string line = matrix().default_line;
  std::string python = matrix().python.default_value;
  std::string blas = matrix().blas.default_value;
  bool check = false;
  bool force = false;
  bool no_nix = false;
  std::filesystem::path matrix_file = "recipes/matrix.json";
  LockRequest lock;
};

Result<int> run_list(const RecipesArguments& options) {
  PBPROBE_TRY(const auto variants, list_variants(options.filter));
  if (options.list_format == ListFormat::json) return write_output(json_text(list_json(variants)));
  // Prints one line, for $GITHUB_OUTPUT.
  if (options.list_format == ListFormat::github_matrix) return write_output(github_matrix(variants).dump() + "\n");
  return write_output(list_text(variants));
}

Result<int> run_show(const RecipesArguments& options) {
  PBPROBE_TRY(const Variant variant, parse_variant(options.name));
  const auto facts = collect_variant_facts(variant);
  return write_output(options.format == Format::json ? json_text(to_json(facts)) : render_variant(facts));
}

std::string_view word(Difference::Kind kind) {
  switch (kind) {
    case Difference::Kind::missing: return "missing";
    case Difference::Kind::stale: return "differs from the matrix";
    case Difference::Kind::edited: return "edited by hand";
    case Difference::Kind::surplus: return "no longer in the matrix";
  }
  return "?";
}

Result<int> run_write(const RecipesArguments& options) {
  PBPROBE_TRY(const auto files,
              recipe_files({options.line, options.python, options.blas, find_imports(options.folder)}));
  if (options.check) {
    PBPROBE_TRY(const auto differences, compare_recipes(options.folder, files));
    std::string text;
    for (const auto& d : differences)
      text += fmt::format("{}: {}\n{}", (options.folder / d.name).string(), word(d.kind), d.text);
    text += fmt::format("{} of {} recipes differ\n", differences.size(), files.size());
    PBPROBE_CHECK(write_output(text));
    return differences.empty() ? kPassed : kFailed;
  }
  PBPROBE_TRY(const auto written, write_recipes(options.folder, files, options.force));
  return write_output(fmt::format("{}: {} written, {} removed, {} unchanged\n", options.folder.string(),
                                  written.written.size(), written.removed.size(), written.unchanged));
}

Result<int> run_verify(const RecipesArguments& options) {
  show_progress("verifying " + options.folder.string());
  PBPROBE_TRY(Verified verified, verify_folder(options.folder));
  if (!options.no_nix) {
    show_progress("evaluating " + options.folder.string());
    auto evaluation = evaluate_folder(options.folder);
    clear_progress();
    if (evaluation) {
      verified.evaluated = evaluation->evaluated;
      for (auto& f : evaluation->findings) verified.findings.push_back(std::move(f));
    } else if (evaluation.error().code == ErrorCode::unsupported) {
      fmt::print(stderr, "pbprobe: only by line patterns: {}\n", printable(evaluation.error().message));
    } else {
      return evaluation.error();
    }
  }
  clear_progress();
  PBPROBE_CHECK(
      write_output(options.format == Format::json ? json_text(to_json(verified)) : render_verified(verified)));
  return has_failures(verified) ? kFailed : kPassed;
}

Result<int> run_lock(const RecipesArguments& options) {
  const auto text = read_whole_file(options.matrix_file);
  if (!text)
    return make_error(text.error().code,
                      "{}: run the command in a checkout of pbprobe, or name the matrix with --matrix",
                      text.error().message);
  PBPROBE_TRY(const auto locked, lock_matrix(*text, options.lock, fetch_by_nix));
  if (locked.changed.empty()) return write_output("nothing to change: every pin of the matrix has a hash\n");
  PBPROBE_CHECK(write_output(locked.text, options.matrix_file));
  std::string reported;
  for (const auto& change : locked.changed) reported += change + "\n";
  return write_output(reported + "now build pbprobe, and run `pbprobe recipes write`\n");
}

void add_list(CLI::App& recipes, RecipesArguments& options, int& exit_code) {
  auto* command = recipes.add_subcommand("list", "The variants of the matrix");
  command->add_option("--line", options.filter.line, "CUDA line, or all; default: the default line");
  command->add_option("--sm", options.filter.gpu, "An SM, or cpu for the variants without CUDA");
  command->add_option("--isa", options.filter.cpu, "An ISA");
  command->add_option("--python", options.filter.python, "313, 312 or 311");
  add_choice<ListFormat>(
      *command, "--format", options.list_format,
      {{"text", ListFormat::text}, {"json", ListFormat::json}, {"github-matrix", ListFormat::github_matrix}},
      "text, json or github-matrix");
  set_run(*command, exit_code, [&] { return run_list(options); });
}

void add_write(CLI::App& recipes, RecipesArguments& options, int& exit_code) {
  auto* command = recipes.add_subcommand("write", "Write the recipes of a line from the matrix");
  command->add_option("--output", options.folder, "The folder to write to")->capture_default_str();
  command->add_option("--line", options.line, "The line")->capture_default_str();
  command->add_option("--python", options.python, "313, 312 or 311")->capture_default_str();
  command->add_option("--blas", options.blas, "openblas or mkl")->capture_default_str();
  command->add_flag("--check", options.check, "Only compare; exit code 1 for a difference");
  command->add_flag("--force", options.force, "Overwrite recipes that were edited by hand");
  set_run(*command, exit_code, [&] { return run_write(options); });
}

void add_lock(CLI::App& recipes, RecipesArguments& options, int& exit_code) {
  auto* command = recipes.add_subcommand(
      "lock", "Change a pin of nixpkgs or a version of torch in the whole matrix, with the hashes");
  command->add_option("--matrix", options.matrix_file, "The matrix to change")->capture_default_str();
  command->add_option("--line", options.lock.line, "CUDA line of the matrix to change; default: the default line");
  command->add_option("--rev", options.lock.rev, "A commit of nixpkgs");
  command->add_option("--torch", options.lock.torch, "A version of torch, with --source-hash");
  command->add_option("--source-hash", options.lock.source_hash, "Hash of torch's source, as Nix prints it");
  command->add_flag("--fill", options.lock.fill, "Fetch the pins of nixpkgs that have no hash, and write their hashes");
  command
      ->add_option("--pin-url", options.lock.pin_url, "URL of the archives of nixpkgs; {rev} is replaced by the commit")
      ->capture_default_str();
  set_run(*command, exit_code, [&] { return run_lock(options); });
}

}  // namespace

void add_recipes(CLI::App& app, int& exit_code) {
  auto* recipes = app.add_subcommand("recipes",
                                     "The matrix of targeted builds\n"
                                     "Examples:\n"
                                     "  pbprobe recipes show pytorch-python313-cuda13_0-sm121-armv9\n"
                                     "  pbprobe recipes verify ~/build-pytorch/.flox/pkgs");
  recipes->require_subcommand(1);
  static RecipesArguments options;
  add_list(*recipes, options, exit_code);
  add_write(*recipes, options, exit_code);
  add_lock(*recipes, options, exit_code);

  auto* show =
      recipes->add_subcommand("show", "Describe one variant: claim, needs, flags, and CPUs and GPUs that run it");
  show->add_option("NAME", options.name, "A variant's name")->required();
  add_format(*show, options.format);
  set_run(*show, exit_code, [] { return run_show(options); });

  auto* verify = recipes->add_subcommand("verify", "Check the recipes of a folder against their names");
  verify->add_option("FOLDER", options.folder, "The folder")->capture_default_str();
  add_format(*verify, options.format);
  verify->add_flag("--no-nix", options.no_nix,
                   "Check the recipes by patterns in their lines, even if Nix is installed");
  set_run(*verify, exit_code, [] { return run_verify(options); });

  add_recommend(*recipes, exit_code);
}

}  // namespace pbprobe::cli
