// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/packages/wheel_identity.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <mutex>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/facts/environment.hpp"
#include "core/json.hpp"
#include "core/major_minor.hpp"
#include "core/parallel.hpp"
#include "core/pep440.hpp"
#include "core/sha256.hpp"
#include "core/strings.hpp"
#include "probes/audit/packages/closure.hpp"
#include "probes/audit/packages/contents.hpp"
#include "probes/audit/packages/distributions.hpp"
#include "probes/audit/packages/ownership.hpp"
#include "probes/audit/packages/packages.hpp"
#include "probes/audit/packages/platform_policy.hpp"
#include "probes/audit/packages/stable_abi.hpp"
#include "probes/audit/packages/wheel_name.hpp"

namespace pbprobe {
namespace {

constexpr size_t kNamed = 3;      // members in one sentence
constexpr int kNewestMinor = 40;  // later than any Python that a specifier names
// Components that wheels do not share: each brings its own, or requires a package of this name.
constexpr std::array<std::string_view, 13> kOfSystem{"OpenMP",      "OpenBLAS",    "MKL",   "oneDNN",  "FBGEMM",
                                                     "Arm Compute", "NVPL",        "SLEEF", "XNNPACK", "libuv",
                                                     "libnuma",     "GCC runtime", "BLAS"};

// Reports whether the library has the name of the package: "libtbbmalloc.so.2" of tbb, "libarrow.so.2400" of pyarrow,
// "librmm.so" of librmm-cu13. The package itself may be missing here, so that only names can tell.
bool ships_library(std::string_view package, std::string_view library) {
  if (package == "intel-openmp") return library == "libiomp5.so";
  std::string_view name = package.substr(0, package.find('-'));
  for (const std::string_view prefix : {"lib", "py"}) {
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  }
  return name.size() > 2 && library.starts_with("lib") && library.substr(3).starts_with(name);
}

// "_x86_64" of "manylinux_2_28_x86_64"; "" for another kind of platform.
std::string find_named_processor(const std::string& platform) {
  for (const char* processor : {"_x86_64", "_aarch64"}) {
    if (platform.starts_with("manylinux") && platform.ends_with(processor)) return processor;
  }
  return "";
}

bool is_asked_elsewhere(std::string_view processor) {
  return processor == "x86_64" || processor == "aarch64";
}

std::string listed(const std::vector<std::string>& names) {
  const std::vector<std::string> first(names.begin(), names.begin() + std::min(names.size(), kNamed));
  const std::string more = names.size() > kNamed ? fmt::format(" and {} more", names.size() - kNamed) : "";
  return fmt::format("{}{}", fmt::join(first, ", "), more);
}

// Returns 9 for "cp39"; nullopt for another tag.
std::optional<int> find_minor(std::string_view tag) {
  int minor = 0;
  if (!tag.starts_with("cp3")) return std::nullopt;
  const auto [end, error] = std::from_chars(tag.data() + 3, tag.data() + tag.size(), minor);
  return error == std::errc() && end == tag.data() + tag.size() ? std::optional(minor) : std::nullopt;
}

std::string find_wheel_folder(std::string_view member) {
  return std::string(member.substr(0, member.find('/')));
}

class Identity {
  using NewerVersions = std::map<std::string, std::string>;  // {"GLIBCXX", "3.4.29"}

 public:
  Identity(const std::string& file_name, const ArtifactLayout& layout, const std::vector<File>& files,
           const MemberDigests& digests, const SymbolTables& tables)
      : name_(parse_wheel_name(file_name)), layout_(layout), files_(files), digests_(digests), tables_(tables) {
    for (const auto& member : layout.wheel->archive.members) {
      members_.emplace(member.name, &member);
      add_info(member.name);
    }
    for (const auto& member : layout.wheel->archive.unread) {
      unread_.insert(member.name);
      add_info(member.name);
    }
    of_torch_ = members_.contains("torch/version.py") || unread_.contains("torch/version.py");
  }

