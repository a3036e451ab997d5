// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "recipes/src/verify.hpp"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/ranges.h>

#include "core/list_folder.hpp"
#include "core/open_file.hpp"
#include "core/strings.hpp"
#include "recipes/src/recipe_lines.hpp"
#include "recipes/src/variant_facts.hpp"

namespace pbprobe {
namespace {

namespace fs = std::filesystem;

// Word that is wrong in every line.
struct Forbidden {
  std::string_view id;
  std::string_view word;
  std::string_view why;
};

constexpr auto kForbidden = std::to_array<Forbidden>({
    {"PB409", "filterMagma", "MAGMA is taken out of the build inputs"},
    {"PB409", "USE_MAGMA=OFF", "MAGMA is switched off"},
    {"PB409", "USE_MAGMA=0", "MAGMA is switched off"},
    {"PB409", "magma = null", "MAGMA is set to null, which has no effect on packages that link it"},
    {"PB416", "-DCMAKE_CUDA_FLAGS", "torch's build does not read this CMake flag"},
    {"PB416", "-DCUDA_VERSION", "torch's build does not read this CMake flag"},
    {"PB416", "-DTORCH_BUILD_VERSION", "torch's build does not read this CMake flag"},
    {"PB416", "-DUSE_CUDA", "torch's build does not read this CMake flag"},
    {"PB416", "-DCXX_AVX2_FOUND", "torch's build does not read this CMake flag"},
    {"PB417", "patches = []", "every patch of nixpkgs is dropped"},
    {"PB417", "patches = [ ]", "every patch of nixpkgs is dropped"},
    {"PB418", "TORCH_CUDA_ARCH_LIST =", "TORCH_CUDA_ARCH_LIST as an attribute"},
    {"PB419", ".override { cudaPackages", "cudaPackages by an override"},
    {"PB420", "python3Packages.override", "torch is replaced only in python3Packages"},
    {"PB421", "allowBroken = true", "every broken package is allowed"},
    {"PB422", "effectiveStdenv", "torch has no argument effectiveStdenv"},
    {"PB422", "python3Packages.pytorch", "the attribute is called torch, not pytorch"},
    {"PB422", "passthru.blasProvider", "passthru.blasProvider is a derivation, and is overwritten"},
    {"PB423", "/build/", "/build is not a build folder on every machine"},
});

// Normalizes flags: "-march=armv9-a+sve2" equals "-march=armv9-a", the order of extensions is free, and -mno-… is the
// default of the compiler.
std::set<std::string> normalized(const std::vector<std::string>& flags) {
  std::set<std::string> result;
  for (auto flag : flags) {
    if (flag.starts_with("-mno-")) continue;
    if (flag.starts_with("-march=")) {
      const auto words = split(std::string_view(flag).substr(7), '+');
      std::set<std::string_view> parts(words.begin(), words.end());
      if (parts.contains("armv9-a")) parts.erase("sve2");
      flag = fmt::format("-march={}", fmt::join(parts, "+"));
    }
    result.insert(flag);
  }
  return result;
}

class Verifier {
 public:
  Verifier(std::string_view path, std::string_view text, const Matrix& m) : path_(path), code_(text), m_(m) {}

  std::vector<Finding> run() {
    const auto name = fs::path(path_).stem().string();
    const auto variant = parse_variant(name, m_);
    look_for_forbidden();
    look_for_system();
    check_hash_forms();
    if (!variant) {
      const bool no_machine = variant.error().message.find("no such machine") != std::string::npos;
      add(no_machine ? "PB402" : "PB401", variant.error().message, std::nullopt);
    } else {
      check(*variant);
    }
    return std::move(findings_);
  }

 private:
  void add(std::string_view id, std::string what, std::optional<size_t> line) {
    findings_.push_back(make_recipe_finding(id, std::move(what), line ? fmt::format("{}:{}", path_, *line) : path_));
  }

  void look_for_forbidden() {
    for (const auto& [id, word, why] : kForbidden) {
      if (const auto line = code_.find(word)) add(id, fmt::format("{}: {}", word, why), line);
    }
    for (const auto& target : code_.strings("sm_")) {
      if (code_.lines()[target.line - 1].find("gpuTargets") != std::string::npos)
        add("PB418", fmt::format("gpuTargets has \"{}\", which CMake does not know", target.value), target.line);
    }
  }

