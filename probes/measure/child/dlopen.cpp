// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/measure/child/dlopen.hpp"

#include <cstring>
#include <new>

#include <elf.h>
#include <gnu/libc-version.h>

#include <fmt/ranges.h>

#include "core/open_file.hpp"

namespace pbprobe {
namespace {

#if defined(__x86_64__)
constexpr uint16_t kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr uint16_t kMachine = EM_AARCH64;
#endif

std::string machine_name(uint16_t machine) {
  switch (machine) {
    case EM_X86_64: return "x86_64";
    case EM_AARCH64: return "aarch64";
    case EM_386: return "i386";
    case EM_PPC64: return "ppc64";
    case EM_RISCV: return "riscv";
    default: return fmt::format("ELF machine {}", machine);
  }
}

// The loader's own words for another platform are "cannot open shared object file": so the header is read first.
Result<void> check_header(const std::string& path) {
  Elf64_Ehdr header{};
  PBPROBE_TRY(const std::string bytes, read_start_of_file(path, sizeof header), "loading {}", path);
  const bool whole = bytes.copy(reinterpret_cast<char*>(&header), sizeof header) == sizeof header;
  if (!whole || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return make_error(
        ErrorCode::malformed,
        "loading {}: it is not a shared object (its first {} bytes are not an ELF header): install it again", path,
        sizeof header);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != kMachine)
    return make_error(ErrorCode::unsupported,
                      "loading {}: it is built for {}, and this program runs on {}: take the build for this machine",
                      path, machine_name(header.e_machine), machine_name(kMachine));
  return {};
}

}  // namespace

Error explain_loader(std::string_view path, std::string_view reported) {
  if (reported.empty())
    return make_error(Obstacle::unexplained, ErrorCode::unsupported,
                      "loading {}: the dynamic loader failed, and names no cause: run it again on an idle machine",
                      path);
  const std::string_view none = ": cannot open shared object file";
  if (const size_t end = reported.find(none); end != std::string_view::npos) {
    const std::string_view name = reported.substr(0, end);
    if (name != path)
      return make_error(Obstacle::missing, ErrorCode::not_found,
                        "loading {}: it needs {}, which is missing: install the package that contains it, or set "
                        "LD_LIBRARY_PATH to its folder",
                        path, name);
  }
  if (reported.find("version `GLIBC_") != std::string_view::npos)
    return make_error(ErrorCode::unsupported,
                      "loading {}: it was built for a newer glibc than this machine's {} ({}): take a build for this "
                      "system, or run a newer one",
                      path, gnu_get_libc_version(), reported);
  if (reported.find("Cannot allocate memory") != std::string_view::npos)
    return make_error(Obstacle::out_of_memory, ErrorCode::limit, "loading {}: the dynamic loader says: {}: free memory",
                      path, reported);
  if (reported.find("undefined symbol") != std::string_view::npos)
    return make_error(ErrorCode::unsupported,
                      "loading {}: libraries of different builds are mixed ({}): install it again, by itself", path,
                      reported);
  return make_error(ErrorCode::unsupported, "loading {}: the dynamic loader says: {}", path, reported);
}

Result<OpenedLibrary> open_first(const std::vector<std::string>& places, std::string_view remedy) {
  for (const auto& place : places) {
    if (void* const handle = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL)) return OpenedLibrary{handle, place};
  }
  return make_error(ErrorCode::not_found, "{} (tried {})", remedy, fmt::join(places, ", "));
}

Result<void*> open_library(const std::string& path, Scope scope) {
  PBPROBE_CHECK(check_header(path));
  dlerror();
  void* library = nullptr;
  try {
    // All symbols at once, as Python loads its extensions: a missing one is found here and not in the midst of work.
    library = dlopen(path.c_str(), RTLD_NOW | (scope == Scope::global ? RTLD_GLOBAL : RTLD_LOCAL));
  } catch (const std::bad_alloc&) {  // this and the next: from a static initializer
    return make_error(Obstacle::out_of_memory, ErrorCode::limit,
                      "loading {}: a static initializer had too little memory: free some", path);
  } catch (...) {
    return make_error(ErrorCode::failed_child, "loading {}: a static initializer threw an exception: install it again",
                      path);
  }
  if (library != nullptr) return library;
  const char* const reported = dlerror();
  return explain_loader(path, reported != nullptr ? reported : "");
}

}  // namespace pbprobe
