// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Faults that no line shows: planted into a recipe or into what it imports, and found by Nix.
#include "recipes/src/evaluate.hpp"

#include <gmock/gmock.h>

#include "paths.hpp"
#include "recipes/src/write.hpp"
#include "tests/check_pages.hpp"
#include "tests/recipes/matrix/nix.hpp"

namespace pbprobe {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

struct NixFault {
  const char* title;
  const char* id;
  const char* file;  // from the root: the recipe, or what it imports
  std::string from;
  std::string to;
  const char* what;
};

class PlantedInNix : public testing::TestWithParam<NixFault> {
 protected:
  void SetUp() override {
    if (!nix::present()) GTEST_SKIP() << "nix-instantiate is not installed: apt install nix-bin";
  }
};

constexpr const char* kSparkRecipe = ".flox/pkgs/pytorch-python313-cuda13_0-sm121-armv9.nix";
constexpr const char* kTorch = "recipes/nix/torch.nix";

TEST_P(PlantedInNix, IsFoundByItsId) {
  const nix::TempFolder scratch;
  const nix::Tree tree(scratch.path());
  const auto variant = parse_variant("pytorch-python313-cuda13_0-sm121-armv9");
  nix::write(scratch.path() / kSparkRecipe, recipe_text(*variant, "openblas"));
  const auto sound = evaluate_folder(tree.recipes);
  ASSERT_TRUE(sound) << sound.error().message;
  EXPECT_EQ(sound->evaluated, 1u);
  ASSERT_THAT(sound->findings, IsEmpty());

  const auto& fault = GetParam();
  auto text = nix::read(scratch.path() / fault.file);
  const auto at = text.find(fault.from);
  ASSERT_NE(at, std::string::npos) << fault.from;
  text.replace(at, fault.from.size(), fault.to);
  nix::write(scratch.path() / fault.file, text);
  const auto found = evaluate_folder(tree.recipes);
  ASSERT_TRUE(found) << found.error().message;
  bool stated = false;
  std::string all;
  for (const auto& f : found->findings) {
    all += f.id + " " + f.what + "\n";
    stated |= f.id == fault.id && f.what.find(fault.what) != std::string::npos;
  }
  EXPECT_TRUE(stated) << all;
}

INSTANTIATE_TEST_SUITE_P(
    Evaluate, PlantedInNix,
    testing::Values(NixFault{"Syntax", "PB427", kSparkRecipe, "let\n", "let let\n", "syntax error"},
                    NixFault{"MissingImport", "PB427", kSparkRecipe, "../../recipes/nix/torch.nix",
                             "../../recipes/nix/gone.nix", "gone.nix"},
                    NixFault{"VersionWithoutItsOverlay", "PB427", kSparkRecipe,
                             "pythonPackagesExtensions = prev.pythonPackagesExtensions ++",
                             "lostExtensions = prev.pythonPackagesExtensions ++", "torch 2.9.1 came out"},
                    NixFault{"NoCudaOverlay", "PB427", kSparkRecipe, "cudaPackages = final.cudaPackages_13_0",
                             "other = final.cudaPackages_13_0", "too new for CUDA 12.8"},
                    NixFault{"NoSystem", "PB427", kTorch, "    inherit system;\n", "", "without required argument"},
                    NixFault{"OldPinStillUnfree", "PB427", kTorch, "allowUnfree = true;", "", "unfree"},
                    NixFault{"StillBroken", "PB427", kTorch, "{ broken = false; }", "{ }", "marked as broken"},
                    NixFault{"UnknownArgument", "PB427", kTorch, "        gpuTargets = [ gpuArchSM ];",
                             "        gpuTargets = [ gpuArchSM ]; effectiveStdenv = null;", "unexpected argument"},
                    NixFault{"PrefixInTheList", "PB428", kTorch, "        gpuTargets = [ gpuArchSM ];",
                             "        gpuTargets = [ \"sm_${gpuArchNum}\" ];", "does not reach preConfigure"},
                    NixFault{"MagmaOfEverySm", "PB428", kTorch, "          cudaCapabilities = [ gpuArchSM ];\n", "",
                             "MAGMA's SMs"},
                    NixFault{"FlagsOfAnother", "PB428", kSparkRecipe, "-march=armv9-a+sve2",
                             "-march=armv8.2-a+fp16+dotprod", "-march=armv9-a+sve2 does not reach preConfigure"},
                    NixFault{"PlatformsOfAll", "PB428", kSparkRecipe, "platforms = [ \"aarch64-linux\" ]",
                             "platforms = [ \"aarch64-linux\" \"x86_64-linux\" ]", "platforms is"}),
    [](const auto& test) { return std::string(test.param.title); });

TEST(Evaluate, NotesARecipeThatTheModelLacks) {
  if (!nix::present()) GTEST_SKIP() << "nix-instantiate is not installed: apt install nix-bin";
  const nix::TempFolder scratch;
  nix::write(scratch.path() / "pytorch-python313-cpu-avx2.nix", "{ python3Packages }: python3Packages.torch\n");
  const auto found = evaluate_folder(scratch.path());
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ(found->findings.size(), 1u);
  EXPECT_EQ(found->findings[0].id, "PB429");
  EXPECT_EQ(found->findings[0].severity, Severity::note);
}

// Returns the first finding, with paths relative to the folder of the recipes.
Finding first_below(const std::filesystem::path& folder, const std::filesystem::path& recipes) {
  const auto found = evaluate_folder(recipes);
  if (!found || found->findings.empty()) {
    ADD_FAILURE() << (found ? "nothing was found" : found.error().message);
    return {};
  }
  Finding first = found->findings.front();
  for (std::string* text : {&first.what, &*first.where}) {
    for (size_t at = 0; (at = text->find(folder.string() + "/")) != std::string::npos;)
      text->erase(at, folder.string().size() + 1);
  }
  return first;
}

// docs/checks shows what the program prints.
TEST(Evaluate, MatchesTheExamplesOfThePages) {
  if (!nix::present()) GTEST_SKIP() << "nix-instantiate is not installed: apt install nix-bin";
  for (const auto& [file, from, to] :
       {std::tuple(kTorch, "allowUnfree = true;", ""), {kSparkRecipe, "-march=armv9-a+sve2", "-march=armv8.2-a"}}) {
    const nix::TempFolder scratch;
    const nix::Tree tree(scratch.path());
    nix::write(scratch.path() / kSparkRecipe,
               recipe_text(*parse_variant("pytorch-python313-cuda13_0-sm121-armv9"), "openblas"));
    auto text = nix::read(scratch.path() / file);
    text.replace(text.find(from), std::string_view(from).size(), to);
    nix::write(scratch.path() / file, text);
    const Finding first = first_below(scratch.path(), tree.recipes);
    EXPECT_TRUE(test::is_shown(test::read_example(first.id), first)) << test::shown(first);
  }
  const nix::TempFolder scratch;
  nix::write(scratch.path() / "pytorch-python313-cpu-avx2.nix", "{ python3Packages }: python3Packages.torch\n");
  const Finding first = first_below(scratch.path(), scratch.path());
  EXPECT_EQ(first.id, "PB429");
  EXPECT_TRUE(test::is_shown(test::read_example(first.id), first)) << test::shown(first);
}

TEST(Evaluate, OurOwnFolderIsAllRight) {
  if (!nix::present()) GTEST_SKIP() << "nix-instantiate is not installed: apt install nix-bin";
  const auto found = evaluate_folder(std::string(PBPROBE_SOURCE_DIR) + "/.flox/pkgs");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->evaluated, list_variants({})->size());
  EXPECT_THAT(found->findings, IsEmpty());
}

TEST(Evaluate, NamesTheRemedyForMissingNix) {
  if (PBPROBE_EMULATED) GTEST_SKIP() << "QEMU's posix_spawn does not report a missing program";
  const nix::TempFolder scratch;
  nix::write(scratch.path() / "pytorch-python313-cpu-avx2.nix", "{ }: { }\n");
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", "/nowhere", 1);
  const auto found = evaluate_folder(scratch.path());
  ::setenv("PATH", path.c_str(), 1);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::unsupported);
  EXPECT_THAT(found.error().message, HasSubstr("install Nix"));
}

}  // namespace
}  // namespace pbprobe