  void look_for_system() {
    const auto tarball = code_.find("fetchTarball");
    if (!tarball) return;
    if (!code_.find("system")) add("PB424", "nixpkgs is imported without a system", tarball);
    if (!code_.find("sha256")) add("PB405", "the pin of nixpkgs has no hash: Nix does not verify it", tarball);
  }

  void check_hash_forms() {
    for (const char* key : {"hash", "sha256"}) {
      for (const auto& [line, value] : code_.values(key)) {
        if (value.empty()) add("PB406", fmt::format("{} = \"\"", key), line);
      }
    }
    for (const char* word : {"lib.fakeHash", "lib.fakeSha256"}) {
      if (const auto line = code_.find(word)) add("PB406", word, line);
    }
    if (const auto line = code_.find("hash = null")) add("PB405", "pin not verified: its hash is not known yet", line);
  }

  void check(const Variant& variant) {
    const auto facts = collect_variant_facts(variant, m_);
    const auto& line = *m_.find_line(variant.line);
    check_pname(facts);
    check_pin(line);
    check_hashes(line);
    check_cuda(variant, line);
    check_version(line);
    if (variant.gpu) check_sm(facts);
    check_flags(facts);
    check_platforms(facts);
    check_description(facts, line);
    if (line.source) check_patches(line.source->drop_patches);
    for (const auto& [key, value] : facts.environment) {
      if (!code_.find(key + " = \"" + value + "\"") && !code_.find(key + "=" + value))
        add("PB425", fmt::format("{}={} is not set", key, value), std::nullopt);
    }
  }

  // Adds findings unless the key has exactly the wanted value.
  void expect(std::string_view id, std::string_view key, const std::string& wanted) {
    const auto values = code_.values(key);
    if (values.empty()) add(id, fmt::format("no {}: expected \"{}\"", key, wanted), std::nullopt);
    for (const auto& [line, value] : values) {
      if (value != wanted) add(id, fmt::format("{} is \"{}\", expected \"{}\"", key, value, wanted), line);
    }
  }

  void check_pname(const VariantFacts& facts) {
    const auto values = code_.values("pname");
    if (values.size() == 1 && values[0].value == facts.name) return;  // older recipes omit the version
    expect("PB403", "pname", facts.pname);
  }

  void check_pin(const MatrixLine& line) {
    if (!code_.find(line.pin.rev))
      add("PB404", fmt::format("the recipe does not pin nixpkgs {}", line.pin.rev), std::nullopt);
    for (const auto& other : m_.lines) {
      if (other.pin.rev == line.pin.rev) continue;
      if (const auto at = code_.find(other.pin.rev))
        add("PB404", fmt::format("the recipe pins nixpkgs {}, the commit of line {}", other.pin.rev, other.id), at);
    }
  }

  void check_hashes(const MatrixLine& line) {
    std::set<std::string> known;
    if (line.pin.hash) known.insert(*line.pin.hash);
    if (line.source && line.source->hash) known.insert(*line.source->hash);
    for (const auto& patch : line.patches) known.insert(patch.hash);
    for (const auto& [at, value] : code_.strings("sha256-")) {
      if (!known.contains(value))
        add("PB406", fmt::format("{} is not a hash of line {} in the matrix", value, line.id), at);
    }
  }

  void check_cuda(const Variant& variant, const MatrixLine& line) {
    for (size_t i = 0; i < code_.lines().size(); ++i) {
      const auto& text = code_.lines()[i];
      const auto at = text.find("cudaPackages_");
      if (at == std::string::npos) continue;
      const auto end = text.find_first_not_of("cudaPkges_0123456789", at);
      const auto used = text.substr(at, end == std::string::npos ? end : end - at);
      if (!variant.gpu) {
        add("PB407", fmt::format("{} in a recipe without CUDA", used), i + 1);
      } else if (used != line.cuda_packages) {
        add("PB407", fmt::format("{}, expected {}", used, line.cuda_packages), i + 1);
      }
    }
    if (!variant.gpu) return;
    if (!code_.find(line.cuda_packages))
      add("PB407", fmt::format("the recipe names no {}: it gets the default CUDA of nixpkgs", line.cuda_packages),
          std::nullopt);
    for (const auto& patch : line.patches) {
      if (!code_.find(patch.name)) add("PB408", fmt::format("{} is missing: {}", patch.name, patch.why), std::nullopt);
    }
  }

