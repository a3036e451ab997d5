// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "recipes/src/evaluate.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "core/json.hpp"
#include "core/list_folder.hpp"
#include "core/program.hpp"
#include "core/temp_folder.hpp"
#include "recipes/src/variant_facts.hpp"
#include "recipes/src/verify.hpp"
#include "recipes/src/write.hpp"

namespace pbprobe {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kNixpkgs =
#include "stand_in_nixpkgs.inc"
    ;
constexpr std::string_view kEvaluate =
#include "stand_in_evaluate.inc"
    ;

struct Named {
  fs::path file;
  VariantFacts facts;
  const MatrixLine* line;
};

// Temporary folder with the stand-in and a separate Nix store.
class Workshop {
 public:
  static Result<Workshop> make(const Matrix& m) {
    PBPROBE_TRY(TempFolder folder, TempFolder::make());
    Workshop shop{std::move(folder)};
    std::error_code code;
    fs::create_directories(shop.root() / "recipes/nix/stand-in", code);
    fs::create_directories(shop.root() / "nix/store", code);
    fs::create_directories(shop.root() / "nix/etc", code);
    shop.write("recipes/nix/stand-in/nixpkgs.nix", kNixpkgs);
    shop.write("recipes/nix/stand-in/evaluate.nix", kEvaluate);
    shop.write("recipes/matrix.json", to_json(m).dump());
    shop.write("recipes/targets.json", to_json(TargetTable{all_targets()}).dump());
    return shop;
  }

  void write(const fs::path& name, std::string_view text) const {
    std::ofstream(root() / name, std::ios::binary) << text;
  }
  [[nodiscard]] const fs::path& root() const { return folder_.path(); }

