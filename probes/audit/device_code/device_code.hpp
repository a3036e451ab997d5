// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Facts of a file's fatbin entries: counts, bytes, translation units, toolkits, and the census.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/facts/inventory.hpp"
#include "probes/audit/containers/fatbin.hpp"
#include "probes/audit/device_code/sass.hpp"

namespace pbprobe {

// Content of one fatbin entry.
struct EntryFacts {
  std::optional<Sm> sm;                                 // target of a cubin
  std::optional<std::string> assembler;                 // version of ptxas: "13.0.88"
  std::optional<std::vector<std::string>> ptx_kernels;  // mangled; null without PTX or a request for names
  std::optional<CubinCensus> census;                    // census; null without machine code, and on a problem
  uint64_t hash = 0;                                    // hash of the stored machine code; valid in this process only
  std::optional<Error> problem;  // mismatch with the header, or (limit) why the entry was not opened
};

// Names of kernels to store in the facts of a file.
struct KernelNames {
  bool listed = false;    // names one by one
  bool families = false;  // counts of different names, by function template
};

// Decompresses and reads one fatbin entry. Its stored bytes are at `offset` of the file `name`.
[[nodiscard]] EntryFacts look_inside(const FatbinEntry& entry, std::span<const uint8_t> payload,
                                     const std::string& name, uint64_t offset, KernelNames wanted = {});

// Facts of the fatbin entry with the same index; null if the entry was not opened.
using InsideFacts = std::vector<std::optional<EntryFacts>>;

// Looks into each fatbin entry. Uses spare cores.
[[nodiscard]] InsideFacts look_inside_all(const std::vector<FatbinEntry>& entries, const Bytes& file,
                                          KernelNames wanted);

// Sums the entries of a file. An SM in `inside` replaces the SM in the entry's header. `opened`: look_inside_all()
// ran; the result has a census even without machine code. `wanted`: kernel names to store.
[[nodiscard]] DeviceCode count_device_code(const std::vector<FatbinEntry>& labelled, const InsideFacts& inside,
                                           const Bytes& file, bool opened, KernelNames wanted = {});

// Returns the first problem of an entry that was not opened because of a limit.
[[nodiscard]] std::optional<Error> first_limit(const InsideFacts& inside);

}  // namespace pbprobe
