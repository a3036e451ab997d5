// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/packages/distributions.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/ranges.h>

#include "core/json.hpp"
#include "core/list_folder.hpp"
#include "core/open_file.hpp"
#include "core/pep440.hpp"
#include "core/strings.hpp"
#include "probes/audit/containers/way_out.hpp"
#include "probes/audit/loader/inside_root.hpp"
#include "probes/audit/packages/environments.hpp"
#include "probes/audit/packages/nix_store.hpp"
#include "probes/audit/packages/packages.hpp"
#include "probes/audit/packages/walk.hpp"
#include "probes/audit/packages/wheel_identity.hpp"

namespace pbprobe {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMissing = "and it is missing: install the package again";
constexpr std::string_view kInfo = ".dist-info";
constexpr uint64_t kMaxInfoBytes = 1 << 20;

using FileId = std::pair<dev_t, ino_t>;

bool holds_info(const fs::path& folder) {
  const auto names = list_entry_names(folder);
  return std::ranges::any_of(names, [](const std::string& name) { return name.ends_with(kInfo); });
}

// Returns the environment that packages write to: it also has bin, lib and share.
fs::path find_environment_root(const fs::path& folder) {
  const std::string name = folder.filename().string();
  const bool of_python = folder.parent_path().filename().string().starts_with("python3");
  if (of_python && (name == "site-packages" || name == "dist-packages"))
    return folder.parent_path().parent_path().parent_path();
  return folder;
}

// A folder without permission is reported by the walk; its files are not missing.
bool may_enter(const fs::path& folder) {
  return access(folder.c_str(), X_OK) == 0 || errno != EACCES;
}

std::string not_entered(const std::vector<std::string>& files) {
  return fmt::format("{}: Permission denied{}: run as a user who may read it", files.front(),
                     files.size() > 1 ? fmt::format(", as {} more of its files", files.size() - 1) : "");
}

struct CondaMeta {
  std::string name;
  std::string version;
  std::vector<std::string> files;
};

Result<CondaMeta> read_conda_meta(const fs::path& path) {
  constexpr uint64_t kMaxMetaBytes = 64 << 20;
  PBPROBE_TRY(const std::string text, read_whole_file(path, kMaxMetaBytes));
  const Json json = Json::parse(text, nullptr, false);
  CondaMeta meta;
  const auto word = [&](const char* key) {
    return json.contains(key) && json[key].is_string() ? json[key].get<std::string>() : std::string();
  };
  if (json.is_object()) meta = {word("name"), word("version"), {}};
  if (meta.name.empty())
    return make_error(ErrorCode::malformed, "{}: it is not a conda record: install the package again", path.string());
  for (const auto& file : json.contains("files") && json["files"].is_array() ? json["files"] : Json::array()) {
    if (file.is_string()) meta.files.push_back(file.get<std::string>());
  }
  return meta;
}

bool is_inside(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first == folder.end();
}

class Packages {
 public:
  explicit Packages(const fs::path& folder) {
    std::error_code error;
    packages_.folder = fs::canonical(folder, error);
    environment_ = find_environment_root(packages_.folder);
    packages_.environment = environment_;
    relocated_ = find_store_path(packages_.folder).has_value();
  }

  InstalledPackages take() && {
    fs::directory_iterator readable(packages_.folder, error_);
    if (error_)
      packages_.problems.push_back(
          fmt::format("{}: cannot list the folder: {}", packages_.folder.string(), error_.message()));
    for (const auto& name : list_entry_names(packages_.folder)) {
      if (name.ends_with(kInfo)) add(name);
    }
    name_twins();
    add_conda();
    add_ownerless();
    return std::move(packages_);
  }

 private:
  fs::path get_package_path(const std::string& name) const { return packages_.folder / name; }

  std::string read_text(const std::string& info, const char* name, ArtifactLayout& layout) {
    auto text = read_whole_file(get_package_path(info) / name, kMaxInfoBytes);
    if (text) return std::move(*text);
    if (text.error().code != ErrorCode::not_found && may_enter(get_package_path(info)))
      layout.problems.push_back(append_remedy(text.error(), ReadFrom::text).message);
    return {};
  }

