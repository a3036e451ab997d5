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
  std::string name;       // name in DT_NEEDED: "libcudart.so.12"
  std::string needed_by;  // path of the file that needs it
  std::optional<std::string> other_processor =
      std::nullopt;  // path of a library of this name for another processor; null if none
};

struct MissingVersion {
  std::string version;  // "GLIBCXX_3.4.32"
  std::string library;  // path of the library that the loader takes
  std::string needed_by;
  std::optional<std::string> how = std::nullopt;  // rule that found `library`, "LD_LIBRARY_PATH"; null if not known
};

struct UnresolvedSymbol {
  std::string name;                    // mangled name
  std::optional<std::string> version;  // "GLIBC_2.38"; null if any
  std::string needed_by;
  std::vector<std::string> releases;                  // torch releases that export it; empty if no known release does
  std::optional<std::string> library = std::nullopt;  // path of the library that its version names; null if none
  std::optional<std::string> how = std::nullopt;      // rule that found `library`, "LD_LIBRARY_PATH"; null if not known
};

// A library that torch's process takes from elsewhere than from the packages that are installed with it.
struct RedirectedLibrary {
  std::string name;       // "libcudnn_ops.so.9"
  std::string needed_by;  // path of the library that needs it, or opens it with dlopen()
  std::string taken;      // path
  std::string how;        // "LD_LIBRARY_PATH", "ld.so.cache"
  std::string installed;  // path of the package's own copy, which has other content
};

// Files of an installed package that Python or the loader would open, and that are built for another processor.
struct OtherProcessor {
  std::string processor;  // "aarch64"
  std::string expected;   // "x86_64", the processor of the environment
  std::string known_by;   // source of `expected`: "the environment's Python", "torch", "most packages"
  int64_t files = 0;
  std::string first;                                    // path of one
  bool whole = false;                                   // the package has no file for the processor of the environment
  std::optional<std::string> reinstall = std::nullopt;  // command that reinstalls the package; null if not known
};

// One file that Python imports, or that links torch.
struct Loading {
  std::string path;
  std::vector<MissingLibrary> missing_libraries;
  std::vector<MissingVersion> missing_versions;
  std::vector<UnresolvedSymbol> unresolved;  // symbols that no library of the process defines (`ldd -r`)
  std::vector<std::string> assumed;          // libraries on no search path, which the package must load itself first

  [[nodiscard]] bool loads() const {
    return missing_libraries.empty() && missing_versions.empty() && unresolved.empty();
  }
};

void fields(auto& visit, SameAs<MissingLibrary> auto& library) {
  visit("name", library.name, "name in DT_NEEDED");
  visit("needed_by", library.needed_by, "the file that needs it");
  visit("other_processor", library.other_processor, "library of this name for another processor; null if none");
}

void fields(auto& visit, SameAs<OtherProcessor> auto& other) {
  visit("processor", other.processor, "processor that the files are built for");
  visit("expected", other.expected, "processor of the environment");
  visit("known_by", other.known_by, "source of expected: the environment's Python, torch, or most packages");
  visit("files", other.files, "number of such files that Python or the loader would open");
  visit("first", other.first, "the path of one");
  visit("whole", other.whole, "the package has no file for the processor of the environment");
  visit("reinstall", other.reinstall, "command that reinstalls the package; null if not known");
}

void fields(auto& visit, SameAs<MissingVersion> auto& version) {
  visit("version", version.version, "version that the library does not define");
  visit("library", version.library, "library that the loader takes");
  visit("needed_by", version.needed_by, "the file that needs it");
  visit("how", version.how, "the rule by which the loader finds that library; null if not known");
}

void fields(auto& visit, SameAs<UnresolvedSymbol> auto& symbol) {
  visit("name", symbol.name, "as mangled");
  visit("version", symbol.version, "mangled name");
  visit("needed_by", symbol.needed_by, "the file that needs it");
  visit("releases", symbol.releases, "torch releases that export it; empty if no known release does");
  visit("library", symbol.library, "path of the library that its version names; null if none");
  visit("how", symbol.how, "the rule by which the loader finds that library; null if not known");
}

void fields(auto& visit, SameAs<RedirectedLibrary> auto& library) {
  visit("name", library.name, "name by which a library needs or opens it");
  visit("needed_by", library.needed_by, "path of the library that needs or opens it");
  visit("taken", library.taken, "path of the file that the loader takes");
  visit("how", library.how, "the rule by which the loader finds it");
  visit("installed", library.installed, "path of the installed package's own copy, which has other content");
}

void fields(auto& visit, SameAs<Loading> auto& loading) {
  visit("path", loading.path, "a file that Python imports, or that links torch");
  visit("missing_libraries", loading.missing_libraries, "libraries that the loader does not find");
  visit("missing_versions", loading.missing_versions,
        "symbol versions that the library found by the loader does not define");
  visit("unresolved", loading.unresolved, "symbols that no library of the process would define");
  visit("assumed", loading.assumed, "libraries on no search path, which the package must load itself first");
}

// A library that came from elsewhere, or did not come.
struct OtherLibrary {
  std::string name;                   // "libcudnn.so.9"
  std::string predicted;              // path
  std::optional<std::string> loaded;  // path; null if no library of this name was loaded
};

struct Import {
  std::string module;                           // "torch", "vllm._C"; the path of a library without a Python module
  std::string path;                             // path of the file
  std::optional<std::string> refused_by_files;  // reason why the loader should refuse it; null if it should load
  std::optional<std::string> problem;    // end of the process, or the exception of Python; null if the import succeeded
  std::optional<Obstacle> obstacle;      // reason why it could not be tried; null if it was tried
  std::vector<std::string> predicted;    // paths, the interpreter's first
  std::vector<std::string> loaded;       // paths, of /proc/self/maps
  std::vector<OtherLibrary> others;      // predicted libraries that were loaded from another path, or not at all
  std::vector<std::string> unpredicted;  // loaded libraries that no file opened by Python requires
};

void fields(auto& visit, SameAs<OtherLibrary> auto& library) {
  visit("name", library.name, "file name");
  visit("predicted", library.predicted, "the one that the loader should take");
  visit("loaded", library.loaded, "library that the loader took; null if none of this name was loaded");
}

void fields(auto& visit, SameAs<Import> auto& import) {
  visit("module", import.module, "imported module; the path of a library without a Python module");
  visit("path", import.path, "its file");
  visit("refused_by_files", import.refused_by_files, "reason why the loader should refuse it; null if it should load");
  visit("problem", import.problem, "end of the process, or the exception of Python; null if the import succeeded");
  visit("obstacle", import.obstacle, "reason why it could not be tried; null if it was tried");
  visit("predicted", import.predicted, "libraries that the process should have, the interpreter first");
  visit("loaded", import.loaded, "loaded libraries, from /proc/self/maps");
  visit("others", import.others, "predicted libraries that were loaded from another path, or not at all");
  visit("unpredicted", import.unpredicted, "loaded libraries that no file opened by Python requires");
}

}  // namespace pbprobe