  // `patches = [ ]` drops the patches without a stub, which kForbidden reports.
  void check_patches(bool drop) {
    const auto dropped = code_.find("dropPatches = true");
    if (dropped && !drop)
      add("PB417", "the recipe drops nixpkgs' patches (dropPatches = true), and recipes/matrix.json keeps them",
          dropped);
    if (!dropped && drop)
      add("PB417", "the recipe keeps nixpkgs' patches (no dropPatches = true), and recipes/matrix.json drops them",
          code_.find("dropPatches"));
  }

  void check_version(const MatrixLine& line) {
    const auto values = code_.values("version");
    if (values.empty() && line.source)
      add("PB410", fmt::format("the recipe sets no version: torch stays {}, expected {}", line.pin.torch, line.torch),
          std::nullopt);
    for (const auto& [at, value] : values) {
      if (value != line.torch) add("PB410", fmt::format("torch is {}, expected {}", value, line.torch), at);
    }
  }

  void check_sm(const VariantFacts& facts) {
    expect("PB411", "gpuArchSM", *facts.gpu_arch_sm);
    expect("PB412", "gpuArchNum", *facts.gpu_arch_num);
  }

  void check_flags(const VariantFacts& facts) {
    size_t line = 0;
    const auto flags = code_.list("cpuFlags", line);
    if (!flags)
      return add("PB413", fmt::format("no cpuFlags: expected {}", fmt::join(facts.cpu_flags, " ")), std::nullopt);
    const auto seen = normalized(*flags);
    const auto wanted = normalized(facts.cpu_flags);
    std::vector<std::string> missing;
    std::vector<std::string> extra;
    std::set_difference(wanted.begin(), wanted.end(), seen.begin(), seen.end(), std::back_inserter(missing));
    std::set_difference(seen.begin(), seen.end(), wanted.begin(), wanted.end(), std::back_inserter(extra));
    if (!missing.empty()) add("PB413", fmt::format("{} lacks {}", facts.cpu, fmt::join(missing, " ")), line);
    if (!extra.empty()) add("PB413", fmt::format("{} is not a part of {}", fmt::join(extra, " "), facts.cpu), line);
  }

  void check_platforms(const VariantFacts& facts) {
    size_t line = 0;
    const auto platforms = code_.list("platforms", line);
    if (!platforms)
      return add("PB414", fmt::format("no platforms: expected {}", fmt::join(facts.platforms, ", ")), std::nullopt);
    if (*platforms != facts.platforms)
      add("PB414",
          fmt::format("platforms are {}, expected {}", fmt::join(*platforms, ", "), fmt::join(facts.platforms, ", ")),
          line);
  }

  void check_description(const VariantFacts& facts, const MatrixLine& line) {
    for (const auto& [at, value] : code_.values("description")) {
      if (const auto cuda = number_after(value, "CUDA "); !cuda.empty() && facts.gpu && cuda != line.cuda)
        add("PB415", fmt::format("the description says CUDA {}, and the recipe is for CUDA {}", cuda, line.cuda), at);
      if (const auto sm = number_after(value, "SM"); !sm.empty() && sm != facts.gpu_arch_num.value_or(""))
        add("PB415",
            fmt::format("the description says SM{}, and the recipe is for {}", sm, facts.gpu.value_or("no GPU")), at);
    }
  }

  static std::string number_after(std::string_view text, std::string_view word) {
    const auto at = text.find(word);
    if (at == std::string_view::npos) return "";
    text.remove_prefix(at + word.size());
    auto number = std::string(text.substr(0, text.find_first_not_of("0123456789.")));
    while (number.ends_with('.')) number.pop_back();
    return number;
  }

