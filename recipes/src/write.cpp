// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "recipes/src/write.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <system_error>

#include "core/list_folder.hpp"
#include "core/open_file.hpp"
#include "core/strings.hpp"

namespace pbprobe {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kHead = "# Written by `pbprobe recipes write` from recipes/matrix.json: change it there. ";

// Computes FNV-1a, which detects edits; it is no protection against attackers.
uint64_t checksum(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

// Formats the removed and added lines between the common beginning and the common end.
std::string difference(std::string_view old_text, std::string_view new_text) {
  const auto before = split_lines(old_text);
  const auto after = split_lines(new_text);
  size_t front = 0;
  while (front < before.size() && front < after.size() && before[front] == after[front]) ++front;
  size_t back = 0;
  while (back < before.size() - front && back < after.size() - front &&
         before[before.size() - 1 - back] == after[after.size() - 1 - back])
    ++back;
  std::string text = fmt::format("@@ line {} @@\n", front + 1);
  for (size_t i = front; i < before.size() - back; ++i) text += fmt::format("-{}\n", before[i]);
  for (size_t i = front; i < after.size() - back; ++i) text += fmt::format("+{}\n", after[i]);
  return text;
}

// Writes a temporary file and renames it, so that readers never see a partial file.
Result<void> write_whole(const fs::path& path, std::string_view text) {
  const fs::path part = path.string() + fmt::format(".part{}", ::getpid());
  {
    std::error_code exists;
    fs::create_directories(path.parent_path(), exists);
    std::ofstream file(part, std::ios::binary | std::ios::trunc);
    file.write(text.data(), static_cast<std::streamsize>(text.size()));
    file.close();
    if (!file) {
      const auto why = std::error_code(errno, std::generic_category()).message();
      std::error_code ignored;
      fs::remove(part, ignored);
      return make_error(ErrorCode::unreadable, "cannot write {}: {}: choose a folder that you may write with --output",
                        path.string(), why);
    }
  }
  std::error_code code;
  fs::rename(part, path, code);
  if (!code) return {};
  std::error_code ignored;
  fs::remove(part, ignored);
  return make_error(ErrorCode::unreadable, "cannot write {}: {}", path.string(), code.message());
}

// Finds recipes that pbprobe wrote and that no variant of this line has any more.
Result<std::vector<std::string>> surplus_files(const fs::path& folder, const std::vector<GeneratedFile>& files) {
  std::vector<std::string> names;
  std::error_code code;
  for (const FolderEntry& entry : list_folder(folder, code)) {
    const auto name = entry.path.filename().string();
    if (entry.path.extension() != ".nix") continue;
    if (std::ranges::any_of(files, [&](const auto& file) { return file.name == name; })) continue;
    PBPROBE_TRY(const auto text, read_whole_file(entry.path));
    if (text.starts_with(kHead)) names.push_back(name);
  }
  if (code && code != std::errc::no_such_file_or_directory)
    return make_error(ErrorCode::unreadable, "cannot list {}: {}", folder.string(), code.message());
  std::ranges::sort(names);
  return names;
}

}  // namespace

std::string add_recipe_head(std::string_view body) {
  return fmt::format("{}[{:016x}]\n{}", kHead, checksum(body), body);
}

bool is_untouched(std::string_view text) {
  const auto end = text.find('\n');
  return text.starts_with(kHead) && end != std::string_view::npos && add_recipe_head(text.substr(end + 1)) == text;
}

Result<std::vector<Difference>> compare_recipes(const fs::path& folder, const std::vector<GeneratedFile>& files) {
  std::vector<Difference> differences;
  for (const auto& file : files) {
    std::error_code code;
    if (!fs::exists(folder / file.name, code)) {
      differences.push_back({file.name, Difference::Kind::missing, ""});
      continue;
    }
    PBPROBE_TRY(const auto text, read_whole_file(folder / file.name));
    if (text == file.text) continue;
    differences.push_back({file.name, is_untouched(text) ? Difference::Kind::stale : Difference::Kind::edited,
                           difference(text, file.text)});
  }
  PBPROBE_TRY(const auto surplus, surplus_files(folder, files));
  for (const auto& name : surplus) differences.push_back({name, Difference::Kind::surplus, ""});
  return differences;
}

Result<Written> write_recipes(const fs::path& folder, const std::vector<GeneratedFile>& files, bool force) {
  std::error_code code;
  fs::create_directories(folder, code);
  if (code)
    return make_error(ErrorCode::unreadable, "cannot make {}: {}: choose another folder with --output", folder.string(),
                      code.message());
  PBPROBE_TRY(const auto differences, compare_recipes(folder, files));
  std::string edited;
  for (const auto& d : differences) {
    if (d.kind == Difference::Kind::edited) edited += fmt::format("\n{}\n{}", (folder / d.name).string(), d.text);
  }
  if (!edited.empty() && !force)
    return make_error(ErrorCode::usage,
                      "edited by hand, and not overwritten: put the change into recipes/matrix.json, or use --force{}",
                      edited);
  Written written;
  written.unchanged = files.size();
  for (const auto& d : differences) {
    if (d.kind == Difference::Kind::surplus) {
      PBPROBE_TRY(const auto text, read_whole_file(folder / d.name));
      if (!is_untouched(text) && !force) continue;
      fs::remove(folder / d.name, code);
      if (code)
        return make_error(ErrorCode::unreadable, "cannot remove {}: {}", (folder / d.name).string(), code.message());
      written.removed.push_back(d.name);
      continue;
    }
    const auto file = std::ranges::find_if(files, [&](const auto& f) { return f.name == d.name; });
    PBPROBE_CHECK(write_whole(folder / d.name, file->text));
    written.written.push_back(d.name);
    --written.unchanged;
  }
  return written;
}

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTorch =
#include "torch_nix.inc"
    ;
constexpr std::string_view kCuda =
#include "cuda_nix.inc"
    ;
constexpr std::string_view kPin =
#include "nixpkgs_nix.inc"
    ;

}  // namespace

RecipeImports find_imports(const fs::path& folder) {
  std::error_code code;
  auto whole = fs::weakly_canonical(fs::absolute(folder, code), code);
  if (!whole.has_filename()) whole = whole.parent_path();
  const bool of_flox = whole.filename() == "pkgs" && whole.parent_path().filename() == ".flox";
  const auto checkout = whole.parent_path().parent_path();
  // Only a checkout has the matrix and the recipe of pbprobe.
  if (fs::exists(checkout / "recipes/matrix.json", code) && fs::exists(checkout / "recipes/nix/pbprobe.nix", code))
    return {};
  return {of_flox ? "../../recipes/nix" : "./recipes/nix", true};
}

std::vector<GeneratedFile> imported_files(const RecipeImports& imports) {
  if (!imports.written) return {};
  std::vector<GeneratedFile> files;
  for (const auto& [name, text] :
       {std::pair{"torch.nix", kTorch}, std::pair{"cuda.nix", kCuda}, std::pair{"nixpkgs.nix", kPin}})
    files.push_back({fs::path(imports.path + "/" + name).lexically_normal().string(), add_recipe_head(text)});
  return files;
}

}  // namespace pbprobe
