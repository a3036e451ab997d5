// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Names of symbols that belong to torch, by the grammar of the Itanium C++ ABI (5.1). recipes/torch_symbols.py selects
// the same names; tests/core/torch_names.json has the examples for both.
#pragma once

#include <cstdint>
#include <string_view>

namespace pbprobe {

// Relation of a symbol's name to torch.
enum class TorchName : uint8_t {
  none,
  stable,     // function of the stable ABI: "aoti_torch_…", "torch_…"
  member,     // entity in namespace c10, c10d, at, torch or caffe2, or THP* of libtorch_python
  signature,  // entity of another namespace with one of torch's types among its template arguments or parameters
};

// Returns how a mangled name belongs to torch; `none` for other names.
[[nodiscard]] TorchName classify_torch_name(std::string_view symbol);

// Reports whether only torch defines symbols of this name: an entity in its namespaces, or a function of its shims.
[[nodiscard]] bool is_reserved_for_torch(std::string_view symbol);

// Reports whether the symbol's type has a std::string of _GLIBCXX_USE_CXX11_ABI=0.
[[nodiscard]] bool has_old_string(std::string_view symbol);

}  // namespace pbprobe
