// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Inventory: contents of an artifact, read from its files by the audit. Nothing of the artifact is executed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/facts/device_code.hpp"
#include "core/facts/loading.hpp"
#include "core/fields.hpp"

namespace pbprobe {

// A library that is not the one which was installed.
struct ChangedLibrary {
  std::string path;
  std::string how;                         // "another size", "another SHA-256"
  std::optional<std::string> other_owner;  // package whose RECORD also has the path, with other content
};

// Comparison of files with their RECORD, without compiled Python and files outside of the environment.
struct RecordedFiles {
  int64_t files = 0;
  int64_t missing = 0;
  int64_t changed = 0;  // files of another size; for libraries, also of another SHA-256
  std::vector<std::string> first_missing;
  std::vector<std::string> first_changed;  // libraries aside
  std::vector<ChangedLibrary> changed_libraries;
  bool reinstall = false;  // a library is missing or changed
};

void fields(auto& visit, SameAs<ChangedLibrary> auto& library) {
  visit("path", library.path, "in the folder of packages");
  visit("how", library.how, "difference from RECORD");
  visit("other_owner", library.other_owner, "another package that recorded the path, with other content");
}

void fields(auto& visit, SameAs<RecordedFiles> auto& recorded) {
  visit("files", recorded.files, "files that RECORD lists, without compiled Python");
  visit("missing", recorded.missing, "missing files");
  visit("changed", recorded.changed, "files of another size; for libraries, also of another SHA-256");
  visit("first_missing", recorded.first_missing, "ten at most");
  visit("first_changed", recorded.first_changed, "ten at most, libraries aside");
  visit("changed_libraries", recorded.changed_libraries, "shared objects, compilers and device code");
  visit("reinstall", recorded.reinstall, "a library is missing or changed");
}

// One property of a wheel variant (PEP 825, a draft): "nvidia :: sm_arch :: 120_real".
struct VariantProperty {
  std::string provider;  // namespace: "nvidia"
  std::string feature;   // "sm_arch"
  std::string value;     // "120_real"
};

// Contents of a wheel's variant.json.
struct WheelVariant {
  std::string label;
  std::vector<VariantProperty> properties;
};

void fields(auto& visit, SameAs<VariantProperty> auto& property) {
  visit("provider", property.provider, "namespace");
  visit("feature", property.feature, "feature in the namespace");
  visit("value", property.value, "value of the feature");
}

void fields(auto& visit, SameAs<WheelVariant> auto& variant) {
  visit("label", variant.label, "label in the wheel's name");
  visit("properties", variant.properties, "properties that the wheel was built for");
}
// Source of a library that a file needs.
enum class Provider {
  artifact,    // the artifact itself
  outside,     // another folder of this machine
  system,      // the system: C and C++ libraries, or a default folder
  driver,      // the GPU driver; not searched
  unresolved,  // ld.so would not find it, judging by the files
};

struct Dependency {
  std::string name;
  Provider provider = Provider::unresolved;
  std::optional<std::string> path;  // path inside the artifact, or absolute
  std::optional<std::string> by;    // "DT_RPATH of torch/lib/libtorch_cuda.so"
};

// Undefined symbols of a file that torch defines.
struct TorchSymbols {
  int64_t cxx = 0;     // symbols of c10, at and torch, which fit one release of torch
  int64_t stable = 0;  // symbols of the stable ABI, which fit all later releases
  std::vector<std::string>
      first;  // mangled names of the first C++ symbols; without C++ symbols, names of stable symbols
  // Torch releases that export all these symbols: "2.9"; null if the file needs none.
  std::optional<std::vector<std::string>> releases;
  // Names reserved for torch that neither a known release nor a file loaded with this file exports. Names with old
  // strings come first. Null if no such name exists.
  std::optional<std::vector<std::string>> unknown;
};

// Relations of a host binary to other binaries.
struct Links {
  std::vector<Dependency> dependencies;               // sources of the names in `needed`, by the rules of ld.so
  std::optional<std::vector<Dependency>> opened;      // may be opened at run time, by names among the constants
  std::map<std::string, std::string> version_floors;  // highest versions needed: {"GLIBC": "2.28", "GLIBCXX": "3.4.22"}
  std::vector<std::string> contains;                  // libraries linked in statically, by symbols: "FBGEMM", "MAGMA"
  // Versions of libraries linked in statically, read from their code: {"oneDNN": "3.10.2"}
  std::map<std::string, std::string> versions;
  TorchSymbols torch_symbols;
  std::optional<bool> executable_stack;  // the file requires an executable stack; null if not known
  // The file defines a module's PyInit_ or takes symbols of Python's C API; null if not known.
  std::optional<bool> uses_python;
  int64_t cxx11_names = 0;      // torch's exports with C++11 strings
  int64_t pre_cxx11_names = 0;  // torch's exports with older strings: a mix does not link
};

// Condition under which code of a file runs.
enum class CodeClass {
  unguarded,           // runs wherever the file is used
  static_initializer,  // runs when the file is loaded
  default_capability,  // torch's code for every CPU
  cpu_capability,      // torch's code for better CPUs
  dispatched,          // library code chosen by CPU, or named after an instruction set
  capability_leak,     // weak or inline function from the object of a CPU capability, which now runs on every
                       // CPU
  unclassified,        // unnamed code that no root reaches
  replaced,            // old copy of a function that BOLT moved; never runs
};

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
  int64_t instructions = 0;  // number of instructions that need them
};