 private:
  explicit Workshop(TempFolder folder) : folder_(std::move(folder)) {}
  TempFolder folder_;
};

Result<ProgramOutput> run_nix(const Workshop& shop) {
  const auto root = shop.root().string();
  ProgramCall call{
      .arguments = {"nix-instantiate", "--eval", "--strict", "--json", root + "/expression.nix"},
      .environment = std::vector<std::string>{"NIX_STORE_DIR=" + root + "/nix/store",
                                              "NIX_STATE_DIR=" + root + "/nix/var", "NIX_LOG_DIR=" + root + "/nix/log",
                                              "NIX_CONF_DIR=" + root + "/nix/etc", "NIX_REMOTE=", "HOME=" + root},
      .seconds = 600};
  if (const char* path = std::getenv("PATH")) call.environment->push_back(std::string("PATH=") + path);
  auto output = run_program(call);
  if (!output && output.error().code == ErrorCode::not_found)
    return make_error(ErrorCode::unsupported,
                      "nix-instantiate cannot be started: install Nix (Debian: nix-bin) to evaluate recipes as well");
  return output;
}

Result<ProgramOutput> evaluate(const Workshop& shop, const std::vector<const Named*>& recipes) {
  std::string files;
  std::string systems;
  for (const auto* recipe : recipes) {
    files += " (/. + " + quote_nix(fs::absolute(recipe->file).lexically_normal().string()) + ")";
    systems += " " + quote_nix(recipe->facts.platforms.front());
  }
  shop.write("expression.nix",
             "import ./recipes/nix/stand-in/evaluate.nix { files = [" + files + " ]; systems = [" + systems + " ]; }");
  return run_nix(shop);
}

// Compares the evaluated derivation with the matrix. Makes one finding for each difference.
void compare(const Named& recipe, const Json& seen, std::vector<Finding>& findings) {
  const auto& facts = recipe.facts;
  const std::string where = recipe.file.string();
  const auto differs = [&](std::string_view what, const Json& is, const Json& wanted) {
    if (is != wanted)
      findings.push_back(
          make_recipe_finding("PB428", fmt::format("{} is {}, expected {}", what, is.dump(), wanted.dump()), where));
  };
  const auto at = [&](const char* key) { return seen.value(key, Json(nullptr)); };
  differs("version", at("version"), recipe.line->torch);
  differs("platforms", seen.value("meta", Json::object()).value("platforms", Json(nullptr)), to_json(facts.platforms));
  differs("system", at("system"), facts.platforms.front());
  differs("CUDA", at("cuda"), facts.gpu ? Json(recipe.line->cuda) : Json(nullptr));
  if (facts.gpu) {
    const auto sm = Json::array({*facts.gpu_arch_sm});
    differs("MAGMA's SMs", at("magma"), sm);
    differs("NCCL's SMs", at("nccl"), sm);
    differs("MAGMA's CUDA", at("magmaCuda"), recipe.line->cuda);
  }
  const auto configure = at("preConfigure").is_string() ? at("preConfigure").get<std::string>() : "";
  std::vector<std::string> wanted = facts.cpu_flags;
  if (facts.gpu) wanted.push_back(fmt::format("TORCH_CUDA_ARCH_LIST=\"{}\"", *facts.gpu_arch_sm));
  for (const auto& word : wanted) {
    if (configure.find(word) == std::string::npos)
      findings.push_back(make_recipe_finding("PB428", fmt::format("{} does not reach preConfigure", word), where));
  }
  for (const auto& [key, value] : facts.environment)
    differs(key, at("environment").is_object() ? at("environment").value(key, Json(nullptr)) : Json(nullptr), value);
}

// The last "error:" of Nix is the cause; the earlier lines are its trace.
std::string cause(const std::string& errors) {
  const auto at = errors.rfind("error: ");
  auto text = at == std::string::npos ? errors : errors.substr(at + 7);
  return text.substr(0, text.find('\n'));
}

// Reports whether the error comes from the stand-in, so that nixpkgs may accept the recipe.
bool is_unknown_to_the_stand_in(const std::string& why) {
  if (why.starts_with("attribute '") || why.starts_with("undefined variable")) return true;
  // An import of nixpkgs without a system is a fault of the recipe.
  return why.find("called without required argument") != std::string::npos && why.find("'system'") == std::string::npos;
}

Result<std::vector<Named>> named_recipes(const fs::path& folder, const Matrix& m) {
  std::vector<Named> recipes;
  std::error_code code;
  for (const FolderEntry& entry : list_folder(folder, code)) {
    if (entry.path.extension() != ".nix") continue;
    const auto variant = parse_variant(entry.path.stem().string(), m);
    if (variant) recipes.push_back({entry.path, collect_variant_facts(*variant, m), m.find_line(variant->line)});
  }
  if (code) return make_error(ErrorCode::not_found, "{}: {}", folder.string(), code.message());
  std::ranges::sort(recipes, [](const auto& a, const auto& b) { return a.file < b.file; });
  return recipes;
}

}  // namespace

Result<Evaluation> evaluate_folder(const fs::path& folder, const Matrix& m) {
  PBPROBE_TRY(const auto recipes, named_recipes(folder, m));
  PBPROBE_TRY(const auto shop, Workshop::make(m));
  Evaluation result;
  std::vector<const Named*> all;
  for (const auto& recipe : recipes) all.push_back(&recipe);
  if (all.empty()) return result;
  PBPROBE_TRY(const auto together, evaluate(shop, all));
  if (together.exit_code == 0) {
    PBPROBE_TRY(const auto rows, parse_json(together.out), "nix-instantiate");
    for (size_t i = 0; i < all.size(); ++i) compare(*all[i], rows[i], result.findings);
    result.evaluated = all.size();
    return result;
  }
  // A failing recipe hides the others: evaluate each one separately.
  for (const auto* recipe : all) {
    PBPROBE_TRY(const auto single, evaluate(shop, {recipe}));
    if (single.exit_code == 0) {
      PBPROBE_TRY(const auto rows, parse_json(single.out), "nix-instantiate");
      compare(*recipe, rows[0], result.findings);
      ++result.evaluated;
      continue;
    }
    const auto why = cause(single.err);
    result.findings.push_back(
        make_recipe_finding(is_unknown_to_the_stand_in(why) ? "PB429" : "PB427", why, recipe->file.string()));
  }
  return result;
}

}  // namespace pbprobe
