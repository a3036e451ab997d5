// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/inspect.hpp"

#include <algorithm>

#include "probes/audit/component.hpp"
#include "probes/audit/constants.hpp"
#include "probes/audit/contents.hpp"
#include "probes/audit/cubin.hpp"
#include "probes/audit/elf.hpp"
#include "probes/audit/fatbin.hpp"
#include "probes/audit/host_code.hpp"
#include "probes/audit/symbols.hpp"

namespace pbprobe {
namespace {

void note(File& file, const std::optional<Error>& error) {
  if (error && !file.problem) file.problem = error->message;
}

DeviceCode count_images(const std::vector<DeviceImage>& images) {
  DeviceCode code;
  for (const auto& image : images) {
    auto& counts = image.kind == ImageKind::cubin ? code.cubin : image.kind == ImageKind::ptx ? code.ptx : code.lto_ir;
    ++counts[target_of(image)];
    code.stored_bytes += static_cast<int64_t>(image.stored_bytes);
    code.uncompressed_bytes += static_cast<int64_t>(image.uncompressed_bytes);
  }
  return code;
}

void take_fatbins(File& file, const Fatbins& fatbins) {
  if (!fatbins.images.empty()) file.device_code = count_images(fatbins.images);
  note(file, fatbins.problem);
}

void inspect_links(File& file, const Elf& elf) {
  file.links.emplace();
  auto floors = read_version_floors(elf);
  if (!floors) return note(file, floors.error());
  file.links->version_floors = std::move(*floors);
  auto contents = read_contents(elf);
  if (!contents) return note(file, contents.error());
  file.links->contains = std::move(contents->components);
  file.links->cxx11_names = contents->cxx11_names;
  file.links->pre_cxx11_names = contents->pre_cxx11_names;
}

bool wants_host_code(const File& file, const AuditOptions& options) {
  switch (options.host_code) {
    case HostCodeScope::none: return false;
    case HostCodeScope::libtorch: return file.component == "libtorch" || file.path.find('/') == std::string::npos;
    case HostCodeScope::all: return true;
  }
  return false;
}

void inspect_code(File& file, const Elf& elf, const AuditOptions& options) {
  auto code = read_host_code(elf, options.threads);
  if (!code) return note(file, code.error());
  file.host_code = std::move(*code);
}

std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

// What it opens is told apart from what it needs: the constants of some name both.
void inspect_constants(File& file, const Elf& elf) {
  auto names = read_library_names(elf);
  if (!names) return note(file, names.error());
  file.links->opened.emplace();
  for (auto& name : *names) {
    const bool needed = std::find(file.needed.begin(), file.needed.end(), name) != file.needed.end();
    if (!needed && name != file.soname && name != base_name(file.path))
      file.links->opened->push_back({.name = std::move(name)});
  }
  if (!is_compiler(base_name(file.path))) return;
  auto compiler = read_compiler(elf);
  if (!compiler) return note(file, compiler.error());
  if (!compiler->knows.empty()) file.compiler = std::move(*compiler);
}

void inspect_elf(File& file, const Bytes& bytes, const AuditOptions& options) {
  auto elf = read_elf(bytes);
  if (!elf) return note(file, elf.error());
  note(file, elf->problem);
  if (elf->header.e_machine == kMachineCuda) {
    auto image = read_cubin(*elf);
    if (!image) return note(file, image.error());
    file.machine = machine_name(kMachineCuda);
    file.device_code = count_images({*image});
    return;
  }
  take_fatbins(file, read_embedded_fatbins(*elf));
  if (options.device_code_only) return;
  file.machine = machine_name(elf->header.e_machine);
  auto dynamic = read_dynamic(*elf);
  if (!dynamic) return note(file, dynamic.error());
  file.soname = dynamic->soname;
  file.needed = dynamic->needed;
  file.rpath = dynamic->rpath;
  file.runpath = dynamic->runpath;
  inspect_links(file, *elf);
  if (wants_host_code(file, options)) inspect_code(file, *elf, options);
  inspect_constants(file, *elf);
}

std::string why_not_elf(const Bytes& bytes) {
  if (bytes.size() == 0) return bytes.name() + ": the file is empty (0 bytes): copy, download or build it again";
  if (bytes.text().starts_with("version https://git-lfs"))
    return bytes.name() + ": a Git LFS pointer instead of the file: run `git lfs pull`";
  return bytes.name() + ": neither ELF nor fatbin";
}

}  // namespace

File inspect(const std::string& path, const Bytes& bytes, const AuditOptions& options) {
  File file;
  file.path = path;
  file.size_bytes = static_cast<int64_t>(bytes.size());
  if (!options.device_code_only) file.component = component_of(path);
  const auto magic = bytes.read<uint32_t>(0, "magic");
  if (bytes.text().starts_with(std::string_view(ELFMAG, SELFMAG))) {
    inspect_elf(file, bytes, options);
  } else if (magic && *magic == kFatbinMagic) {
    take_fatbins(file, read_fatbins(bytes));
  } else {
    file.problem = why_not_elf(bytes);
  }
  return file;
}

}  // namespace pbprobe
