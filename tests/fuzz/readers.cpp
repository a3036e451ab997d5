// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "readers.hpp"
#include "core/strings.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/facts/inventory.hpp"
#include "core/facts/json.hpp"
#include "probes/audit/audit.hpp"
#include "probes/audit/containers/fatbin.hpp"
#include "probes/audit/containers/zip.hpp"
#include "probes/audit/device_code/device_code.hpp"
#include "probes/audit/host_code/code.hpp"
#include "probes/audit/inspect.hpp"
#include "probes/audit/packages/nix_store.hpp"
#include "probes/audit/packages/packages.hpp"
#include "probes/audit/packages/version.hpp"
#include "probes/audit/stream.hpp"

namespace pbprobe::fuzz {
namespace {

// A reader that breaks its own promise is a finding like a crash.
void require(bool promise) {
  if (!promise) std::abort();
}

// Requires that the sparse stream lacks only the ranges that it skips.
void read_as_stream(const ZipArchive& archive, const ZipMember& member) {
  auto sparse = stream_member(archive, member, {}, false);
  auto whole = stream_member(archive, member, {}, true);
  require(sparse.ok() == whole.ok());
  if (!sparse) return;
  (void)left_out_nothing_else(*sparse, member.name);
  std::vector<uint8_t> expected(whole->memory.bytes().begin(), whole->memory.bytes().end());
  for (const auto& left : sparse->left_out) {
    require(left.offset <= expected.size() && left.bytes <= expected.size() - left.offset);
    std::fill_n(expected.begin() + static_cast<std::ptrdiff_t>(left.offset), left.bytes, uint8_t{0});
  }
  require(std::equal(expected.begin(), expected.end(), sparse->memory.bytes().begin(), sparse->memory.bytes().end()));
}

}  // namespace

void read_elf_file(std::span<const uint8_t> input) {
  const File file = inspect("lib/libx.so", Bytes(input, "libx.so"), {.host_code = HostCodeScope::all});
  require(file.size_bytes == static_cast<int64_t>(input.size()));
}

void read_machine_code(std::span<const uint8_t> input) {
  for (const auto count : {count_x86, count_aarch64}) {
    CodeTargets targets;
    const CodeCount all = count(input, 0x1000, &targets);
    int64_t special = 0;
    FeatureSet features = 0;
    for (const auto& [set, instructions] : all.counts) {
      special += instructions;
      features |= set;
    }
    require(features == all.features && special <= all.instructions);
    require(all.instructions <= static_cast<int64_t>(input.size()));
  }
  const Instruction first = decode_x86(input);
  require(first.length <= std::min<size_t>(input.size(), 15));
}

void read_fatbin_section(std::span<const uint8_t> input) {
  const Fatbins fatbins = read_fatbins(Bytes(input, "libx.so .nv_fatbin"));
  for (const auto& entry : fatbins.entries) {
    require(entry.payload.size() == entry.stored_bytes);
    require(entry.payload.empty() || (entry.payload.data() >= input.data() &&
                                      entry.payload.data() + entry.payload.size() <= input.data() + input.size()));
    require(entry.uncompressed_bytes <= kMaxEntryBytes);
  }
}

void read_zip_file(std::span<const uint8_t> input) {
  auto archive = read_zip(Bytes(input, "x.whl"));
  if (!archive) return;
  uint64_t total = 0;
  for (const auto& member : archive->members) {
    total += member.size_bytes;
    if (member.size_bytes > (1 << 20)) continue;  // time, not safety: the limits have tests of their own
    uint64_t bytes = 0;
    auto inflated = inflate_member(*archive, member, [&](std::span<const uint8_t> piece) {
      bytes += piece.size();
      return true;
    });
    require(!inflated || bytes == member.size_bytes);
    require(bytes <= member.size_bytes);
    read_as_stream(*archive, member);
  }
  require(total <= kMaxZipBytes);
}

// The first byte is the compression and the SM, the next four the size that the header announces.
void read_fatbin_entry(std::span<const uint8_t> input) {
  constexpr size_t kPrefix = 5;
  constexpr uint32_t kMostBytes = 1 << 20;  // time, not safety
  if (input.size() < kPrefix) return;
  uint32_t announced = 0;
  std::memcpy(&announced, input.data() + 1, sizeof(announced));
  FatbinEntry entry;
  constexpr std::array<uint32_t, 4> kSms{90, 61, 75, 100};  // words of 128 bits, and of 64
  entry.sm = make_sm(kSms[input[0] / 3 % kSms.size()]);
  entry.compression = static_cast<Compression>(input[0] % 3);
  entry.uncompressed_bytes = announced % kMostBytes;
  entry.stored_bytes = input.size() - kPrefix;
  const EntryFacts facts = look_inside(entry, input.subspan(kPrefix), "libx.so", 0);
  require(facts.problem.has_value() != facts.census.has_value());
  if (facts.census) require(facts.census->only_traps.size() <= static_cast<size_t>(facts.census->kernels));
}

void read_version_text(std::span<const uint8_t> input) {
  const std::string text(input.begin(), input.end());
  for (const char* name : {"version.py", "build-version", "TorchConfigVersion.cmake"}) {
    const Versions versions = read_versions({{name, text}});
    require(!versions.torch || versions.torch->size() <= text.size());
    require(versions.problems.empty() || !versions.torch);  // a text has a version, or a fault
  }
  for (const auto& [component, version] : required_versions(text)) require(version.size() <= text.size());
  require(!wheel_tags(text).empty() || !faults_of_wheel(text).empty());
  (void)faults_of_metadata(text);
}

// Reads a wheel as an audit does: layout, members, packages, closure. The JSON of the result must read back equal.
void read_wheel(std::span<const uint8_t> input) {
  const int file = memfd_create("fuzz", MFD_CLOEXEC);
  require(file >= 0 && write(file, input.data(), input.size()) == static_cast<ssize_t>(input.size()));
  const std::string path = fmt::format("/proc/self/fd/{}", file);
  const auto inventory = audit(path, {.host_code = HostCodeScope::libtorch, .digests = true, .threads = 1});
  close(file);
  if (!inventory) return require(!inventory.error().message.empty());
  const auto again = from_json<Inventory>(to_json(*inventory));
  require(again.ok() && to_json(*again) == to_json(*inventory));
}

// Reads output of nix-store. Package and version are parts of a path's last name, in this order.
void read_store_paths(std::span<const uint8_t> input) {
  const std::string_view text(reinterpret_cast<const char*>(input.data()), input.size());
  size_t bytes = 0;
  for (const auto& path : parse_requisites(text)) {
    require(!path.path.empty() && path.path.find('\n') == std::string::npos);
    bytes += path.path.size();
    const std::string_view name = base_name(path.path);
    const size_t package = name.find('-');
    require(package != std::string_view::npos || (path.package.empty() && !path.version));
    if (package == std::string_view::npos) continue;
    require(name.substr(package + 1).starts_with(path.package));
    if (path.version) require(name.substr(package + 1 + path.package.size()).starts_with("-" + *path.version));
  }
  require(bytes + static_cast<size_t>(std::count(text.begin(), text.end(), '\n')) == text.size());
}

// Reads facts that a user gives instead of an artifact.
void read_facts(std::span<const uint8_t> input) {
  const auto json = parse_json({reinterpret_cast<const char*>(input.data()), input.size()});
  if (!json) return require(!json.error().message.empty());
  const auto inventory = from_json<Inventory>(*json);
  if (!inventory) return require(!inventory.error().message.empty());
  const Json written = to_json(*inventory);
  const auto again = from_json<Inventory>(written);
  require(again.ok() && to_json(*again) == written);
}

}  // namespace pbprobe::fuzz