  std::string path_;
  RecipeLines code_;
  const Matrix& m_;
  std::vector<Finding> findings_;
};

void append(std::vector<Finding>& all, std::vector<Finding> more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace

std::vector<Finding> verify_recipe(std::string_view path, std::string_view text, const Matrix& m) {
  return Verifier(path, text, m).run();
}

std::vector<Finding> verify_counts(std::string_view path, std::string_view text, size_t recipes, const Matrix& m) {
  // Smaller numbers count the row of one SM or one ISA.
  constexpr size_t kWholeFolder = 20;
  std::set<size_t> right = {recipes};
  for (const auto& line : m.lines) right.insert(line_variants(line, m.python.default_value).size());
  std::vector<Finding> findings;
  size_t number_of_line = 0;
  for (const std::string_view line : split_lines(text)) {
    ++number_of_line;
    for (const char* word : {"-variant", " variant", " Variant"}) {
      for (auto at = line.find(word); at != std::string::npos; at = line.find(word, at + 1)) {
        auto start = at;
        while (start > 0 && std::isdigit(static_cast<unsigned char>(line[start - 1])) != 0) --start;
        if (start == at || at - start > 6) continue;
        const auto count = std::stoul(std::string(line.substr(start, at - start)));
        if (count >= kWholeFolder && !right.contains(count))
          findings.push_back(make_recipe_finding(
              "PB426", fmt::format("the file says {} variants, and there are {} recipes", count, recipes),
              fmt::format("{}:{}", path, number_of_line)));
      }
    }
  }
  return findings;
}

Result<Verified> verify_folder(const fs::path& folder, const Matrix& m) {
  std::vector<fs::path> files;
  std::error_code code;
  for (const FolderEntry& entry : list_folder(folder, code)) {
    const auto name = entry.path.filename().string();
    if (entry.path.extension() == ".nix" && name.starts_with("pytorch")) files.push_back(entry.path);
  }
  if (code)
    return make_error(ErrorCode::not_found,
                      "{}: the folder of recipes cannot be read: {}: give a folder such as .flox/pkgs", folder.string(),
                      code.message());
  if (files.empty())
    return make_error(ErrorCode::not_found,
                      "{}: the folder has no recipe (pytorch*.nix): give a folder such as .flox/pkgs", folder.string());
  std::ranges::sort(files);
  Verified verified{.recipes = files.size()};
  for (const auto& file : files) {
    PBPROBE_TRY(const auto text, read_whole_file(file));
    append(verified.findings, verify_recipe(file.string(), text, m));
  }
  for (const auto& above : {folder, folder / "..", folder / ".." / ".."}) {
    const auto readme = above / "README.md";
    if (!fs::exists(readme, code)) continue;
    PBPROBE_TRY(const auto text, read_whole_file(readme));
    append(verified.findings, verify_counts(readme.lexically_normal().string(), text, files.size(), m));
  }
  return verified;
}

bool has_failures(const Verified& verified) {
  return std::ranges::any_of(verified.findings, [](const auto& f) { return f.severity == Severity::fail; });
}

std::string render_verified(const Verified& verified) {
  std::string text;
  size_t failures = 0;
  size_t unverified = 0;
  for (const auto& f : verified.findings) {
    failures += f.severity == Severity::fail ? 1 : 0;
    if (f.id == "PB405") {
      ++unverified;  // reported once, because it applies to every recipe of a line
      continue;
    }
    text += fmt::format("{}[{}]: {}\n", name_of(f.severity), f.id, f.what);
    if (f.where) text += fmt::format("  --> {}\n", *f.where);
    text += fmt::format("  help: {}\n  more: pbprobe explain {}\n\n", f.remedy, f.id);
  }
  if (unverified > 0)
    text += fmt::format(
        "warn[PB405]: the pin of {} recipes is not verified\n  help: run `pbprobe recipes lock --fill` on a machine "
        "with "
        "a network\n  more: pbprobe explain PB405\n\n",
        unverified);
  return text + fmt::format("{} recipes, {} evaluated by Nix, {} failures, {} other findings\n", verified.recipes,
                            verified.evaluated ? fmt::format("{}", *verified.evaluated) : "none", failures,
                            verified.findings.size() - failures);
}

}  // namespace pbprobe