  std::vector<std::string> run() {
    if (infos_.size() != 1) {
      if (infos_.empty()) fault("the wheel has no .dist-info folder: no installer accepts the wheel");
      if (infos_.size() > 1 && !of_torch_)  // another check reports torch
        fault("it has {} .dist-info folders: {}", infos_.size(), fmt::join(infos_, ", "));
      return std::move(faults_);
    }
    if (of_torch_ && !members_.contains("torch/__init__.py") && !unread_.contains("torch/__init__.py"))
      fault("torch/__init__.py is missing: Python does not import torch");
    ask_metadata();
    ask_wheel();
    if (name_) ask_name();
    if (name_) ask_tags();
    ask_modules();
    ask_record();
    return std::move(faults_);
  }

 private:
  template <class... T>
  void fault(fmt::format_string<T...> form, T&&... data) {
    faults_.push_back(fmt::format(form, std::forward<T>(data)...));
  }

  void add_info(const std::string& member) {
    if (find_wheel_folder(member).ends_with(".dist-info") && member.find('/') != member.npos)
      infos_.insert(find_wheel_folder(member));
  }

  // read_zip() reports such a member.
  [[nodiscard]] bool is_unread(const char* name) const { return unread_.contains(*infos_.begin() + "/" + name); }

  [[nodiscard]] std::optional<std::string> get_member_text(const char* name) const {
    const auto found = members_.find(*infos_.begin() + "/" + name);
    if (found == members_.end()) return std::nullopt;
    std::string text;
    const auto read = inflate_member(layout_.wheel->archive, *found->second, [&](std::span<const uint8_t> piece) {
      text.append(reinterpret_cast<const char*>(piece.data()), piece.size());
      return text.size() < kMostTextBytes;
    });
    return read ? std::optional(std::move(text)) : std::nullopt;
  }

  void ask_metadata() {
    const auto metadata = get_member_text("METADATA");
    if (is_unread("METADATA")) return;
    if (!metadata) return fault("{} has no METADATA: no installer accepts the wheel", *infos_.begin());
    const Package package = make_package(*infos_.begin(), *metadata);
    ask_metadata_version(*metadata);
    // Other checks compare torch's name.
    if (!of_torch_ && package_name(package.name.value_or("")) != "torch") ask_folders();
    if (name_) ask_requires_python(*metadata);
    if (const auto invalid = find_invalid_requirement(*metadata))
      fault("METADATA requires \"{}\", which is not a valid requirement: pip refuses the wheel", *invalid);
    if (!name_ || of_torch_) return;  // other checks compare torch's name and version
    const std::string info = infos_.begin()->substr(0, infos_.begin()->find('-'));
    if (package_name(info) != package_name(name_->name))
      fault("the wheel's file name states the package {}, and its .dist-info folder is {}: pip refuses the wheel",
            name_->name, *infos_.begin());
    if (package.name && package_name(*package.name) != package_name(name_->name))
      fault("the file name states the package {}, and METADATA {}: pip refuses the wheel", name_->name, *package.name);
    const auto own = parse_python_version(name_->version);
    const auto stated = parse_python_version(package.version.value_or(""));
    if (!package.name) fault("METADATA has no Name: pip refuses the wheel");
    if (!package.version) return fault("METADATA has no Version: pip refuses the wheel");
    if (own && stated ? !same_version(*own, *stated) || own->local != stated->local
                      : name_->version != *package.version)
      fault("the file name has version {}, and METADATA {}: pip refuses the wheel", name_->version, *package.version);
  }

  // The specification asks tools to refuse a later major version. `packaging`, which indexes use, does; pip 26.3 and
  // uv do not look.
  void ask_metadata_version(const std::string& metadata) {
    const auto version = value_in_header(metadata, "Metadata-Version:");
    if (!version) return;
    const auto number = parse_major_minor(*version);
    if (!number || number->major > 2)
      fault("METADATA has Metadata-Version {}: package indexes refuse it, and take 1.x and 2.x", *version);
  }