// Machine code of one file, by function. Features are named as in /proc/cpuinfo; features that every CPU of the
// architecture has are left out.
struct HostCode {
  std::string functions_from;  // ".symtab", ".dynsym", ".eh_frame"; "none": each section is one nameless function
  std::map<std::string, int64_t> functions;  // number of functions per class
  int64_t code_bytes = 0;
  int64_t instructions = 0;
  std::map<std::string, int64_t> features;   // instructions per CPU feature, in the whole file
  std::map<std::string, int64_t> unguarded;  // instructions per feature in code that runs on every CPU; its keys are
                                             // the features that the file needs
  std::map<std::string, int64_t> at_load;    // the part of `unguarded` that runs while the file is loaded
  std::map<std::string, int64_t> leaked;     // instructions per feature in leaked copies (CodeClass::capability_leak)
  std::map<std::string, int64_t> unclassified;             // instructions per feature in code with unknown guards
  std::map<std::string, CapabilityCode> cpu_capabilities;  // code of torch's CPU capabilities
  std::map<std::string, int64_t> dispatchers;              // functions of each library that chooses code at run time
  std::string minimum_cpu;                         // id of a target, or the architecture: "avx2", "x86_64+sse4_1"
  std::optional<std::string> minimum_cpu_at_most;  // if all unclassified code were unguarded; null if equal
  std::vector<CodeOffender> offenders;             // the first of each class
  int64_t unguarded_instructions = 0;              // instructions that run on every CPU
  std::optional<int64_t> sse_functions;  // functions that nothing names as chosen, with moves of SSE2 and without AVX
  std::optional<int64_t> avx_functions;  // functions that nothing names as chosen, with AVX
  std::map<std::string, int64_t> unknown_opcodes;  // undecodable bytes per class
  std::optional<std::string> unknown_opcode;       // first that runs, or may run, on every CPU: "f (.text) at 0x1f0"
  std::optional<std::string> undecided_length;     // first SVE code there that may work with one vector length only
};

// Code that runs when a file is loaded or unloaded: initializers, terminators, resolvers, and functions that they call
// directly. Calls behind a CPU check are not followed.
struct LoadCode {
  int64_t functions = 0;
  std::map<std::string, int64_t> features;    // instructions that need each CPU feature
  std::vector<CodeOffender> offenders;        // functions with the most of these instructions
  std::optional<std::string> unknown_opcode;  // first undecodable instruction
  std::vector<CodeOffender> open;             // functions that it may call through a pointer
  std::optional<std::string> flushes;         // function that makes the CPU flush subnormal numbers to zero
};

