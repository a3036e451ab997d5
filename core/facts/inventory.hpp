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
  FIELD(std::string, path, "in the folder of packages");
  FIELD(std::string, how, "difference from RECORD");  // "another size", "another SHA-256"
  FIELD(std::optional<std::string>, other_owner, "another package that recorded the path, with other content");
};

// Comparison of files with their RECORD, without compiled Python and files outside of the environment.
struct RecordedFiles {
  FIELD(int64_t, files, "files that RECORD lists, without compiled Python") = 0;
  FIELD(int64_t, missing, "missing files") = 0;
  FIELD(int64_t, changed, "files of another size; for libraries, also of another SHA-256") = 0;
  FIELD(std::vector<std::string>, first_missing, "ten at most");
  FIELD(std::vector<std::string>, first_changed, "ten at most, libraries aside");
  FIELD(std::vector<ChangedLibrary>, changed_libraries, "shared objects, compilers and device code");
  FIELD(bool, reinstall, "a library is missing or changed") = false;
};

// One property of a wheel variant (PEP 825, a draft): "nvidia :: sm_arch :: 120_real".
struct VariantProperty {
  FIELD(std::string, provider, "namespace");                // namespace: "nvidia"
  FIELD(std::string, feature, "feature in the namespace");  // "sm_arch"
  FIELD(std::string, value, "value of the feature");        // "120_real"
};

// Contents of a wheel's variant.json.
struct WheelVariant {
  FIELD(std::string, label, "label in the wheel's name");
  FIELD(std::vector<VariantProperty>, properties, "properties that the wheel was built for");
};

// Source of a library that a file needs.
enum class Provider {
  artifact,    // the artifact itself
  outside,     // another folder of this machine
  system,      // the system: C and C++ libraries, or a default folder
  driver,      // the GPU driver; not searched
  unresolved,  // ld.so would not find it, judging by the files
};

// Library that a file needs (DT_NEEDED), and where ld.so would find the library.
struct Dependency {
  FIELD(std::string, name, "name in DT_NEEDED");
  FIELD(Provider, provider, "source of the library") = Provider::unresolved;
  FIELD(std::optional<std::string>, path, "path inside the artifact, or absolute");
  FIELD(std::optional<std::string>, by,
        "search rule that led ld.so to it");  // "DT_RPATH of torch/lib/libtorch_cuda.so"
};

// Undefined symbols of a file that torch defines.
struct TorchSymbols {
  FIELD(int64_t, cxx, "undefined C++ symbols of c10, at and torch") = 0;
  FIELD(int64_t, stable, "undefined symbols of torch's stable ABI") = 0;
  FIELD(std::vector<std::string>, first, "mangled names of the first symbols; C++ symbols first");
  FIELD(std::optional<std::vector<std::string>>, releases,
        "torch releases that export all these symbols; null if the file needs none");
  FIELD(std::optional<std::vector<std::string>>, unknown,
        "names in torch's namespaces that no known release and no library beside the file exports, ten at most; null "
        "if none");
};

// Relations of a host binary to other binaries.
struct Links {
  FIELD(std::vector<Dependency>, dependencies, "source of each needed library, by the rules of ld.so");
  FIELD(std::optional<std::vector<Dependency>>, opened,
        "libraries that it may open as it runs, by the names among its constants");
  FIELD(ByName<std::string>, version_floors, "highest versions needed of GLIBC, GLIBCXX, CXXABI …");
  FIELD(std::vector<std::string>, contains, "libraries linked in statically, by their symbols");
  FIELD(ByName<std::string>, versions, "versions of oneDNN, MAGMA and NCCL linked in statically, read from their code");
  FIELD(TorchSymbols, torch_symbols, "symbols that torch defines");
  FIELD(std::optional<bool>, executable_stack, "the file requires an executable stack; null if not known");
  FIELD(std::optional<bool>, uses_python,
        "the file defines a module's PyInit_ or takes symbols of Python's C API; null if not known");
  FIELD(int64_t, cxx11_names, "torch exports with C++11 strings") = 0;
  FIELD(int64_t, pre_cxx11_names, "torch exports with pre-C++11 strings") = 0;
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
  FIELD(int64_t, functions, "number of functions for this CPU capability") = 0;
  FIELD(ByName<int64_t>, features, "instructions that need each CPU feature");
};

// A function that runs unguarded and needs more than the architecture's base.
struct CodeOffender {
  FIELD(std::string, function, "demangled; its address if it has no name");
  FIELD(std::string, section, "section of the code");
  FIELD_AS(CodeClass, code_class, "class", "condition under which the code runs") = CodeClass::unguarded;
  FIELD(std::vector<std::string>, features, "CPU features that it needs beyond the architecture's base");
  FIELD(int64_t, instructions, "number of instructions that need them") = 0;
};

