// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Inventory: what the audit found inside an artifact. Read from the files; nothing of them is executed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/facts/loading.hpp"
#include "core/facts/recorded_files.hpp"
#include "core/facts/wheel_variant.hpp"
#include "core/fields.hpp"

namespace pbprobe {

struct CodeBytes {
  int64_t stored_bytes = 0;        // as they lie in the file, compressed or not
  int64_t uncompressed_bytes = 0;  // as the headers say
};

// Cubins with kernels that stand in the file before, byte for byte.
struct RepeatedCode {
  int64_t cubins = 0;
  int64_t kernels = 0;
  int64_t code_bytes = 0;
};

// What the machine code for one SM is made of.
struct SmCensus {
  int64_t kernels = 0;
  int64_t words = 0;                            // instructions, padding included; 0 before Volta
  std::map<std::string, int64_t> instructions;  // tensor, copy, FMA, trap and local-memory ones by mnemonic: "HGMMA"
  std::vector<int64_t> tensor_cubins;           // which of the SM's cubins hold tensor instructions
  int64_t trap_kernels = 0;                     // that do nothing else: CubinCensus::only_traps tells when
  std::vector<std::string> only_traps;          // the first of them, as mangled
  int64_t cubins = 0;                           // that open as what they say
  int64_t empty_cubins = 0;                     // those of them without a kernel
  int64_t code_bytes = 0;
  int64_t stores = 0;                             // instructions that write to memory which others see
  int64_t idle_kernels = 0;                       // that nothing comes of: CubinCensus::idle tells when
  std::vector<std::string> idle;                  // the first of them, as mangled
  std::optional<int64_t> idle_cubins;             // cubins with kernels, all of them idle; null: not counted
  std::optional<RepeatedCode> repeated;           // of the above; null: none
  std::optional<std::vector<std::string>> names;  // of all kernels, sorted; null: not asked for
};

// An entry of a fatbin whose content is not what its header says.
struct FalseEntry {
  std::string label;   // "cubin for sm_90a", "PTX for sm_90"
  int64_t offset = 0;  // of its content, in the file
  std::string seen;    // "an ELF for sm_80"
};

// Fatbin entries of one file, counted by header. Keys: "sm_90a", with the suffix.
struct DeviceCode {
  std::map<std::string, int64_t> cubin;
  std::map<std::string, int64_t> ptx;
  std::map<std::string, int64_t> lto_ir;
  int64_t stored_bytes = 0;        // as they lie in the file, compressed or not
  int64_t uncompressed_bytes = 0;  // as the headers say
  std::map<std::string, CodeBytes> cubin_bytes;
  std::map<std::string, CodeBytes> ptx_bytes;
  std::map<std::string, int64_t> unit_sets;               // "sm_90 sm_90a": translation units with cubins for these
  std::map<std::string, int64_t> toolkits;                // "13.0": cubins that say so
  std::optional<std::map<std::string, SmCensus>> census;  // null: not opened
  std::map<std::string, std::string> ptx_versions;        // "sm_80": "8.7", the highest
  std::optional<std::map<std::string, std::vector<std::string>>> ptx_kernels;  // null: not asked for
  int64_t units_without_code = 0;        // translation units of only PTX or LTO-IR
  std::optional<int64_t> unlinked;       // entries of nvcc -rdc=true that no device linker read; null: none
  std::optional<int64_t> false_entries;  // null: not opened
  std::vector<FalseEntry> first_false_entries;
};

// Where a library that a file needs comes from.
enum class Provider {
  artifact,    // the artifact itself
  outside,     // another folder of this machine
  system,      // the system's: its C and C++ libraries, or what its default folders hold
  driver,      // the GPU driver's, not looked for
  unresolved,  // ld.so would not find it by what the files say
};

[[nodiscard]] std::span<const EnumName<Provider>> enum_names(Provider);

struct Dependency {
  std::string name;
  Provider provider = Provider::unresolved;
  std::optional<std::string> path;  // as inside the artifact, or absolute
  std::optional<std::string> by;    // "DT_RPATH of torch/lib/libtorch_cuda.so"
};

// What a file takes from torch: its undefined symbols.
struct TorchSymbols {
  int64_t cxx = 0;                 // of c10, at and torch: they hold for one release of torch
  int64_t stable = 0;              // of the stable ABI: they hold from one release on
  std::vector<std::string> first;  // the first of them in C++, as mangled; of the stable ABI where there is none
  // Of torch, that export all of them: "2.9". Null: it takes none.
  std::optional<std::vector<std::string>> releases;
  // Reserved for torch, but exported by no known release, nor by a file that is loaded with it. Old strings first.
  // Null: no such name.
  std::optional<std::vector<std::string>> unknown;
};

// How a host binary hangs together with others.
struct Links {
  std::vector<Dependency> dependencies;               // each of `needed`, by ld.so's rules
  std::optional<std::vector<Dependency>> opened;      // names among the constants that it may open as it runs
  std::map<std::string, std::string> version_floors;  // highest versions needed: {"GLIBC": "2.28", "GLIBCXX": "3.4.22"}
  std::vector<std::string> contains;                  // libraries linked in statically, by symbols: "FBGEMM", "MAGMA"
  // Of libraries in it, by their own code: {"oneDNN": "3.10.2"}
  std::map<std::string, std::string> versions;
  TorchSymbols torch_symbols;
  std::optional<bool> executable_stack;  // the loader has to make the stack executable for it; null: not known
  int64_t cxx11_names = 0;               // torch's exports with C++11 strings
  int64_t pre_cxx11_names = 0;           // torch's exports with those before: a mix does not link
};

// How code of a file comes to run.
enum class CodeClass {
  unguarded,           // runs wherever the file is used
  static_initializer,  // runs when the file is loaded
  default_capability,  // torch's code for every CPU
  cpu_capability,      // torch's code for better CPUs
  dispatched,          // of a library that chooses by CPU, or named after an instruction set
  capability_leak,     // a weak or inline function that the linker took from a CPU capability's object: runs everywhere
  unclassified,        // nameless, and reached from no root
  replaced,            // the old copy of a function that BOLT moved: nothing runs it
};

[[nodiscard]] std::span<const EnumName<CodeClass>> enum_names(CodeClass);

// One of torch's CPU capabilities.
struct CapabilityCode {
  int64_t functions = 0;
  std::map<std::string, int64_t> features;  // instructions that need each CPU feature
};

// A function that runs unguarded and needs more than the architecture's base.
struct CodeOffender {
  std::string function;  // demangled; nameless: its address
  std::string section;
  CodeClass code_class = CodeClass::unguarded;
  std::vector<std::string> features;
  int64_t instructions = 0;  // that need them
};

// The machine code of one file, function by function. Features are named as /proc/cpuinfo names them, and what every
// CPU of the architecture has is not among them.
struct HostCode {
  std::string functions_from;  // ".symtab", ".dynsym", ".eh_frame"; "none": each section is one nameless function
  std::map<std::string, int64_t> functions;  // by class
  int64_t code_bytes = 0;
  int64_t instructions = 0;
  std::map<std::string, int64_t> features;   // instructions that need each, in all of the file
  std::map<std::string, int64_t> unguarded;  // the same in what runs on every CPU: its keys are what the file needs
  std::map<std::string, int64_t> at_load;    // the part of it that runs as the file is loaded
  std::map<std::string, int64_t> leaked;     // the same in copies that the linker took from a CPU capability's object
  std::map<std::string, int64_t> unclassified;             // the same where nothing tells what guards it
  std::map<std::string, CapabilityCode> cpu_capabilities;  // torch's
  std::map<std::string, int64_t> dispatchers;              // functions of each library that chooses at run time
  std::string minimum_cpu;                         // id of a target, or the architecture: "avx2", "x86_64+sse4_1"
  std::optional<std::string> minimum_cpu_at_most;  // were all unclassified code unguarded too; null: the same
  std::vector<CodeOffender> offenders;             // the first of each class
  int64_t unguarded_instructions = 0;              // all of those that run on every CPU
  std::map<std::string, int64_t> unknown_opcodes;  // bytes that decode as nothing known, by class
  std::optional<std::string> unknown_opcode;  // the first of them that runs everywhere, or may: "f (.text) at 0x1f0"
};

// What runs as a file is loaded or unloaded: initializers, terminators and resolvers, and what they call outright.
// Where code asks the CPU first, what it calls then is not followed.
struct LoadCode {
  int64_t functions = 0;
  std::map<std::string, int64_t> features;    // instructions that need each CPU feature
  std::vector<CodeOffender> offenders;        // those with the most of them
  std::optional<std::string> unknown_opcode;  // the first instruction that is not known
  std::vector<CodeOffender> open;      // functions that such code may call through a pointer: it has their address
  std::optional<std::string> flushes;  // the function that makes the CPU flush subnormal numbers to zero
};

// A compiler that runs when a program does: Triton's ptxas, NVRTC, nvJitLink.
struct Compiler {
  std::optional<std::string> version;  // "12.8.93", from its own text
  std::vector<std::string> knows;      // device targets with their suffix: "sm_121a"
};

struct File {
  std::string path;  // as inside the artifact: "torch/lib/libtorch_cuda.so"
  int64_t size_bytes = 0;
  std::optional<std::string> component;  // "libtorch", "NCCL", "cuDNN", "cuBLAS" …; null: not known
  std::optional<std::string> machine;    // "x86_64", "aarch64"; null: not ELF
  std::optional<std::string> soname;
  std::vector<std::string> needed;
  std::vector<std::string> rpath;         // DT_RPATH
  std::vector<std::string> runpath;       // DT_RUNPATH
  std::optional<Links> links;             // null: not looked at, or no host binary
  std::optional<DeviceCode> device_code;  // null: has none
  std::optional<DeviceCode>
      self_loaded_code;                // among its constants: the file hands them to the driver itself; null: none
  std::optional<HostCode> host_code;   // null: not looked at, or no code
  std::optional<LoadCode> load_code;   // null: not looked at, or nothing runs then
  std::optional<Compiler> compiler;    // null: is none
  std::optional<std::string> sha256;   // of all its bytes; null: not asked for, or no ELF
  std::optional<std::string> problem;  // why it could not be read whole; the rest of the audit goes on
};

// One path of a Nix store.
struct StorePath {
  std::string path;                      // "/nix/store/<hash>-cuda13.0-cuda_cudart-13.0.96-lib"
  std::string package;                   // "cuda13.0-cuda_cudart"
  std::optional<std::string> version;    // "13.0.96"; null: its name has none
  std::optional<std::string> component;  // "CUDA runtime", as File::component; null: none of those
  bool there = true;                     // false: the store's database has it, the disk has not
};

// What a Nix result refers to, directly and indirectly.
struct StoreClosure {
  std::vector<std::string> outputs;    // the result's own store paths
  std::vector<StorePath> paths;        // with the outputs
  std::optional<std::string> problem;  // why nix-store did not tell
};

// What one place of the artifact says about a version.
struct StatedVersion {
  std::string of;      // "torch", "CUDA", "commit"
  std::string where;   // "torch/version.py:4", "torch-2.11.0.dist-info", the wheel's name
  std::string stated;  // "2.11.0+cu130"
};

// A package, as pip knows it, that calls itself torch or lies where torch's does.
struct Package {
  std::string folder;                  // "torch-2.11.0.dist-info"
  std::optional<std::string> name;     // of its METADATA; null: it has none
  std::optional<std::string> version;  // likewise
  std::optional<std::string> torch;    // which torch it asks for: "==2.11.0"; null: any, or none
};

struct Inventory {
  std::string artifact;  // path as given, or as found
  std::string layout;    // "site-packages", "wheel", "distribution", "libtorch", "nix", "debian", "file"
  std::optional<std::string> torch_version;  // "2.11.0+cu130", from the artifact
  std::optional<std::string> cuda_version;   // "13.0", from the artifact; null: a CPU build, or not known
  std::optional<std::string> git_version;
  std::vector<StatedVersion> stated_versions;                            // each place that tells one
  std::vector<Package> packages;                                         // of torch: one where it was installed
  std::optional<std::map<std::string, std::string>> component_versions;  // {"cuDNN": "9.19.0.56"}: metadata, file names
  std::optional<std::map<std::string, std::string>> required_versions;   // the same, as torch's package asks for them
  std::optional<std::map<std::string, std::string>> version_floors;      // of libtorch's own files together
  std::optional<std::string> python_abi;                                 // "cp313t"; null: no extension module
  std::optional<std::vector<std::string>> wheel_tags;                    // "cp313-cp313-manylinux_2_28_x86_64"
  std::optional<std::string> platform;                                   // "x86_64-linux"
  std::optional<std::string> libtorch_dir;  // absolute folder of libtorch_cpu.so; null where it lies inside a wheel
  std::optional<std::vector<std::string>> open_folders;  // of all RPATHs: what anybody on this machine may write to
  std::optional<std::string> sha256;                     // of a wheel's own bytes; null: not asked for, or no wheel
  std::vector<File> files;
  std::optional<StoreClosure> store_closure;             // null: not in a Nix store
  std::optional<std::vector<std::string>> broken_links;  // links to shared objects that are not there
  std::optional<std::vector<Loading>> loading;  // of an installed package's extension modules; null: not looked at
  std::optional<WheelVariant> variant;          // null: it has no variant.json that could be read
  std::optional<std::vector<RedirectedLibrary>> redirected;  // of torch's process; null: not torch, or not followed
  std::optional<std::string> torch_beside;  // the version of torch in the same environment; null: there is none
  std::optional<OtherProcessor> other_processor = std::nullopt;  // null: none of its files, or not looked at
  std::optional<RecordedFiles> recorded;           // of an installed torch; null: no RECORD, or not looked at
  std::optional<std::vector<std::string>> faults;  // what keeps installers or Python from it; null: not asked
  std::vector<std::string> problems;               // what could not be read, one sentence each
};

template <class Visitor, SameAs<CodeBytes> T>
void fields(Visitor& visit, T& bytes) {
  visit("stored_bytes", bytes.stored_bytes, "as they lie in the file, compressed or not");
  visit("uncompressed_bytes", bytes.uncompressed_bytes, "bytes once decompressed");
}

template <class Visitor, SameAs<RepeatedCode> T>
void fields(Visitor& visit, T& code) {
  visit("cubins", code.cubins, "with kernels");
  visit("kernels", code.kernels, "their entry functions");
  visit("code_bytes", code.code_bytes, "bytes of their kernels and functions");
}

template <class Visitor, SameAs<SmCensus> T>
void fields(Visitor& visit, T& census) {
  visit("kernels", census.kernels, "entry functions");
  visit("words", census.words, "instructions, padding included; 0 before Volta");
  visit("instructions", census.instructions, "tensor, copy, FMA, trap and local-memory instructions by mnemonic");
  visit("tensor_cubins", census.tensor_cubins,
        "which of the file's cubins hold tensor instructions, counted from 1 as cuobjdump counts them");
  visit("trap_kernels", census.trap_kernels,
        "kernels that trap, and touch no global or shared memory, or take tensor memory and multiply nothing");
  visit("only_traps", census.only_traps, "the first of them, as mangled");
  visit("cubins", census.cubins, "that open as what they say");
  visit("empty_cubins", census.empty_cubins, "those of them without a kernel");
  visit("code_bytes", census.code_bytes, "bytes of their kernels and functions");
  visit("stores", census.stores, "instructions that write to global or shared memory");
  visit("idle_kernels", census.idle_kernels, "kernels that store nothing and at most print or assert, or always trap");
  visit("idle", census.idle, "the first of them, as mangled");
  visit("idle_cubins", census.idle_cubins, "cubins with kernels, all of them idle; null: not counted");
  visit("repeated", census.repeated,
        "of the above, cubins that stand in the file before, byte for byte: they add nothing to it; null: none");
  visit("names", census.names, "of all kernels, as mangled; null: not asked for");
}

template <class Visitor, SameAs<FalseEntry> T>
void fields(Visitor& visit, T& entry) {
  visit("label", entry.label, "kind and SM, as the header says");
  visit("offset", entry.offset, "of its content, in the file");
  visit("seen", entry.seen, "what is there instead");
}

template <class Visitor, SameAs<DeviceCode> T>
void fields(Visitor& visit, T& code) {
  visit("cubin", code.cubin, "machine code: cubins per SM, with suffix");
  visit("ptx", code.ptx, "PTX: entries per SM, with suffix");
  visit("lto_ir", code.lto_ir, "NVVM IR for link-time optimization: entries per SM");
  visit("stored_bytes", code.stored_bytes, "as they lie in the file, compressed or not");
  visit("uncompressed_bytes", code.uncompressed_bytes, "bytes once decompressed");
  visit("cubin_bytes", code.cubin_bytes, "of machine code, per SM");
  visit("ptx_bytes", code.ptx_bytes, "of PTX, per SM");
  visit("unit_sets", code.unit_sets, "translation units by the SMs that they hold machine code for");
  visit("toolkits", code.toolkits, "toolkit releases that cubins name");
  visit("census", code.census, "what the machine code is made of, per SM; null: not opened");
  visit("ptx_versions", code.ptx_versions, "the highest PTX ISA version per SM");
  visit("ptx_kernels", code.ptx_kernels, "names of the kernels in PTX per SM, as mangled; null: not asked for");
  visit("units_without_code", code.units_without_code, "translation units that hold only PTX or LTO-IR");
  visit("unlinked", code.unlinked, "entries of relocatable code that no device linker has read; null: none");
  visit("false_entries", code.false_entries, "whose content is not what their header says; null: not opened");
  visit("first_false_entries", code.first_false_entries, "the first of them");
}

template <class Visitor, SameAs<Dependency> T>
void fields(Visitor& visit, T& dependency) {
  visit("name", dependency.name, "as DT_NEEDED has it");
  visit("provider", dependency.provider, "who brings the library");
  visit("path", dependency.path, "as inside the artifact, or absolute");
  visit("by", dependency.by, "what led ld.so there");
}

template <class Visitor, SameAs<TorchSymbols> T>
void fields(Visitor& visit, T& symbols) {
  visit("cxx", symbols.cxx, "undefined C++ symbols of c10, at and torch");
  visit("stable", symbols.stable, "undefined symbols of torch's stable ABI");
  visit("first", symbols.first, "the first of them, C++ before the stable ABI, as mangled");
  visit("releases", symbols.releases, "of torch that export all of them; null: it takes none");
  visit("unknown", symbols.unknown,
        "in torch's namespaces, that no known release exports and no library defines beside the file, ten at most; "
        "null: none");
}

template <class Visitor, SameAs<Links> T>
void fields(Visitor& visit, T& links) {
  visit("dependencies", links.dependencies, "where each needed library comes from, by ld.so's rules");
  visit("opened", links.opened, "libraries that it may open as it runs, by the names among its constants");
  visit("version_floors", links.version_floors, "highest versions needed of GLIBC, GLIBCXX, CXXABI …");
  visit("contains", links.contains, "libraries linked in statically, by their symbols");
  visit("versions", links.versions, "of the oneDNN, MAGMA or NCCL in it, where their own code tells");
  visit("torch_symbols", links.torch_symbols, "what it takes from torch");
  visit("executable_stack", links.executable_stack,
        "the loader has to make the stack executable for it; null: not known");
  visit("cxx11_names", links.cxx11_names, "torch's exports with C++11 strings");
  visit("pre_cxx11_names", links.pre_cxx11_names, "torch's exports with the strings before C++11");
}

template <class Visitor, SameAs<CapabilityCode> T>
void fields(Visitor& visit, T& capability) {
  visit("functions", capability.functions, "of this CPU capability");
  visit("features", capability.features, "instructions that need each CPU feature");
}

template <class Visitor, SameAs<CodeOffender> T>
void fields(Visitor& visit, T& offender) {
  visit("function", offender.function, "demangled; nameless: its address");
  visit("section", offender.section, "where the code lies");
  visit("class", offender.code_class, "the instruction set that it needs");
  visit("features", offender.features, "CPU features that it needs beyond the architecture's base");
  visit("instructions", offender.instructions, "those that need them");
}

template <class Visitor, SameAs<LoadCode> T>
void fields(Visitor& visit, T& code) {
  visit("functions", code.functions, "initializers, terminators and resolvers, and what they call outright");
  visit("features", code.features, "instructions that need each CPU feature");
  visit("offenders", code.offenders, "functions with the most of them");
  visit("unknown_opcode", code.unknown_opcode, "the first instruction that is not known; null: there is none");
  visit("open", code.open, "functions that such code may call through a pointer that it holds");
  visit("flushes", code.flushes,
        "the function that makes the CPU flush subnormal numbers to zero; null: there is none");
}

template <class Visitor, SameAs<HostCode> T>
void fields(Visitor& visit, T& code) {
  visit("functions_from", code.functions_from, "section that names the functions, or none");
  visit("functions", code.functions, "by class");
  visit("code_bytes", code.code_bytes, "bytes of machine code");
  visit("instructions", code.instructions, "how many were counted");
  visit("features", code.features, "instructions that need each CPU feature, in the whole file");
  visit("unguarded", code.unguarded, "the same in code that runs on every CPU: its keys are what the file needs");
  visit("at_load", code.at_load, "the part of it in static initializers");
  visit("leaked", code.leaked, "the same in a CPU capability's copies of functions that run everywhere");
  visit("unclassified", code.unclassified, "the same in code of which nothing tells what guards it");
  visit("cpu_capabilities", code.cpu_capabilities, "of torch's dispatcher");
  visit("dispatchers", code.dispatchers, "functions of each library that chooses at run time");
  visit("minimum_cpu", code.minimum_cpu, "id of a target, or the architecture, and what is needed beyond");
  visit("minimum_cpu_at_most", code.minimum_cpu_at_most, "if all unclassified code were unguarded; null: the same");
  visit("offenders", code.offenders, "the first functions of each class that need more than the base");
  visit("unguarded_instructions", code.unguarded_instructions, "all that run on every CPU");
  visit("unknown_opcodes", code.unknown_opcodes, "bytes that decode as no known instruction, by class");
  visit("unknown_opcode", code.unknown_opcode, "the first of them that runs everywhere, or may; null: there is none");
}

template <class Visitor, SameAs<Compiler> T>
void fields(Visitor& visit, T& compiler) {
  visit("version", compiler.version, "from its own text");
  visit("knows", compiler.knows, "device targets, with their suffix");
}

template <class Visitor, SameAs<File> T>
void fields(Visitor& visit, T& file) {
  visit("path", file.path, "as inside the artifact");
  visit("size_bytes", file.size_bytes, "of the file");
  visit("component", file.component, "the library that it belongs to");
  visit("machine", file.machine, "ELF machine; null: not ELF");
  visit("soname", file.soname, "DT_SONAME");
  visit("needed", file.needed, "DT_NEEDED");
  visit("rpath", file.rpath, "DT_RPATH");
  visit("runpath", file.runpath, "DT_RUNPATH");
  visit("links", file.links, "null: not looked at, or no host binary");
  visit("device_code", file.device_code, "null: the file has none");
  visit("self_loaded_code", file.self_loaded_code,
        "device code among its constants, which it loads by itself; null: none");
  visit("host_code", file.host_code, "machine code by function; null: not looked at, or none");
  visit("load_code", file.load_code, "what runs as it is loaded or unloaded; null: not looked at, or nothing");
  visit("compiler", file.compiler, "what a compiler that runs when a program does can compile for");
  visit("sha256", file.sha256, "of all its bytes; null: not asked for, or no ELF");
  visit("problem", file.problem, "why it could not be read whole");
}

template <class Visitor, SameAs<StorePath> T>
void fields(Visitor& visit, T& path) {
  visit("path", path.path, "in the Nix store");
  visit("package", path.package, "the name in it, without version and output");
  visit("version", path.version, "null: its name has none");
  visit("component", path.component, "the library that it belongs to");
  visit("there", path.there, "false: the store's database has it, the disk has not");
}

template <class Visitor, SameAs<StoreClosure> T>
void fields(Visitor& visit, T& closure) {
  visit("outputs", closure.outputs, "the result's own store paths");
  visit("paths", closure.paths, "nix-store -qR: all that they refer to");
  visit("problem", closure.problem, "why nix-store did not tell");
}

template <class Visitor, SameAs<StatedVersion> T>
void fields(Visitor& visit, T& version) {
  visit("of", version.of, "torch, CUDA or commit");
  visit("where", version.where, "the file that states it");
  visit("stated", version.stated, "the version that it states");
}

template <class Visitor, SameAs<Package> T>
void fields(Visitor& visit, T& package) {
  visit("folder", package.folder, "that of its metadata");
  visit("name", package.name, "of its METADATA");
  visit("version", package.version, "of its METADATA");
  visit("torch", package.torch, "the versions of torch that its METADATA asks for; null: any, or none");
}

template <class Visitor, SameAs<Inventory> T>
void fields(Visitor& visit, T& inventory) {
  visit.constant("schema", "pbprobe.inventory/1");
  visit("artifact", inventory.artifact, "the path that was audited");
  visit("layout", inventory.layout, "site-packages, wheel, distribution, libtorch, nix, debian or file");
  visit("torch_version", inventory.torch_version, "read from the artifact");
  visit("cuda_version", inventory.cuda_version, "read from the artifact; null: a CPU build, or not known");
  visit("git_version", inventory.git_version, "the commit of torch, from version.py");
  visit("stated_versions", inventory.stated_versions, "each place that tells a version of torch, CUDA or the commit");
  visit("packages", inventory.packages, "of torch, as pip knows them; more than one is a fault");
  visit("component_versions", inventory.component_versions, "from metadata or file names");
  visit("required_versions", inventory.required_versions, "as torch's package asks for them");
  visit("version_floors", inventory.version_floors, "of libtorch's own files together");
  visit("python_abi", inventory.python_abi, "of torch's extension module");
  visit("wheel_tags", inventory.wheel_tags, "of torch's package: Python, ABI and platform");
  visit("platform", inventory.platform, "\"x86_64-linux\"");
  visit("libtorch_dir", inventory.libtorch_dir, "folder of libtorch_cpu.so; null inside a wheel");
  visit("open_folders", inventory.open_folders, "folders of RPATHs that anybody may write to on this machine");
  visit("sha256", inventory.sha256, "of a wheel's own bytes; null: not asked for, or no wheel");
  visit("files", inventory.files, "all shared objects");
  visit("store_closure", inventory.store_closure, "of a Nix result; null: not in a Nix store");
  visit("broken_links", inventory.broken_links, "to shared objects that are not there");
  visit("loading", inventory.loading,
        "what the loader would say of an installed package's extension modules; null: not looked at");
  visit("variant", inventory.variant, "what its variant.json says (PEP 825, a draft); null: it has none");
  visit("redirected", inventory.redirected,
        "CUDA's libraries that torch's process takes from elsewhere than from the installed packages; null: not looked "
        "at");
  visit("torch_beside", inventory.torch_beside,
        "the version of torch that is installed beside a package; null: none, or not looked at");
  visit("other_processor", inventory.other_processor,
        "an installed package's files that are built for another processor; null: none, or not looked at");
  visit("recorded", inventory.recorded,
        "an installed torch's files, held against its RECORD; null: it has none, or a gate did not ask");
  visit("faults", inventory.faults,
        "what keeps installers or Python from taking it, and what a wheel's tags and RECORD promise in vain; null: a "
        "gate did not ask");
  visit("problems", inventory.problems, "what could not be read");
}

}  // namespace pbprobe
