// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/packages/linked_torch.hpp"

#include <sstream>
#include <string>
#include <string_view>

#include "core/json.hpp"
#include "core/open_file.hpp"
#include "probes/audit/packages/layout.hpp"
#include "probes/audit/packages/packages.hpp"
#include "probes/audit/packages/sys_path.hpp"
#include "probes/audit/packages/walk.hpp"

namespace pbprobe {
namespace fs = std::filesystem;

std::vector<fs::path> folders_of_pth(const std::string& text) {
  std::vector<fs::path> folders;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (!line.empty() && !line.starts_with("#") && !line.starts_with("import")) folders.emplace_back(line);
  }
  return folders;
}

namespace {

constexpr uint64_t kMostTextBytes = 1 << 20;

std::string text_of(const fs::path& file) {
  auto text = read_whole_file(file, kMostTextBytes);
  return text ? std::move(*text) : std::string();
}

std::vector<fs::path> site_packages_of(const fs::path& root) {
  std::vector<fs::path> folders{root};
  for (const char* lib : {"lib", "lib64", "local/lib"}) {
    for (const auto& python : names_in(root / lib)) {
      if (!python.starts_with("python3")) continue;
      folders.push_back(root / lib / python / "site-packages");
      folders.push_back(root / lib / python / "dist-packages");
    }
  }
  return folders;
}

// The first line of "torch.egg-link"; the second says where setup.py lies from there.
std::vector<fs::path> folders_of_egg_link(const std::string& text) {
  return folders_of_pth(text.substr(0, text.find('\n')));
}

// MAPPING: dict[str, str] = {'torch': '/src/pytorch/torch', …}: the package's folder, and the one above it.
std::vector<fs::path> folders_of_finder(const std::string& text) {
  const size_t mapping = text.find("MAPPING");
  for (const std::string_view quote : {"'", "\""}) {
    const std::string key = fmt::format("{0}torch{0}: {0}", quote);
    const size_t found = mapping == std::string::npos ? mapping : text.find(key, mapping);
    if (found == std::string::npos) continue;
    const size_t begin = found + key.size();
    const size_t end = text.find(quote, begin);
    const fs::path package = text.substr(begin, end == std::string::npos ? 0 : end - begin);
    if (!package.empty()) return {package.parent_path(), package};
  }
  return {};
}

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto digit = [&](size_t at) { return std::string_view("0123456789abcdef").find(text[at] | 0x20); };
    const bool coded = text[i] == '%' && i + 2 < text.size() && digit(i + 1) < 16 && digit(i + 2) < 16;
    out += coded ? static_cast<char>(digit(i + 1) * 16 + digit(i + 2)) : text[i];
    if (coded) i += 2;
  }
  return out;
}

}  // namespace

std::vector<fs::path> folders_of_editable(const std::string& text) {
  constexpr std::string_view kFile = "file://";
  const auto json = parse_json(text);
  if (!json || !json->is_object() || !json->contains("url") || !(*json)["url"].is_string()) return {};
  const auto info = json->find("dir_info");
  const bool editable = info != json->end() && info->is_object() && info->value("editable", Json()) == Json(true);
  const auto& url = (*json)["url"].get_ref<const std::string&>();
  if (!editable || !url.starts_with(kFile)) return {};
  const fs::path tree = percent_decoded(std::string_view(url).substr(kFile.size()));
  return {tree, tree / "src"};
}

namespace {

std::vector<fs::path> folders_named_by(const fs::path& packages, const std::string& name) {
  if (name.ends_with(".pth")) return folders_of_pth(text_of(packages / name));
  if (name == "torch.egg-link") return folders_of_egg_link(text_of(packages / name));
  if (name.starts_with("__editable___") && name.ends_with("_finder.py"))
    return folders_of_finder(text_of(packages / name));
  if (name.ends_with(".dist-info") && calls_itself_torch(name, ""))
    return folders_of_editable(text_of(packages / name / "direct_url.json"));
  return {};
}

// Returns the torch of the Python that the virtual environment `root`, or that of the site-packages folder `root`, was
// made from; nullopt if the environment does not see that Python's packages.
std::optional<LinkedTorch> torch_of_base(const fs::path& root) {
  for (const auto& environment : {root, root.parent_path().parent_path().parent_path()}) {
    const auto base = find_base_prefix(environment);
    if (!base) continue;
    for (const auto& python : names_in(environment / "lib")) {
      if (!python.starts_with("python3")) continue;
      for (const auto& folder : sys_path(environment / "lib" / python / "site-packages")) {
        if (auto torch = torch_folder(folder)) return LinkedTorch{std::move(*torch), folder};
      }
    }
    if (auto torch = torch_folder(*base)) return LinkedTorch{*torch, torch->parent_path()};
  }
  return std::nullopt;
}

}  // namespace

std::optional<LinkedTorch> linked_torch(const fs::path& root, std::vector<fs::path>* named) {
  for (const auto& packages : site_packages_of(root)) {
    for (const auto& name : names_in(packages)) {
      for (const auto& folder : folders_named_by(packages, name)) {
        if (auto torch = torch_folder(packages / folder)) return LinkedTorch{std::move(*torch), packages};
        if (named != nullptr && !name.ends_with(".pth")) named->push_back(packages / folder);
      }
    }
  }
  return torch_of_base(root);
}

}  // namespace pbprobe
