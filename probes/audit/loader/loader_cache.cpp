// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/loader/loader_cache.hpp"

#include <elf.h>

#include "core/open_file.hpp"

namespace pbprobe {
namespace {

constexpr std::string_view kMagic = "glibc-ld.so.cache1.1";
constexpr uint64_t kHeaderBytes = 48;
constexpr uint64_t kEntryBytes = 24;
constexpr uint32_t kLibc6Elf = 3;
constexpr uint32_t kX86Libraries = 0x0300;
constexpr uint32_t kAarch64Libraries = 0x0a00;

// What ldconfig calls libraries of this machine (sysdeps/generic/ldconfig.h).
uint32_t flags_of(uint16_t machine) {
  return kLibc6Elf | (machine == EM_AARCH64 ? kAarch64Libraries : kX86Libraries);
}

}  // namespace

LoaderCache parse_loader_cache(const Bytes& file, uint16_t machine) {
  LoaderCache cache;
  const size_t magic = file.text().find(kMagic);  // an old cache may stand before it
  if (magic == std::string_view::npos) return cache;
  const auto rest = file.slice(magic, file.size() - magic, "cache");
  const auto count = rest ? rest->read<uint32_t>(kMagic.size(), "count") : Result<uint32_t>(rest.error());
  if (!count) return cache;
  for (uint64_t i = 0; i < *count; ++i) {
    const uint64_t at = kHeaderBytes + i * kEntryBytes;
    const auto flags = rest->read<uint32_t>(at, "flags");
    const auto key = rest->read<uint32_t>(at + 4, "name");
    const auto value = rest->read<uint32_t>(at + 8, "path");
    const auto capabilities = rest->read<uint64_t>(at + 16, "capabilities");
    if (!flags || !key || !value || !capabilities) return cache;
    if (*flags != flags_of(machine) || *capabilities != 0) continue;
    const auto name = rest->string(*key, "name");
    const auto path = rest->string(*value, "path");
    if (name && path) cache.emplace(*name, *path);
  }
  return cache;
}

LoaderCache loader_cache(const std::filesystem::path& file, uint16_t machine) {
  const auto text = read_whole_file(file);
  if (!text) return {};
  return parse_loader_cache(Bytes({reinterpret_cast<const uint8_t*>(text->data()), text->size()}, file.string()),
                            machine);
}

}  // namespace pbprobe
