// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Environment: contents of the packages in a folder, one row per package. `pbprobe audit` prints it for site-packages,
// for a folder of wheels, and whenever GPUs are given.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <span>
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
  FIELD(std::vector<std::string>, only_for, "SMs that they have code for");  // "sm_100f", "compute_90a"
  FIELD(int64_t, kernels, "names of kernels") = 0;
  FIELD(std::vector<std::string>, first, "the first of each function, ten at most, as mangled");
};

// Code of a package that one GPU can use. Counts each kernel name once, by the best code of any file.
struct ServedGpu {
  FIELD(std::string, sm, "the GPU's capability, as a cubin for it is called");  // "sm_121"
  FIELD(GpuCode, code, "code that most of the kernels get") = GpuCode::unknown;
  FIELD(int64_t, native, "names of kernels with a cubin for this capability") = 0;
  FIELD(int64_t, same_major, "with a cubin for an earlier one of its family") = 0;
  FIELD(int64_t, ptx, "with only PTX that runs there") = 0;
  FIELD(int64_t, none, "kernels with code only for other SMs") = 0;
  FIELD(int64_t, kept_by_suffix,
        "kernels counted in none that only the suffix a or f of their SM keeps from this GPU") = 0;
  FIELD(std::optional<bool>, ptx_taken, "this machine's driver compiles PTX of that version; null if not tested");
  FIELD(std::vector<LackingKernels>, lacking, "kernels with code only for other SMs, grouped by these SMs");
};

// A library of several packages, of which a process that has imported torch has one.
struct SharedLibrary {
  FIELD(std::string, name, "name in DT_NEEDED");  // "libcudnn.so.9"
  FIELD(std::string, taken, "library that a process has after it imported torch");
  FIELD(std::string, how, "search rule that found it; empty if torch opens it by path");
  FIELD(std::vector<std::string>, passed_over, "files of the same name in other folders");
  FIELD(std::vector<std::string>, beside, "copies under other names, which are loaded too");
};

struct Distribution {
  FIELD(std::string, name, "name in its metadata");  // "xformers"
  FIELD(std::optional<std::string>, version, "version in its metadata; null if missing");
  FIELD(std::string, folder, "folder of its metadata, or the wheel");  // "xformers-0.0.35.dist-info"
  FIELD(std::vector<std::string>, tags, "Python, ABI and platform tags of its WHEEL file");
  FIELD(int64_t, files, "shared objects, compilers, and files of device code") = 0;
  FIELD(int64_t, size_bytes, "size of these files") = 0;
  FIELD(TorchAbi, torch_abi, "torch ABI that it links to") = TorchAbi::none;
  FIELD(int64_t, torch_symbols, "symbols of that ABI, in the file with the most of them") = 0;
  FIELD(std::vector<std::string>, first_torch_symbols, "the first of them, as mangled");
  FIELD(std::vector<std::string>, torch_releases,
        "torch releases that export all these symbols; empty if it needs none, or no known release exports them");
  FIELD(std::optional<std::string>, unknown_torch_symbol,
        "mangled name in torch's namespaces that no known release exports and no file of the package defines; null if "
        "none");
  FIELD(std::vector<std::string>, python, "Python tags in the names of its extension modules: cp311, abi3");
  FIELD(std::vector<std::string>, cuda, "majors of CUDA whose libraries it links, or is");
  FIELD(std::vector<std::string>, toolkits, "releases of CUDA that made its cubins");
  FIELD(ByName<int64_t>, cubin, "machine code: cubins per SM, with suffix");
  FIELD(ByName<int64_t>, ptx, "PTX: entries per SM, with suffix");
  FIELD(ByName<std::string>, ptx_versions, "the highest PTX ISA version per SM");
  FIELD(ByName<int64_t>, lto_ir, "NVVM IR for link-time optimization: entries per SM");
  FIELD(std::optional<std::string>, minimum_cpu,
        "first target with all CPU features of its unguarded code: \"x86_64; selects avx512 at run time\"; if guards "
        "are not known, \"at most\" a target without AVX, \"at least\" the target of code that runs at load, or \"not "
        "known\"; null if not inspected");
  FIELD(std::optional<std::vector<std::string>>, cpu_needs,
        "CPU features that files with AVX in most functions need for certain; null if not inspected");
  FIELD(std::optional<std::string>, glibc, "newest version of glibc that its files need; null if none");
  FIELD(ByName<int64_t>, self_loaded, "cubins among constants, which its files load by themselves, per SM");
  FIELD(
      std::optional<std::vector<Loading>>, loading,
      "result of loading its extension modules, predicted from files; null if not installed, or not for this machine");
  FIELD(std::optional<RecordedFiles>, recorded,
        "comparison of its files with RECORD; null for a wheel, or without a RECORD");
  FIELD(std::optional<std::vector<ServedGpu>>, gpus, "code for each GPU given by the user; null if no GPU was given");
  FIELD(std::optional<Severity>, worst, "severity of the worst finding; null without findings");
  FIELD(std::vector<Finding>, findings, "the worst first");
  FIELD(std::vector<std::string>, problems, "files that could not be read");
};

