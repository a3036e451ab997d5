// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/packages/environments.hpp"

#include <algorithm>
#include <cctype>
#include <deque>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/json.hpp"
#include "core/list_folder.hpp"
#include "core/open_file.hpp"
#include "core/strings.hpp"
#include "probes/audit/loader/inside_root.hpp"
#include "probes/audit/packages/distributions.hpp"
#include "probes/audit/packages/layout.hpp"
#include "probes/audit/packages/packages.hpp"
#include "probes/audit/packages/walk.hpp"

namespace pbprobe {
namespace {

namespace fs = std::filesystem;

constexpr int kDeepest = 5;             // /home/ada/src/project/.venv
constexpr size_t kMostFolders = 20000;  // limit of visited folders
constexpr uint64_t kMaxListBytes = 1 << 20;

void add(const fs::path& root, std::vector<fs::path>& folders) {
  const auto packages = packages_folder(root);
  std::error_code error;
  const bool known = packages && std::ranges::any_of(folders, [&](const fs::path& folder) {
                       return fs::equivalent(folder, *packages, error);  // lib may be a link to usr/lib
                     });
  if (packages && !known) folders.push_back(*packages);
}

bool is_root(const fs::path& folder) {
  std::error_code error;
  return fs::exists(folder / "etc/os-release", error) || fs::exists(folder / "usr/lib/os-release", error);
}

// Links are not followed: an absolute one leads to another system.
void search(const fs::path& given, std::vector<fs::path>& folders) {
  const std::set<std::string> passed_over{"proc",  "sys",   "dev",     "run",         "lib",
                                          "lib64", "share", "include", "node_modules"};
  std::error_code none;
  const fs::path root = fs::canonical(given, none);
  std::deque<std::pair<fs::path, int>> left{{root, 0}};
  for (size_t looked = 0; !left.empty() && looked < kMostFolders; ++looked) {
    const auto [folder, depth] = std::move(left.front());
    left.pop_front();
    std::error_code error;
    const auto packages = packages_folder(folder);
    if (packages && inside_root(root, *packages) == fs::canonical(*packages, error)) add(folder, folders);
    for (const auto& entry : depth < kDeepest ? list_folder(folder, error) : std::vector<FolderEntry>()) {
      const std::string name = entry.path.filename().string();
      if (entry.type == fs::file_type::directory && !passed_over.contains(name))
        left.emplace_back(entry.path, depth + 1);
    }
  }
}

// Adds the packages that Nix adds to the environment of a build that uses the result, from files of store paths.
void add_propagated(const fs::path& root, std::vector<fs::path>& folders) {
  std::deque<fs::path> left{root};
  std::set<std::string> seen;
  while (!left.empty()) {
    const fs::path one = std::move(left.front());
    left.pop_front();
    if (!seen.insert(one.string()).second) continue;
    add(one, folders);
    const auto text = read_whole_file(one / "nix-support/propagated-build-inputs", kMaxListBytes);
    std::istringstream words(text ? *text : std::string());
    for (std::string word; words >> word;) left.emplace_back(word);
  }
}

}  // namespace

FoundEnvironments find_environments(const fs::path& root) {
  FoundEnvironments found;
  std::error_code error;
  if (fs::exists(root / "nix-support/propagated-build-inputs", error)) {
    add_propagated(root, found.folders);
  } else if (is_root(root)) {
    search(root, found.folders);
  } else {
    add(root, found.folders);
  }
  return found;
}

namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxConfigBytes = 1 << 20;

class SysPath {
 public:
  explicit SysPath(const fs::path& packages) : root_(root_above(packages)) {}

  void add(const fs::path& folder, bool always) {
    std::error_code error;
    if (!fs::is_directory(folder, error)) return;
    const bool known =
        std::ranges::any_of(folders_, [&](const fs::path& one) { return fs::equivalent(one, folder, error); });
    const auto packages = packages_folder(folder);
    if (known || (!always && packages != folder && !torch_folder(folder))) return;
    folders_.push_back(folder);
  }

  // addsitedir() of site.py: the folder, then what its .pth files name, in their alphabetical order.
  void add_site(const fs::path& folder, bool always) {
    add(folder, always);
    auto names = list_entry_names(folder);
    std::ranges::sort(names);
    for (const auto& name : names) {
      if (!name.ends_with(".pth") || name.starts_with(".")) continue;
      const auto text = read_whole_file(folder / name, kMaxConfigBytes);
      for (const auto& line : text ? folders_of_pth(*text) : std::vector<fs::path>()) {
        const fs::path named = folder / line;
        add(line.is_absolute() ? inside_root(root_, line) : named.lexically_normal(), false);
      }
    }
  }