  // Finds members that an installer writes into the folders of an installed torch.
  void ask_folders() {
    std::vector<std::string> written;
    for (const auto& [name, member] : members_) {
      if (is_installed_in_torch(name)) written.push_back(name);
    }
    if (!written.empty()) fault("the wheel installs {} into the folder of the package torch", listed(written));
  }

  // Requires-Python must take each Python of the tag. For cp312-abi3, a later Python suffices.
  void ask_requires_python(const std::string& metadata) {
    const auto asked = value_in_header(metadata, "Requires-Python:");
    if (asked && !are_specifiers(*asked))
      return fault("METADATA requires Python \"{}\", which is no version: pip refuses the wheel", *asked);
    if (!asked) return;
    const bool stable = std::ranges::all_of(name_->abi, [](const std::string& abi) { return abi.starts_with("abi3"); });
    for (const auto& tag : name_->python) {
      const auto minor = find_minor(tag);
      if (minor && !takes_python(*asked, *minor, stable ? kNewestMinor : *minor))
        fault("the wheel's tag is for {}, and METADATA requires Python {}: pip refuses the wheel", tag, *asked);
    }
  }

  // Reports whether the specifiers take a release of Python 3.`first` to 3.`last`.
  static bool takes_python(const std::string& asked, int first, int last) {
    for (int minor = first; minor <= last; ++minor) {
      for (const char* patch : {".0", ".9", ".99"}) {
        const auto python = parse_python_version(fmt::format("3.{}{}", minor, patch));
        if (!python || satisfies(*python, asked)) return true;
      }
    }
    return false;
  }

  void ask_wheel() {
    const auto wheel = get_member_text("WHEEL");
    if (is_unread("WHEEL")) return;
    if (!wheel) return fault("{} has no WHEEL file: no installer accepts the wheel", *infos_.begin());
    const auto version = value_in_header(*wheel, "Wheel-Version:");
    if (!version) return fault("WHEEL has no Wheel-Version: pip refuses the wheel");
    const auto number = parse_major_minor(*version);
    if (!number || number->major != 1) fault("WHEEL has Wheel-Version {}, and installers accept 1.x", *version);
    if (!name_ || of_torch_) return;  // another check compares torch's tags
    const auto tags = wheel_tags(*wheel);
    std::vector<std::string> missing;
    for (const auto& python : name_->python) {
      for (const auto& abi : name_->abi) {
        for (const auto& platform : name_->platform) {
          std::string tag = fmt::format("{}-{}-{}", python, abi, platform);
          // Accepts "linux" too: the wheels of torchvision are renamed. ask_tags() checks the promise of the name.
          const std::string plain = fmt::format("{}-{}-linux{}", python, abi, find_named_processor(platform));
          const auto known = [&](const std::string& one) { return one == tag || one == plain; };
          if (std::ranges::none_of(tags, known)) missing.push_back(std::move(tag));
        }
      }
    }
    if (!missing.empty()) fault("the file name has {}, and WHEEL has tags {}", listed(missing), fmt::join(tags, ", "));
  }

  void ask_name() {
    if (!parse_python_version(name_->version))
      fault("the file name has version {}, which is no version: pip refuses the wheel", name_->version);
    if (!name_->build.empty() && !is_digit(name_->build.front()))
      fault("the file name has build tag {}, which does not begin with a digit: pip refuses the wheel", name_->build);
    ask_platforms();
  }

  // Compares the system and the processor of each platform tag with the libraries. Another check compares each library
  // with the only processor of the tags.
  void ask_platforms() {
    std::map<std::string, std::string_view> libraries;  // path of the first one by processor
    for (const auto& file : files_) {
      if (file.links && (file.machine == "x86_64" || file.machine == "aarch64"))
        libraries.emplace(*file.machine, file.path);
    }
    if (libraries.empty()) return;
    const auto& [processor, path] = *libraries.begin();
    for (const auto& platform : name_->platform) {
      const std::string named = find_processor_of_tag(platform);
      const bool known = libraries.contains(named) || (name_->platform.size() == 1 && is_asked_elsewhere(named));
      if (platform == "any" || (platform.find("linux") != platform.npos && known)) continue;
      fault("the wheel's tag is for the platform {}, and {} is a library for Linux on {}", platform, path, processor);
    }
  }

