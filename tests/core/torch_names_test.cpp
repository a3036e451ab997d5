// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/torch_names.hpp"

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/json.hpp"
#include "core/open_file.hpp"
#include "paths.hpp"

namespace pbprobe {
namespace {

// tests/recipes/test_torch_symbols.py reads the same examples.
std::vector<std::string> read_examples(const char* kind) {
  const auto text = read_whole_file(std::string(PBPROBE_SOURCE_DIR) + "/tests/core/torch_names.json");
  return text ? Json::parse(*text).at(kind).get<std::vector<std::string>>() : std::vector<std::string>();
}

TEST(TorchNames, MatchesEachFormOfMangling) {
  const std::map<const char*, TorchName> kinds{{"member", TorchName::member},
                                               {"signature", TorchName::signature},
                                               {"stable", TorchName::stable},
                                               {"none", TorchName::none}};
  for (const auto& [kind, expected] : kinds) {
    const auto examples = read_examples(kind);
    EXPECT_FALSE(examples.empty()) << kind;
    for (const auto& name : examples) EXPECT_EQ(classify_torch_name(name), expected) << name;
  }
}

TEST(TorchNames, ReportsReservedNamespacesAndShims) {
  EXPECT_TRUE(is_reserved_for_torch("_ZN3c108inventedEv"));
  EXPECT_TRUE(is_reserved_for_torch("aoti_torch_invented"));
  EXPECT_FALSE(is_reserved_for_torch("torch_xla_invented"));
  EXPECT_FALSE(is_reserved_for_torch("_ZN8pybind116detail11type_casterIN2at6TensorEvE4loadENS_6handleEb"));
}

TEST(TorchNames, FindsStringsOfTheOldAbi) {
  for (const auto& name : read_examples("old_string")) EXPECT_TRUE(has_old_string(name)) << name;
  for (const auto& name : read_examples("no_old_string")) EXPECT_FALSE(has_old_string(name)) << name;
}

}  // namespace
}  // namespace pbprobe
