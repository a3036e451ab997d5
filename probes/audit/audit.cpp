// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/audit.hpp"
#include "probes/audit/audit_layout.hpp"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <numeric>
#include <set>
#include <utility>

#include "core/parallel.hpp"
#include "core/sha256.hpp"
#include "core/strings.hpp"
#include "probes/audit/containers/elf.hpp"
#include "probes/audit/containers/way_out.hpp"
#include "probes/audit/inspect.hpp"
#include "probes/audit/loader/symbol_table.hpp"
#include "probes/audit/packages/closure.hpp"
#include "probes/audit/packages/contents.hpp"
#include "probes/audit/packages/file_cache.hpp"
#include "probes/audit/packages/layout.hpp"
#include "probes/audit/packages/nix_store.hpp"
#include "probes/audit/packages/ownership.hpp"
#include "probes/audit/packages/packages.hpp"
#include "probes/audit/packages/processors.hpp"
#include "probes/audit/packages/torch_names.hpp"
#include "probes/audit/packages/version.hpp"
#include "probes/audit/packages/walk.hpp"
#include "probes/audit/packages/wheel_identity.hpp"
#include "probes/audit/stream.hpp"

namespace pbprobe {
namespace {

namespace fs = std::filesystem;

// Limits the memory of wheel members that are read at the same time. The oldest member never waits, so that the members
// cannot all wait for each other.
class MemoryBudget {
 public:
  void begin(size_t turn) {
    const std::lock_guard lock(mutex_);
    used_.emplace(turn, 0);
  }
  void take(size_t turn, uint64_t bytes) {
    std::unique_lock lock(mutex_);
    freed_.wait(lock, [&] { return turn == used_.begin()->first || total_ + bytes <= kMostBytes; });
    used_[turn] += bytes;
    total_ += bytes;
  }
  void give_back(size_t turn) {
    {
      const std::lock_guard lock(mutex_);
      total_ -= std::exchange(used_[turn], 0);
    }
    freed_.notify_all();
  }
  void end(size_t turn) {
    give_back(turn);
    {
      const std::lock_guard lock(mutex_);
      used_.erase(turn);
    }
    freed_.notify_all();
  }

 private:
  static constexpr uint64_t kMostBytes = 832ULL << 20;
  std::mutex mutex_;
  std::condition_variable freed_;
  std::map<size_t, uint64_t> used_;  // bytes of members in progress, by turn
  uint64_t total_ = 0;
};

// Tables of the files that were read, filled by many threads.
class TableCollector {
 public:
  explicit TableCollector(bool wanted) : wanted_(wanted) {}

  void take(const std::string& path, const Bytes& bytes) {
    if (!wanted_ || !bytes.text().starts_with(std::string_view(ELFMAG, SELFMAG))) return;
    auto table = read_symbol_table(bytes);
    if (!table) return;
    const std::lock_guard lock(mutex_);
    tables_.emplace(path, std::move(*table));
  }
  void take_file(const Item& item) {
    if (!wanted_) return;
    if (const auto mapping = map_file(item.disk)) take(item.path, Bytes(mapping->bytes(), item.path));
  }
  [[nodiscard]] const SymbolTables& tables() const { return tables_; }

