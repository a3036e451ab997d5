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
  int64_t stored_bytes = 0;        // size in the file, compressed or not
  int64_t uncompressed_bytes = 0;  // size according to the headers
};

// Cubins of one ptxas for one SM.
struct AssembledCode {
  int64_t cubins = 0;
  int64_t kernels = 0;
};

// Cubins with kernels that are byte-identical to an earlier cubin of the file.
struct RepeatedCode {
  int64_t cubins = 0;
  int64_t kernels = 0;
  int64_t code_bytes = 0;
};

// Contents of the machine code for one SM.
struct SmCensus {
  int64_t kernels = 0;
  int64_t words = 0;                            // instructions, padding included; 0 before Volta
  std::map<std::string, int64_t> instructions;  // tensor, copy, FMA, trap and local-memory ones by mnemonic: "HGMMA"
  std::vector<int64_t> tensor_cubins;           // numbers of the cubins with tensor instructions
  int64_t trap_kernels = 0;                     // kernels that only trap; see CubinCensus::only_traps
  std::vector<std::string> only_traps;          // mangled names of the first of them
  int64_t cubins = 0;                           // cubins whose content matches their header
  int64_t empty_cubins = 0;                     // cubins without a kernel, of those
  int64_t code_bytes = 0;
  int64_t stores = 0;                             // instructions that write to memory visible to other threads
  int64_t idle_kernels = 0;                       // kernels without any effect; see CubinCensus::idle
  std::vector<std::string> idle;                  // mangled names of the first of them
  std::optional<int64_t> idle_cubins;             // cubins with kernels, all of them idle; null if not counted
  std::optional<RepeatedCode> repeated;           // repeated cubins, included in the counts above; null if none repeat
  std::optional<std::vector<std::string>> names;  // sorted names of all kernels; null if not requested
  std::optional<std::map<std::string, int64_t>> families;  // names per function template; null if not requested
};

// Fatbin entry whose content does not match its header.
struct FalseEntry {
  std::string label;   // "cubin for sm_90a", "PTX for sm_90"
  int64_t offset = 0;  // offset of the content in the file
  std::string seen;    // "an ELF for sm_80"
};

// Fatbin entries of one file, counted by header. Keys: "sm_90a", with the suffix.
struct DeviceCode {
  std::map<std::string, int64_t> cubin;
  std::map<std::string, int64_t> ptx;
  std::map<std::string, int64_t> lto_ir;
  std::optional<std::map<std::string, std::map<std::string, int64_t>>>
      other_entries;               // counts per kind ("Tile IR") and SM; null if none
  int64_t stored_bytes = 0;        // size in the file, compressed or not
  int64_t uncompressed_bytes = 0;  // size according to the headers
  std::map<std::string, CodeBytes> cubin_bytes;
  std::map<std::string, CodeBytes> ptx_bytes;
  std::map<std::string, int64_t> unit_sets;  // "sm_90 sm_90a": translation units with cubins for these
  std::map<std::string, int64_t> toolkits;   // cubins per CUDA release that they name: "13.0"
  std::optional<std::map<std::string, std::map<std::string, AssembledCode>>>
      assemblers;  // per version of ptxas ("13.0.88") and SM; null if not opened, or none is named
  std::optional<std::map<std::string, SmCensus>> census;                       // per SM; null if not opened
  std::map<std::string, std::string> ptx_versions;                             // "sm_80": "8.7", the highest
  std::optional<std::map<std::string, std::vector<std::string>>> ptx_kernels;  // per SM; null if not requested
  int64_t units_without_code = 0;        // translation units with only PTX or LTO-IR
  std::optional<int64_t> unlinked;       // entries of nvcc -rdc=true that no device linker read; null if none
  std::optional<int64_t> false_entries;  // entries that contradict their header; null if not opened
  std::vector<FalseEntry> first_false_entries;
};

void fields(auto& visit, SameAs<CodeBytes> auto& bytes) {
  visit("stored_bytes", bytes.stored_bytes, "size in the file, compressed or not");
  visit("uncompressed_bytes", bytes.uncompressed_bytes, "bytes once decompressed");
}

