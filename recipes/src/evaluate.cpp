// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "recipes/src/evaluate.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <fmt/ranges.h>

#include "core/json.hpp"
#include "recipes/src/variant_facts.hpp"
#include "recipes/src/verify.hpp"

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

// A folder with the stand-in and a Nix store of its own; gone with the object.
class Workshop {
 public:
  static Result<Workshop> make(const Matrix& m) {
    std::error_code code;
    std::string pattern = (fs::temp_directory_path(code) / "pbprobe-nix-XXXXXX").string();
    if (code || ::mkdtemp(pattern.data()) == nullptr)
      return make_error(ErrorCode::unreadable, "no temporary folder can be made in {}: set TMPDIR", pattern);
    Workshop shop{fs::path(pattern)};
    fs::create_directories(shop.root_ / "recipes/nix/stand-in", code);
    fs::create_directories(shop.root_ / "nix/store", code);
    fs::create_directories(shop.root_ / "nix/etc", code);
    shop.write("recipes/nix/stand-in/nixpkgs.nix", kNixpkgs);
    shop.write("recipes/nix/stand-in/evaluate.nix", kEvaluate);
    shop.write("recipes/matrix.json", to_json(m).dump());
    shop.write("recipes/targets.json", to_json(TargetTable{all_targets()}).dump());
    return shop;
  }

  Workshop(Workshop&& other) noexcept : root_(std::move(other.root_)) { other.root_.clear(); }
  Workshop& operator=(Workshop&&) = delete;
  ~Workshop() {
    if (root_.empty()) return;
    std::error_code code;
    // What Nix put into its store is read-only, folders too.
    for (fs::recursive_directory_iterator entry(root_, code), end; !code && entry != end; entry.increment(code)) {
      if (entry->is_directory(code) && !entry->is_symlink(code))
        fs::permissions(entry->path(), fs::perms::owner_all, fs::perm_options::add, code);
    }
    fs::remove_all(root_, code);
  }

  void write(const fs::path& name, std::string_view text) const {
    std::ofstream(root_ / name, std::ios::binary) << text;
  }
  [[nodiscard]] std::string read(const fs::path& name) const {
    std::ifstream file(root_ / name, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  [[nodiscard]] const fs::path& root() const { return root_; }

 private:
  explicit Workshop(fs::path root) : root_(std::move(root)) {}
  fs::path root_;
};

std::string nix_string(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\' || c == '$') out += '\\';
    out += c;
  }
  return out + "\"";
}

// Exit code of nix-instantiate; its output is left in `out`, its messages in `err`. -1: it could not be started.
int run_nix(const Workshop& shop) {
  const auto root = shop.root().string();
  std::vector<std::string> arguments = {"nix-instantiate", "--eval", "--strict", "--json", root + "/expression.nix"};
  std::vector<std::string> environment = {"NIX_STORE_DIR=" + root + "/nix/store",
                                          "NIX_STATE_DIR=" + root + "/nix/var",
                                          "NIX_LOG_DIR=" + root + "/nix/log",
                                          "NIX_CONF_DIR=" + root + "/nix/etc",
                                          "NIX_REMOTE=",
                                          "HOME=" + root};
  if (const char* path = std::getenv("PATH")) environment.push_back(std::string("PATH=") + path);
  std::vector<char*> argv;
  std::vector<char*> envp;
  for (auto& argument : arguments) argv.push_back(argument.data());
  for (auto& variable : environment) envp.push_back(variable.data());
  argv.push_back(nullptr);
  envp.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  const int flags = O_WRONLY | O_CREAT | O_TRUNC;
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, (root + "/out").c_str(), flags, 0600);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, (root + "/err").c_str(), flags, 0600);
  ::pid_t child = 0;
  const int failed = ::posix_spawnp(&child, "nix-instantiate", &actions, nullptr, argv.data(), envp.data());
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return -1;
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) != 127 ? WEXITSTATUS(status) : -1;
}

int evaluate(const Workshop& shop, const std::vector<const Named*>& recipes) {
  std::string files;
  std::string systems;
  for (const auto* recipe : recipes) {
    files += " (/. + " + nix_string(fs::absolute(recipe->file).lexically_normal().string()) + ")";
    systems += " " + nix_string(recipe->facts.platforms.front());
  }
  shop.write("expression.nix",
             "import ./recipes/nix/stand-in/evaluate.nix { files = [" + files + " ]; systems = [" + systems + " ]; }");
  return run_nix(shop);
}