// Packages of an audited environment, with defects that concern several packages.
struct Environment {
  SCHEMA("pbprobe.environment/1");
  FIELD(std::vector<std::string>, artifacts, "the paths that were audited");
  FIELD(std::vector<std::string>, sms, "the GPUs that were asked for");
  FIELD(std::vector<Distribution>, distributions, "a row each, by their names");
  FIELD(int64_t, without_files, "further distributions, which hold no file that is read") = 0;
  FIELD(std::vector<std::string>, problems, "files that could not be read, and defects of the environment");
  FIELD(std::vector<std::string>, notes, "packages without a RECORD, and links that lead out of the environment");
  FIELD(std::optional<std::string>, interpreter, "Python whose process was followed; null if the environment has none");
  FIELD(std::vector<SharedLibrary>, shared_libraries,
        "libraries with copies in several folders, and which copy is loaded");
  FIELD(std::optional<std::string>, reinstall,
        "command that reinstalls missing or changed files; null if all files are intact");
};

// Returns the Python that an extension module's name is for: "cp311", "cp313t", "abi3", "abi3t"; "" if the name tells
// none.
[[nodiscard]] std::string python_of_module(std::string_view name);

// Beginnings of the name of the function by which Python initializes a module; the second one is cffi's for PyPy.
inline constexpr std::array<std::string_view, 2> kModuleEntries{"PyInit_", "_cffi_pypyinit_"};

// Reports whether the Python `tag` ("cp313", "cp313t") imports a module for `module`. PEP 803: Python 3.15 and later
// import abi3t modules; abi3 modules need a GIL.
[[nodiscard]] bool imports_module(std::string_view tag, std::string_view module);

// Minimum CPU of code that is not of torch, by what is known of its guards.
struct MinimumCpu {
  std::string least;                  // target that code needs which runs as a file is loaded; or kUnknownCpu
  std::optional<std::string> most;    // target that is enough if nothing guards the rest; null if equal to `least`
  std::string selected;               // "; selects avx512 at run time", or ""
  std::vector<std::string> features;  // features of code that nothing guards, as far as known
};

// Returns nullopt if the machine code of no file was counted, or if the files are for several processors.
[[nodiscard]] std::optional<MinimumCpu> find_minimum_cpu(std::span<const File> files);

// Returns "at most x86_64+ssse3; selects avx512 at run time", "at least avx" or "not known".
[[nodiscard]] std::string describe(const MinimumCpu& cpu);

// Makes the row of a package without the judged parts: GPUs and findings.
[[nodiscard]] Distribution make_distribution(const Inventory& inventory);

}  // namespace pbprobe
