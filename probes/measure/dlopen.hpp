// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <dlfcn.h>

#include "core/result.hpp"

namespace pbprobe {

enum class Scope { local, global };

// dlopen with errors that say what is the matter. Errors: not_found (no such file, or a library that it needs),
// unsupported (another platform, a newer glibc, a symbol that its neighbours lack), malformed (no shared object).
[[nodiscard]] Result<void*> open_library(const std::string& path, Scope scope);

// The first of these files, or names, that loads, with the place where it did. Error not_found: none; `remedy` begins
// the sentence, and what was tried ends it.
struct OpenedLibrary {
  void* handle = nullptr;
  std::string place;
};
[[nodiscard]] Result<OpenedLibrary> open_first(const std::vector<std::string>& places, std::string_view remedy);

// Fills pointers to functions of a library; of none (nullptr), every name is missing. `missing` is the first such name.
struct Symbols {
  void* library = nullptr;
  std::string missing;

  template <class Function>
  void operator()(Function& function, const char* name) {
    optional(function, name);
    if (function == nullptr && missing.empty()) missing = name;
  }
  template <class Function>
  void optional(Function& function, const char* name) const {
    function = library == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(library, name));
  }
};

// The sentence for what the dynamic loader reported about `path`; empty: it named no cause, and nothing is known.
[[nodiscard]] Error explain_loader(std::string_view path, std::string_view reported);

}  // namespace pbprobe