  void add(const std::string& info) {
    InstalledPackage& package = packages_.packages.emplace_back();
    package.info = info;
    ArtifactLayout& layout = package.layout;
    layout.kind = "distribution";
    layout.root = packages_.folder;
    layout.distributions = {info.substr(0, info.size() - kInfo.size())};
    const std::string metadata = read_text(info, "METADATA", layout);
    if (metadata.empty() && may_enter(get_package_path(info)))
      layout.problems.push_back(info + ": it has no METADATA: install the package again");
    if (const std::string wheel = read_text(info, "WHEEL", layout); !wheel.empty()) layout.texts["WHEEL"] = wheel;
    if (const std::string variant = read_text(info, kVariantFile.c_str(), layout); !variant.empty())
      layout.texts[kVariantFile] = variant;
    layout.packages.push_back({info, metadata});
    const std::string installer = read_text(info, "INSTALLER", layout);
    package.installer = installer.substr(0, installer.find_first_of(" \r\n"));
    package.relocated = relocated_ || changes_files(package.installer);
    package.record = take_files(info, layout);
    take_editable(info, layout);
    settle_items(layout);
    for (const auto& item : layout.items) own(item.disk);
  }

  // conda relocates libraries; the system's package tools strip files after they were recorded.
  bool changes_files(const std::string& installer) const {
    const bool by_user = installer == "pip" || installer == "uv";
    return installer == "conda" || installer == "rpm" || installer == "debian" ||
           (environment_.filename() == "usr" && !by_user);
  }

  void own(const fs::path& path) {
    struct stat status {};
    if (stat(path.c_str(), &status) == 0) owned_.insert({status.st_dev, status.st_ino});
  }

  std::vector<RecordedFile> take_files(const std::string& info, ArtifactLayout& layout) {
    const auto text = read_whole_file(get_package_path(info) / "RECORD");
    const bool missing = !text && text.error().code == ErrorCode::not_found;
    if (!text && !missing && may_enter(get_package_path(info)))
      layout.problems.push_back(append_remedy(text.error(), ReadFrom::text).message);
    Record record = text ? parse_record(*text) : Record();
    if (record.fault) layout.problems.push_back(fmt::format("{}/{}", info, record.fault->message));
    if (record.files.empty()) {
      take_folders(info, layout);
      return {};
    }
    std::string leads_out;
    int64_t count = 0;
    std::vector<std::string> closed;
    for (const auto& file : record.files) {
      if (!take_recorded(info, file, layout, closed)) continue;
      if (count++ == 0) leads_out = file.path;
    }
    if (!closed.empty()) layout.problems.push_back(not_entered(closed));
    if (count > 0)
      packages_.notes.push_back(
          fmt::format("{}: symbolic links lead out of the environment in the paths of {} of its files, the first {}: "
                      "pbprobe read the files that they lead to",
                      info, count, leads_out));
    return std::move(record.files);
  }

  // Returns whether a link led out of the environment.
  bool take_recorded(const std::string& info, const RecordedFile& file, ArtifactLayout& layout,
                     std::vector<std::string>& closed) {
    const fs::path path = fs::path(file.path).lexically_normal();
    if (!is_wanted_name(path.filename().string())) return false;
    const fs::path disk = (packages_.folder / path).lexically_normal();
    if (!stays_inside(packages_, path)) {
      layout.problems.push_back(fmt::format("{}/RECORD: {} is outside of the environment: not read", info, file.path));
      return false;
    }
    struct stat status {};
    if (stat(disk.c_str(), &status) != 0) {
      if (errno == EACCES) {
        closed.push_back(path.string());
        return false;
      }
      layout.problems.push_back(fmt::format("{}: {}/RECORD has it, {}", path.string(), info, kMissing));
    } else if (S_ISREG(status.st_mode)) {
      layout.items.push_back({path.string(), static_cast<uint64_t>(status.st_size), disk, nullptr, {}});
      return !is_inside(fs::canonical(disk, error_), environment_);
    }
    return false;
  }

