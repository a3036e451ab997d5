// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Environment: what the packages of a folder hold, a row each. `pbprobe audit` prints it of site-packages, of a folder
// of wheels, and wherever GPUs are asked for.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/facts/finding.hpp"
#include "core/facts/inventory.hpp"
#include "core/facts/loading.hpp"
#include "core/facts/recorded_files.hpp"
#include "core/facts/verdict.hpp"
#include "core/fields.hpp"

namespace pbprobe {

// What a package takes from torch.
enum class TorchAbi {
  none,    // nothing
  stable,  // only functions of the stable ABI: it loads with later releases
  cxx,     // C++ symbols: it loads with the release that it was built with
  own,     // it is torch
};

[[nodiscard]] std::span<const EnumName<TorchAbi>> enum_names(TorchAbi);

// Kernels that do not run on a GPU, by the SMs that they are there for.
struct LackingKernels {
  std::vector<std::string> only_for;  // "sm_100f", "compute_90a"
  int64_t kernels = 0;
  std::vector<std::string> first;  // the first of each function, ten at most, as mangled
};

// What one GPU gets of a package. Each name of a kernel is counted once, by the best code that any file has of it.
struct ServedGpu {
  std::string sm;                   // "sm_121"
  GpuCode code = GpuCode::unknown;  // what most of its kernels get; null kernels: none
  int64_t native = 0;               // cubins for this capability
  int64_t same_major = 0;           // of an earlier one of its family
  int64_t ptx = 0;                  // only PTX
  int64_t none = 0;                 // there for other SMs only
  int64_t kept_by_suffix = 0;       // those of `none` that would run without the suffix of their SM
  std::optional<bool> ptx_taken;    // whether the driver that is here compiles this PTX; null: nobody asked it
  std::vector<LackingKernels> lacking;
};

// A library of several packages, of which a process that has imported torch has one.
struct SharedLibrary {
  std::string name;                      // "libcudnn.so.9"
  std::string taken;                     // path
  std::string how;                       // "DT_RPATH of …", "LD_LIBRARY_PATH"; empty: torch opens it by its path
  std::vector<std::string> passed_over;  // the same name elsewhere
  std::vector<std::string> beside;       // copies under names of their own, which are loaded too
};

struct Distribution {
  std::string name;                    // "xformers"
  std::optional<std::string> version;  // null: nothing says it
  std::string folder;                  // "xformers-0.0.35.dist-info", or the wheel
  std::vector<std::string> tags;       // "cp39-abi3-manylinux_2_28_x86_64"
  int64_t files = 0;                   // shared objects, compilers, and files of device code
  int64_t size_bytes = 0;
  TorchAbi torch_abi = TorchAbi::none;
  int64_t torch_symbols = 0;  // of that ABI, in the file with the most
  std::vector<std::string> first_torch_symbols;
  std::vector<std::string> torch_releases;  // that export all of them: "2.9"; empty: it takes none, or none does
  std::optional<std::string> unknown_torch_symbol;  // that no known release exports; null: none
  std::vector<std::string> python;                  // what its extension modules are for: "cp311", "abi3"
  std::vector<std::string> cuda;                    // majors of the CUDA libraries that it links or is: "13"
  std::vector<std::string> toolkits;                // releases that made its cubins: "13.2"
  std::map<std::string, int64_t> cubin;
  std::map<std::string, int64_t> ptx;
  std::map<std::string, std::string> ptx_versions;
  std::map<std::string, int64_t> lto_ir;
  std::optional<std::string> minimum_cpu;       // of what runs on every CPU in its files; null: not looked at
  std::map<std::string, int64_t> self_loaded;   // cubins among constants, which it loads by itself
  std::optional<std::vector<Loading>> loading;  // null: not installed, or not for this machine
  std::optional<RecordedFiles> recorded;        // null: it has no RECORD, or is a wheel
  std::optional<std::vector<ServedGpu>> gpus;   // null: none was asked for
  std::optional<Severity> worst;                // of its findings; null: it has none
  std::vector<Finding> findings;
  std::vector<std::string> problems;  // what could not be read
};

struct Environment {
  std::vector<std::string> artifacts;  // as given
  std::vector<std::string> sms;        // that were asked for
  std::vector<Distribution> distributions;
  int64_t without_files = 0;  // distributions that hold nothing that is read: pure Python
  std::vector<std::string> problems;
  std::vector<std::string> notes;          // how packages without a RECORD were read, and links that lead out
  std::optional<std::string> interpreter;  // the Python whose process was followed; null: none is there
  std::vector<SharedLibrary> shared_libraries;
  std::optional<std::string> reinstall;  // a command that installs again what is missing or changed; null: nothing is
};

// Returns the Python that an extension module's name is for: "cp311", "cp313t", "abi3"; "" if the name tells none.
[[nodiscard]] std::string python_of_module(std::string_view name);

// A row without what a judge decides: GPUs and findings.
[[nodiscard]] Distribution distribution_of(const Inventory& inventory);

template <class Visitor, SameAs<LackingKernels> T>
void fields(Visitor& visit, T& lacking) {
  visit("only_for", lacking.only_for, "the SMs that they are there for");
  visit("kernels", lacking.kernels, "names of kernels");
  visit("first", lacking.first, "the first of each function, ten at most, as mangled");
}

template <class Visitor, SameAs<ServedGpu> T>
void fields(Visitor& visit, T& gpu) {
  visit("sm", gpu.sm, "the GPU's capability, as a cubin for it is called");
  visit("code", gpu.code, "what most of the kernels get");
  visit("native", gpu.native, "names of kernels with a cubin for this capability");
  visit("same_major", gpu.same_major, "with a cubin for an earlier one of its family");
  visit("ptx", gpu.ptx, "with only PTX that runs there");
  visit("none", gpu.none, "with code for other SMs only");
  visit("kept_by_suffix", gpu.kept_by_suffix,
        "those of them that only the suffix of their SM, a or f, keeps from this GPU");
  visit("ptx_taken", gpu.ptx_taken,
        "whether this machine's driver compiles PTX of that version; null: it was not asked");
  visit("lacking", gpu.lacking, "those with code for other SMs only, by these SMs");
}

template <class Visitor, SameAs<SharedLibrary> T>
void fields(Visitor& visit, T& library) {
  visit("name", library.name, "as it is needed");
  visit("taken", library.taken, "the one that a process has which imported torch");
  visit("how", library.how, "which rule found it; empty: torch opens it by its path");
  visit("passed_over", library.passed_over, "others of this name");
  visit("beside", library.beside, "copies under names of their own, which are loaded too");
}

template <class Visitor, SameAs<Distribution> T>
void fields(Visitor& visit, T& distribution) {
  visit("name", distribution.name, "as its metadata has it");
  visit("version", distribution.version, "null: nothing tells it");
  visit("folder", distribution.folder, "that of its metadata, or the wheel");
  visit("tags", distribution.tags, "Python, ABI and platform, of its WHEEL");
  visit("files", distribution.files, "shared objects, compilers, and files of device code");
  visit("size_bytes", distribution.size_bytes, "of these files");
  visit("torch_abi", distribution.torch_abi, "what it takes from torch");
  visit("torch_symbols", distribution.torch_symbols, "symbols of that ABI, in the file with the most of them");
  visit("first_torch_symbols", distribution.first_torch_symbols, "the first of them, as mangled");
  visit("torch_releases", distribution.torch_releases,
        "of those that are known, the releases of torch that export all of them; empty: it takes none, or none does");
  visit("unknown_torch_symbol", distribution.unknown_torch_symbol,
        "in torch's namespaces, that no known release exports and no file of the package defines, as mangled; null: "
        "none");
  visit("python", distribution.python, "what the names of its extension modules say: cp311, abi3");
  visit("cuda", distribution.cuda, "majors of CUDA whose libraries it links, or is");
  visit("toolkits", distribution.toolkits, "releases of CUDA that made its cubins");
  visit("cubin", distribution.cubin, "machine code: cubins per SM, with suffix");
  visit("ptx", distribution.ptx, "PTX: entries per SM, with suffix");
  visit("ptx_versions", distribution.ptx_versions, "the highest PTX ISA version per SM");
  visit("lto_ir", distribution.lto_ir, "NVVM IR for link-time optimization: entries per SM");
  visit(
      "minimum_cpu", distribution.minimum_cpu,
      "the first target that has all that its unguarded code needs: \"x86_64; selects avx512 at run time\"; if nothing "
      "tells what guards its code, \"not known\", or \"at least\" what it needs as it is loaded; null: not looked at");
  visit("self_loaded", distribution.self_loaded, "cubins among constants, which its files load by themselves, per SM");
  visit("loading", distribution.loading,
        "what the loader would say of its extension modules; null: not installed, or not for this machine");
  visit("recorded", distribution.recorded, "the files beside its RECORD; null: it has none, or is a wheel");
  visit("gpus", distribution.gpus, "what each GPU gets that was asked for; null: none was");
  visit("worst", distribution.worst, "severity of its worst finding; null: it has none");
  visit("findings", distribution.findings, "the worst first");
  visit("problems", distribution.problems, "what could not be read");
}

template <class Visitor, SameAs<Environment> T>
void fields(Visitor& visit, T& environment) {
  visit.constant("schema", "pbprobe.environment/1");
  visit("artifacts", environment.artifacts, "the paths that were audited");
  visit("sms", environment.sms, "the GPUs that were asked for");
  visit("distributions", environment.distributions, "a row each, by their names");
  visit("without_files", environment.without_files, "further distributions, which hold no file that is read");
  visit("problems", environment.problems, "what could not be read, or is not in order");
  visit("notes", environment.notes, "packages without a RECORD, and links that lead out of the environment");
  visit("interpreter", environment.interpreter, "the Python whose process was followed; null: none is there");
  visit("shared_libraries", environment.shared_libraries, "that lie in several places: which one wins");
  visit("reinstall", environment.reinstall,
        "a command that installs what is missing or changed again; null: nothing is");
}

}  // namespace pbprobe
