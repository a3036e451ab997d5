// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/audit.hpp"
#include "core/facts/json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "zip_builder.hpp"

namespace pbprobe {
namespace {

namespace fs = std::filesystem;
using test::build_library;
using test::Content;
using test::ElfBuilder;
using test::fatbin;
using test::make_content;
using test::TempFolder;
using test::ZipBuilder;
using testing::ElementsAre;
using testing::IsEmpty;
using Counts = std::map<std::string, int64_t>;

constexpr std::string_view kVersion = "__version__ = '2.10.0'\ncuda: Optional[str] = '12.8'\n";
constexpr const char* kWays =
    "give a wheel, an environment, a site-packages, torch or libtorch folder, a Nix result, or a shared object";

Content device_object(uint16_t machine = EM_X86_64) {
  ElfBuilder elf;
  elf.machine = machine;
  elf.sections = {{".nv_fatbin", SHT_PROGBITS, fatbin({{.sm = 90}, {.sm = 90}, {.kind = 1, .sm = 80}})}};
  elf.dynamic = {{DT_SONAME, "libtorch_cuda.so"}, {DT_NEEDED, "libc10.so"}, {DT_RUNPATH, "$ORIGIN"}};
  return elf.build();
}

void write_torch(const TempFolder& folder) {
  folder.write("torch/version.py", kVersion);
  folder.write("torch/lib/libtorch_cpu.so", build_library());
  folder.write("torch/lib/libtorch_cuda.so", device_object());
}

Error audit_error(const fs::path& path) {
  auto inventory = audit(path);
  return inventory ? Error{ErrorCode::usage, "no error"} : inventory.error();
}

TEST(Audit, ListsFilesTheirLinksAndTheirDeviceCode) {
  const TempFolder folder;
  write_torch(folder);
  auto inventory = audit(folder.path());
  ASSERT_TRUE(inventory.ok()) << inventory.error().message;
  ASSERT_EQ(inventory->files.size(), 2U);
  const File& file = inventory->files[1];
  EXPECT_EQ(file.path, "torch/lib/libtorch_cuda.so");
  EXPECT_EQ(file.component, "libtorch");
  EXPECT_EQ(file.machine, "x86_64");
  EXPECT_EQ(file.soname, "libtorch_cuda.so");
  EXPECT_THAT(file.needed, ElementsAre("libc10.so"));
  EXPECT_THAT(file.runpath, ElementsAre("$ORIGIN"));
  ASSERT_TRUE(file.device_code);
  EXPECT_EQ(file.device_code->cubin, (Counts{{"sm_90", 2}}));
  EXPECT_EQ(file.device_code->ptx, (Counts{{"sm_80", 1}}));
  EXPECT_EQ(file.device_code->stored_bytes, 3 * 64);
  EXPECT_EQ(inventory->files[0].device_code, std::nullopt);
}

TEST(Audit, DeviceCodeOnlyLeavesTheRestOut) {
  const TempFolder folder;
  write_torch(folder);
  auto inventory = audit(folder.path(), {.device_code_only = true});
  ASSERT_TRUE(inventory.ok());
  ASSERT_EQ(inventory->files.size(), 1U);
  EXPECT_EQ(inventory->files[0].device_code->cubin, (Counts{{"sm_90", 2}}));
  EXPECT_THAT(inventory->files[0].needed, IsEmpty());
  EXPECT_EQ(inventory->torch_version, std::nullopt);
}

TEST(Audit, LinksOnlyFindsTheSameLibraries) {
  const TempFolder folder;
  write_torch(folder);
  folder.write("torch/lib/libc10.so", build_library());
  const auto whole = audit(folder.path());
  const auto links = audit(folder.path(), {.links_only = true});
  ASSERT_TRUE(whole.ok() && links.ok());
  EXPECT_EQ(links->libtorch_dir, whole->libtorch_dir);
  ASSERT_EQ(links->files.size(), whole->files.size());
  for (size_t i = 0; i < links->files.size(); ++i) {
    SCOPED_TRACE(links->files[i].path);
    EXPECT_EQ(links->files[i].component, whole->files[i].component);
    ASSERT_TRUE(links->files[i].links && whole->files[i].links);
    EXPECT_EQ(to_json(links->files[i].links->dependencies), to_json(whole->files[i].links->dependencies));
    EXPECT_FALSE(links->files[i].device_code || links->files[i].host_code || links->files[i].links->opened);
  }
  EXPECT_EQ(links->files.back().links->dependencies.at(0).path, "torch/lib/libc10.so");
  EXPECT_FALSE(links->loading);
}

TEST(Audit, FindsSameFactsInWheelAndFolder) {
  const TempFolder folder;
  const Content object = device_object(EM_AARCH64);
  folder.write("torch/version.py", kVersion);
  folder.write("torch/lib/libtorch_cuda.so", object);
  ZipBuilder builder;
  builder.members = {{.name = "torch/version.py", .content = make_content(kVersion)},
                     {.name = "torch/lib/libtorch_cuda.so", .content = object, .level = Z_BEST_COMPRESSION},
                     {.name = "torch/include/x.h", .content = make_content("// nothing")},
                     {.name = "torch-2.10.0.dist-info/METADATA", .content = make_content("Name: torch\n")}};
  auto unpacked = audit(folder.path());
  auto wheel = audit(folder.write("torch-2.10.0-cp313-cp313-manylinux_2_28_aarch64.whl", builder.build()));
  ASSERT_TRUE(wheel.ok()) << wheel.error().message;
  ASSERT_TRUE(unpacked.ok());
  EXPECT_EQ(wheel->layout, "wheel");
  EXPECT_EQ(wheel->platform, "aarch64-linux");
  EXPECT_EQ(wheel->torch_version, "2.10.0");
  EXPECT_EQ(wheel->libtorch_dir, std::nullopt);
  EXPECT_EQ(to_json(wheel->files), to_json(unpacked->files));
}

TEST(Audit, HostileMembersAreRefusedByNameAndTheRestGoesOn) {
  const TempFolder folder;
  ZipBuilder builder;
  builder.members = {{.name = "../evil.so", .content = device_object()},
                     {.name = "torch/lib/libtorch_cuda.so", .content = device_object()},
                     {.name = "torch/lib/libshort.so", .content = device_object(), .announced_bytes = 10}};
  auto inventory = audit(folder.write("x.whl", builder.build()));
  ASSERT_TRUE(inventory.ok()) << inventory.error().message;
  EXPECT_THAT(inventory->problems, ElementsAre("x.whl: member ../evil.so leads out of the archive (\"..\" in its "
                                               "name): refused: download it again from its publisher"));
  ASSERT_EQ(inventory->files.size(), 2U);
  EXPECT_THAT(inventory->files[0].problem.value_or(""), testing::HasSubstr("not the 10 announced: refused"));
  EXPECT_EQ(inventory->files[1].device_code->cubin, (Counts{{"sm_90", 2}}));
}

TEST(Audit, BrokenFilesAreReportedAndTheRestGoesOn) {
  const TempFolder folder;
  write_torch(folder);
  Content truncated = device_object();
  truncated.resize(truncated.size() / 2);
  folder.write("torch/lib/liba_empty.so", Content{});
  folder.write("torch/lib/libb_truncated.so", truncated);
  folder.write("torch/lib/libc_pointer.so", "version https://git-lfs.github.com/spec/v1\n");
  folder.write("torch/lib/libd_text.so", "no library\n");
  auto inventory = audit(folder.path());
  ASSERT_TRUE(inventory.ok()) << inventory.error().message;
  ASSERT_EQ(inventory->files.size(), 6U);
  EXPECT_EQ(inventory->files[0].problem,
            "liba_empty.so: the file is empty (0 bytes): copy, download or build it again");
  EXPECT_THAT(inventory->files[1].problem.value_or(""), testing::HasSubstr("the file is truncated"));
  EXPECT_EQ(inventory->files[2].problem, "libc_pointer.so: a Git LFS pointer instead of the file: run `git lfs pull`");
  EXPECT_EQ(inventory->files[3].problem, "libd_text.so: neither ELF nor fatbin: copy, download or build it again");
  EXPECT_EQ(inventory->files[5].problem, std::nullopt);
}

TEST(Audit, RejectsMissingPath) {
  const Error error = audit_error("/made/up/path");
  EXPECT_EQ(error.code, ErrorCode::not_found);
  EXPECT_EQ(error.message, std::string("/made/up/path: no such file or folder: ") + kWays);
}

TEST(Audit, NamesMissingTargetOfLink) {
  const TempFolder folder;
  const auto link = folder.path() / "torch.whl";
  std::filesystem::create_symlink("gone.whl", link);
  const Error error = audit_error(link);
  EXPECT_EQ(error.code, ErrorCode::not_found);
  EXPECT_EQ(error.message, link.string() + " is a link to gone.whl, which is missing");
}

TEST(Audit, RejectsFolderWithoutTorch) {
  const TempFolder folder;
  folder.write("lib/python3.13/site-packages/numpy/__init__.py", "");
  const Error error = audit_error(folder.path());
  EXPECT_EQ(error.code, ErrorCode::not_found);
  EXPECT_EQ(error.message, "no torch in " + folder.path().string() +
                               ": looked for torch/version.py, lib/python3*/site-packages/torch, lib/libtorch*.so and "
                               "usr/lib/<triplet>/libtorch*.so: install torch there, or " +
                               kWays);
}

TEST(Audit, RejectsFileThatIsNoArtifact) {
  const TempFolder folder;
  const fs::path path = folder.write("notes.txt", "hello");
  const Error error = audit_error(path);
  EXPECT_EQ(error.code, ErrorCode::usage);
  EXPECT_EQ(error.message, path.string() + " is not an artifact (neither ELF, fatbin nor wheel): " + kWays);
}

TEST(Audit, RejectsSingleBrokenFile) {
  const TempFolder folder;
  const fs::path empty = folder.write("libempty.so", "");
  EXPECT_EQ(audit_error(empty).code, ErrorCode::malformed);
  EXPECT_EQ(audit_error(empty).message, empty.string() + " is empty (0 bytes): copy, download or build it again");
  Content cut = device_object();
  cut.resize(40);
  EXPECT_EQ(audit_error(folder.write("libcut.so", cut)).message,
            "libcut.so+0x0: ELF header needs 64 bytes, 40 left: copy, download or build it again");
  const fs::path page = folder.write("x.whl", "<html>404</html>");
  EXPECT_EQ(audit_error(page).code, ErrorCode::malformed);
  EXPECT_EQ(audit_error(page).message,
            page.string() + ": not a ZIP archive, so no wheel: download it again from its publisher");
}

TEST(Audit, ReadsWheelWithoutSharedObjects) {
  const TempFolder folder;
  ZipBuilder builder;
  builder.members = {{.name = "x/__init__.py", .content = make_content("pass\n")}};
  const fs::path path = folder.write("x-1-py3-none-any.whl", builder.build());
  EXPECT_EQ(audit_error(path).code, ErrorCode::not_found);
  EXPECT_EQ(audit_error(path).message,
            path.string() + ": no shared object in it: nothing to audit: give a wheel of a built package");
}

TEST(Audit, FindsSameFactsWithOneThread) {
  const TempFolder folder;
  write_torch(folder);
  for (int i = 0; i < 40; ++i) folder.write("torch/lib/libx" + std::to_string(i) + ".so", device_object());
  auto one = audit(folder.path(), {.threads = 1});
  auto many = audit(folder.path(), {.threads = 8});
  ASSERT_TRUE(one.ok() && many.ok());
  EXPECT_EQ(one->files.size(), 42U);
  EXPECT_EQ(to_json(*one), to_json(*many));
}

// Every fact of the inventory can be written, and reads back equal.
TEST(Audit, RestoresInventoryFromJson) {
  const TempFolder folder;
  write_torch(folder);
  auto inventory = audit(folder.path());
  ASSERT_TRUE(inventory.ok());
  const Json json = to_json(*inventory);
  auto again = from_json<Inventory>(json);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(to_json(*again), json);
  EXPECT_EQ(json["files"][1]["device_code"]["ptx"]["sm_80"], 1);
}

}  // namespace
}  // namespace pbprobe