// A compiler that runs when a program does: Triton's ptxas, NVRTC, nvJitLink.
struct Compiler {
  std::optional<std::string> version;  // "12.8.93", from its own text
  std::vector<std::string> knows;      // device targets with their suffix: "sm_121a"
};

struct File {
  std::string path;  // path inside the artifact: "torch/lib/libtorch_cuda.so"
  int64_t size_bytes = 0;
  std::optional<std::string> component;  // "libtorch", "NCCL", "cuDNN", "cuBLAS" …; null if not known
  std::optional<std::string> machine;    // "x86_64", "aarch64"; null if not ELF
  std::optional<std::string> soname;
  std::vector<std::string> needed;
  std::vector<std::string> rpath;         // DT_RPATH
  std::vector<std::string> runpath;       // DT_RUNPATH
  std::optional<Links> links;             // relations to other binaries; null if not inspected, or not a host binary
  std::optional<DeviceCode> device_code;  // in fatbin sections; null if missing
  std::optional<DeviceCode> self_loaded_code;  // device code among the constants, loaded by the file itself
  std::optional<HostCode> host_code;           // machine code; null if not inspected, or without code
  std::optional<LoadCode> load_code;           // code that runs at load; null if not inspected, or without such code
  std::optional<Compiler> compiler;            // targets of a compiler; null for other files
  std::optional<std::string> sha256;           // SHA-256 of the whole file; null if not requested, or not ELF
  std::optional<std::string> problem;          // reason for incomplete reading; the audit continues
};

// One path of a Nix store.
struct StorePath {
  std::string path;                      // "/nix/store/<hash>-cuda13.0-cuda_cudart-13.0.96-lib"
  std::string package;                   // "cuda13.0-cuda_cudart"
  std::optional<std::string> version;    // "13.0.96"; null if the name has none
  std::optional<std::string> component;  // "CUDA runtime", as in File::component; null if not listed there
  bool there = true;                     // false if the store database has it but the disk does not
};

// Store paths that a Nix result refers to, directly and indirectly.
struct StoreClosure {
  std::vector<std::string> outputs;    // the result's own store paths
  std::vector<StorePath> paths;        // with the outputs
  std::optional<std::string> problem;  // reason why nix-store failed
};

// Version stated in one place of the artifact.
struct StatedVersion {
  std::string of;      // "torch", "CUDA", "commit"
  std::string where;   // "torch/version.py:4", "torch-2.11.0.dist-info", the wheel's name
  std::string stated;  // "2.11.0+cu130"
};

// Package, in the sense of pip, that is named torch or is installed in torch's folder.
struct Package {
  std::string folder;                  // "torch-2.11.0.dist-info"
  std::optional<std::string> name;     // name in METADATA; null without METADATA
  std::optional<std::string> version;  // version in METADATA; null without METADATA
  std::optional<std::string> torch;    // required torch version: "==2.11.0"; null if any, or none
};

