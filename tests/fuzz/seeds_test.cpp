// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "paths.hpp"
#include "readers.hpp"

namespace pbprobe::fuzz {
namespace {

namespace fs = std::filesystem;

struct Reader {
  const char* name;
  void (*read)(std::span<const uint8_t>);
};

class FuzzSeeds : public ::testing::TestWithParam<Reader> {};

TEST_P(FuzzSeeds, AreReadWithoutACrash) {
  int seeds = 0;
  for (const auto& entry :
       fs::directory_iterator(fs::path(PBPROBE_SOURCE_DIR) / "tests/fuzz/seeds" / GetParam().name)) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::vector<uint8_t> content{std::istreambuf_iterator<char>(file), {}};
    SCOPED_TRACE(entry.path().string());
    GetParam().read(content);
    for (size_t size = 0; size < content.size(); size += 1 + content.size() / 97)  // cut short at many places
      GetParam().read(std::span(content).first(size));
    ++seeds;
  }
  EXPECT_GT(seeds, 1);
}

INSTANTIATE_TEST_SUITE_P(Readers, FuzzSeeds,
                         ::testing::Values(Reader{"elf", read_elf_file}, Reader{"code", read_machine_code},
                                           Reader{"fatbin", read_fatbin_section}, Reader{"zip", read_zip_file},
                                           Reader{"fatbin_entry", read_fatbin_entry},
                                           Reader{"version", read_version_text}, Reader{"wheel", read_wheel},
                                           Reader{"facts", read_facts}, Reader{"store", read_store_paths}),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace pbprobe::fuzz
