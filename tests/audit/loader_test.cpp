// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <elf.h>

#include <fstream>
#include <sstream>

#include <gmock/gmock.h>

#include "core/temp_folder.hpp"
#include "paths.hpp"
#include "probes/audit/loader/linked_object.hpp"
#include "probes/audit/loader/process.hpp"

namespace pbprobe {
namespace {

using testing::ElementsAre;
using testing::Pair;

struct CacheEntry {
  uint32_t flags;
  std::string name;
  std::string path;
  uint64_t capabilities = 0;
};

template <class T>
void put(std::string& text, T value) {
  text.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// Writes the layout of glibc's dl-cache.h.
std::string build_loader_cache(const std::vector<CacheEntry>& entries) {
  std::string strings;
  std::string table;
  const size_t begin = 48 + entries.size() * 24;
  const auto place = [&](const std::string& text) {
    const auto at = static_cast<uint32_t>(begin + strings.size());
    strings += text + '\0';
    return at;
  };
  for (const auto& entry : entries) {
    put(table, entry.flags);
    put(table, place(entry.name));
    put(table, place(entry.path));
    put(table, uint32_t{0});
    put(table, entry.capabilities);
  }
  std::string text = "glibc-ld.so.cache1.1";
  put(text, static_cast<uint32_t>(entries.size()));
  put(text, static_cast<uint32_t>(strings.size()));
  text.resize(48);
  return text + table + strings;
}

LoaderCache parsed(const std::string& text, uint16_t machine = EM_X86_64) {
  return parse_loader_cache(Bytes({reinterpret_cast<const uint8_t*>(text.data()), text.size()}, "cache"), machine);
}

TEST(LoaderCache, HoldsTheLibrariesOfItsMachine) {
  const std::string text =
      build_loader_cache({{0x0303, "libz.so.1", "/lib/libz.so.1"},
                          {0x0303, "libz.so.1", "/lib/glibc-hwcaps/x86-64-v3/libz.so.1", 1ULL << 62},
                          {0x0003, "libz.so.1", "/lib32/libz.so.1"},
                          {0x0a03, "libz.so.1", "/lib/aarch64-linux-gnu/libz.so.1"}});
  EXPECT_THAT(parsed(text), ElementsAre(Pair("libz.so.1", "/lib/libz.so.1")));
  EXPECT_THAT(parsed(text, EM_AARCH64), ElementsAre(Pair("libz.so.1", "/lib/aarch64-linux-gnu/libz.so.1")));
  // Behind a cache of the old format, offsets count from its own start.
  EXPECT_EQ(parsed("ld.so-1.7.0" + std::string(100, '\0') + text), parsed(text));
}

TEST(LoaderCache, KeepsReadablePartOfDamagedCache) {
  const std::string text =
      build_loader_cache({{0x0303, "liba.so", "/lib/liba.so"}, {0x0303, "libb.so", "/lib/libb.so"}});
  for (size_t size = 0; size < text.size(); ++size) EXPECT_LE(parsed(text.substr(0, size)).size(), 2U);
  EXPECT_EQ(parsed(text.substr(0, text.size() - 5)).size(), 1U);
  EXPECT_TRUE(parsed("no cache").empty());
}

TEST(LinkedObject, FindsNeededLibrariesOfThisProgram) {
  const auto program = LinkedObject::open("/proc/self/exe");
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_FALSE(program->interpreter().empty());
  EXPECT_THAT(program->dynamic().needed, testing::Contains("libc.so.6"));
  EXPECT_FALSE(program->references().empty());
}

// Whatever byte is wrong: an error or an object, and no read outside.
TEST(LinkedObject, SurvivesDamagedFile) {
  std::ostringstream whole;
  whole << std::ifstream(PBPROBE_FIXTURE_RPATH, std::ios::binary).rdbuf();
  ASSERT_TRUE(LinkedObject::open(PBPROBE_FIXTURE_RPATH));
  const auto folder = pbprobe::TempFolder::make();
  ASSERT_TRUE(folder);
  const auto file = folder->path() / "damaged.so";
  int opened = 0;
  uint32_t random = 1;
  for (int round = 0; round < 300; ++round) {
    std::string text = whole.str();
    for (int i = 0; i < 8; ++i) {
      random = random * 1664525 + 1013904223;
      text[random % text.size()] = static_cast<char>(random >> 24);
    }
    std::ofstream(file, std::ios::binary) << text;
    const auto object = LinkedObject::open(file);
    if (!object) continue;
    ++opened;
    const std::string name = "_Z1fv";
    (void)object->resolves({.name = name, .hash = compute_gnu_hash(name)});
    for (const auto& reference : object->references()) (void)object->resolves(reference);
  }
  EXPECT_GT(opened, 30);
}

}  // namespace
}  // namespace pbprobe
