// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Import: what a process of the environment's own Python has mapped once it has imported torch, or opened an extension
// after it, beside what the files predict.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/fields.hpp"
#include "core/obstacle.hpp"

namespace pbprobe {

// A library that came from elsewhere, or did not come.
struct OtherLibrary {
  std::string name;                   // "libcudnn.so.9"
  std::string predicted;              // path
  std::optional<std::string> loaded;  // path; null: none of this name was
};

struct Import {
  std::string module;                           // "torch", "vllm._C"; of a library without a Python module its path
  std::string path;                             // of the file
  std::optional<std::string> refused_by_files;  // why the loader should refuse it; null: it should load
  std::optional<std::string> problem;    // what became of the process, or what Python reported; null: it was imported
  std::optional<Obstacle> obstacle;      // why it could not be tried; null: it was
  std::vector<std::string> predicted;    // paths, the interpreter's first
  std::vector<std::string> loaded;       // paths, of /proc/self/maps
  std::vector<OtherLibrary> others;      // what was predicted, and did not come so
  std::vector<std::string> unpredicted;  // what came, and no file that Python opened asks for
};

template <class Visitor, SameAs<OtherLibrary> T>
void fields(Visitor& visit, T& library) {
  visit("name", library.name, "of its file");
  visit("predicted", library.predicted, "the one that the loader should take");
  visit("loaded", library.loaded, "the one that it took; null: none of this name");
}

template <class Visitor, SameAs<Import> T>
void fields(Visitor& visit, T& import) {
  visit("module", import.module, "what was imported; of a library without a Python module its path");
  visit("path", import.path, "its file");
  visit("refused_by_files", import.refused_by_files, "why the loader should refuse it; null: it should load");
  visit("problem", import.problem, "what became of the process, or what Python reported; null: it was imported");
  visit("obstacle", import.obstacle, "why it could not be tried; null: it was");
  visit("predicted", import.predicted, "libraries that the process should have, the interpreter first");
  visit("loaded", import.loaded, "those that it had, of /proc/self/maps");
  visit("others", import.others, "those that came from elsewhere, or not at all");
  visit("unpredicted", import.unpredicted, "those that came, and that no file which Python opened asks for");
}

}  // namespace pbprobe