// Machine code of one file, by function. Features are named as in /proc/cpuinfo; features that every CPU of the
// architecture has are left out.
struct HostCode {
  FIELD(std::string, functions_from, "section that names the functions, or none");
  FIELD(ByName<int64_t>, functions, "number of functions per class");
  FIELD(int64_t, code_bytes, "bytes of machine code") = 0;
  FIELD(int64_t, instructions, "number of decoded instructions") = 0;
  FIELD(ByName<int64_t>, features, "instructions that need each CPU feature, in the whole file");
  FIELD(ByName<int64_t>, unguarded,
        "instructions per feature in code that runs on every CPU; its keys are the features that the file needs");
  FIELD(ByName<int64_t>, at_load, "the part of unguarded in static initializers");
  FIELD(ByName<int64_t>, leaked,
        "instructions per feature in copies of shared functions that the linker took from the object of a CPU "
        "capability");
  FIELD(ByName<int64_t>, unclassified, "instructions per feature in code with unknown guards");
  FIELD(ByName<CapabilityCode>, cpu_capabilities, "code of torch's CPU capabilities");
  FIELD(ByName<int64_t>, dispatchers, "functions of each library that chooses at run time");
  FIELD(std::string, minimum_cpu, "id of a target, or the architecture, plus features that no fitting target has");
  FIELD(std::optional<std::string>, minimum_cpu_at_most,
        "minimum CPU if all unclassified code were unguarded; null if equal to minimum_cpu");
  FIELD(std::vector<CodeOffender>, offenders, "the first functions of each class that need more than the base");
  FIELD(int64_t, unguarded_instructions, "instructions that run on every CPU") = 0;
  FIELD(std::optional<int64_t>, sse_functions,
        "functions that nothing names as chosen by CPU, with moves of SSE2 and without AVX");
  FIELD(std::optional<int64_t>, avx_functions,
        "functions that nothing names as chosen by CPU, with AVX; null if not x86-64");
  FIELD(ByName<int64_t>, unknown_opcodes, "undecodable bytes, by class");
  FIELD(std::optional<std::string>, unknown_opcode,
        "first undecodable instruction that runs, or may run, on every CPU; null if none");
  FIELD(std::optional<std::string>, undecided_length,
        "first SVE code there that may work with one vector length only; null if none");
};

// Code that runs when a file is loaded or unloaded: initializers, terminators, resolvers, and functions that they call
// directly. Calls behind a CPU check are not followed.
struct LoadCode {
  FIELD(int64_t, functions, "initializers, terminators and resolvers, and functions that they call directly") = 0;
  FIELD(ByName<int64_t>, features, "instructions that need each CPU feature");
  FIELD(std::vector<CodeOffender>, offenders, "functions with the most of these instructions");
  FIELD(std::optional<std::string>, unknown_opcode, "first undecodable instruction; null if none");
  FIELD(std::vector<CodeOffender>, open, "functions that this code may call through a pointer");
  FIELD(std::optional<std::string>, flushes,
        "function that makes the CPU flush subnormal numbers to zero; null if none");
};

// A compiler that runs when a program does: Triton's ptxas, NVRTC, nvJitLink.
struct Compiler {
  FIELD(std::optional<std::string>, version, "from its own text");  // "12.8.93"
  FIELD(std::vector<std::string>, knows, "device targets, with their suffix");
};

struct File {
  FIELD(std::string, path, "path inside the artifact");  // "torch/lib/libtorch_cuda.so"
  FIELD(int64_t, size_bytes, "size of the file") = 0;
  // "libtorch", "NCCL", "cuDNN", "cuBLAS" …; null if not known
  FIELD(std::optional<std::string>, component, "the library that it belongs to");
  FIELD(std::optional<std::string>, machine, "ELF machine; null if not ELF");  // "x86_64", "aarch64"; null if not ELF
  FIELD(std::optional<std::string>, soname, "DT_SONAME");
  FIELD(std::vector<std::string>, needed, "DT_NEEDED");
  FIELD(std::vector<std::string>, rpath, "DT_RPATH");
  FIELD(std::vector<std::string>, runpath, "DT_RUNPATH");
  FIELD(std::optional<Links>, links, "relations to other binaries; null if not inspected, or not a host binary");
  FIELD(std::optional<DeviceCode>, device_code, "device code in fatbin sections; null if missing");
  FIELD(std::optional<DeviceCode>, self_loaded_code,
        "device code among its constants, which it loads itself; null if missing");
  FIELD(std::optional<HostCode>, host_code, "machine code by function; null if not inspected, or without code");
  FIELD(std::optional<LoadCode>, load_code,
        "code that runs when the file is loaded or unloaded; null if not inspected, or nothing runs");
  FIELD(std::optional<Compiler>, compiler,
        "targets of a compiler that is called at run time; null if the file is not a compiler");
  FIELD(std::optional<std::string>, sha256, "SHA-256 of the whole file; null if not requested, or not ELF");
  FIELD(std::optional<std::string>, problem, "reason why it could not be read completely");
};