struct Inventory {
  std::string artifact;  // path given by the user, or found
  std::string layout;    // "site-packages", "wheel", "distribution", "libtorch", "nix", "debian", "file"
  std::optional<std::string> torch_version;  // "2.11.0+cu130", from the artifact
  std::optional<std::string> cuda_version;   // "13.0", from the artifact; null for a CPU build, or if not known
  std::optional<std::string> git_version;
  std::vector<StatedVersion> stated_versions;  // one entry per place that states a version
  std::vector<Package> packages;               // torch packages; exactly one in a correct installation
  std::optional<std::map<std::string, std::string>> component_versions;  // {"cuDNN": "9.19.0.56"}: metadata, file names
  std::optional<std::map<std::string, std::string>> required_versions;   // versions that torch's package requires
  std::optional<std::map<std::string, std::string>> version_floors;      // highest versions in libtorch's own files
  std::optional<std::string> python_abi;                                 // "cp313t"; null without an extension module
  std::optional<std::vector<std::string>> wheel_tags;                    // "cp313-cp313-manylinux_2_28_x86_64"
  std::optional<std::string> platform;                                   // "x86_64-linux"
  std::optional<std::string> libtorch_dir;               // absolute folder of libtorch_cpu.so; null inside a wheel
  std::optional<std::vector<std::string>> open_folders;  // RPATH folders that any user may write to
  std::optional<std::string> sha256;  // SHA-256 of the wheel file; null if not requested, or not a wheel
  std::vector<File> files;
  std::optional<StoreClosure> store_closure;             // closure of a Nix result; null if not in a Nix store
  std::optional<std::vector<std::string>> broken_links;  // links to missing shared objects
  std::optional<std::vector<Loading>> loading;           // predicted for extension modules; null if not inspected
  std::optional<WheelVariant> variant;                   // contents of variant.json; null if missing or unreadable
  std::optional<std::vector<RedirectedLibrary>>
      redirected;                           // libraries from elsewhere; null if not torch, or not inspected
  std::optional<std::string> torch_beside;  // torch version in the same environment; null if not installed
  std::optional<OtherProcessor> other_processor =
      std::nullopt;                                // files for another processor; null if none, or not inspected
  std::optional<RecordedFiles> recorded;           // comparison with RECORD; null without a RECORD, or not inspected
  std::optional<std::vector<std::string>> faults;  // reasons why installers or Python refuse it; null if not asked
  std::vector<std::string> problems;               // files that could not be read, one sentence each
};

void fields(auto& visit, SameAs<Dependency> auto& dependency) {
  visit("name", dependency.name, "name in DT_NEEDED");
  visit("provider", dependency.provider, "source of the library");
  visit("path", dependency.path, "path inside the artifact, or absolute");
  visit("by", dependency.by, "search rule that led ld.so to it");
}

void fields(auto& visit, SameAs<TorchSymbols> auto& symbols) {
  visit("cxx", symbols.cxx, "undefined C++ symbols of c10, at and torch");
  visit("stable", symbols.stable, "undefined symbols of torch's stable ABI");
  visit("first", symbols.first, "mangled names of the first symbols; C++ symbols first");
  visit("releases", symbols.releases, "torch releases that export all these symbols; null if the file needs none");
  visit("unknown", symbols.unknown,
        "names in torch's namespaces that no known release and no library beside the file exports, ten at most; null "
        "if none");
}

void fields(auto& visit, SameAs<Links> auto& links) {
  visit("dependencies", links.dependencies, "source of each needed library, by the rules of ld.so");
  visit("opened", links.opened, "libraries that it may open as it runs, by the names among its constants");
  visit("version_floors", links.version_floors, "highest versions needed of GLIBC, GLIBCXX, CXXABI …");
  visit("contains", links.contains, "libraries linked in statically, by their symbols");
  visit("versions", links.versions, "versions of oneDNN, MAGMA and NCCL linked in statically, read from their code");
  visit("torch_symbols", links.torch_symbols, "symbols that torch defines");
  visit("executable_stack", links.executable_stack, "the file requires an executable stack; null if not known");
  visit("uses_python", links.uses_python,
        "the file defines a module's PyInit_ or takes symbols of Python's C API; null if not known");
  visit("cxx11_names", links.cxx11_names, "torch exports with C++11 strings");
  visit("pre_cxx11_names", links.pre_cxx11_names, "torch exports with pre-C++11 strings");
}

void fields(auto& visit, SameAs<CapabilityCode> auto& capability) {
  visit("functions", capability.functions, "number of functions for this CPU capability");
  visit("features", capability.features, "instructions that need each CPU feature");
}

void fields(auto& visit, SameAs<CodeOffender> auto& offender) {
  visit("function", offender.function, "demangled; its address if it has no name");
  visit("section", offender.section, "section of the code");
  visit("class", offender.code_class, "condition under which the code runs");
  visit("features", offender.features, "CPU features that it needs beyond the architecture's base");
  visit("instructions", offender.instructions, "number of instructions that need them");
}

