// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>

#include "probes/audit/host_code/data_objects.hpp"
#include "probes/audit/host_code/x86_jumps.hpp"

namespace pbprobe {
namespace {

// Memory of a file as it is loaded.
class Image {
 public:
  explicit Image(const Elf& elf) : elf_(elf) {}

  [[nodiscard]] bool contains(uint64_t address) const {
    return std::ranges::any_of(elf_.segments, [&](const auto& segment) {
      return segment.p_type == PT_LOAD && address - segment.p_vaddr < segment.p_memsz;
    });
  }

  // Returns the constants from an address on; nothing if code or variables are at the address.
  [[nodiscard]] std::span<const uint8_t> find_constants(uint64_t address) const {
    for (const auto& section : elf_.sections) {
      const Elf64_Shdr& header = section.header;
      constexpr uint64_t kFlags = SHF_ALLOC | SHF_WRITE | SHF_EXECINSTR;
      if (header.sh_type != SHT_PROGBITS || (header.sh_flags & kFlags) != SHF_ALLOC) continue;
      if (address - header.sh_addr >= header.sh_size) continue;
      if (header.sh_offset > elf_.file.size() || header.sh_size > elf_.file.size() - header.sh_offset) return {};
      return elf_.file.span().subspan(header.sh_offset, header.sh_size).subspan(address - header.sh_addr);
    }
    return {};
  }

 private:
  const Elf& elf_;
};

// Returns the addresses that code may take, also by bytes that are no instruction of their own.
std::vector<uint64_t> find_taken_addresses(const Elf& elf) {
  constexpr size_t kLength = 7;  // lea register, [rip + displacement]
  std::vector<uint64_t> taken;
  for (const auto& section : elf.sections) {
    const Elf64_Shdr& header = section.header;
    const bool code = (header.sh_flags & SHF_EXECINSTR) != 0 && header.sh_type == SHT_PROGBITS;
    if (!code || header.sh_offset > elf.file.size() || header.sh_size > elf.file.size() - header.sh_offset) continue;
    const auto bytes = elf.file.span().subspan(header.sh_offset, header.sh_size);
    for (size_t at = 0; at + kLength <= bytes.size(); ++at) {
      const auto* next = static_cast<const uint8_t*>(std::memchr(bytes.data() + at + 1, 0x8D, bytes.size() - at - 1));
      if (next == nullptr) break;
      at = static_cast<size_t>(next - bytes.data()) - 1;
      if (at + kLength <= bytes.size() && takes_address(bytes.data() + at, kLength))
        taken.push_back(relative_target(bytes.data() + at, kLength, header.sh_addr + at));
    }
  }
  std::ranges::sort(taken);
  taken.erase(std::unique(taken.begin(), taken.end()), taken.end());
  return taken;
}

}  // namespace

std::vector<bool> find_table_targets(const Elf& elf, const std::vector<std::pair<uint64_t, uint64_t>>& ranges) {
  constexpr size_t kMostEntries = 4096;
  std::vector<std::pair<uint64_t, size_t>> starts;
  for (size_t i = 0; i < ranges.size(); ++i) starts.emplace_back(ranges[i].first, i);
  std::ranges::sort(starts);
  std::vector<bool> found(ranges.size());
  const Image image(elf);
  for (const uint64_t table : find_taken_addresses(elf)) {
    const auto constants = image.find_constants(table);
    for (size_t i = 0; i < kMostEntries && (i + 1) * 4 <= constants.size(); ++i) {
      int32_t offset = 0;
      std::memcpy(&offset, constants.data() + i * 4, sizeof offset);
      const uint64_t target = table + static_cast<uint64_t>(static_cast<int64_t>(offset));
      if (!image.contains(target)) break;
      const auto after = std::upper_bound(starts.begin(), starts.end(), std::pair(target, SIZE_MAX));
      if (after == starts.begin()) continue;
      const size_t range = std::prev(after)->second;
      if (target < ranges[range].second) found[range] = true;
    }
  }
  return found;
}

}  // namespace pbprobe
