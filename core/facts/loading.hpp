// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Result of importing an extension module, predicted from the installed files by the loader's rules.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/fields.hpp"
#include "core/obstacle.hpp"

namespace pbprobe {

struct MissingLibrary {
  FIELD(std::string, name, "name in DT_NEEDED");  // "libcudart.so.12"
  FIELD(std::string, needed_by, "the file that needs it");
  FIELD(std::optional<std::string>, other_processor,
        "library of this name for another processor; null if none") = std::nullopt;
};

struct MissingVersion {
  FIELD(std::string, version, "version that the library does not define");  // "GLIBCXX_3.4.32"
  FIELD(std::string, library, "library that the loader takes");
  FIELD(std::string, needed_by, "the file that needs it");
  FIELD(std::optional<std::string>, how,
        "the rule by which the loader finds that library; null if not known") = std::nullopt;
};

// Undefined symbol of a file that no library of the process would define.
struct UnresolvedSymbol {
  FIELD(std::string, name, "as mangled");
  FIELD(std::optional<std::string>, version, "mangled name");  // "GLIBC_2.38"; null if any
  FIELD(std::string, needed_by, "the file that needs it");
  FIELD(std::vector<std::string>, releases, "torch releases that export it; empty if no known release does");
  FIELD(std::optional<std::string>, library, "path of the library that its version names; null if none") = std::nullopt;
  FIELD(std::optional<std::string>, how,
        "the rule by which the loader finds that library; null if not known") = std::nullopt;
};

// A library that torch's process takes from elsewhere than from the packages that are installed with it.
struct RedirectedLibrary {
  FIELD(std::string, name, "name by which a library needs or opens it");  // "libcudnn_ops.so.9"
  FIELD(std::string, needed_by, "path of the library that needs or opens it");
  FIELD(std::string, taken, "path of the file that the loader takes");
  FIELD(std::string, how, "the rule by which the loader finds it");  // "LD_LIBRARY_PATH", "ld.so.cache"
  FIELD(std::string, installed, "path of the installed package's own copy, which has other content");
};

// Files of an installed package that Python or the loader would open, and that are built for another processor.
struct OtherProcessor {
  FIELD(std::string, processor, "processor that the files are built for");  // "aarch64"
  FIELD(std::string, expected, "processor of the environment");             // "x86_64"
  FIELD(std::string, known_by, "source of expected: the environment's Python, torch, or most packages");
  FIELD(int64_t, files, "number of such files that Python or the loader would open") = 0;
  FIELD(std::string, first, "the path of one");
  FIELD(bool, whole, "the package has no file for the processor of the environment") = false;
  FIELD(std::optional<std::string>, reinstall, "command that reinstalls the package; null if not known") = std::nullopt;
};

// One file that Python imports, or that links torch.
struct Loading {
  FIELD(std::string, path, "a file that Python imports, or that links torch");
  FIELD(std::vector<MissingLibrary>, missing_libraries, "libraries that the loader does not find");
  FIELD(std::vector<MissingVersion>, missing_versions,
        "symbol versions that the library found by the loader does not define");
  FIELD(std::vector<UnresolvedSymbol>, unresolved, "symbols that no library of the process would define");
  FIELD(std::vector<std::string>, assumed, "libraries on no search path, which the package must load itself first");

  [[nodiscard]] bool loads() const {
    return missing_libraries.empty() && missing_versions.empty() && unresolved.empty();
  }
};

// A library that came from elsewhere, or did not come.
struct OtherLibrary {
  FIELD(std::string, name, "file name");  // "libcudnn.so.9"
  FIELD(std::string, predicted, "the one that the loader should take");
  FIELD(std::optional<std::string>, loaded, "library that the loader took; null if none of this name was loaded");
};

// Import of one module or library by the Python of the environment: predicted and loaded libraries, and the problem if
// the import failed.
struct Import {
  FIELD(std::string, module, "imported module; the path of a library without a Python module");  // "torch", "vllm._C"
  FIELD(std::string, path, "its file");
  FIELD(std::optional<std::string>, refused_by_files, "reason why the loader should refuse it; null if it should load");
  FIELD(std::optional<std::string>, problem,
        "end of the process, or the exception of Python; null if the import succeeded");
  FIELD(std::optional<Obstacle>, obstacle, "reason why it could not be tried; null if it was tried");
  FIELD(std::vector<std::string>, predicted, "libraries that the process should have, the interpreter first");
  FIELD(std::vector<std::string>, loaded, "loaded libraries, from /proc/self/maps");
  FIELD(std::vector<OtherLibrary>, others, "predicted libraries that were loaded from another path, or not at all");
  FIELD(std::vector<std::string>, unpredicted, "loaded libraries that no file opened by Python requires");
};

}  // namespace pbprobe