 private:
  bool wanted_;
  std::mutex mutex_;
  SymbolTables tables_;
};

Result<File> inspect_member(const ArtifactLayout& layout, const Item& item, const AuditOptions& options, size_t turn,
                            MemoryBudget& budget, TableCollector& tables) {
  const std::string name = fs::path(item.path).filename().string();
  const MemoryGrant grant = [&](uint64_t bytes) { budget.take(turn, bytes); };
  PBPROBE_TRY(StreamedMember member, stream_member(layout.wheel->archive, *item.member, options, false, grant));
  if (!left_out_nothing_else(member, name)) {
    member = {};  // releases its memory first
    budget.give_back(turn);
    PBPROBE_TRY(member, stream_member(layout.wheel->archive, *item.member, options, true, grant));
  }
  tables.take(item.path, Bytes(member.memory.bytes(), name));
  const bool streamed = !member.left_out.empty();
  File file = inspect(item.path, Bytes(member.memory.bytes(), name), options, streamed ? &member.inside : nullptr);
  if (options.digests) file.sha256 = std::move(member.sha256);
  return file;
}

// Keeps at most one piece of a large library in memory, and no earlier file.
std::string hash_mapping(const Mapping& mapping) {
  constexpr size_t kPieceBytes = 16 << 20;
  const auto bytes = mapping.bytes();
  Sha256 hash;
  release_pages(bytes);
  for (size_t at = 0; at < bytes.size(); at += kPieceBytes) {
    const auto piece = bytes.subspan(at, std::min(kPieceBytes, bytes.size() - at));
    hash.update(piece);
    release_pages(piece);
  }
  return hash.hex();
}

Result<File> inspect_file(const Item& item, const AuditOptions& options) {
  const CachedFile cached(item.path, item.disk, options);
  if (auto known = cached.find()) return std::move(*known);
  PBPROBE_TRY(const Mapping mapping, map_file(item.disk));
  File file = inspect(item.path, Bytes(mapping.bytes(), fs::path(item.path).filename().string()), options);
  if (options.digests) file.sha256 = hash_mapping(mapping);
  PBPROBE_CHECK(mapping.check_whole());
  cached.keep(file);
  return file;
}

// Returns the file's facts from an earlier audit, if it read at least as much. It may also have counted host code.
std::optional<File> known_file(const Item& item, const AuditOptions& options) {
  if (options.known == nullptr || options.host_code != HostCodeScope::none) return std::nullopt;
  const auto found = std::find_if(options.known->begin(), options.known->end(),
                                  [&](const File& file) { return file.path == item.path; });
  if (found == options.known->end() || found->problem || !found->machine) return std::nullopt;
  if (options.digests && !found->sha256) return std::nullopt;
  // Device code of others than libtorch may only have been counted.
  if (found->device_code && found->component != "libtorch" && opens_device_code(item.path, options))
    return std::nullopt;
  File file = *found;
  file.host_code.reset();
  file.load_code.reset();
  if (file.links && file.links->opened) {
    for (auto& opened : *file.links->opened) opened = {.name = opened.name};  // their places may have changed
  }
  return file;
}

File inspect_item(const ArtifactLayout& layout, const Item& item, const AuditOptions& options, size_t turn,
                  MemoryBudget& budget, TableCollector& tables) {
  if (auto known = known_file(item, options)) return std::move(*known);
  const bool in_wheel = layout.wheel != nullptr;
  if (in_wheel) budget.begin(turn);
  if (!in_wheel) tables.take_file(item);
  auto inspected = item.unread ? Result<File>(*item.unread)
                   : in_wheel  ? inspect_member(layout, item, options, turn, budget, tables)
                               : inspect_file(item, options);
  if (in_wheel) budget.end(turn);
  if (inspected) return std::move(*inspected);
  File file;
  file.path = item.path;
  file.size_bytes = static_cast<int64_t>(item.size_bytes);
  if (!options.device_code_only) file.component = find_component(item.path);
  file.problem = append_remedy(inspected.error(), in_wheel ? ReadFrom::wheel : ReadFrom::file).message;
  return file;
}

std::vector<File> inspect_all(const ArtifactLayout& layout, const AuditOptions& options, TableCollector& tables) {
  std::vector<File> files(layout.items.size());
  std::vector<size_t> order(files.size());
  std::iota(order.begin(), order.end(), 0);
  // Largest first, so that no thread starts a long task after the others are done.
  std::ranges::stable_sort(order,
                           [&](size_t a, size_t b) { return layout.items[a].size_bytes > layout.items[b].size_bytes; });
  MemoryBudget budget;
  run_tasks(order.size(), options.threads, [&](size_t i) {
    files[order[i]] = inspect_item(layout, layout.items[order[i]], options, i, budget, tables);
  });
  if (options.device_code_only) std::erase_if(files, [](const File& f) { return !f.device_code && !f.problem; });
  return files;
}

// Returns a search for paths: inside a wheel among its members; on disk also outside of the artifact.
Lookup make_lookup(const ArtifactLayout& layout) {
  std::map<fs::path, std::string> by_disk;  // real path to the name in the artifact
  std::set<std::string> names;
  std::error_code error;
  for (const auto& item : layout.items) {
    names.insert(item.path);
    if (!item.disk.empty()) by_disk.emplace(fs::canonical(item.disk, error), item.path);
  }
  const bool on_disk = layout.wheel == nullptr;
  return [=, root = layout.root, system = layout.system_root](const std::string& path) -> std::optional<Found> {
    if (names.contains(path)) return Found{Provider::artifact, path};
    std::error_code missing;
    if (!on_disk) return std::nullopt;
    fs::path real;
    if (!system.empty() && path.starts_with('/')) real = fs::canonical(system.string() + path, missing);
    if (real.empty()) real = fs::canonical(root / path, missing);
    if (missing) return std::nullopt;
    const auto found = by_disk.find(real);
    if (found != by_disk.end()) return Found{Provider::artifact, found->second};
    return Found{Provider::outside, real.string()};
  };
}

// Returns the version that libtorch's function aoti_torch_abi_version returns, for a libtorch without version texts.
std::optional<std::string> version_by_code(const std::vector<File>& files) {
  for (const auto& file : files) {
    if (file.component != "libtorch" || !file.links) continue;
    const auto version = file.links->versions.find("torch");
    if (version != file.links->versions.end()) return version->second;
  }
  return std::nullopt;
}

std::optional<std::map<std::string, std::string>> libtorch_floors(const std::vector<File>& files) {
  std::optional<std::map<std::string, std::string>> floors;
  for (const auto& file : files) {
    if (file.component != "libtorch" || !file.links) continue;
    if (!floors) floors.emplace();
    for (const auto& [set, version] : file.links->version_floors) {
      std::string& floor = (*floors)[set];
      if (floor.empty() || version_less(floor, version)) floor = version;
    }
  }
  return floors;
}

// Lists the packages and each statement of torch's version. Skips the statements of two packages: the pair is reported.
void tell_identity(const ArtifactLayout& layout, const Versions& versions, Inventory& inventory) {
  inventory.stated_versions = versions.stated;
  auto& packages = inventory.packages;
  for (const auto& [folder, metadata] : layout.packages) packages.push_back(make_package(folder, metadata));
  const auto tell = [&](StatedVersion stated) { inventory.stated_versions.push_back(std::move(stated)); };
  if (packages.size() == 1 && versions.torch) {
    for (auto& stated : list_stated_versions(packages.front())) tell(std::move(stated));
  }
  const auto by_name =
      layout.wheel ? version_stated_by_wheel(fs::path(inventory.artifact).filename().string()) : std::nullopt;
  if (by_name && versions.torch) tell(*by_name);
}

// Reports whether any user may put a file there: the folder or a parent is writable for others. The nearest existing
// parent decides about a missing folder.
bool anybody_may_write(const fs::path& folder) {
  bool open = false;
  fs::path path;
  for (const auto& part : folder) {
    path /= part;
    std::error_code error;
    const auto status = fs::status(path, error);
    if (error || !fs::is_directory(status)) return open;
    const auto permissions = status.permissions();
    open = (permissions & fs::perms::others_write) != fs::perms::none;
    // In a sticky folder, only the owner can replace an entry.
    if (open && (permissions & fs::perms::sticky_bit) == fs::perms::none) return true;
  }
  return open;
}

std::vector<std::string> open_folders(const std::vector<File>& files) {
  std::set<std::string> asked;
  std::vector<std::string> open;
  for (const auto& file : files) {
    for (const auto* folders : {&file.rpath, &file.runpath}) {
      for (const auto& folder : *folders) {
        if (folder.starts_with('/') && asked.insert(folder).second &&
            anybody_may_write(fs::path(folder).lexically_normal()))
          open.push_back(folder);
      }
    }
  }
  return open;
}

// Adds the statements of torch's own package.
void read_package(const ArtifactLayout& layout, Inventory& inventory) {
  const auto note = [&](const std::vector<Error>& faults) {
    for (const auto& fault : faults) inventory.problems.push_back(append_remedy(fault, ReadFrom::text).message);
  };
  if (const auto text = layout.texts.find("METADATA"); text != layout.texts.end()) {
    inventory.required_versions = required_versions(text->second);
    note(faults_of_metadata(text->second));
  }
  if (const auto text = layout.texts.find("WHEEL"); text != layout.texts.end()) {
    inventory.wheel_tags = wheel_tags(text->second);
    note(faults_of_wheel(text->second));
  }
}

// Adds the statements of a wheel variant.
void read_variant(const ArtifactLayout& layout, Inventory& inventory) {
  const auto text = layout.texts.find(kVariantFile);
  if (text == layout.texts.end()) return;
  auto variant = parse_variant_json(text->second);
  if (variant) {
    inventory.variant = std::move(*variant);
  } else {
    inventory.problems.push_back(append_remedy(variant.error(), ReadFrom::text).message);
  }
}

// Reports read errors of a wheel. Its members were checked by their checksums, but the list may lack members.
void note_damage(const Mapping& wheel, Inventory& inventory) {
  if (const auto whole = wheel.check_whole(); !whole)
    inventory.problems.push_back(append_remedy(whole.error(), ReadFrom::wheel).message);
}

// Lists every member of a wheel, or the files in the RECORD of an installed torch.
void hold_against_record(const ArtifactLayout& layout, const fs::path& artifact, const AuditOptions& options,
                         const SymbolTables& tables, Inventory& inventory) {
  if (layout.wheel != nullptr) {
    if (artifact.extension() != ".whl") return;  // a libtorch archive is not a package
    const auto digests = digest_members(*layout.wheel, inventory.files, options.threads);
    inventory.faults = find_wheel_faults(artifact.filename().string(), layout, inventory.files, digests, tables);
    return;
  }
  std::error_code error;
  if (layout.torch_dir && !fs::exists(*layout.torch_dir / "__init__.py", error))
    inventory.faults = {"torch/__init__.py is missing: Python does not import torch"};
  const bool installed_by_record = layout.kind == "site-packages" || layout.kind == "distribution";
  if (!installed_by_record || layout.packages.size() != 1) return;
  const InstalledPackages installed = installed_packages(layout.root);
  const Owners owners(installed.packages);
  for (const auto& package : installed.packages) {
    if (package.info != layout.packages.front().folder || package.relocated) continue;
    inventory.recorded = compare_with_record(installed, package, inventory.files, owners);
    if (!inventory.recorded) continue;
    const auto foreign = owners.describe_foreign_libraries(package.info, inventory.files);
    if (foreign.empty()) continue;
    if (!inventory.faults) inventory.faults.emplace();
    inventory.faults->insert(inventory.faults->end(), foreign.begin(), foreign.end());
  }
}

// Returns the machine of libtorch; without libtorch, of the first host binary.
std::optional<std::string> find_platform(const std::vector<File>& files) {
  std::optional<std::string> platform;
  for (const auto& file : files) {
    if (!file.machine || *file.machine == machine_name(kMachineCuda)) continue;
    const bool libtorch = file.component == "libtorch";
    if (!platform || libtorch) platform = *file.machine + "-linux";
    if (libtorch) break;
  }
  return platform;
}

// Reports whether a wheel is of torch, not of another package.
bool holds_libtorch(const std::vector<File>& files) {
  return std::ranges::any_of(files, [](const File& file) { return file.component == "libtorch"; });
}

bool names_torch(const ArtifactLayout& layout) {
  return std::ranges::any_of(layout.packages,
                             [](const PackageText& text) { return calls_itself_torch(text.folder, text.metadata); });
}

// Counts the CPU code of all files of a wheel variant and of torch's wheel.
AuditOptions enable_host_code(const ArtifactLayout& layout, AuditOptions options) {
  options.all_of_torch = layout.wheel != nullptr && names_torch(layout);
  const bool variant = layout.texts.contains(kVariantFile) && options.host_code == HostCodeScope::libtorch;
  if (variant) options.host_code = HostCodeScope::all;
  return options;
}

}  // namespace

Inventory audit_layout(const ArtifactLayout& layout, const fs::path& artifact, const AuditOptions& options) {
  Inventory inventory;
  inventory.artifact = artifact.string();
  inventory.layout = layout.kind;
  const bool of_torch = layout.kind != "distribution" && layout.kind != "file" && !options.links_only;
  TableCollector tables(of_torch && !options.device_code_only);
  inventory.files = inspect_all(layout, enable_host_code(layout, options), tables);
  inventory.problems = layout.problems;
  if (layout.wheel != nullptr) note_damage(layout.wheel->mapping, inventory);
  inventory.broken_links = layout.broken_links;
  if (options.device_code_only) return inventory;
  const Versions versions = read_versions(layout.texts);
  inventory.torch_version = versions.torch ? versions.torch : version_by_code(inventory.files);
  inventory.cuda_version = versions.cuda;
  inventory.git_version = versions.git;
  for (const auto& fault : versions.problems)
    inventory.problems.push_back(append_remedy(fault, ReadFrom::text).message);
  resolve_closure(inventory.files, make_lookup(layout), layout.wheel != nullptr);
  if (layout.kind != "nix") mark_not_searched(inventory.files);  // a Nix result takes nothing from the system
  settle_unknown_torch_names(layout, options, inventory.files);
  remove_optional_parts(inventory.files, layout.wheel == nullptr ? layout.root : fs::path());
  if (of_torch) {
    auto unresolved = find_unresolved(inventory.files, tables.tables());
    if (holds_libtorch(inventory.files) || !unresolved.empty()) inventory.loading = std::move(unresolved);
  }
  read_package(layout, inventory);
  inventory.component_versions =
      component_versions(layout.distributions, inventory.files,
                         inventory.required_versions.value_or(std::map<std::string, std::string>()));
  if (!layout.outputs.empty()) {
    inventory.store_closure = read_store_closure(layout.outputs);
    inventory.component_versions->merge(component_versions(*inventory.store_closure));
  }
  read_variant(layout, inventory);
  tell_identity(layout, versions, inventory);
  inventory.open_folders = open_folders(inventory.files);
  if (options.digests && layout.wheel) inventory.sha256 = compute_sha256(layout.wheel->mapping.bytes());
  inventory.version_floors = libtorch_floors(inventory.files);
  inventory.python_abi = python_abi(inventory.files);
  inventory.platform = find_platform(inventory.files);
  inventory.other_processor = find_other_processor(layout, inventory.files);
  if (layout.libtorch_dir) inventory.libtorch_dir = layout.libtorch_dir->string();
  if (options.records) hold_against_record(layout, artifact, options, tables.tables(), inventory);
  return inventory;
}

Result<Inventory> audit(const fs::path& artifact, const AuditOptions& options) {
  PBPROBE_TRY(const ArtifactLayout layout, find_layout(artifact));
  Inventory inventory = audit_layout(layout, artifact, options);
  if (layout.kind == "file" && inventory.files.size() == 1) {
    const File& file = inventory.files.front();
    if (file.problem && !file.machine && !file.device_code) return Error{ErrorCode::malformed, *file.problem};
  }
  return inventory;
}

}  // namespace pbprobe