// One path of a Nix store.
struct StorePath {
  FIELD(std::string, path, "in the Nix store");  // "/nix/store/<hash>-cuda13.0-cuda_cudart-13.0.96-lib"
  FIELD(std::string, package, "name in the path, without version and output");         // "cuda13.0-cuda_cudart"
  FIELD(std::optional<std::string>, version, "version in the name; null if missing");  // "13.0.96"
  FIELD(std::optional<std::string>, component, "the library that it belongs to");      // "CUDA runtime"
  FIELD(bool, there, "false if the store database has it but the disk does not") = true;
};

// Store paths that a Nix result refers to, directly and indirectly.
struct StoreClosure {
  FIELD(std::vector<std::string>, outputs, "the result's own store paths");
  FIELD(std::vector<StorePath>, paths, "nix-store -qR: all paths that they refer to");
  FIELD(std::optional<std::string>, problem, "reason why nix-store failed");
};

// Version stated in one place of the artifact.
struct StatedVersion {
  FIELD(std::string, of, "torch, CUDA or commit");
  FIELD(std::string, where, "the file that states it");      // "torch/version.py:4", "torch-2.11.0.dist-info"
  FIELD(std::string, stated, "the version that it states");  // "2.11.0+cu130"
};

// Package, in the sense of pip, that is named torch or is installed in torch's folder.
struct Package {
  FIELD(std::string, folder, "folder of its metadata");               // "torch-2.11.0.dist-info"
  FIELD(std::optional<std::string>, name, "name in METADATA");        // name in METADATA; null without METADATA
  FIELD(std::optional<std::string>, version, "version in METADATA");  // version in METADATA; null without METADATA
  FIELD(std::optional<std::string>, torch, "torch versions that METADATA requires; null if any, or none");
  FIELD(std::optional<std::vector<std::string>>, absent,
        "requirements of METADATA whose package the environment lacks; null if not inspected") = std::nullopt;
};

// Contents of one artifact, read from its files without running them.
struct Inventory {
  SCHEMA("pbprobe.inventory/1");
  FIELD(std::string, artifact, "the path that was audited");
  FIELD(std::string, layout, "site-packages, wheel, distribution, libtorch, nix, debian or file");
  FIELD(std::optional<std::string>, torch_version, "read from the artifact");  // "2.11.0+cu130"
  FIELD(std::optional<std::string>, cuda_version, "read from the artifact; null for a CPU build, or if not known");
  FIELD(std::optional<std::string>, git_version, "the commit of torch, from version.py");
  FIELD(std::vector<StatedVersion>, stated_versions, "places that state a version of torch, CUDA or the commit");
  FIELD(std::vector<Package>, packages, "torch packages, in the sense of pip; more than one is a fault");
  FIELD(std::optional<ByName<std::string>>, component_versions, "from metadata or file names");
  FIELD(std::optional<ByName<std::string>>, required_versions, "versions that torch's package requires");
  FIELD(std::optional<ByName<std::string>>, version_floors, "highest versions that libtorch's own files need");
  FIELD(std::optional<std::string>, python_abi,
        "Python ABI of torch's extension module; null without one");  // "cp313t"
  FIELD(std::optional<std::vector<std::string>>, wheel_tags, "tags of torch's package: Python, ABI and platform");
  FIELD(std::optional<std::string>, platform, "\"x86_64-linux\"");
  FIELD(std::optional<std::string>, libtorch_dir, "folder of libtorch_cpu.so; null inside a wheel");
  FIELD(std::optional<std::vector<std::string>>, open_folders,
        "folders of RPATHs that any user of this machine may write to");
  FIELD(std::optional<std::string>, sha256, "SHA-256 of the wheel file; null if not requested, or not a wheel");
  FIELD(std::vector<File>, files, "all shared objects");
  FIELD(std::optional<StoreClosure>, store_closure, "closure of a Nix result; null if not in a Nix store");
  FIELD(std::optional<std::vector<std::string>>, broken_links, "links to missing shared objects");
  FIELD(std::optional<std::vector<Loading>>, loading,
        "result of loading an installed package's extension modules, predicted from files; null if not inspected");
  FIELD(std::optional<WheelVariant>, variant, "contents of its variant.json (PEP 825, a draft); null if it has none");
  FIELD(std::optional<std::vector<RedirectedLibrary>>, redirected,
        "CUDA libraries that torch's process takes from elsewhere than the installed packages; null if not inspected");
  FIELD(std::optional<std::string>, torch_beside,
        "version of torch installed beside a package; null if missing, or not inspected");
  FIELD(std::optional<OtherProcessor>, other_processor,
        "files of an installed package that are built for another processor; null if none, or not inspected") =
      std::nullopt;
  FIELD(std::optional<RecordedFiles>, recorded,
        "comparison of an installed torch's files with its RECORD; null without a RECORD, or outside of a gate");
  FIELD(std::optional<std::vector<std::string>>, faults,
        "reasons for which installers or Python refuse it, and broken promises of a wheel's tags and RECORD; null "
        "outside of a gate");
  FIELD(std::vector<std::string>, problems, "files that could not be read");
};

}  // namespace pbprobe
