// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "recipes/src/write.hpp"

#include <gmock/gmock.h>

#include "paths.hpp"
#include "recipes/src/variant_facts.hpp"
#include "tests/recipes/matrix/nix.hpp"

namespace pbprobe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

namespace fs = std::filesystem;

std::vector<GeneratedFile> files(const std::string& line = "cuda13_0") {
  auto made = recipe_files({line, "313", "openblas"});
  EXPECT_TRUE(made) << made.error().message;
  return *made;
}

TEST(Write, MatchesTheCommittedRecipes) {
  const auto differences = compare_recipes(std::string(PBPROBE_SOURCE_DIR) + "/.flox/pkgs", files());
  ASSERT_TRUE(differences) << differences.error().message;
  std::string names;
  for (const auto& d : *differences) names += d.name + "\n" + d.text;
  EXPECT_THAT(*differences, IsEmpty()) << names << "write them: pbprobe recipes write";
}

TEST(Write, GithubsMatrixHasEveryVariantAndItsRunner) {
  const auto variants = list_variants({});
  const auto matrix_of_ci = github_matrix(*variants);
  ASSERT_EQ(matrix_of_ci["include"].size(), variants->size());
  for (size_t i = 0; i < variants->size(); ++i) {
    const auto& row = matrix_of_ci["include"][i];
    EXPECT_EQ(row["name"], variant_name((*variants)[i]));
    EXPECT_EQ(row["runner"], row["system"] == "aarch64-linux" ? "ubuntu-24.04-arm" : "ubuntu-24.04");
  }
  EXPECT_EQ(list_json(*variants)["variants"].size(), variants->size());
}

TEST(Write, ContainsTheFieldsThatPackagersNeed) {
  const nix::TempFolder all, few;
  const auto check_recipes = [](const fs::path& folder) {
    const std::string command = std::string(PBPROBE_SOURCE_DIR) + "/ci/check-recipes '" + folder.string() + "' >'" +
                                (folder / "stated").string() + "'";
    return std::system(command.c_str());
  };
  ASSERT_TRUE(write_recipes(all.path(), files(), false));
  ASSERT_EQ(check_recipes(all.path()), 0) << nix::read(all.path() / "stated");
  // The check takes a second for all recipes: the faults are beside the recipes for SM90 and for CPUs alone.
  for (const auto& file : files())
    if (file.name.find("-sm90-") != file.name.npos || file.name.find("-cpu-") != file.name.npos)
      nix::write(few.path() / file.name, file.text);
  ASSERT_EQ(check_recipes(few.path()), 0) << nix::read(few.path() / "stated");
  const auto broken = few.path() / "pytorch-python313-cuda13_0-sm90-avx512.nix";
  const auto text = nix::read(broken);
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"cudaPackages_13_0", "cudaPackages"},
                                                        {"gpuArchSM = \"9.0\"", "gpuArchSM = \"sm_90\""},
                                                        {"-mavx512vl", "-mavx512cd"},
                                                        {"6a030d535719", "fe5e41d7ffc0"}}) {
    auto changed = text;
    changed.replace(changed.find(from), from.size(), to);
    nix::write(broken, changed);
    EXPECT_NE(check_recipes(few.path()), 0) << from;
    EXPECT_THAT(nix::read(few.path() / "stated"), HasSubstr("BROKEN: " + broken.string())) << from;
  }
}

TEST(Write, WritesOnceAndThenNothing) {
  const nix::TempFolder scratch;
  const auto first = write_recipes(scratch.path() / "new" / "pkgs", files(), false);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_THAT(first->written, SizeIs(list_variants({})->size() + 4 + 1));  // packages of CUDA, and pbprobe
  const auto again = write_recipes(scratch.path() / "new" / "pkgs", files(), false);
  EXPECT_THAT(again->written, IsEmpty());
  EXPECT_EQ(again->unchanged, first->written.size());
}

TEST(Write, StopsBeforeChangingAnEditedRecipe) {
  const nix::TempFolder scratch;
  ASSERT_TRUE(write_recipes(scratch.path(), files(), false));
  const auto edited = scratch.path() / "pytorch-python313-cuda13_0-sm121-armv9.nix";
  const auto gone = scratch.path() / "pytorch-python313-cpu-avx.nix";
  auto text = nix::read(edited);
  text.replace(text.find("12.1"), 4, "12.0");
  nix::write(edited, text);
  fs::remove(gone);
  const auto refused = write_recipes(scratch.path(), files(), false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::usage);
  EXPECT_THAT(refused.error().message, HasSubstr("edited by hand"));
  EXPECT_THAT(refused.error().message, HasSubstr("-  gpuArchSM = \"12.0\";\n+  gpuArchSM = \"12.1\";"));
  EXPECT_FALSE(fs::exists(gone));
  EXPECT_EQ(nix::read(edited), text);
  const auto forced = write_recipes(scratch.path(), files(), true);
  ASSERT_TRUE(forced) << forced.error().message;
  EXPECT_THAT(forced->written, SizeIs(2));
}

TEST(Write, ReplacesOrRemovesFilesOfAnEarlierMatrix) {
  const nix::TempFolder scratch;
  const auto first = write_recipes(scratch.path(), files("cuda12_9"), false);
  ASSERT_TRUE(first) << first.error().message;
  const auto of_that_line = std::count_if(first->written.begin(), first->written.end(), [](const auto& file) {
    return fs::path(file).filename().string().find("cuda12_9") != std::string::npos;
  });
  nix::write(scratch.path() / "mine.nix", "{ }: { }\n");
  const auto moved = write_recipes(scratch.path(), files("cuda13_0"), false);
  ASSERT_TRUE(moved) << moved.error().message;
  EXPECT_THAT(moved->removed, SizeIs(of_that_line));
  EXPECT_TRUE(fs::exists(scratch.path() / "mine.nix"));
  EXPECT_THAT(*compare_recipes(scratch.path(), files("cuda13_0")), IsEmpty());
}

TEST(Write, NamesAnUnwritableFolder) {
  const nix::TempFolder scratch;
  nix::write(scratch.path() / "file", "");
  const auto refused = write_recipes(scratch.path() / "file" / "pkgs", files(), false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unreadable);
  EXPECT_THAT(refused.error().message, HasSubstr("cannot make"));
}

TEST(Write, LeavesNothingOfAFailedFile) {
  const nix::TempFolder scratch;
  const auto all = files();
  // A folder in the file's place: the move fails after the text was written beside it.
  fs::create_directories(scratch.path() / all[0].name / "in_the_way");
  EXPECT_FALSE(write_recipes(scratch.path(), {all[0]}, true));
  for (const auto& entry : fs::directory_iterator(scratch.path()))
    EXPECT_EQ(entry.path().filename().string(), all[0].name);
}

TEST(Write, RefusesAnUnknownLineOrBlas) {
  EXPECT_THAT(recipe_files({"cuda11_8", "313", "openblas"}).error().message, HasSubstr("unknown line"));
  EXPECT_THAT(recipe_files({"all", "313", "openblas"}).error().message, HasSubstr("one line at a time"));
  EXPECT_THAT(recipe_files({"cuda13_0", "313", "blis"}).error().message, HasSubstr("choose one of openblas, mkl"));
  EXPECT_THAT(recipe_files({"cuda13_0", "27", "openblas"}).error().message, HasSubstr("unknown Python"));
}

}  // namespace
}  // namespace pbprobe