void fields(auto& visit, SameAs<LoadCode> auto& code) {
  visit("functions", code.functions, "initializers, terminators and resolvers, and functions that they call directly");
  visit("features", code.features, "instructions that need each CPU feature");
  visit("offenders", code.offenders, "functions with the most of these instructions");
  visit("unknown_opcode", code.unknown_opcode, "first undecodable instruction; null if none");
  visit("open", code.open, "functions that this code may call through a pointer");
  visit("flushes", code.flushes, "function that makes the CPU flush subnormal numbers to zero; null if none");
}

void fields(auto& visit, SameAs<HostCode> auto& code) {
  visit("functions_from", code.functions_from, "section that names the functions, or none");
  visit("functions", code.functions, "number of functions per class");
  visit("code_bytes", code.code_bytes, "bytes of machine code");
  visit("instructions", code.instructions, "number of decoded instructions");
  visit("features", code.features, "instructions that need each CPU feature, in the whole file");
  visit("unguarded", code.unguarded,
        "instructions per feature in code that runs on every CPU; its keys are the features that the file needs");
  visit("at_load", code.at_load, "the part of unguarded in static initializers");
  visit("leaked", code.leaked,
        "instructions per feature in copies of shared functions that the linker took from the object of a CPU "
        "capability");
  visit("unclassified", code.unclassified, "instructions per feature in code with unknown guards");
  visit("cpu_capabilities", code.cpu_capabilities, "code of torch's CPU capabilities");
  visit("dispatchers", code.dispatchers, "functions of each library that chooses at run time");
  visit("minimum_cpu", code.minimum_cpu,
        "id of a target, or the architecture, plus features that no fitting target has");
  visit("minimum_cpu_at_most", code.minimum_cpu_at_most,
        "minimum CPU if all unclassified code were unguarded; null if equal to minimum_cpu");
  visit("offenders", code.offenders, "the first functions of each class that need more than the base");
  visit("unguarded_instructions", code.unguarded_instructions, "instructions that run on every CPU");
  visit("sse_functions", code.sse_functions,
        "functions that nothing names as chosen by CPU, with moves of SSE2 and without AVX");
  visit("avx_functions", code.avx_functions,
        "functions that nothing names as chosen by CPU, with AVX; null if not x86-64");
  visit("unknown_opcodes", code.unknown_opcodes, "undecodable bytes, by class");
  visit("unknown_opcode", code.unknown_opcode,
        "first undecodable instruction that runs, or may run, on every CPU; null if none");
  visit("undecided_length", code.undecided_length,
        "first SVE code there that may work with one vector length only; null if none");
}

void fields(auto& visit, SameAs<Compiler> auto& compiler) {
  visit("version", compiler.version, "from its own text");
  visit("knows", compiler.knows, "device targets, with their suffix");
}

void fields(auto& visit, SameAs<File> auto& file) {
  visit("path", file.path, "path inside the artifact");
  visit("size_bytes", file.size_bytes, "size of the file");
  visit("component", file.component, "the library that it belongs to");
  visit("machine", file.machine, "ELF machine; null if not ELF");
  visit("soname", file.soname, "DT_SONAME");
  visit("needed", file.needed, "DT_NEEDED");
  visit("rpath", file.rpath, "DT_RPATH");
  visit("runpath", file.runpath, "DT_RUNPATH");
  visit("links", file.links, "relations to other binaries; null if not inspected, or not a host binary");
  visit("device_code", file.device_code, "device code in fatbin sections; null if missing");
  visit("self_loaded_code", file.self_loaded_code,
        "device code among its constants, which it loads itself; null if missing");
  visit("host_code", file.host_code, "machine code by function; null if not inspected, or without code");
  visit("load_code", file.load_code,
        "code that runs when the file is loaded or unloaded; null if not inspected, or nothing runs");
  visit("compiler", file.compiler,
        "targets of a compiler that is called at run time; null if the file is not a compiler");
  visit("sha256", file.sha256, "SHA-256 of the whole file; null if not requested, or not ELF");
  visit("problem", file.problem, "reason why it could not be read completely");
}