void fields(auto& visit, SameAs<AssembledCode> auto& code) {
  visit("cubins", code.cubins, "cubins");
  visit("kernels", code.kernels, "their entry functions");
}

void fields(auto& visit, SameAs<RepeatedCode> auto& code) {
  visit("cubins", code.cubins, "repeated cubins");
  visit("kernels", code.kernels, "entry functions of these cubins");
  visit("code_bytes", code.code_bytes, "bytes of their kernels and functions");
}

void fields(auto& visit, SameAs<SmCensus> auto& census) {
  visit("kernels", census.kernels, "entry functions");
  visit("words", census.words, "instructions, padding included; 0 before Volta");
  visit("instructions", census.instructions, "tensor, copy, FMA, trap and local-memory instructions by mnemonic");
  visit("tensor_cubins", census.tensor_cubins,
        "numbers of the file's cubins with tensor instructions, starting at 1 as in cuobjdump");
  visit("trap_kernels", census.trap_kernels,
        "kernels that trap, and touch no global or shared memory, or take tensor memory and multiply nothing");
  visit("only_traps", census.only_traps, "mangled names of the first of them");
  visit("cubins", census.cubins, "cubins whose content matches their header");
  visit("empty_cubins", census.empty_cubins, "cubins without a kernel, of those");
  visit("code_bytes", census.code_bytes, "bytes of their kernels and functions");
  visit("stores", census.stores, "instructions that write to global or shared memory");
  visit("idle_kernels", census.idle_kernels, "kernels that store nothing and at most print or assert, or always trap");
  visit("idle", census.idle, "mangled names of the first of them");
  visit("idle_cubins", census.idle_cubins, "cubins with kernels, all of them idle; null if not counted");
  visit("repeated", census.repeated,
        "cubins that are byte-identical to an earlier cubin of the file, included in the counts above; null if none "
        "repeat");
  visit("names", census.names, "mangled names of all kernels; null if not requested");
  visit("families", census.families,
        "different names per function template, without namespaces and numbers: radixSortKVInPlace; null if not "
        "requested");
}

void fields(auto& visit, SameAs<FalseEntry> auto& entry) {
  visit("label", entry.label, "kind and SM according to the header");
  visit("offset", entry.offset, "offset of the content in the file");
  visit("seen", entry.seen, "content that was found instead");
}

void fields(auto& visit, SameAs<DeviceCode> auto& code) {
  visit("cubin", code.cubin, "machine code: cubins per SM, with suffix");
  visit("ptx", code.ptx, "PTX: entries per SM, with suffix");
  visit("lto_ir", code.lto_ir, "NVVM IR for link-time optimization: entries per SM");
  visit("other_entries", code.other_entries,
        "relocatable PTX, Tile IR and Mercury: entries by kind and SM; null if none");
  visit("stored_bytes", code.stored_bytes, "size in the file, compressed or not");
  visit("uncompressed_bytes", code.uncompressed_bytes, "bytes once decompressed");
  visit("cubin_bytes", code.cubin_bytes, "size of the machine code, per SM");
  visit("ptx_bytes", code.ptx_bytes, "size of the PTX, per SM");
  visit("unit_sets", code.unit_sets, "translation units by the SMs that they hold machine code for");
  visit("toolkits", code.toolkits, "toolkit releases that cubins name");
  visit("assemblers", code.assemblers,
        "cubins and kernels by the version of ptxas that made them, and by SM; null if not opened, or none is named");
  visit("census", code.census, "contents of the machine code, per SM; null if not opened");
  visit("ptx_versions", code.ptx_versions, "the highest PTX ISA version per SM");
  visit("ptx_kernels", code.ptx_kernels, "mangled names of the kernels in PTX, per SM; null if not requested");
  visit("units_without_code", code.units_without_code, "translation units that hold only PTX or LTO-IR");
  visit("unlinked", code.unlinked, "entries of relocatable code that no device linker has read; null if none");
  visit("false_entries", code.false_entries, "entries whose content does not match their header; null if not opened");
  visit("first_false_entries", code.first_false_entries, "the first of them");
}

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