  // Compares each file with the promise of the platform tag.
  void ask_tags() {
    const auto metadata = get_member_text("METADATA");
    const auto packages = required_packages(metadata.value_or(""));
    for (const auto& platform : name_->platform) {
      const auto policy = PlatformPolicy::find(platform);
      if (!policy) continue;
      std::map<std::string, std::vector<std::string>> broken;  // files by what they need
      for (const auto& file : files_) {
        if (!file.links) continue;
        if (policy->is_musl() && std::ranges::find(file.needed, "libc.so.6") != file.needed.end()) {
          broken["libc.so.6 of glibc"].push_back(file.path);
          continue;
        }
        const bool other_check = of_torch_ && file.component == "libtorch";  // compares the glibc of libtorch
        for (const auto& [set, version] : other_check ? NewerVersions() : find_newer_versions(file, *policy))
          broken[set + " " + version].push_back(file.path);
        for (const auto& dependency : file.links->dependencies) {
          if (!policy->permits(dependency.name) && !is_provided(file, dependency, packages))
            broken[dependency.name + ", which neither this tag allows nor another package provides"].push_back(
                file.path);
        }
      }
      for (const auto& [what, paths] : broken) fault("the tag is {}, and {} needs {}", platform, listed(paths), what);
    }
  }

  // Versions of symbols that the system of a platform tag lacks. A bundled libstdc++ has its own.
  [[nodiscard]] NewerVersions find_newer_versions(const File& file, const PlatformPolicy& policy) const {
    NewerVersions newer;
    for (const auto& [set, needed] : file.links->version_floors) {
      const auto newest = policy.find_newest(set);
      const bool bundled = set != "GLIBC" && std::ranges::any_of(files_, [](const File& other) {
                             return other.soname && other.soname->starts_with("libstdc++");
                           });
      const auto version = parse_python_version(needed);
      if (newest && !bundled && version && !satisfies(*version, "<=" + *newest))
        newer.emplace(set == "GLIBC" ? "glibc" : set, needed);
    }
    return newer;
  }

  // Reports whether the wheel, the driver, torch, a package of NVIDIA, or a package that it requires has the library.
  [[nodiscard]] bool is_provided(const File& file, const Dependency& dependency,
                                 const std::set<std::string>& packages) const {
    if (dependency.provider == Provider::artifact || dependency.provider == Provider::driver) return true;
    if (dependency.name.find('/') != std::string::npos) return true;  // another check reports it
    const auto component = find_component(dependency.name);
    if (component && std::ranges::find(kOfSystem, *component) == kOfSystem.end()) return true;
    const std::string root = file.path.substr(0, file.path.find('/'));
    const auto leaves = [&](const std::string& folder) {  // leads to the folder of another package
      const auto place = std::filesystem::path(expand_origin(folder, file.path.substr(0, file.path.rfind('/'))));
      const std::string where = place.lexically_normal().string();
      if (folder.find("ORIGIN") == std::string::npos || where.starts_with(root) || where == ".") return false;
      return of_torch_ ? !where.starts_with("nvidia/") : !where.starts_with("..");  // find_component() knows them
    };
    if (std::ranges::any_of(file.runpath, leaves)) return true;
    if (std::ranges::any_of(file.rpath, leaves)) return true;
    return std::ranges::any_of(packages,
                               [&](const std::string& package) { return ships_library(package, dependency.name); });
  }

