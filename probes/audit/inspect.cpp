// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/inspect.hpp"

#include <algorithm>

#include "probes/audit/component.hpp"
#include "probes/audit/constants.hpp"
#include "probes/audit/contents.hpp"
#include "probes/audit/cubin.hpp"
#include "probes/audit/device_code.hpp"
#include "probes/audit/elf.hpp"
#include "probes/audit/fatbin.hpp"
#include "probes/audit/host_code.hpp"
#include "probes/audit/symbols.hpp"
#include "probes/audit/way_out.hpp"

namespace pbprobe {
namespace {

void note(File& file, const std::optional<Error>& error) {
  if (error && !file.problem) file.problem = with_way_out(*error, ReadFrom::file).message;
}

// One file at work.
struct Task {
  const Bytes& bytes;
  const AuditOptions& options;
  const PassedImages* passed;
};

InsideFacts inside_of(const std::vector<DeviceImage>& images, const Task& task) {
  InsideFacts inside(images.size());
  if (task.options.device_code_only) return inside;
  if (task.passed == nullptr) return look_inside_all(images, task.bytes, task.options.full);
  for (size_t i = 0; i < images.size(); ++i) {
    const auto offset = static_cast<uint64_t>(images[i].payload.data() - task.bytes.span().data());
    if (const auto found = task.passed->find(offset); found != task.passed->end()) inside[i] = found->second;
  }
  return inside;
}

std::optional<DeviceCode> code_of(File& file, const Fatbins& fatbins, const Task& task) {
  if (fatbins.images.empty()) return std::nullopt;
  const bool full = task.options.full && !task.options.device_code_only;
  const InsideFacts inside = inside_of(fatbins.images, task);
  if (full) note(file, first_problem(inside));  // a listing stands without its sample
  return add_up(fatbins.images, inside, full);
}

void take_fatbins(File& file, const Fatbins& fatbins, const Task& task) {
  note(file, fatbins.problem);
  file.device_code = code_of(file, fatbins, task);
}

void inspect_links(File& file, const Elf& elf) {
  file.links.emplace();
  auto floors = read_version_floors(elf);
  if (!floors) return note(file, floors.error());
  file.links->version_floors = std::move(*floors);
  auto contents = read_contents(elf);
  if (!contents) return note(file, contents.error());
  file.links->contains = std::move(contents->components);
  file.links->versions = std::move(contents->versions);
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
  const auto& contains = file.links->contains;
  if (std::find(contains.begin(), contains.end(), "NCCL") != contains.end()) {
    auto nccl = read_text_version(elf, "NCCL version ");
    if (!nccl) return note(file, nccl.error());
    if (*nccl) (*file.links->versions)["NCCL"] = std::move(**nccl);
  }
  if (!is_compiler(base_name(file.path))) return;
  auto compiler = read_compiler(elf);
  if (!compiler) return note(file, compiler.error());
  if (!compiler->knows.empty()) file.compiler = std::move(*compiler);
}

void inspect_elf(File& file, const Task& task) {
  auto elf = read_elf(task.bytes);
  if (!elf) return note(file, elf.error());
  note(file, elf->problem);
  if (elf->header.e_machine == kMachineCuda) {
    auto image = read_cubin(*elf);
    if (!image) return note(file, image.error());
    file.machine = machine_name(kMachineCuda);
    Fatbins alone;
    alone.images = {*image};
    take_fatbins(file, alone, task);
    return;
  }
  take_fatbins(file, read_embedded_fatbins(*elf), task);
  if (task.options.device_code_only) return;
  file.machine = machine_name(elf->header.e_machine);
  auto dynamic = read_dynamic(*elf);
  if (!dynamic) return note(file, dynamic.error());
  file.soname = dynamic->soname;
  file.needed = dynamic->needed;
  file.rpath = dynamic->rpath;
  file.runpath = dynamic->runpath;
  inspect_links(file, *elf);
  if (wants_host_code(file, task.options)) inspect_code(file, *elf, task.options);
  inspect_constants(file, *elf);
  file.own_images = code_of(file, find_fatbins(*elf), task);
}

Error why_not_elf(const Bytes& bytes) {
  if (bytes.size() == 0) return make_error(ErrorCode::malformed, "{}: the file is empty (0 bytes)", bytes.name());
  if (bytes.text().starts_with("version https://git-lfs"))
    return make_error(ErrorCode::unsupported, "{}: a Git LFS pointer instead of the file: run `git lfs pull`",
                      bytes.name());
  return make_error(ErrorCode::malformed, "{}: neither ELF nor fatbin", bytes.name());
}

}  // namespace

File inspect(const std::string& path, const Bytes& bytes, const AuditOptions& options, const PassedImages* passed) {
  const Task task{bytes, options, passed};
  File file;
  file.path = path;
  file.size_bytes = static_cast<int64_t>(bytes.size());
  if (!options.device_code_only) file.component = component_of(path);
  const auto magic = bytes.read<uint32_t>(0, "magic");
  if (bytes.text().starts_with(std::string_view(ELFMAG, SELFMAG))) {
    inspect_elf(file, task);
  } else if (magic && *magic == kFatbinMagic) {
    take_fatbins(file, read_fatbins(bytes), task);
  } else {
    note(file, why_not_elf(bytes));
  }
  return file;
}

}  // namespace pbprobe