Finding finding(std::string_view id, std::string what, const Named& recipe) {
  const auto checks = recipe_checks();
  const auto check = std::find_if(checks.begin(), checks.end(), [&](const auto& c) { return c.id == id; });
  return {.id = std::string(id),
          .severity = check->severity,
          .level = Level::claimed,
          .what = std::move(what),
          .where = recipe.file.string(),
          .remedy = std::string(check->remedy)};
}

// What came out against what the matrix says, one finding a difference.
void compare(const Named& recipe, const Json& seen, std::vector<Finding>& findings) {
  const auto& facts = recipe.facts;
  const auto differs = [&](std::string_view what, const Json& is, const Json& wanted) {
    if (is != wanted)
      findings.push_back(
          finding("PB428", fmt::format("{} is {}, expected {}", what, is.dump(), wanted.dump()), recipe));
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
      findings.push_back(finding("PB428", fmt::format("{} does not reach preConfigure", word), recipe));
  }
  for (const auto& [key, value] : facts.environment)
    differs(key, at("environment").is_object() ? at("environment").value(key, Json(nullptr)) : Json(nullptr), value);
}

// The last "error:" of Nix is the cause; what comes before it is the way there.
std::string cause(const std::string& errors) {
  const auto at = errors.rfind("error: ");
  auto text = at == std::string::npos ? errors : errors.substr(at + 7);
  return text.substr(0, text.find('\n'));
}

// What the stand-in does not know is no fault of a recipe that nixpkgs may well take.
bool is_unknown_to_the_stand_in(const std::string& why) {
  if (why.starts_with("attribute '") || why.starts_with("undefined variable")) return true;
  // An import of nixpkgs without its system is a fault of the recipe.
  return why.find("called without required argument") != std::string::npos && why.find("'system'") == std::string::npos;
}

Result<std::vector<Named>> named_recipes(const fs::path& folder, const Matrix& m) {
  std::vector<Named> recipes;
  std::error_code code;
  for (fs::directory_iterator entry(folder, code), end; !code && entry != end; entry.increment(code)) {
    if (entry->path().extension() != ".nix") continue;
    const auto variant = parse_variant(entry->path().stem().string(), m);
    if (variant) recipes.push_back({entry->path(), facts_of(*variant, m), m.find_line(variant->line)});
  }
  if (code) return make_error(ErrorCode::not_found, "{}: {}", folder.string(), code.message());
  std::sort(recipes.begin(), recipes.end(), [](const auto& a, const auto& b) { return a.file < b.file; });
  return recipes;
}

}  // namespace

Result<Evaluation> evaluate_folder(const fs::path& folder, const Matrix& m) {
  PBPROBE_TRY(const auto recipes, named_recipes(folder, m));
  PBPROBE_TRY(const auto shop, Workshop::make(m));
  Evaluation result;
  std::vector<const Named*> all;
  for (const auto& recipe : recipes) all.push_back(&recipe);
  const int exit_code = all.empty() ? 0 : evaluate(shop, all);
  if (exit_code < 0)
    return make_error(ErrorCode::unsupported,
                      "nix-instantiate cannot be started: install Nix (Debian: nix-bin) to evaluate recipes as well");
  if (all.empty()) return result;
  if (exit_code == 0) {
    PBPROBE_TRY(const auto rows, parse_json(shop.read("out")), "nix-instantiate");
    for (size_t i = 0; i < all.size(); ++i) compare(*all[i], rows[i], result.findings);
    result.evaluated = all.size();
    return result;
  }
  // One that fails hides the others: each alone.
  for (const auto* recipe : all) {
    if (evaluate(shop, {recipe}) == 0) {
      PBPROBE_TRY(const auto rows, parse_json(shop.read("out")), "nix-instantiate");
      compare(*recipe, rows[0], result.findings);
      ++result.evaluated;
      continue;
    }
    const auto why = cause(shop.read("err"));
    result.findings.push_back(finding(is_unknown_to_the_stand_in(why) ? "PB429" : "PB427", why, *recipe));
  }
  return result;
}

}  // namespace pbprobe
