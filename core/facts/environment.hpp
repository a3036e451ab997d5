// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Environment: contents of the packages in a folder, one row per package. `pbprobe audit` prints it for site-packages,
// for a folder of wheels, and whenever GPUs are given.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/facts/finding.hpp"
#include "core/facts/inventory.hpp"
#include "core/facts/loading.hpp"
#include "core/facts/verdict.hpp"
#include "core/fields.hpp"

namespace pbprobe {

// Torch ABI that a package links to.
enum class TorchAbi {
  none,    // no torch symbols
  stable,  // only functions of the stable ABI: it loads with later releases
  cxx,     // C++ symbols: it loads with the release that it was built with
  own,     // torch itself
};

// Kernels that do not run on a GPU, grouped by the SMs that they have code for.
struct LackingKernels {
  std::vector<std::string> only_for;  // "sm_100f", "compute_90a"
  int64_t kernels = 0;
  std::vector<std::string> first;  // the first of each function, ten at most, as mangled
};

// Code of a package that one GPU can use. Counts each kernel name once, by the best code of any file.
struct ServedGpu {
  std::string sm;                   // "sm_121"
  GpuCode code = GpuCode::unknown;  // code that most of its kernels get; unknown without kernels
  int64_t native = 0;               // cubins for this capability
  int64_t same_major = 0;           // cubins for an earlier capability of its family
  int64_t ptx = 0;                  // only PTX
  int64_t none = 0;                 // kernels with code only for other SMs
  int64_t kept_by_suffix = 0;       // kernels counted in `none` that would run if their SM had no suffix
  std::optional<bool> ptx_taken;    // the installed driver compiles this PTX; null if not tested
  std::vector<LackingKernels> lacking;
};

// A library of several packages, of which a process that has imported torch has one.
struct SharedLibrary {
  std::string name;   // "libcudnn.so.9"
  std::string taken;  // path
  std::string how;  // rule of the search: "DT_RPATH of …", "LD_LIBRARY_PATH"; empty if torch opens the library by path
  std::vector<std::string> passed_over;  // files of the same name in other folders
  std::vector<std::string> beside;       // copies under other names, which are loaded too
};

struct Distribution {
  std::string name;                    // "xformers"
  std::optional<std::string> version;  // version in its metadata; null if missing
  std::string folder;                  // "xformers-0.0.35.dist-info", or the wheel
  std::vector<std::string> tags;       // "cp39-abi3-manylinux_2_28_x86_64"
  int64_t files = 0;                   // shared objects, compilers, and files of device code
  int64_t size_bytes = 0;
  TorchAbi torch_abi = TorchAbi::none;
  int64_t torch_symbols = 0;  // symbols of that ABI in the file with the most
  std::vector<std::string> first_torch_symbols;
  std::vector<std::string> torch_releases;          // releases that export all these symbols: "2.9"; may be empty
  std::optional<std::string> unknown_torch_symbol;  // name that no known release exports; null if none
  std::vector<std::string> python;                  // tags of its extension modules: "cp311", "abi3"
  std::vector<std::string> cuda;                    // majors of the CUDA libraries that it links or is: "13"
  std::vector<std::string> toolkits;                // releases that made its cubins: "13.2"
  std::map<std::string, int64_t> cubin;
  std::map<std::string, int64_t> ptx;
  std::map<std::string, std::string> ptx_versions;
  std::map<std::string, int64_t> lto_ir;
  std::optional<std::string> minimum_cpu;  // for code that runs on every CPU; null if not inspected
  // CPU features that files with AVX in most functions need for certain; null if not inspected.
  std::optional<std::vector<std::string>> cpu_needs;
  std::optional<std::string> glibc;             // newest version of glibc that its files need; null if none
  std::map<std::string, int64_t> self_loaded;   // cubins among constants, which the package loads itself
  std::optional<std::vector<Loading>> loading;  // predicted loading; null if not installed, or not for this machine
  std::optional<RecordedFiles> recorded;        // comparison with RECORD; null for a wheel, or without a RECORD
  std::optional<std::vector<ServedGpu>> gpus;   // one entry per GPU given by the user; null without such a GPU
  std::optional<Severity> worst;                // severity of the worst finding; null without findings
  std::vector<Finding> findings;
  std::vector<std::string> problems;  // files that could not be read
};

struct Environment {
  std::vector<std::string> artifacts;  // names as given by the user
  std::vector<std::string> sms;        // SMs given by the user
  std::vector<Distribution> distributions;
  int64_t without_files = 0;  // distributions without any file that is read: pure Python
  std::vector<std::string> problems;
  std::vector<std::string> notes;          // packages without a RECORD, and links that leave the environment
  std::optional<std::string> interpreter;  // Python whose process was followed; null if the environment has none
  std::vector<SharedLibrary> shared_libraries;
  std::optional<std::string> reinstall;  // command that reinstalls damaged files; null if intact
};

// Returns the Python that an extension module's name is for: "cp311", "cp313t", "abi3", "abi3t"; "" if the name tells
// none.
[[nodiscard]] std::string python_of_module(std::string_view name);

// Reports whether the Python `tag` ("cp313", "cp313t") imports a module for `module`. PEP 803: Python 3.15 and later
// import abi3t modules; abi3 modules need a GIL.
[[nodiscard]] bool imports_module(std::string_view tag, std::string_view module);

// Makes the row of a package without the judged parts: GPUs and findings.
[[nodiscard]] Distribution make_distribution(const Inventory& inventory);

void fields(auto& visit, SameAs<LackingKernels> auto& lacking) {
  visit("only_for", lacking.only_for, "SMs that they have code for");
  visit("kernels", lacking.kernels, "names of kernels");
  visit("first", lacking.first, "the first of each function, ten at most, as mangled");
}

void fields(auto& visit, SameAs<ServedGpu> auto& gpu) {
  visit("sm", gpu.sm, "the GPU's capability, as a cubin for it is called");
  visit("code", gpu.code, "code that most of the kernels get");
  visit("native", gpu.native, "names of kernels with a cubin for this capability");
  visit("same_major", gpu.same_major, "with a cubin for an earlier one of its family");
  visit("ptx", gpu.ptx, "with only PTX that runs there");
  visit("none", gpu.none, "kernels with code only for other SMs");
  visit("kept_by_suffix", gpu.kept_by_suffix,
        "kernels counted in none that only the suffix a or f of their SM keeps from this GPU");
  visit("ptx_taken", gpu.ptx_taken, "this machine's driver compiles PTX of that version; null if not tested");
  visit("lacking", gpu.lacking, "kernels with code only for other SMs, grouped by these SMs");
}

void fields(auto& visit, SameAs<SharedLibrary> auto& library) {
  visit("name", library.name, "name in DT_NEEDED");
  visit("taken", library.taken, "library that a process has after it imported torch");
  visit("how", library.how, "search rule that found it; empty if torch opens it by path");
  visit("passed_over", library.passed_over, "files of the same name in other folders");
  visit("beside", library.beside, "copies under other names, which are loaded too");
}

void fields(auto& visit, SameAs<Distribution> auto& distribution) {
  visit("name", distribution.name, "name in its metadata");
  visit("version", distribution.version, "version in its metadata; null if missing");
  visit("folder", distribution.folder, "folder of its metadata, or the wheel");
  visit("tags", distribution.tags, "Python, ABI and platform tags of its WHEEL file");
  visit("files", distribution.files, "shared objects, compilers, and files of device code");
  visit("size_bytes", distribution.size_bytes, "size of these files");
  visit("torch_abi", distribution.torch_abi, "torch ABI that it links to");
  visit("torch_symbols", distribution.torch_symbols, "symbols of that ABI, in the file with the most of them");
  visit("first_torch_symbols", distribution.first_torch_symbols, "the first of them, as mangled");
  visit("torch_releases", distribution.torch_releases,
        "torch releases that export all these symbols; empty if it needs none, or no known release exports them");
  visit("unknown_torch_symbol", distribution.unknown_torch_symbol,
        "mangled name in torch's namespaces that no known release exports and no file of the package defines; null if "
        "none");
  visit("python", distribution.python, "Python tags in the names of its extension modules: cp311, abi3");
  visit("cuda", distribution.cuda, "majors of CUDA whose libraries it links, or is");
  visit("toolkits", distribution.toolkits, "releases of CUDA that made its cubins");
  visit("cubin", distribution.cubin, "machine code: cubins per SM, with suffix");
  visit("ptx", distribution.ptx, "PTX: entries per SM, with suffix");
  visit("ptx_versions", distribution.ptx_versions, "the highest PTX ISA version per SM");
  visit("lto_ir", distribution.lto_ir, "NVVM IR for link-time optimization: entries per SM");
  visit("minimum_cpu", distribution.minimum_cpu,
        "first target with all CPU features of its unguarded code: \"x86_64; selects avx512 at run time\"; if guards "
        "are not known, \"at most\" a target without AVX, \"at least\" the target of code that runs at load, or \"not "
        "known\"; null if not inspected");
  visit("cpu_needs", distribution.cpu_needs,
        "CPU features that files with AVX in most functions need for certain; null if not inspected");
  visit("glibc", distribution.glibc, "newest version of glibc that its files need; null if none");
  visit("self_loaded", distribution.self_loaded, "cubins among constants, which its files load by themselves, per SM");
  visit(
      "loading", distribution.loading,
      "result of loading its extension modules, predicted from files; null if not installed, or not for this machine");
  visit("recorded", distribution.recorded,
        "comparison of its files with RECORD; null for a wheel, or without a RECORD");
  visit("gpus", distribution.gpus, "code for each GPU given by the user; null if no GPU was given");
  visit("worst", distribution.worst, "severity of the worst finding; null without findings");
  visit("findings", distribution.findings, "the worst first");
  visit("problems", distribution.problems, "files that could not be read");
}

void fields(auto& visit, SameAs<Environment> auto& environment) {
  visit.constant("schema", "pbprobe.environment/1");
  visit("artifacts", environment.artifacts, "the paths that were audited");
  visit("sms", environment.sms, "the GPUs that were asked for");
  visit("distributions", environment.distributions, "a row each, by their names");
  visit("without_files", environment.without_files, "further distributions, which hold no file that is read");
  visit("problems", environment.problems, "files that could not be read, and defects of the environment");
  visit("notes", environment.notes, "packages without a RECORD, and links that lead out of the environment");
  visit("interpreter", environment.interpreter, "Python whose process was followed; null if the environment has none");
  visit("shared_libraries", environment.shared_libraries,
        "libraries with copies in several folders, and which copy is loaded");
  visit("reinstall", environment.reinstall,
        "command that reinstalls missing or changed files; null if all files are intact");
}

}  // namespace pbprobe
