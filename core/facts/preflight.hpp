// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Preflight: programs, libraries and folders of this machine that torch.compile and Triton use at run time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/facts/inventory.hpp"
#include "core/fields.hpp"

namespace pbprobe {

// A compiler that is called by name.
struct CalledCompiler {
  std::string called;                   // "gcc or clang", "clang-18"
  std::optional<std::string> variable;  // variable that names it: "CC"; null if none is set
  std::optional<std::string> path;      // path of the compiler; null if not installed
};

struct PythonHeader {
  std::string path;  // "/usr/include/python3.11/Python.h"
  bool there = false;
};

// Driver library that Triton links its launchers with.
struct LinkedDriver {
  std::string name;                     // soname that Triton links: "libcuda.so.1"
  std::optional<std::string> variable;  // variable that names its folder: "TRITON_LIBCUDA_PATH"; null if not set
  std::optional<std::string> ldconfig;  // program that Triton calls to find the library; null if it calls none
  bool ldconfig_there = false;
  std::vector<std::string> folders;  // folders that the linker then searches
  std::optional<std::string> path;   // path of the library; null if no folder contains it
};

struct CalledPtxas {
  std::string name;                     // "ptxas", "ptxas-blackwell"
  std::string path;                     // the ptxas that Triton uses
  std::optional<std::string> variable;  // "TRITON_PTXAS_PATH"; null for the ptxas in Triton's package
  std::optional<std::string> ignored;   // missing file that the variable names; Triton ignores it
  std::optional<std::string> problem;   // reason why it does not start; null if it starts
  std::optional<Compiler> compiler;     // known targets; null if its file does not reveal them
};

struct CompiledCache {
  std::string of;                       // "Triton", "TorchInductor", "CUDA driver"
  std::string path;                     // folder; empty if none could be determined
  std::optional<std::string> variable;  // variable that sets the folder: "TRITON_CACHE_DIR"
  std::optional<std::string> problem;   // reason why the folder is not usable; null if it is
};

struct Preflight {
  CalledCompiler cxx_compiler;                // compiler of TorchInductor
  std::optional<CalledCompiler> c_compiler;   // compiler of Triton; null without Triton
  std::optional<PythonHeader> python_header;  // Python.h; null if no interpreter reports its header folder
  std::optional<LinkedDriver> driver;         // library that Triton links; null without Triton
  std::vector<CalledPtxas> ptxas;
  std::vector<CompiledCache> caches;
};

void fields(auto& visit, SameAs<CalledCompiler> auto& compiler) {
  visit("called", compiler.called, "name, or names that are tried");
  visit("variable", compiler.variable, "variable that names it; null if none is set");
  visit("path", compiler.path, "path of the compiler; null if not installed");
}

void fields(auto& visit, SameAs<PythonHeader> auto& header) {
  visit("path", header.path, "path according to the interpreter");
  visit("there", header.there, "false if the file is missing");
}

void fields(auto& visit, SameAs<LinkedDriver> auto& driver) {
  visit("name", driver.name, "the library that Triton links");
  visit("variable", driver.variable, "variable that names its folder; null if not set");
  visit("ldconfig", driver.ldconfig, "program that Triton calls to find the library; null if it calls none");
  visit("ldconfig_there", driver.ldconfig_there, "the program is installed");
  visit("folders", driver.folders, "folders that the linker searches");
  visit("path", driver.path, "path of the library; null if no folder contains it");
}

void fields(auto& visit, SameAs<CalledPtxas> auto& ptxas) {
  visit("name", ptxas.name, "ptxas; for GPUs from 10.0 on ptxas-blackwell");
  visit("path", ptxas.path, "the ptxas that Triton uses");
  visit("variable", ptxas.variable, "variable that names it; null for the ptxas in Triton's package");
  visit("ignored", ptxas.ignored, "missing file that the variable names, which Triton ignores; null if not applicable");
  visit("problem", ptxas.problem, "reason why it does not start; null if it starts");
  visit("compiler", ptxas.compiler, "known targets; null if its file does not reveal them");
}

void fields(auto& visit, SameAs<CompiledCache> auto& cache) {
  visit("of", cache.of, "program that caches compiled code there");
  visit("path", cache.path, "folder; empty if none could be determined");
  visit("variable", cache.variable, "variable that sets the folder");
  visit("problem", cache.problem, "reason why the folder is not usable; null if it is");
}

void fields(auto& visit, SameAs<Preflight> auto& preflight) {
  visit("cxx_compiler", preflight.cxx_compiler, "compiler that TorchInductor calls");
  visit("c_compiler", preflight.c_compiler, "compiler that Triton calls; null without Triton");
  visit("python_header", preflight.python_header, "Python.h; null if no interpreter reports its header folder");
  visit("driver", preflight.driver, "driver library that Triton links its launchers with; null without Triton");
  visit("ptxas", preflight.ptxas, "the PTX compilers that Triton calls");
  visit("caches", preflight.caches, "folders for compiled code");
}

}  // namespace pbprobe
