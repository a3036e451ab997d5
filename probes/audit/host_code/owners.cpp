// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/host_code/census.hpp"

namespace pbprobe {
namespace {

void own_initializers(const Functions& functions, std::vector<CodeOwner>& owners) {
  for (const uint64_t address : functions.initializers) {
    const Function* function = find_function(functions, address);
    if (function != nullptr)
      owners[static_cast<size_t>(function - functions.all.data())].code_class = CodeClass::static_initializer;
  }
}

// Reports whether the name helps to find the owner: it is of C++, or public.
bool is_telling(const Function& function) {
  return function.binding != Binding::local || function.name.starts_with("_Z");
}

void own_neighbours(const Functions& functions, std::vector<CodeOwner>& owners) {
  std::string_view library;  // library of the last function with an owner
  size_t first = 0;          // first function without an owner after it
  for (size_t i = 0; i < owners.size(); ++i) {
    const bool starts_section = i == 0 || functions.all[i].section != functions.all[i - 1].section;
    if (starts_section) {
      library = {};
      first = i;
    }
    const CodeOwner& owner = owners[i];
    const bool labelled = owner.code_class == CodeClass::dispatched && !owner.label.empty();
    if (owner.code_class == CodeClass::dispatched && !labelled) continue;  // named after an instruction set
    if (owner.code_class == CodeClass::unguarded && !is_telling(functions.all[i])) continue;
    if (labelled && owner.label == library) {
      for (size_t k = first; k < i; ++k) {
        if (owners[k].code_class == CodeClass::unguarded) owners[k] = {CodeClass::dispatched, library};
      }
    }
    library = labelled ? owner.label : std::string_view();
    first = i + 1;
  }
}

}  // namespace

std::vector<CodeOwner> find_owners(const Functions& functions, const std::vector<CodeCount>& counts) {
  std::vector<CodeOwner> owners;
  owners.reserve(functions.all.size());
  for (size_t i = 0; i < functions.all.size(); ++i) {
    owners.push_back(find_code_owner(functions.all[i], counts[i].features != 0));
    if (functions.all[i].resolver) owners.back() = {CodeClass::dispatched, {}};
  }
  own_initializers(functions, owners);
  own_neighbours(functions, owners);
  return owners;
}

}  // namespace pbprobe