  std::set<std::string> imported_names(const std::string& info, ArtifactLayout& layout) {
    std::string name =
        make_package(info, layout.packages.front().metadata).name.value_or(info.substr(0, info.find('-')));
    std::ranges::replace(name, '-', '_');
    std::set<std::string> names{name};
    const std::string listed = read_text(info, "top_level.txt", layout);
    for (const std::string_view line : split_lines(listed)) names.emplace(line);
    std::erase_if(names, [](const std::string& one) {
      return one.empty() || one.find('/') != one.npos || one == "." || one == "..";
    });
    return names;
  }

  // `pip install -e`: its RECORD names no module. torch itself is found elsewhere.
  void take_editable(const std::string& info, ArtifactLayout& layout) {
    const PackageText& text = layout.packages.front();
    if (calls_itself_torch(text.folder, text.metadata)) return;
    const size_t before = layout.items.size();
    const fs::path root = root_above(packages_.folder);
    for (const auto& tree : folders_of_editable(read_text(info, "direct_url.json", layout))) {
      const fs::path place = inside_root(root, tree);
      for (const auto& name : imported_names(info, layout)) {
        const fs::path folder = place / name;
        walk_shared_objects(folder, folder.string() + "/", WalkScope::tree, is_wanted_name, layout);
        const auto module = [&](std::string_view file) { return file.starts_with(name + ".") && is_wanted_name(file); };
        walk_shared_objects(place, place.string() + "/", WalkScope::folder, module, layout);
      }
    }
    if (layout.items.size() > before)
      packages_.notes.push_back(fmt::format("{}: it is an editable install: files of it were read in {}", info,
                                            layout.items.back().disk.parent_path().string()));
  }

  // conda, Debian and old installers write no RECORD.
  void take_folders(const std::string& info, ArtifactLayout& layout) {
    auto folders = imported_names(info, layout);
    for (const auto& name : std::set<std::string>(folders)) folders.insert(name + ".libs");
    for (const auto& folder : folders)
      walk_shared_objects(get_package_path(folder), folder + "/", WalkScope::tree, is_wanted_name, layout);
    if (!layout.items.empty())
      packages_.notes.push_back(
          fmt::format("{}: its RECORD names no files: pbprobe counts the files in {} as its files", info,
                      fmt::join(folders, ", ")));
  }

  // Marks packages that pip takes for one.
  void name_twins() {
    std::map<std::string, std::vector<InstalledPackage*>> all;
    for (auto& installed : packages_.packages) {
      const PackageText& text = installed.layout.packages.front();
      const Package package = make_package(text.folder, text.metadata);
      const std::string& folder = package.folder;
      all[package_name(package.name.value_or(folder.substr(0, folder.find('-'))))].push_back(&installed);
    }
    for (const auto& [name, twins] : all) {
      if (twins.size() < 2) continue;
      for (InstalledPackage* twin : twins) {
        twin->twin = true;
        std::erase_if(twin->layout.problems, [](const std::string& problem) { return problem.ends_with(kMissing); });
      }
      packages_.problems.push_back(
          fmt::format("{} is installed {} times, as {} and {}: remove it until pip finds none, "
                      "and install one",
                      name, twins.size(), twins.front()->info, twins.back()->info));
    }
  }

  // Adds conda packages that are not Python packages: CUDA's libraries, in lib.
  void add_conda() {
    std::error_code error;
    for (const auto& entry : list_folder(environment_ / "conda-meta", error)) {
      if (entry.path.extension() != ".json") continue;
      auto meta = read_conda_meta(entry.path);
      if (!meta) {
        packages_.problems.push_back(meta.error().message);
        continue;
      }
      InstalledPackage package;
      package.info = entry.path.stem().string();
      package.installer = "conda";
      package.relocated = true;
      package.layout.kind = "distribution";
      package.layout.root = packages_.folder;
      package.layout.packages.push_back(
          {package.info, fmt::format("Name: {}\nVersion: {}\n", meta->name, meta->version)});
      std::vector<std::string> closed;
      for (const auto& file : meta->files) take_conda_file(package, file, closed);
      if (!closed.empty()) package.layout.problems.push_back(not_entered(closed));
      settle_items(package.layout);
      if (package.layout.items.empty() && package.layout.problems.empty()) continue;
      for (const auto& item : package.layout.items) own(item.disk);
      packages_.packages.push_back(std::move(package));
    }
  }

