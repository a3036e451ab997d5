// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Device code of one file: fatbin entries, cubins and kernels, per SM.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/fields.hpp"
#include "core/sm.hpp"

namespace pbprobe {

struct CodeBytes {
  FIELD(int64_t, stored_bytes, "size in the file, compressed or not") = 0;
  FIELD(int64_t, uncompressed_bytes, "bytes once decompressed") = 0;
};

// Cubins of one ptxas for one SM.
struct AssembledCode {
  FIELD(int64_t, cubins, "cubins") = 0;
  FIELD(int64_t, kernels, "their entry functions") = 0;
};

// Cubins with kernels that are byte-identical to an earlier cubin of the file.
struct RepeatedCode {
  FIELD(int64_t, cubins, "repeated cubins") = 0;
  FIELD(int64_t, kernels, "entry functions of these cubins") = 0;
  FIELD(int64_t, code_bytes, "bytes of their kernels and functions") = 0;
};

// Contents of the machine code for one SM.
struct SmCensus {
  FIELD(int64_t, kernels, "entry functions") = 0;
  FIELD(int64_t, words, "instructions, padding included; 0 before Volta") = 0;
  FIELD(ByName<int64_t>, instructions, "tensor, copy, FMA, trap and local-memory instructions by mnemonic");
  FIELD(std::vector<int64_t>, tensor_cubins,
        "numbers of the file's cubins with tensor instructions, starting at 1 as in cuobjdump");
  FIELD(int64_t, trap_kernels,
        "kernels that trap, and touch no global or shared memory, or take tensor memory and multiply nothing") = 0;
  FIELD(std::vector<std::string>, only_traps, "mangled names of the first of them");
  FIELD(int64_t, cubins, "cubins whose content matches their header") = 0;
  FIELD(int64_t, empty_cubins, "cubins without a kernel, of those") = 0;
  FIELD(int64_t, code_bytes, "bytes of their kernels and functions") = 0;
  FIELD(int64_t, stores, "instructions that write to global or shared memory") = 0;
  FIELD(int64_t, idle_kernels, "kernels that store nothing and at most print or assert, or always trap") = 0;
  FIELD(std::vector<std::string>, idle, "mangled names of the first of them");
  FIELD(std::optional<int64_t>, idle_cubins, "cubins with kernels, all of them idle; null if not counted");
  FIELD(std::optional<RepeatedCode>, repeated,
        "cubins that are byte-identical to an earlier cubin of the file, included in the counts above; null if none "
        "repeat");
  FIELD(std::optional<std::vector<std::string>>, names, "mangled names of all kernels; null if not requested");
  FIELD(std::optional<ByName<int64_t>>, families,
        "different names per function template, without namespaces and numbers: radixSortKVInPlace; null if not "
        "requested");
};

// Fatbin entry whose content does not match its header.
struct FalseEntry {
  FIELD(std::string, label, "kind and SM according to the header");  // "cubin for sm_90a", "PTX for sm_90"
  FIELD(int64_t, offset, "offset of the content in the file") = 0;
  FIELD(std::string, seen, "content that was found instead");  // "an ELF for sm_80"
};

// Fatbin entries of one file, counted by header. Keys: "sm_90a", with the suffix.
struct DeviceCode {
  FIELD(ByName<int64_t>, cubin, "machine code: cubins per SM, with suffix");
  FIELD(ByName<int64_t>, ptx, "PTX: entries per SM, with suffix");
  FIELD(ByName<int64_t>, lto_ir, "NVVM IR for link-time optimization: entries per SM");
  FIELD(std::optional<ByName<ByName<int64_t>>>, other_entries,
        "relocatable PTX, Tile IR and Mercury: entries by kind and SM; null if none");
  FIELD(int64_t, stored_bytes, "size in the file, compressed or not") = 0;
  FIELD(int64_t, uncompressed_bytes, "bytes once decompressed") = 0;
  FIELD(ByName<CodeBytes>, cubin_bytes, "size of the machine code, per SM");
  FIELD(ByName<CodeBytes>, ptx_bytes, "size of the PTX, per SM");
  FIELD(ByName<int64_t>, unit_sets, "translation units by the SMs that they hold machine code for");  // "sm_90 sm_90a"
  FIELD(ByName<int64_t>, toolkits, "toolkit releases that cubins name");
  FIELD(std::optional<ByName<ByName<AssembledCode>>>, assemblers,
        "cubins and kernels by the version of ptxas that made them, and by SM; null if not opened, or none is named");
  FIELD(std::optional<ByName<SmCensus>>, census, "contents of the machine code, per SM; null if not opened");
  FIELD(ByName<std::string>, ptx_versions, "the highest PTX ISA version per SM");  // "sm_80", "8.7"
  FIELD(std::optional<ByName<std::vector<std::string>>>, ptx_kernels,
        "mangled names of the kernels in PTX, per SM; null if not requested");
  FIELD(int64_t, units_without_code, "translation units that hold only PTX or LTO-IR") = 0;
  FIELD(std::optional<int64_t>, unlinked, "entries of relocatable code that no device linker has read; null if none");
  FIELD(std::optional<int64_t>, false_entries, "entries whose content does not match their header; null if not opened");
  FIELD(std::vector<FalseEntry>, first_false_entries, "the first of them");
};

// Calls `each(mangled_name, sm, is_ptx)` for every kernel of every cubin and of all PTX.
template <class Each>
void visit_kernels(const DeviceCode& code, Each&& each) {
  const auto take = [&](const std::string& target, const std::vector<std::string>& names, bool is_ptx) {
    const auto sm = parse_sm(target);
    if (!sm) return;
    for (const auto& name : names) each(name, *sm, is_ptx);
  };
  if (code.census) {
    for (const auto& [target, census] : *code.census) {
      if (census.names) take(target, *census.names, false);
    }
  }
  if (code.ptx_kernels) {
    for (const auto& [target, names] : *code.ptx_kernels) take(target, names, true);
  }
}

}  // namespace pbprobe
