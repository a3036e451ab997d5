// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Preflight: what this machine has of all that torch.compile and Triton call, link and write to as programs run.
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
  std::optional<std::string> variable;  // that names it: "CC"; null: none is set
  std::optional<std::string> path;      // null: it is not there
};

struct PythonHeader {
  std::string path;  // "/usr/include/python3.11/Python.h"
  bool there = false;
};

// What Triton does to link its launchers with the driver's library.
struct LinkedDriver {
  std::string name;                     // that it links: "libcuda.so.1"
  std::optional<std::string> variable;  // that names the folder: "TRITON_LIBCUDA_PATH"; null: it is not set
  std::optional<std::string> ldconfig;  // that it calls to find it; null: it does not
  bool ldconfig_there = false;
  std::vector<std::string> folders;  // where the linker looks then
  std::optional<std::string> path;   // null: none of them has it
};

struct CalledPtxas {
  std::string name;                     // "ptxas", "ptxas-blackwell"
  std::string path;                     // the one that Triton takes
  std::optional<std::string> variable;  // that names it: "TRITON_PTXAS_PATH"; null: it is Triton's own
  std::optional<std::string> ignored;   // what the variable names, where nothing is there: Triton takes its own
  std::optional<std::string> problem;   // why it does not start; null: it does
  std::optional<Compiler> compiler;     // what it knows; null: its file does not tell
};

struct CompiledCache {
  std::string of;                       // "Triton", "TorchInductor", "CUDA driver"
  std::string path;                     // empty: it could not be named
  std::optional<std::string> variable;  // that names it, or would: "TRITON_CACHE_DIR"
  std::optional<std::string> problem;   // why nothing can be kept there; null: it can
};

struct Preflight {
  CalledCompiler cxx_compiler;                // TorchInductor's
  std::optional<CalledCompiler> c_compiler;   // Triton's; null: there is no Triton
  std::optional<PythonHeader> python_header;  // null: the environment has no interpreter that tells where it lies
  std::optional<LinkedDriver> driver;         // null: there is no Triton
  std::vector<CalledPtxas> ptxas;
  std::vector<CompiledCache> caches;
};

template <class Visitor, SameAs<CalledCompiler> T>
void fields(Visitor& visit, T& compiler) {
  visit("called", compiler.called, "its name, or the names that are tried");
  visit("variable", compiler.variable, "the variable that names it; null: none is set");
  visit("path", compiler.path, "null: it is not there");
}

template <class Visitor, SameAs<PythonHeader> T>
void fields(Visitor& visit, T& header) {
  visit("path", header.path, "where the interpreter has its headers");
  visit("there", header.there, "false: it is not");
}

template <class Visitor, SameAs<LinkedDriver> T>
void fields(Visitor& visit, T& driver) {
  visit("name", driver.name, "the library that Triton links");
  visit("variable", driver.variable, "the variable that names its folder; null: it is not set");
  visit("ldconfig", driver.ldconfig, "the program that Triton calls to find it; null: it calls none");
  visit("ldconfig_there", driver.ldconfig_there, "that program is there");
  visit("folders", driver.folders, "where the linker looks");
  visit("path", driver.path, "null: none of them has it");
}

template <class Visitor, SameAs<CalledPtxas> T>
void fields(Visitor& visit, T& ptxas) {
  visit("name", ptxas.name, "ptxas; for GPUs from 10.0 on ptxas-blackwell");
  visit("path", ptxas.path, "the one that Triton takes");
  visit("variable", ptxas.variable, "the variable that names it; null: it is Triton's own");
  visit("ignored", ptxas.ignored, "what that variable names, where nothing is there; null: it is taken, or not set");
  visit("problem", ptxas.problem, "why it does not start; null: it does");
  visit("compiler", ptxas.compiler, "what it knows; null: its file does not tell");
}

template <class Visitor, SameAs<CompiledCache> T>
void fields(Visitor& visit, T& cache) {
  visit("of", cache.of, "who keeps there what it compiled");
  visit("path", cache.path, "a folder; empty: it could not be named");
  visit("variable", cache.variable, "the variable that names it, or would");
  visit("problem", cache.problem, "why nothing can be kept there; null: it can");
}

template <class Visitor, SameAs<Preflight> T>
void fields(Visitor& visit, T& preflight) {
  visit("cxx_compiler", preflight.cxx_compiler, "what TorchInductor calls");
  visit("c_compiler", preflight.c_compiler, "what Triton calls; null: there is no Triton");
  visit("python_header", preflight.python_header, "Python.h; null: no interpreter tells where it lies");
  visit("driver", preflight.driver, "what Triton links its launchers with; null: there is no Triton");
  visit("ptxas", preflight.ptxas, "the PTX compilers that Triton calls");
  visit("caches", preflight.caches, "the folders that compiled code is kept in");
}

}  // namespace pbprobe
