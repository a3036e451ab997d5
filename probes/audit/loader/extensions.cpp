// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/loader/extensions.hpp"

#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <string_view>
#include <system_error>

#include "core/c_library.hpp"
#include "core/open_file.hpp"
#include "core/torch_names.hpp"
#include "core/torch_symbols.hpp"
#include "probes/audit/audit.hpp"
#include "probes/audit/loader/inside_root.hpp"
#include "probes/audit/loader/opened_libraries.hpp"
#include "probes/audit/packages/closure.hpp"
#include "probes/audit/packages/contents.hpp"
#include "probes/audit/packages/packages.hpp"
#include "probes/audit/packages/processors.hpp"
#include "probes/audit/packages/walk.hpp"

namespace pbprobe {
namespace {

namespace fs = std::filesystem;

constexpr int kMostAssumed = 100;

std::string own_machine() {
  utsname system{};
  return uname(&system) == 0 ? system.machine : "";
}

// Names of the driver's libraries: cuMemAlloc_v2, nvmlInit_v2.
bool is_driver_name(std::string_view name) {
  const bool cuda = name.starts_with("cu") && name.size() > 2 && std::isupper(static_cast<unsigned char>(name[2])) != 0;
  return cuda || name.starts_with("nvml");
}

// Reports whether Python's import system finds a module by this end of a file name (importlib.machinery's
// EXTENSION_SUFFIXES, PEP 3149): ".so", or a tag before it. A package opens a file of another name itself, and so
// chooses between variants, as mpi4py does with MPI.mpich.cpython-313-x86_64-linux-gnu.so.
bool has_module_suffix(std::string_view suffix) {
  constexpr std::string_view kEnd = ".so";
  constexpr std::array<std::string_view, 4> kTags{".abi3", ".cpython-", ".pypy", ".graalpy"};
  if (!suffix.ends_with(kEnd)) return false;
  suffix.remove_suffix(kEnd.size());
  if (suffix.empty()) return true;
  return suffix.rfind('.') == 0 &&
         std::ranges::any_of(kTags, [&](std::string_view tag) { return suffix.starts_with(tag); });
}

bool is_torch_library(const std::string& name) {
  return name.starts_with("libtorch") || name.starts_with("libc10");
}

bool is_torch_package(const InstalledPackage& package) {
  const PackageText& text = package.layout.packages.front();
  return calls_itself_torch(text.folder, text.metadata);
}

// Reports whether a package opens the library itself, by ctypes or dlopen(): none of its files needs it. CUDA's own
// packages are opened by others, and auditwheel puts into *.libs what files need.
bool may_be_opened(const File& file, const std::set<std::string>& needed) {
  const std::string name = fs::path(file.path).filename().string();
  const bool shipped = file.path.starts_with("nvidia/") || file.path.find(".libs/") != file.path.npos;
  return name.starts_with("lib") && is_shared_object_name(name) && !shipped && !find_component(file.path) &&
         !needed.contains(name) && !(file.soname && needed.contains(*file.soname));
}

// Removes findings about libraries of the driver: the target machine may have them.
void forgive_driver(Loading& loading) {
  std::set<std::string> need_driver;
  std::erase_if(loading.missing_libraries, [&](const MissingLibrary& library) {
    if (!is_driver_library(library.name)) return false;
    need_driver.insert(library.needed_by);
    return true;
  });
  std::erase_if(loading.unresolved, [&](const UnresolvedSymbol& symbol) {
    return need_driver.contains(symbol.needed_by) && is_driver_name(symbol.name);
  });
}

}  // namespace

Extensions::Extensions(const std::vector<InstalledPackages>& path, const std::string& library_path, fs::path root)
    : path_(path), root_(std::move(root)) {
  store_.set_root(root_);
  find_interpreter();
  const auto python = python_.empty() ? nullptr : store_.at(python_).object;
  const std::string machine = python == nullptr || root_.empty() ? own_machine() : machine_name(python->machine());
  if (python != nullptr) c_library_ = python->c_library();
  find_libraries(machine);
  if (python == nullptr || machine_name(python->machine()) != machine) return;
  folders_ = loader_folders(python->machine(), python->interpreter(), library_path, root_);
  plain_.emplace(store_, folders_);
  const Loading started = plain_->open(python_, true);
  if (!started.missing_libraries.empty()) {
    not_started_ = started.missing_libraries.front().name;
    plain_.reset();
    return;
  }
  load_torch();
}

void Extensions::find_libraries(const std::string& machine) {
  for (const auto& installed : path_) {
    for (const auto& package : installed.packages) {
      for (const auto& item : package.layout.items) {
        const std::string name = item.disk.filename().string();
        const std::string processor = processor_of_file(item.disk);
        const bool other = (!processor.empty() && processor != machine) ||
                           (c_library_ == kMusl && !processor.empty() && needs_other_c_library(item.disk));
        if (other) {
          others_.emplace(name, item.disk);
        } else {
          libraries_[name].push_back(item.disk);
        }
      }
    }
  }
  store_.close_unused();
}

bool Extensions::needs_other_c_library(const fs::path& path) {
  const auto& object = store_.at(path).object;
  const std::string own = object == nullptr ? "" : object->c_library();
  return !own.empty() && !c_library_.empty() && own != c_library_;
}

void Extensions::find_interpreter() {
  std::error_code error;
  for (const char* name : {"bin/python", "bin/python3"}) {
    const fs::path link = path_.front().environment / name;
    const fs::path path = root_.empty() ? fs::canonical(link, error) : inside_root(root_, link);
    if (error || store_.at(path).object == nullptr) continue;
    python_ = path;
    break;
  }
  // "python3.11" of the environment's own folders, else of the interpreter.
  for (const fs::path& path : {path_.front().folder.parent_path(), python_}) {
    std::string name = path.filename().string();
    if (!name.starts_with("python3.")) continue;
    tag_ = "cpython-3" + name.substr(std::string_view("python3.").size());
    break;
  }
}

void Extensions::load_torch() {
  for (const auto& installed : path_) {
    const auto torch = torch_.empty() ? find_torch({installed.folder}) : Result<fs::path>(torch_);
    if (torch) torch_ = *torch;
  }
  if (!torch_.empty()) open_dependencies();
  with_torch_ = plain_;
  for (const auto& name : torch_.empty() ? std::vector<std::string>() : list_entry_names(torch_)) {
    const bool module = name.starts_with("_C.") && name.ends_with(".so");
    if (!module || (!tag_.empty() && name.find(tag_ + "-") == name.npos)) continue;
    torch_module_ = torch_ / name;
    (void)with_torch_->open(torch_module_, false);
  }
}

// _load_global_deps() of torch/__init__.py: if the first dlopen() fails, torch opens CUDA's libraries by their paths
// and tries again. dlopen() unloads what it opened in vain.
void Extensions::open_dependencies() {
  const fs::path first = torch_ / "lib/libtorch_global_deps.so";
  std::error_code error;
  if (!fs::exists(first, error)) return;
  const Process before = *plain_;
  Loading opened = plain_->open(first, true);
  if (opened.loads()) {
    for (const auto& library : find_preloads(first, PreloadTime::after_start)) keep_fault(plain_->open(library, false));
    return;
  }
  Process retried = before;
  for (const auto& library : find_preloads(first, PreloadTime::after_failure)) (void)retried.open(library, false);
  if (retried.open(first, true).loads()) {
    plain_ = retried;
  } else {
    keep_fault(std::move(opened));
  }
}

void Extensions::keep_fault(Loading loading) {
  forgive_driver(loading);
  if (loading.loads()) return;
  std::error_code error;
  const fs::path path = fs::relative(loading.path, torch_.parent_path(), error);
  if (!error) loading.path = path.string();
  start_faults_.push_back(std::move(loading));
}

std::vector<fs::path> Extensions::find_preloads(const fs::path& first, PreloadTime time) {
  constexpr std::string_view kRuntime = "libcudart.so.";
  const auto& object = store_.at(first).object;
  std::string major;
  for (const auto& name : object == nullptr ? std::vector<std::string>() : object->dynamic().needed) {
    if (name.starts_with(kRuntime))
      major = name.substr(kRuntime.size(), name.find('.', kRuntime.size()) - kRuntime.size());
  }
  if (major.empty()) return {};
  auto libraries = find_preloaded(torch_, major, time);
  const auto other = std::ranges::find_if(
      libraries, [&](const fs::path& library) { return others_.contains(library.filename().string()); });
  libraries.erase(other, libraries.end());
  return libraries;
}

std::optional<std::string> Extensions::interpreter() const {
  return python_.empty() ? std::nullopt : std::optional(python_.string());
}

bool Extensions::exports(const fs::path& path, const std::string& name) {
  const auto& entry = store_.at(path);
  const SymbolReference reference{.name = name, .hash = compute_gnu_hash(name)};
  return entry.object != nullptr && entry.object->resolves(reference);
}

bool Extensions::is_for_this_python(const std::string& name) const {
  return name.find(".cpython-") == name.npos || tag_.empty() || name.find("." + tag_ + "-") != name.npos;
}

bool Extensions::is_module(const fs::path& path) {
  const std::string name = path.filename().string();
  const size_t end = name.find('.');
  return has_module_suffix(std::string_view(name).substr(std::min(end, name.size()))) &&
         std::ranges::any_of(kModuleEntries, [&](std::string_view begin) {
           return exports(path, std::string(begin) + name.substr(0, end));
         });
}

bool Extensions::is_extension(const fs::path& path) {
  return is_for_this_python(path.filename().string()) && is_module(path);
}

bool Extensions::needs_torch(const Item& item) {
  const std::string name = item.disk.filename().string();
  if (!is_shared_object_name(name) || !is_for_this_python(name)) return false;
  if (!torch_.empty() && item.disk.string().starts_with(torch_.string() + "/")) return false;
  const auto& entry = store_.at(item.disk);
  if (entry.object == nullptr || entry.object->machine() != folders_.machine) return false;
  const auto& needed = entry.object->dynamic().needed;
  return std::ranges::any_of(needed, is_torch_library);
}

std::optional<std::string> Extensions::find_module_name(const Item& item) {
  if (!is_module(item.disk)) return std::nullopt;
  std::string name = item.path.substr(0, item.path.find('.', item.path.rfind('/') + 1));
  std::ranges::replace(name, '/', '.');
  return name;
}

std::pair<Loading, Process> Extensions::open_after_torch(const InstalledPackage& package, const Item& item) {
  auto opened = load(package, item.path, *with_torch_);
  store_.close_unused();
  return opened;
}

bool Extensions::links_torch(const File& file) const {
  if (file.links && file.links->torch_symbols.cxx + file.links->torch_symbols.stable > 0) return true;
  return std::ranges::any_of(file.needed, is_torch_library);
}

// Assumes that the package opens libraries outside the search path first: ctypes.CDLL of
// nvidia/cublas/lib/libcublas.so.12.
std::pair<Loading, Process> Extensions::load(const InstalledPackage& package, const std::string& name,
                                             const Process& before) {
  const fs::path path = package.layout.root / name;
  std::vector<std::string> assumed;
  Loading loading;
  Process process = before;
  for (int round = 0; round < kMostAssumed; ++round) {
    process = before;
    for (const auto& library : assumed) (void)process.open(libraries_[library].front(), false);
    loading = process.open(path, false);
    const auto there = std::ranges::find_if(loading.missing_libraries, [&](const MissingLibrary& library) {
      const bool tried = std::ranges::find(assumed, library.name) != assumed.end();
      return !tried && libraries_.contains(library.name);
    });
    if (there == loading.missing_libraries.end()) break;
    assumed.push_back(there->name);
  }
  for (auto& library : loading.missing_libraries) {
    if (const auto other = others_.find(library.name); other != others_.end())
      library.other_processor = other->second.string();
  }
  loading.path = name;
  loading.assumed = std::move(assumed);
  forgive_driver(loading);
  take_siblings(package, loading);
  take_torch(package, path, loading);
  for (auto& symbol : loading.unresolved) symbol.releases = TorchReleases::with(symbol.name).names();
  return {std::move(loading), std::move(process)};
}

// Removes symbols that another library of the package defines: the package loads that library with RTLD_GLOBAL.
void Extensions::take_siblings(const InstalledPackage& package, Loading& loading) {
  std::set<std::string> siblings;
  std::erase_if(loading.unresolved, [&](const UnresolvedSymbol& symbol) {
    const auto defines = [&](const Item& item) {
      return item.path != loading.path && is_shared_object_name(item.disk.filename().string()) &&
             exports(item.disk, symbol.name);
    };
    const auto& items = package.layout.items;
    const auto sibling = std::ranges::find_if(items, defines);
    if (sibling == items.end()) return false;
    siblings.insert(sibling->path);
    return true;
  });
  loading.assumed.insert(loading.assumed.end(), siblings.begin(), siblings.end());
}

// Removes symbols of torch for files that link no torch, as in cuda-core: the package first opens torch's libraries
// with RTLD_GLOBAL. Without a torch, a package that does not require one does not load such a file.
void Extensions::take_torch(const InstalledPackage& package, const fs::path& path, Loading& loading) {
  const auto& file = store_.at(path);
  if (loading.unresolved.empty() || file.object == nullptr) return;
  const auto& needed = file.object->dynamic().needed;
  if (std::ranges::any_of(needed, is_torch_library)) return;
  if (torch_.empty() && !required_packages(package.layout.packages.front().metadata).contains("torch")) {
    // A name of another library can have the digest of a name in torch, so that the name itself counts too.
    const auto is_of_torch = [](const UnresolvedSymbol& symbol) {
      return classify_torch_name(symbol.name) != TorchName::none && !TorchReleases::with(symbol.name).names().empty();
    };
    if (std::erase_if(loading.unresolved, is_of_torch) > 0) loading.assumed.emplace_back("libtorch_cpu.so");
  }
  if (!with_torch_ || torch_.empty()) return;
  std::set<std::string> taken;
  std::erase_if(loading.unresolved, [&](const UnresolvedSymbol& symbol) {
    const SymbolReference reference{.name = symbol.name, .hash = compute_gnu_hash(symbol.name)};
    const auto& objects = with_torch_->objects();
    const auto found = std::ranges::find_if(objects, [&](const auto& object) {
      return is_torch_library(object->path.filename().string()) && object->object->resolves(reference);
    });
    if (symbol.needed_by != path.string() || found == objects.end()) return false;
    taken.insert((*found)->path.filename().string());
    return true;
  });
  loading.assumed.insert(loading.assumed.end(), taken.begin(), taken.end());
}

bool Extensions::is_torch_file(const fs::path& path) const {
  return !torch_.empty() && path.string().starts_with(torch_.string() + "/");
}

std::optional<std::vector<Loading>> Extensions::of(const InstalledPackage& package, std::vector<File>& files) {
  if (!plain_) return std::nullopt;
  std::vector<Loading> all = is_torch_package(package) ? start_faults_ : std::vector<Loading>();
  std::set<std::string> needed;
  for (const auto& file : files) needed.insert(file.needed.begin(), file.needed.end());
  for (const auto& file : files) {
    if (!file.links || file.machine != machine_name(folders_.machine)) continue;
    const bool linked = links_torch(file);
    const fs::path path = package.layout.root / file.path;
    const bool imported = linked || is_extension(path);
    if (!imported && (is_torch_package(package) || !may_be_opened(file, needed))) continue;
    if (needs_other_c_library(path)) continue;
    auto [loading, process] = load(package, file.path, linked && !is_torch_file(path) ? *with_torch_ : *plain_);
    mark_unopened(package, files, loading, process);
    if (imported || is_decided(package, file, loading)) all.push_back(std::move(loading));
    store_.close_unused();
  }
  return all;
}

// Marks libraries of CUDA that the package opens as it runs, unless a process that imported torch before finds them.
void Extensions::mark_unopened(const InstalledPackage& package, std::vector<File>& files, const Loading& loading,
                               Process& process) {
  const bool opens_cuda = std::ranges::any_of(files, [](const File& file) {
    const auto opened = file.links ? file.links->opened.value_or(std::vector<Dependency>()) : std::vector<Dependency>();
    return std::ranges::any_of(opened, [](const Dependency& one) { return is_cuda_library(one.name); });
  });
  if (!opens_cuda || !loading.missing_libraries.empty() || is_torch_package(package)) return;
  Process after_torch = with_torch_ ? load(package, loading.path, *with_torch_).second : process;
  mark_unopened_libraries(files, package, process, after_torch, libraries_);
}

// Reports whether a file lacks only libraries of CUDA, and the environment has one of them in another major version.
// The file is then made for another CUDA than the environment.
bool Extensions::needs_other_cuda(const Loading& loading) const {
  const auto is_of_cuda = [](const MissingLibrary& library) {
    return library.name.starts_with("libcu") && find_component(library.name);
  };
  const auto has_other_major = [&](const MissingLibrary& library) {
    const std::string begin = library.name.substr(0, library.name.find(".so.") + 4);
    const auto found = libraries_.lower_bound(begin);
    return begin.ends_with(".so.") && found != libraries_.end() && found->first.starts_with(begin);
  };
  const auto& missing = loading.missing_libraries;
  return std::ranges::all_of(missing, is_of_cuda) && std::ranges::any_of(missing, has_other_major);
}

// Keeps of a library that a package opens itself only what no other library in its process could provide: symbols whose
// version or needed package names their library. A library that the environment has in no version shows that this part
// is optional.
bool Extensions::is_decided(const InstalledPackage& package, const File& file, Loading& loading) const {
  if (!loading.missing_libraries.empty()) return needs_other_cuda(loading);
  const auto& own = package.layout.items;
  const bool needs_package = std::ranges::any_of(file.needed, [&](const std::string& name) {
    const bool of_package = std::ranges::any_of(own, [&](const Item& item) { return item.disk.filename() == name; });
    return libraries_.contains(name) && !of_package && !find_component(name);
  });
  std::erase_if(loading.unresolved, [&](const UnresolvedSymbol& symbol) {
    const bool torch = !symbol.releases.empty() && classify_torch_name(symbol.name) != TorchName::none;
    return !symbol.library && !torch &&
           (!needs_package || symbol.name.starts_with("Py") || symbol.name.starts_with("_Py"));
  });
  return true;
}

std::optional<std::vector<RedirectedLibrary>> Extensions::find_redirected(const InstalledPackage& package) {
  if (!with_torch_ || !is_torch_package(package)) return std::nullopt;
  return find_redirected_libraries(*with_torch_, libraries_);
}

std::vector<SharedLibrary> Extensions::shared_libraries() const {
  std::vector<SharedLibrary> shared;
  if (!with_torch_ || torch_.empty()) return shared;
  std::map<std::string, std::set<fs::path>> families;
  std::error_code error;
  for (const auto& [name, paths] : libraries_) {
    if (!name.starts_with("lib")) continue;  // a module's name is unique with its package's before it
    for (const auto& path : paths) families[get_library_family(name)].insert(fs::canonical(path, error));
  }
  for (const auto& object : with_torch_->objects()) {
    const auto family = families.find(object->path.filename().string());
    if (family == families.end()) continue;
    const fs::path taken = fs::canonical(object->path, error);
    SharedLibrary library{.name = family->first, .taken = object->path.string(), .how = object->how};
    for (const auto& path : family->second) {
      if (path == taken) continue;
      const bool renamed = path.filename().string() != family->first;
      (renamed ? library.beside : library.passed_over).push_back(path.string());
    }
    if (!library.passed_over.empty() || !library.beside.empty()) shared.push_back(std::move(library));
  }
  return shared;
}

}  // namespace pbprobe
