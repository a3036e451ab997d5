// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/packages/sys_path.hpp"

#include <algorithm>
#include <cctype>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>

#include "core/open_file.hpp"
#include "probes/audit/loader/inside_root.hpp"
#include "probes/audit/packages/distributions.hpp"
#include "probes/audit/packages/layout.hpp"
#include "probes/audit/packages/linked_torch.hpp"
#include "probes/audit/packages/walk.hpp"

namespace pbprobe {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxConfigBytes = 1 << 20;

std::string trim_blanks(std::string text) {
  const auto blank = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty() && blank(text.back())) text.pop_back();
  text.erase(text.begin(), std::find_if_not(text.begin(), text.end(), blank));
  return text;
}

class SysPath {
 public:
  explicit SysPath(const fs::path& packages) : root_(root_above(packages)) {}

  void add(const fs::path& folder, bool always) {
    std::error_code error;
    if (!fs::is_directory(folder, error)) return;
    const bool known = std::any_of(folders_.begin(), folders_.end(),
                                   [&](const fs::path& one) { return fs::equivalent(one, folder, error); });
    const auto packages = packages_folder(folder);
    if (known || (!always && packages != folder && !torch_folder(folder))) return;
    folders_.push_back(folder);
  }

  // addsitedir() of site.py: the folder, then what its .pth files name, in their alphabetical order.
  void add_site(const fs::path& folder, bool always) {
    add(folder, always);
    auto names = names_in(folder);
    std::sort(names.begin(), names.end());
    for (const auto& name : names) {
      if (!name.ends_with(".pth") || name.starts_with(".")) continue;
      const auto text = read_whole_file(folder / name, kMaxConfigBytes);
      for (const auto& line : text ? folders_of_pth(*text) : std::vector<fs::path>()) {
        const fs::path named = folder / line;
        add(line.is_absolute() ? inside_root(root_, line) : named.lexically_normal(), false);
      }
    }
  }

  // `python`: "python3.11". Debian's Python has packages in dist-packages, and those of apt without a minor version.
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
  std::istringstream file(text ? *text : "");
  std::optional<fs::path> prefix;
  bool sees_base = false;
  for (std::string line; std::getline(file, line);) {
    const size_t equals = line.find('=');
    if (equals == std::string::npos) continue;
    std::string key = trim_blanks(line.substr(0, equals));
    std::string value = trim_blanks(line.substr(equals + 1));
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
  const bool above = std::any_of(folders.begin(), folders.end(), [&](const fs::path& folder) {
    std::error_code error;
    return fs::equivalent(folder / "torch/lib", *inventory.libtorch_dir, error);
  });
  return above ? packages : std::nullopt;
}

}  // namespace pbprobe