  // Python imports a module only by a name for itself and its processor.
  void ask_modules() {
    std::map<std::string, std::set<std::string>> modules;  // Pythons by module
    std::set<std::string> loaded_by_path;                  // for torch.ops.load_library()
    for (const auto& file : files_) {
      const std::string name(base_name(file.path));
      const std::string python = python_of_module(name);
      if (python.empty()) continue;
      const std::string module = file.path.substr(0, file.path.size() - name.size() + name.find('.'));
      modules[module].insert(python);
      const auto table = tables_.find(file.path);
      if (table != tables_.end() && std::ranges::none_of(kModuleEntries, [&](auto begin) {
            return table->second.defines(std::string(begin) + name.substr(0, name.find('.')));
          }))
        loaded_by_path.insert(module);
      if (python == "abi3" && table != tables_.end()) ask_stable_abi(file.path, table->second);
      ask_module_platform(file.path, name);
      for (const char* processor : {"x86_64", "aarch64"}) {
        if (file.machine && name.find(fmt::format("-{}-linux-", processor)) != name.npos && *file.machine != processor)
          fault("the name of {} states the processor {}, and its machine code is for {}: Python does not import it",
                file.path, processor, *file.machine);
      }
    }
    if (!name_ || of_torch_ || name_->python.size() != 1) return;
    for (const auto& abi : name_->abi) check_modules(abi, modules, loaded_by_path);
  }

  // "none" promises each Python of the tag; modules for several Pythons count as for all. pypy311_pp73 is of pp311.
  void check_modules(const std::string& abi, const std::map<std::string, std::set<std::string>>& modules,
                     const std::set<std::string>& loaded_by_path) {
    const std::string& tag = abi == "none" || abi.starts_with("pypy") ? name_->python.front() : abi;
    const bool stable = abi.starts_with("abi3");
    for (const auto& [module, pythons] : modules) {
      if (pythons.contains(tag) || (abi == "none" && pythons.size() > 1)) continue;
      if (!abi.starts_with("cp") && loaded_by_path.contains(module)) continue;
      // An abi3 wheel is for the Python of its tag, and later ones.
      const std::string& python = stable ? name_->python.front() : tag;
      const auto imports = [&](const std::string& one) {
        return imports_module(python, one) && (!stable || one.starts_with("abi3")) && (abi != "abi3t" || one != "abi3");
      };
      if (std::any_of(pythons.begin(), pythons.end(), imports)) continue;
      fault("the wheel's tag is for {}, and {} is for {} only", tag, module, fmt::join(pythons, ", "));
    }
  }

  // Returns the oldest Python that the tag names: 9 for cp39-abi3.
  [[nodiscard]] std::optional<int> find_oldest_python() const {
    std::optional<int> oldest;
    for (const auto& tag : name_ ? name_->python : std::vector<std::string>()) {
      const auto minor = find_minor(tag);
      if (minor && (!oldest || *minor < *oldest)) oldest = minor;
    }
    return oldest;
  }

  [[nodiscard]] bool is_defined(const std::string& symbol) const {
    return std::ranges::any_of(tables_, [&](const auto& one) { return one.second.defines(symbol); });
  }

  void ask_stable_abi(const std::string& path, const SymbolTable& table) {
    const auto oldest = find_oldest_python();
    std::set<std::string> inner;
    std::map<int, std::set<std::string>> added_later;
    for (const auto& symbol : table.wanted) {
      if (!symbol.name.starts_with("Py") && !symbol.name.starts_with("_Py")) continue;
      const auto release = find_stable_release(symbol.name);
      if (release && oldest && *release > *oldest) added_later[*release].insert(symbol.name);
      if (!release && !is_defined(symbol.name)) inner.insert(symbol.name);
    }
    if (!inner.empty())
      fault("{} needs {}, which Python's stable ABI lacks", path, listed({inner.begin(), inner.end()}));
    for (const auto& [release, names] : added_later)
      fault("the wheel's tag is for Python 3.{}, and {} needs {}, which the stable ABI has from Python 3.{} on",
            *oldest, path, listed({names.begin(), names.end()}), release);
  }