  // `python`: "python3.11". Debian's Python has dist-packages; the folder of apt's packages has no minor version.
  void add_base(const fs::path& given, const std::string& python) {
    const fs::path prefix = inside_root(root_, given);
    for (const auto& folder : {"lib/" + python + "/site-packages", "lib64/" + python + "/site-packages",
                               "local/lib/" + python + "/dist-packages", std::string("lib/python3/dist-packages"),
                               "lib/" + python + "/dist-packages"})
      add_site(prefix / folder, false);
  }

  std::vector<fs::path> take() && { return std::move(folders_); }

 private:
  fs::path root_;
  std::vector<fs::path> folders_;
};

}  // namespace

std::optional<fs::path> find_base_prefix(const fs::path& root) {
  const auto text = read_whole_file(root / "pyvenv.cfg", kMaxConfigBytes);
  std::optional<fs::path> prefix;
  bool sees_base = false;
  const std::string config = text ? *text : "";
  for (const std::string_view line : split_lines(config)) {
    const size_t equals = line.find('=');
    if (equals == std::string::npos) continue;
    std::string key(trim(line.substr(0, equals)));
    std::string value(trim(line.substr(equals + 1)));
    const auto lower = [](unsigned char c) { return static_cast<char>(std::tolower(c)); };
    std::transform(key.begin(), key.end(), key.begin(), lower);
    if (key == "home") prefix = fs::path(value).parent_path();
    std::transform(value.begin(), value.end(), value.begin(), lower);
    if (key == "include-system-site-packages") sees_base = value == "true";
  }
  return sees_base ? prefix : std::nullopt;
}

std::vector<fs::path> sys_path(const fs::path& packages) {
  SysPath path(packages);
  path.add_site(packages, true);
  const fs::path python = packages.parent_path();
  if (const auto base = find_base_prefix(python.parent_path().parent_path()))
    path.add_base(*base, python.filename().string());
  auto folders = std::move(path).take();
  if (folders.empty()) folders.push_back(packages);
  return folders;
}

std::optional<fs::path> find_packages_above_torch(const Inventory& inventory) {
  if (inventory.layout != "site-packages" || !inventory.libtorch_dir) return std::nullopt;
  const auto packages = packages_folder(inventory.artifact);
  if (!packages || torch_folder(*packages)) return std::nullopt;
  const auto folders = sys_path(*packages);
  const bool above = std::ranges::any_of(folders, [&](const fs::path& folder) {
    std::error_code error;
    return fs::equivalent(folder / "torch/lib", *inventory.libtorch_dir, error);
  });
  return above ? packages : std::nullopt;
}

namespace fs = std::filesystem;

std::vector<fs::path> folders_of_pth(const std::string& text) {
  std::vector<fs::path> folders;
  for (std::string_view line : split_lines(text)) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty() && !line.starts_with("#") && !line.starts_with("import")) folders.emplace_back(line);
  }
  return folders;
}

namespace {

constexpr uint64_t kMostTextBytes = 1 << 20;

std::string read_text_or_empty(const fs::path& file) {
  auto text = read_whole_file(file, kMostTextBytes);
  return text ? std::move(*text) : std::string();
}

std::vector<fs::path> list_site_packages(const fs::path& root) {
  std::vector<fs::path> folders{root};
  for (const char* lib : {"lib", "lib64", "local/lib"}) {
    for (const auto& python : list_entry_names(root / lib)) {
      if (!python.starts_with("python3")) continue;
      folders.push_back(root / lib / python / "site-packages");
      folders.push_back(root / lib / python / "dist-packages");
    }
  }
  return folders;
}

// Reads the first line of "torch.egg-link"; the second line is the relative path of setup.py.
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

std::vector<fs::path> list_named_folders(const fs::path& packages, const std::string& name) {
  if (name.ends_with(".pth")) return folders_of_pth(read_text_or_empty(packages / name));
  if (name == "torch.egg-link") return folders_of_egg_link(read_text_or_empty(packages / name));
  if (name.starts_with("__editable___") && name.ends_with("_finder.py"))
    return folders_of_finder(read_text_or_empty(packages / name));
  if (name.ends_with(".dist-info") && calls_itself_torch(name, ""))
    return folders_of_editable(read_text_or_empty(packages / name / "direct_url.json"));
  return {};
}

// Returns the torch of the base Python of `root`, a virtual environment or its site-packages folder; nullopt if the
// environment does not see the base packages.
std::optional<LinkedTorch> torch_of_base(const fs::path& root) {
  for (const auto& environment : {root, root.parent_path().parent_path().parent_path()}) {
    const auto base = find_base_prefix(environment);
    if (!base) continue;
    for (const auto& python : list_entry_names(environment / "lib")) {
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
  for (const auto& packages : list_site_packages(root)) {
    for (const auto& name : list_entry_names(packages)) {
      for (const auto& folder : list_named_folders(packages, name)) {
        if (auto torch = torch_folder(packages / folder)) return LinkedTorch{std::move(*torch), packages};
        if (named != nullptr && !name.ends_with(".pth")) named->push_back(packages / folder);
      }
    }
  }
  return torch_of_base(root);
}

}  // namespace pbprobe
