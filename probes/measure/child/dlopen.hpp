// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <dlfcn.h>

#include "core/fields.hpp"
#include "core/result.hpp"

namespace pbprobe {

enum class Scope { local, global };

// Opens a library. Errors: not_found (no such file, or a library that it needs),
// unsupported (another platform, a newer glibc, a symbol that its neighbours lack), malformed (no shared object).
[[nodiscard]] Result<void*> open_library(const std::string& path, Scope scope);

// Library that open_first() opened, and the path or name that loaded.
struct OpenedLibrary {
  void* handle = nullptr;
  std::string place;
};

// Opens the first of `places` that loads. Error not_found if none loads: the message is `remedy` and the places.
[[nodiscard]] Result<OpenedLibrary> open_first(const std::vector<std::string>& places, std::string_view remedy);

// Pointer to a function that is looked up by name.
template <class Signature>
using FunctionPointer = Signature*;

// Declares a member for a function of a library: signature, name of the member, symbol, and "optional" if the library
// may lack it.
#define LOOKED_UP(signature, name, ...) FIELD_AS(::pbprobe::FunctionPointer<signature>, name, __VA_ARGS__) = nullptr

// Looks up functions of a library. Without a library, every name is missing. `missing` is the first missing name.
struct Symbols {
  void* library = nullptr;
  std::string missing;

  // Looks up each LOOKED_UP member of `functions`.
  void find(auto& functions) { fields(*this, functions); }

  // Sets `function` to the address of `name`. If the library lacks `name`, sets `function` to nullptr, and `missing`
  // unless the member may lack.
  template <class Function>
  void operator()(const char* name, Function& function, std::string_view may_lack = {}) {
    optional(function, name);
    if (function == nullptr && may_lack.empty() && missing.empty()) missing = name;
  }
  // Does the same, but leaves `missing` unchanged.
  template <class Function>
  void optional(Function& function, const char* name) const {
    function = library == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(library, name));
  }
};

// Converts a message of the dynamic loader about `path` into an error; an empty message gives no known cause.
[[nodiscard]] Error explain_loader(std::string_view path, std::string_view reported);

}  // namespace pbprobe
