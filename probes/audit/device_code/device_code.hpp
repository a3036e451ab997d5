// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// From the fatbin entries of one file to its facts: counts, bytes, translation units, toolkits, and the census.
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
  std::optional<std::vector<std::string>> ptx_kernels;  // as mangled; null: no PTX, or not asked for
  std::optional<CubinCensus> census;                    // null: no machine code, or a problem
  uint64_t hash = 0;                                    // of the machine code as it is stored, within this process
  std::optional<Error> problem;                         // why it is not what its header says, or (limit) was not opened
};

// Names of kernels to store in the facts of a file.
struct KernelNames {
  bool listed = false;    // names one by one
  bool families = false;  // counts of different names, by function template
};

// Decompresses and reads one fatbin entry, whose stored bytes stand at `offset` of the file `name`.
[[nodiscard]] EntryFacts look_inside(const FatbinEntry& entry, std::span<const uint8_t> payload,
                                     const std::string& name, uint64_t offset, KernelNames wanted = {});

// Facts of a file's fatbin entries: those of entries[i] at [i], or nothing.
using InsideFacts = std::vector<std::optional<EntryFacts>>;

// Looks into each fatbin entry. Uses spare cores.
[[nodiscard]] InsideFacts look_inside_all(const std::vector<FatbinEntry>& entries, const Bytes& file,
                                          KernelNames wanted);

// Adds all up. `opened`: they were looked into; a census stands there, also of a file without machine code.
[[nodiscard]] DeviceCode add_up(const std::vector<FatbinEntry>& labelled, const InsideFacts& inside, const Bytes& file,
                                bool opened, KernelNames wanted = {});

// The first of them that was not opened, because it is too large.
[[nodiscard]] std::optional<Error> first_limit(const InsideFacts& inside);

}  // namespace pbprobe
