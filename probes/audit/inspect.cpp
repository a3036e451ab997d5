// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/inspect.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/strings.hpp"
#include "probes/audit/containers/cubin.hpp"
#include "probes/audit/containers/elf.hpp"
#include "probes/audit/containers/fatbin.hpp"
#include "probes/audit/containers/way_out.hpp"
#include "probes/audit/host_code/host_code.hpp"
#include "probes/audit/packages/constants.hpp"
#include "probes/audit/packages/contents.hpp"
#include "probes/audit/packages/layout.hpp"

namespace pbprobe {
namespace {

void note(File& file, const std::optional<Error>& error) {
  if (error && !file.problem) file.problem = append_remedy(*error, ReadFrom::file).message;
}

// A file during its inspection.
struct Task {
  const Bytes& bytes;
  const AuditOptions& options;
  const PassedEntries* passed;
};

InsideFacts collect_inside_facts(const std::vector<FatbinEntry>& entries, const Task& task) {
  InsideFacts inside(entries.size());
  const KernelNames wanted = wanted_names(task.bytes.name(), task.options);
  if (task.passed == nullptr) return look_inside_all(entries, task.bytes, wanted);
  for (size_t i = 0; i < entries.size(); ++i) {
    const auto offset = static_cast<uint64_t>(entries[i].payload.data() - task.bytes.span().data());
    const auto found = task.passed->find(offset);
    // The stream kept entries that it did not read.
    inside[i] = found != task.passed->end()
                    ? found->second
                    : look_inside(entries[i], entries[i].payload, task.bytes.name(), offset, wanted);
  }
  return inside;
}

std::optional<DeviceCode> get_code(File& file, const Fatbins& fatbins, const Task& task) {
  if (fatbins.entries.empty()) return std::nullopt;
  const bool opened = opens_device_code(file.path, task.options);
  const InsideFacts inside = opened ? collect_inside_facts(fatbins.entries, task) : InsideFacts(fatbins.entries.size());
  note(file, first_limit(inside));
  DeviceCode code =
      count_device_code(fatbins.entries, inside, task.bytes, opened, wanted_names(task.bytes.name(), task.options));
  if (fatbins.unlinked) code.unlinked = static_cast<int64_t>(fatbins.entries.size());
  return code;
}

// Counts the translation units of nvcc -rdc=true that no device linker has read. The device linker would define the
// function by which each of them registers itself.
int64_t count_unlinked_units(const Elf& elf) {
  std::set<std::string> units;
  const auto visit = [&](std::string_view name, const Elf64_Sym& symbol) {
    if (symbol.st_shndx == SHN_UNDEF && name.starts_with("__cudaRegisterLinkedBinary_")) units.emplace(name);
  };
  for (const char* table : {".dynsym", ".symtab"}) {
    if (!visit_symbols(elf, table, visit)) return 0;  // the caller reads the tables too, and reports the fault
  }
  return static_cast<int64_t>(units.size());
}

void take_fatbins(File& file, const Fatbins& fatbins, const Task& task) {
  note(file, fatbins.problem);
  file.device_code = get_code(file, fatbins, task);
}

// Without PT_GNU_STACK, glibc's elf/dl-load.c assumes an executable stack on x86-64, but not on aarch64. Returns
// nullopt for an object file: the linker decides later.
std::optional<bool> wants_executable_stack(const Elf& elf) {
  if (elf.header.e_type == ET_REL) return std::nullopt;
  const auto header = std::ranges::find(elf.segments, PT_GNU_STACK, &Elf64_Phdr::p_type);
  return header == elf.segments.end() ? elf.header.e_machine == EM_X86_64 : (header->p_flags & PF_X) != 0;
}

void inspect_links(File& file, const Elf& elf) {
  auto floors = read_version_floors(elf);
  if (!floors) return note(file, floors.error());
  file.links->version_floors = std::move(*floors);
  auto contents = read_contents(elf);
  if (!contents) return note(file, contents.error());
  file.links->contains = std::move(contents->components);
  file.links->versions = std::move(contents->versions);
  file.links->torch_symbols = std::move(contents->torch_symbols);
  file.links->uses_python = contents->uses_python;
  file.links->executable_stack = wants_executable_stack(elf);
  file.links->cxx11_names = contents->cxx11_names;
  file.links->pre_cxx11_names = contents->pre_cxx11_names;
}

// Reports whether the library belongs to NVIDIA, Intel or Triton: its names, which would show how it chooses code, are
// stripped.
bool hides_its_choice(const File& file) {
  constexpr std::array<std::string_view, 20> kVendors{
      "MAGMA",    "NCCL",   "cuDNN", "cuBLAS", "cuFFT",        "cuSPARSELt",  "cuSPARSE",
      "cuSOLVER", "cuRAND", "NVRTC", "CUPTI",  "CUDA runtime", "NVVM",        "nvJitLink",
      "NVSHMEM",  "cuFile", "NVTX",  "MKL",    "Triton",       "PTX compiler"};
  return file.component && std::ranges::find(kVendors, *file.component) != kVendors.end();
}

// Reports whether torch ships the library: it is in a folder of torch's wheels or of a libtorch.
bool is_bundled(const File& file, const AuditOptions& options) {
  constexpr std::array<std::string_view, 5> kFolders{"torch/", "torch.libs/", "functorch/", "torchgen/", "lib/"};
  const bool inside =
      std::ranges::any_of(kFolders, [&](std::string_view folder) { return file.path.starts_with(folder); });
  return (inside || options.all_of_torch) && !hides_its_choice(file);
}

CodeScope choose_code_scope(const File& file, const AuditOptions& options) {
  const bool own = !file.component || file.component == "libtorch";
  const bool wanted = options.host_code == HostCodeScope::all || file.component == "libtorch" ||
                      file.path.find('/') == std::string::npos || is_bundled(file, options);
  if (options.host_code == HostCodeScope::none || !wanted) return CodeScope::at_load;
  return own ? CodeScope::against_names : CodeScope::by_names;
}

void inspect_code(File& file, const Elf& elf, const AuditOptions& options) {
  auto code = read_code(elf, choose_code_scope(file, options), options.threads);
  if (!code) return note(file, code.error());
  note(file, code->damage);
  file.host_code = std::move(code->counted);
  file.load_code = std::move(code->at_load);
}

// Separates opened libraries from needed ones: the constants of some files name both.
void inspect_constants(File& file, const Elf& elf) {
  auto names = read_library_names(elf);
  if (!names) return note(file, names.error());
  file.links->opened.emplace();
  for (auto& name : *names) {
    const bool needed = std::ranges::find(file.needed, name) != file.needed.end();
    if (!needed && name != file.soname && name != base_name(file.path))
      file.links->opened->push_back({.name = std::move(name)});
  }
  const auto& contains = file.links->contains;
  if (std::ranges::find(contains, "NCCL") != contains.end()) {
    auto nccl = read_text_version(elf, "NCCL version ");
    if (!nccl) return note(file, nccl.error());
    if (*nccl) file.links->versions["NCCL"] = std::move(**nccl);
  }
  if (!is_compiler(base_name(file.path))) return;
  auto compiler = read_compiler(elf);
  if (!compiler) return note(file, compiler.error());
  if (!compiler->knows.empty()) file.compiler = std::move(*compiler);
}

// Returns a fault for which glibc and musl refuse the file before they search symbols.
std::optional<Error> why_not_loadable(const File& file, const Elf& elf) {
  const bool library = is_shared_object_name(base_name(file.path)) && elf.header.e_type != ET_REL;
  if (!library) return std::nullopt;
  const auto fault = [&](std::string_view what) {
    return make_error(ErrorCode::malformed, "{}: {}: no loader takes it", base_name(file.path), what);
  };
  const uint8_t abi = elf.header.e_ident[EI_OSABI];
  if (abi != ELFOSABI_SYSV && abi != ELFOSABI_GNU)
    return fault(fmt::format("made for the OS ABI {}, not for Linux", abi));
  constexpr uint8_t kMaxAbiVersion = 8;  // more than glibc lists for ELFOSABI_GNU (libc-abis)
  const uint8_t abi_version = elf.header.e_ident[EI_ABIVERSION];
  if (abi_version > (abi == ELFOSABI_GNU ? kMaxAbiVersion : 0))
    return fault(fmt::format("ABI version {}, which no loader knows", abi_version));
  if (elf.header.e_version != EV_CURRENT) return fault(fmt::format("ELF version {}, not 1", elf.header.e_version));
  if (elf.header.e_type != ET_DYN) return fault("an executable, no shared object (ET_DYN)");
  const auto has = [&](auto test) { return std::ranges::any_of(elf.segments, test); };
  if (!has([](const Elf64_Phdr& segment) { return segment.p_type == PT_DYNAMIC; })) return fault("no dynamic section");
  const bool code =
      has([](const Elf64_Phdr& segment) { return (segment.p_flags & PF_X) != 0 && segment.p_type == PT_LOAD; });
  if (file.component == "libtorch" && !code) return fault("no segment with code");  // others may hold only data
  return std::nullopt;
}

void inspect_elf(File& file, const Task& task) {
  auto elf = read_elf(task.bytes);
  if (!elf) return note(file, elf.error());
  note(file, elf->problem);
  if (elf->header.e_machine == kMachineCuda) {
    auto entry = read_cubin(task.bytes);
    if (!entry) return note(file, entry.error());
    file.machine = machine_name(kMachineCuda);
    Fatbins single;
    single.entries = {*entry};
    take_fatbins(file, single, task);
    return;
  }
  if (!task.options.links_only) take_fatbins(file, read_embedded_fatbins(*elf), task);
  const int64_t unlinked = elf->header.e_type == ET_REL ? 0 : count_unlinked_units(*elf);
  if (file.device_code && unlinked > 0) file.device_code->unlinked = unlinked;
  if (task.options.device_code_only) return;
  file.machine = machine_name(elf->header.e_machine);
  if (const auto fault = why_not_loadable(file, *elf)) return note(file, *fault);
  auto dynamic = read_dynamic(*elf);
  if (!dynamic) return note(file, dynamic.error());
  file.soname = dynamic->soname;
  file.needed = dynamic->needed;
  file.rpath = dynamic->rpath;
  file.runpath = dynamic->runpath;
  file.links.emplace();
  if (task.options.links_only) return;
  inspect_links(file, *elf);
  if (task.options.host_code != HostCodeScope::none) inspect_code(file, *elf, task.options);
  inspect_constants(file, *elf);
  file.self_loaded_code = get_code(file, read_constant_fatbins(*elf), task);
  // Linkers that merge sections may leave libtorch's device code among the constants.
  if (file.component == "libtorch" && !file.device_code)
    file.device_code = std::exchange(file.self_loaded_code, std::nullopt);
}

// Reports whether the file is a text for ld, such as libncurses.so of conda and of Debian's -dev packages:
// "INPUT(-ltinfo)". Only names without a number are: processes load the library itself.
bool is_linker_script(const File& file, const Bytes& bytes) {
  constexpr uint64_t kMostBytes = 4096;
  const auto name = base_name(file.path);
  const bool of_linker = name.starts_with("lib") && name.ends_with(".so") && file.component != "libtorch";
  if (!of_linker || bytes.size() > kMostBytes) return false;
  const std::string_view text = bytes.text();
  if (text.find('\0') != text.npos) return false;
  return text.find("INPUT") != text.npos || text.find("GROUP") != text.npos;
}

Error why_not_elf(const Bytes& bytes) {
  if (bytes.size() == 0) return make_error(ErrorCode::malformed, "{}: the file is empty (0 bytes)", bytes.name());
  if (bytes.text().starts_with("version https://git-lfs"))
    return make_error(ErrorCode::unsupported, "{}: a Git LFS pointer instead of the file: run `git lfs pull`",
                      bytes.name());
  return make_error(ErrorCode::malformed, "{}: neither ELF nor fatbin", bytes.name());
}

}  // namespace

bool opens_device_code(const std::string& path, const AuditOptions& options) {
  return !options.device_code_only && (options.open_libraries || find_component(path) == "libtorch");
}

KernelNames wanted_names(const std::string& path, const AuditOptions& options) {
  return {.listed = options.kernel_names, .families = options.kernel_families && find_component(path) == "libtorch"};
}

File inspect(const std::string& path, const Bytes& bytes, const AuditOptions& options, const PassedEntries* passed) {
  const Task task{bytes, options, passed};
  File file;
  file.path = path;
  file.size_bytes = static_cast<int64_t>(bytes.size());
  if (!options.device_code_only) file.component = find_component(path);
  const auto magic = bytes.read<uint32_t>(0, "magic");
  if (bytes.text().starts_with(std::string_view(ELFMAG, SELFMAG))) {
    inspect_elf(file, task);
  } else if (magic && *magic == kFatbinMagic) {
    take_fatbins(file, read_fatbins(bytes), task);
  } else if (!is_linker_script(file, bytes)) {
    note(file, why_not_elf(bytes));
  }
  return file;
}

}  // namespace pbprobe