void fields(auto& visit, SameAs<StorePath> auto& path) {
  visit("path", path.path, "in the Nix store");
  visit("package", path.package, "name in the path, without version and output");
  visit("version", path.version, "version in the name; null if missing");
  visit("component", path.component, "the library that it belongs to");
  visit("there", path.there, "false if the store database has it but the disk does not");
}

void fields(auto& visit, SameAs<StoreClosure> auto& closure) {
  visit("outputs", closure.outputs, "the result's own store paths");
  visit("paths", closure.paths, "nix-store -qR: all paths that they refer to");
  visit("problem", closure.problem, "reason why nix-store failed");
}

void fields(auto& visit, SameAs<StatedVersion> auto& version) {
  visit("of", version.of, "torch, CUDA or commit");
  visit("where", version.where, "the file that states it");
  visit("stated", version.stated, "the version that it states");
}

void fields(auto& visit, SameAs<Package> auto& package) {
  visit("folder", package.folder, "folder of its metadata");
  visit("name", package.name, "name in METADATA");
  visit("version", package.version, "version in METADATA");
  visit("torch", package.torch, "torch versions that METADATA requires; null if any, or none");
}

void fields(auto& visit, SameAs<Inventory> auto& inventory) {
  visit.constant("schema", "pbprobe.inventory/1");
  visit("artifact", inventory.artifact, "the path that was audited");
  visit("layout", inventory.layout, "site-packages, wheel, distribution, libtorch, nix, debian or file");
  visit("torch_version", inventory.torch_version, "read from the artifact");
  visit("cuda_version", inventory.cuda_version, "read from the artifact; null for a CPU build, or if not known");
  visit("git_version", inventory.git_version, "the commit of torch, from version.py");
  visit("stated_versions", inventory.stated_versions, "places that state a version of torch, CUDA or the commit");
  visit("packages", inventory.packages, "torch packages, in the sense of pip; more than one is a fault");
  visit("component_versions", inventory.component_versions, "from metadata or file names");
  visit("required_versions", inventory.required_versions, "versions that torch's package requires");
  visit("version_floors", inventory.version_floors, "highest versions that libtorch's own files need");
  visit("python_abi", inventory.python_abi, "Python ABI of torch's extension module; null without one");
  visit("wheel_tags", inventory.wheel_tags, "tags of torch's package: Python, ABI and platform");
  visit("platform", inventory.platform, "\"x86_64-linux\"");
  visit("libtorch_dir", inventory.libtorch_dir, "folder of libtorch_cpu.so; null inside a wheel");
  visit("open_folders", inventory.open_folders, "folders of RPATHs that any user of this machine may write to");
  visit("sha256", inventory.sha256, "SHA-256 of the wheel file; null if not requested, or not a wheel");
  visit("files", inventory.files, "all shared objects");
  visit("store_closure", inventory.store_closure, "closure of a Nix result; null if not in a Nix store");
  visit("broken_links", inventory.broken_links, "links to missing shared objects");
  visit("loading", inventory.loading,
        "result of loading an installed package's extension modules, predicted from files; null if not inspected");
  visit("variant", inventory.variant, "contents of its variant.json (PEP 825, a draft); null if it has none");
  visit("redirected", inventory.redirected,
        "CUDA libraries that torch's process takes from elsewhere than the installed packages; null if not inspected");
  visit("torch_beside", inventory.torch_beside,
        "version of torch installed beside a package; null if missing, or not inspected");
  visit("other_processor", inventory.other_processor,
        "files of an installed package that are built for another processor; null if none, or not inspected");
  visit("recorded", inventory.recorded,
        "comparison of an installed torch's files with its RECORD; null without a RECORD, or outside of a gate");
  visit("faults", inventory.faults,
        "reasons for which installers or Python refuse it, and broken promises of a wheel's tags and RECORD; null "
        "outside of a gate");
  visit("problems", inventory.problems, "files that could not be read");
}

}  // namespace pbprobe
