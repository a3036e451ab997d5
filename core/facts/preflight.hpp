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
  FIELD(std::string, called, "name, or names that are tried");  // "gcc or clang", "clang-18"
  FIELD(std::optional<std::string>, variable, "variable that names it; null if none is set");
  FIELD(std::optional<std::string>, path, "path of the compiler; null if not installed");
};

struct PythonHeader {
  FIELD(std::string, path, "path according to the interpreter");  // "/usr/include/python3.11/Python.h"
  FIELD(bool, there, "false if the file is missing") = false;
};

// Driver library that Triton links its launchers with.
struct LinkedDriver {
  FIELD(std::string, name, "the library that Triton links");  // "libcuda.so.1"
  FIELD(std::optional<std::string>, variable, "variable that names its folder; null if not set");
  FIELD(std::optional<std::string>, ldconfig, "program that Triton calls to find the library; null if it calls none");
  FIELD(bool, ldconfig_there, "the program is installed") = false;
  FIELD(std::vector<std::string>, folders, "folders that the linker searches");
  FIELD(std::optional<std::string>, path, "path of the library; null if no folder contains it");
};

struct CalledPtxas {
  FIELD(std::string, name, "ptxas; for GPUs from 10.0 on ptxas-blackwell");
  FIELD(std::string, path, "the ptxas that Triton uses");
  FIELD(std::optional<std::string>, variable, "variable that names it; null for the ptxas in Triton's package");
  FIELD(std::optional<std::string>, ignored,
        "missing file that the variable names, which Triton ignores; null if not applicable");
  FIELD(std::optional<std::string>, problem, "reason why it does not start; null if it starts");
  FIELD(std::optional<Compiler>, compiler, "known targets; null if its file does not reveal them");
};

struct CompiledCache {
  FIELD(std::string, of, "program that caches compiled code there");  // "Triton", "TorchInductor", "CUDA driver"
  FIELD(std::string, path, "folder; empty if none could be determined");
  FIELD(std::optional<std::string>, variable, "variable that sets the folder");
  FIELD(std::optional<std::string>, problem, "reason why the folder is not usable; null if it is");
};

// Compilers, headers, libraries and caches that torch.compile and Triton need at run time.
struct Preflight {
  FIELD(CalledCompiler, cxx_compiler, "compiler that TorchInductor calls");
  FIELD(std::optional<CalledCompiler>, c_compiler, "compiler that Triton calls; null without Triton");
  FIELD(std::optional<PythonHeader>, python_header, "Python.h; null if no interpreter reports its header folder");
  FIELD(std::optional<LinkedDriver>, driver,
        "driver library that Triton links its launchers with; null without Triton");
  FIELD(std::vector<CalledPtxas>, ptxas, "the PTX compilers that Triton calls");
  FIELD(std::vector<CompiledCache>, caches, "folders for compiled code");
};

}  // namespace pbprobe