  void ask_module_platform(const std::string& path, std::string_view name) {
    for (const auto& platform : name_ ? name_->platform : std::vector<std::string>()) {
      if (platform.find("linux") == platform.npos)
        fault("the wheel's tag is for the platform {}, and {} is a module for Linux", platform, path);
      if (platform.starts_with("manylinux") && name.find("-linux-musl") != name.npos)
        fault("the wheel's tag is {}, and {} is for musl by its name: Python does not import it", platform, path);
      if (platform.starts_with("musllinux") && name.find("-linux-gnu") != name.npos)
        fault("the wheel's tag is {}, and {} is for glibc by its name: Python does not import it", platform, path);
    }
  }

  void ask_record() {
    const auto text = get_member_text("RECORD");
    if (is_unread("RECORD")) return;
    if (!text) return fault("{} has no RECORD: pip refuses the wheel", *infos_.begin());
    const Record record = parse_record(*text);
    if (record.fault) return fault("{}", record.fault->message);
    const auto [missing, extra, changed, unproven] =
        compare_members_with_record(layout_.wheel->archive, digests_, record);
    if (!missing.empty()) fault("RECORD lists files that the wheel lacks: {}", listed(missing));
    if (!extra.empty()) fault("RECORD does not list {}", listed(extra));
    if (!changed.empty()) fault("RECORD has another digest or size of {}", listed(changed));
    if (!unproven.empty()) fault("RECORD has no SHA-256 of {}", listed(unproven));
  }

  static constexpr size_t kMostTextBytes = 16 << 20;
  const std::optional<WheelName> name_;
  const ArtifactLayout& layout_;
  const std::vector<File>& files_;
  const MemberDigests& digests_;
  const SymbolTables& tables_;
  std::map<std::string, const ZipMember*, std::less<>> members_;
  std::set<std::string> unread_;  // names of members that are encrypted, or packed in an unsupported way
  std::set<std::string> infos_;
  bool of_torch_ = false;
  std::vector<std::string> faults_;
};

}  // namespace

MemberDigests digest_members(const Wheel& wheel, const std::vector<File>& files, unsigned threads) {
  MemberDigests digests;
  for (const auto& file : files) {
    if (file.sha256) digests.emplace(file.path, *file.sha256);
  }
  std::vector<const ZipMember*> open;
  for (const auto& member : wheel.archive.members) {
    if (!digests.contains(member.name)) open.push_back(&member);
  }
  std::mutex mutex;
  run_tasks(open.size(), threads, [&](size_t i) {
    Sha256 hash;
    const auto read = inflate_member(wheel.archive, *open[i], [&](std::span<const uint8_t> piece) {
      hash.update(piece);
      return true;
    });
    if (!read) return;  // the audit of the member reports the damage
    const std::lock_guard lock(mutex);
    digests.emplace(open[i]->name, hash.hex());
  });
  return digests;
}

std::vector<std::string> find_wheel_faults(const std::string& file_name, const ArtifactLayout& layout,
                                           const std::vector<File>& files, const MemberDigests& digests,
                                           const SymbolTables& tables) {
  return Identity(file_name, layout, files, digests, tables).run();
}

namespace {

using Features = std::map<std::string, std::map<std::string, std::vector<std::string>>>;

struct VariantDocument {
  FIELD(ByName<Features>, variants, "by label");
};

}  // namespace

Result<WheelVariant> parse_variant_json(std::string_view text) {
  PBPROBE_TRY(const Json json, parse_json(text), "{}", kVariantFile);
  PBPROBE_TRY(const auto document, from_json<VariantDocument>(json), "{}", kVariantFile);
  if (document.variants.size() != 1)
    return make_error(ErrorCode::malformed, "{}: it states {} variants, and a wheel is one variant", kVariantFile,
                      document.variants.size());
  const auto& [label, providers] = *document.variants.begin();
  WheelVariant variant{.label = label};
  for (const auto& [provider, features] : providers) {
    for (const auto& [feature, values] : features) {
      for (const auto& value : values) variant.properties.push_back({provider, feature, value});
    }
  }
  return variant;
}

}  // namespace pbprobe