  void take_conda_file(InstalledPackage& package, const std::string& file, std::vector<std::string>& closed) {
    const fs::path disk = (environment_ / file).lexically_normal();
    if (!is_wanted_name(disk.filename().string()) || !is_inside(disk, environment_)) return;
    struct stat status {};
    if (stat(disk.c_str(), &status) != 0) {
      if (errno == EACCES) return closed.push_back(file);
      package.layout.problems.push_back(fmt::format("{}: conda-meta/{}.json has it, {}", file, package.info, kMissing));
    } else if (S_ISREG(status.st_mode) && !owned_.contains({status.st_dev, status.st_ino})) {
      package.layout.items.push_back(
          {disk.lexically_relative(packages_.folder).string(), static_cast<uint64_t>(status.st_size), disk, nullptr});
    }
  }

  // Adds files without an owner, left over or copied by hand.
  void add_ownerless() {
    ArtifactLayout rest;
    rest.kind = "distribution";
    rest.root = packages_.folder;
    walk_shared_objects(packages_.folder, "", WalkScope::tree, is_wanted_name, rest);
    settle_items(rest);
    std::erase_if(rest.items, [&](const Item& item) {
      struct stat status {};
      return stat(item.disk.c_str(), &status) == 0 && owned_.contains({status.st_dev, status.st_ino});
    });
    for (auto& problem : rest.problems) packages_.problems.push_back(std::move(problem));
    rest.problems.clear();
    if (rest.items.empty()) return;
    rest.packages.push_back({"", "Name: (no package)\n"});
    packages_.packages.push_back({.layout = std::move(rest)});
  }

  InstalledPackages packages_;
  fs::path environment_;
  std::set<FileId> owned_;
  bool relocated_ = false;
  std::error_code error_;
};

}  // namespace

std::optional<fs::path> packages_folder(const fs::path& root) {
  if (holds_info(root)) return root;
  for (const char* lib : {"lib", "lib64"}) {
    for (const auto& python : list_entry_names(root / lib)) {
      if (!python.starts_with("python3")) continue;
      for (const char* packages : {"site-packages", "dist-packages"}) {
        if (holds_info(root / lib / python / packages)) return root / lib / python / packages;
      }
    }
  }
  return std::nullopt;
}

bool stays_inside(const InstalledPackages& installed, const fs::path& path) {
  return is_inside((installed.folder / path).lexically_normal(), installed.environment);
}

InstalledPackages installed_packages(const fs::path& folder) {
  return Packages(folder).take();
}

std::vector<ArtifactLayout> list_packages_with_code(const fs::path& root) {
  std::vector<ArtifactLayout> layouts;
  for (const auto& folder : find_environments(root).folders) {
    for (auto& package : installed_packages(folder).packages) {
      if (!package.layout.items.empty()) layouts.push_back(std::move(package.layout));
    }
  }
  return layouts;
}

std::vector<InstalledPackages> packages_on_path(const fs::path& folder) {
  std::vector<InstalledPackages> path;
  std::set<std::string> names;
  for (const auto& one : sys_path(folder)) {
    InstalledPackages installed = installed_packages(one);
    std::set<std::string> own;
    std::erase_if(installed.packages, [&](const InstalledPackage& package) {
      const PackageText& text = package.layout.packages.front();
      const Package known = make_package(text.folder, text.metadata);
      own.insert(package_name(known.name.value_or(known.folder)));
      return names.contains(package_name(known.name.value_or(known.folder)));
    });
    names.merge(own);
    path.push_back(std::move(installed));
  }
  return path;
}

}  // namespace pbprobe
