// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// RecordedFiles: an installed package's files, held against its RECORD.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/fields.hpp"

namespace pbprobe {

// A library that is not the one which was installed.
struct ChangedLibrary {
  std::string path;
  std::string how;                         // "another size", "another SHA-256"
  std::optional<std::string> other_owner;  // whose RECORD has the path too, with other content
};

// What became of the files that RECORD names. Compiled Python and what lies outside of the environment are left out.
struct RecordedFiles {
  int64_t files = 0;
  int64_t missing = 0;
  int64_t changed = 0;  // another size; of what is read, another SHA-256 too
  std::vector<std::string> first_missing;
  std::vector<std::string> first_changed;  // libraries aside
  std::vector<ChangedLibrary> changed_libraries;
  bool reinstall = false;  // a library is missing or changed
};

template <class Visitor, SameAs<ChangedLibrary> T>
void fields(Visitor& visit, T& library) {
  visit("path", library.path, "in the folder of packages");
  visit("how", library.how, "difference from RECORD");
  visit("other_owner", library.other_owner, "another package that recorded the path, with other content");
}

template <class Visitor, SameAs<RecordedFiles> T>
void fields(Visitor& visit, T& recorded) {
  visit("files", recorded.files, "files that RECORD lists, without compiled Python");
  visit("missing", recorded.missing, "missing files");
  visit("changed", recorded.changed, "files of another size; for libraries, also of another SHA-256");
  visit("first_missing", recorded.first_missing, "ten at most");
  visit("first_changed", recorded.first_changed, "ten at most, libraries aside");
  visit("changed_libraries", recorded.changed_libraries, "shared objects, compilers and device code");
  visit("reinstall", recorded.reinstall, "a library is missing or changed");
}

}  // namespace pbprobe
