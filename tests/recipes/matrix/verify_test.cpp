// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Planted faults: each is put into a sound recipe, and is found by its id. The sound twin has the one allowed finding.
#include "recipes/src/verify.hpp"

#include <algorithm>
#include <set>

#include <gmock/gmock.h>

#include "core/check_pages.hpp"
#include "core/json.hpp"
#include "paths.hpp"
#include "recipes/src/write.hpp"
#include "tests/check_pages.hpp"
#include "tests/recipes/matrix/nix.hpp"

namespace pbprobe {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> ids(const std::vector<Finding>& findings) {
  std::vector<std::string> result;
  for (const auto& f : findings) result.push_back(f.id);
  return result;
}

std::string sound(const std::string& name) {
  const auto variant = parse_variant(name);
  return variant ? recipe_text(*variant, "openblas") : "";
}

struct Planted {
  const char* title;
  const char* id;
  const char* recipe;
  std::string from;  // text to replace; empty to prepend `to`
  std::string to;
  const char* what;
  const char* file = nullptr;  // file name; null for the name of the recipe
};

// Returns the findings of the recipe with the planted fault.
std::vector<Finding> list_findings(const Planted& fault) {
  auto text = sound(fault.recipe);
  const auto at = text.find(fault.from);
  if (at == std::string::npos) {
    ADD_FAILURE() << fault.title << ": " << fault.from;
    return {};
  }
  text.replace(at, fault.from.size(), fault.to);
  return verify_recipe(std::string(fault.file != nullptr ? fault.file : fault.recipe) + ".nix", text);
}

class PlantedFault : public testing::TestWithParam<Planted> {};

TEST_P(PlantedFault, IsFoundByItsId) {
  const auto& fault = GetParam();
  const std::string path = std::string(fault.file != nullptr ? fault.file : fault.recipe) + ".nix";
  EXPECT_THAT(ids(verify_recipe(std::string(fault.recipe) + ".nix", sound(fault.recipe))), ElementsAre("PB405"));
  const auto findings = list_findings(fault);
  EXPECT_THAT(ids(findings), Contains(std::string(fault.id)));
  bool stated = false;
  for (const auto& f : findings) {
    if (f.id != fault.id || f.what.find(fault.what) == std::string::npos) continue;
    stated = true;
    EXPECT_THAT(*f.where, HasSubstr(path));
    EXPECT_FALSE(f.remedy.empty());
  }
  EXPECT_TRUE(stated) << fault.what << " was not reported: " << to_json(findings).dump(1);
}

constexpr const char* kSpark = "pytorch-python313-cuda13_0-sm121-armv9";
constexpr const char* kHopper = "pytorch-python313-cuda13_0-sm90-avx512";
constexpr const char* kAvx2 = "pytorch-python313-cuda13_0-sm90-avx2";
constexpr const char* kOld = "pytorch-python313-cuda12_8-sm61-avx";
constexpr const char* kCpu = "pytorch-python313-cpu-avx";

const std::vector<Planted>& planted_faults() {
  static const std::vector<Planted> all{
      Planted{"NightlyInTheName", "PB401", kSpark, "", "", "it has 6 parts",
              "pytorch-python313-cuda13_0-sm121-armv9-nightly"},
      Planted{"AvxInAGpuName", "PB401", kHopper, "", "", "has no sm90 with avx", "pytorch-python313-cuda13_0-sm90-avx"},
      Planted{"SparkOnX86", "PB402", kSpark, "", "", "sm121 with avx2: no such machine",
              "pytorch-python313-cuda13_0-sm121-avx2"},
      Planted{"ThorOnX86", "PB402", kSpark, "", "", "sm110 with avx512", "pytorch-python313-cuda13_0-sm110-avx512"},
      Planted{"PnameOfAnotherRecipe", "PB403", kSpark, "sm121-armv9\"", "sm120-armv9\"",
              "pname is \"pytorch210-python313-cuda13_0-sm120-armv9\""},
      Planted{"NoPname", "PB403", kSpark, "pname = ", "name = ", "no pname"},
      Planted{"PinOfAnotherLine", "PB404", kSpark, "6a030d535719c5190187c4cec156f335e95e3211",
              "fe5e41d7ffc0421f0913e8472ce6238ed0daf8e3", "the commit of line cuda12_8"},
      Planted{"NoPin", "PB404", kSpark, "rev = \"6a030d535719c5190187c4cec156f335e95e3211\"", "rev = \"main\"",
              "does not pin nixpkgs"},
      Planted{"EmptyHash", "PB406", kSpark, "hash = \"sha256-RKiZLHBCneMtZKRgTEuW1K7+Jpi+tx11BMXuS1jC1xQ=\"",
              "hash = \"\"", "hash = \"\""},
      Planted{"FakeHash", "PB406", kSpark, "\"sha256-RKiZLHBCneMtZKRgTEuW1K7+Jpi+tx11BMXuS1jC1xQ=\"", "lib.fakeHash",
              "lib.fakeHash"},
      Planted{"PastedHash", "PB406", kSpark, "sha256-RKiZ", "sha256-XXXX", "is not a hash of line cuda13_0"},
      Planted{"CudaThatMovesWithThePin", "PB407", kSpark, "final.cudaPackages_13_0", "final.cudaPackages_13",
              "cudaPackages_13, expected cudaPackages_13_0"},
      Planted{"CudaOfAnotherLine", "PB407", kHopper, "final.cudaPackages_13_0", "final.cudaPackages_12_8",
              "cudaPackages_12_8, expected cudaPackages_13_0"},
      Planted{"NoCudaOverlay", "PB407", kSpark, "(final: prev: { cudaPackages = final.cudaPackages_13_0; })", "",
              "no cudaPackages_13_0"},
      Planted{"CudaInACpuRecipe", "PB407", kCpu, "    [\n", "    [ (final: prev: { x = final.cudaPackages_13_0; })\n",
              "in a recipe without CUDA"},
      Planted{"NoMagmaPatch", "PB408", kSpark, "cuda-13.0-clockrate-fix.patch", "other.patch",
              "cuda-13.0-clockrate-fix.patch is missing"},
      Planted{"MagmaFiltered", "PB409", kHopper, "in\n", "  buildInputs = filterMagma old.buildInputs;\nin\n",
              "filterMagma"},
      Planted{"MagmaOff", "PB409", kHopper, "in\n", "  flags = \"USE_MAGMA=0\";\nin\n", "USE_MAGMA=0"},
      Planted{"TorchOfThePin", "PB410", kSpark, "version = \"2.10.0\"", "version = \"2.9.1\"",
              "torch is 2.9.1, expected 2.10.0"},
      Planted{"NoVersion", "PB410", kSpark, "version = \"2.10.0\";", "", "torch stays 2.9.1"},
      Planted{"SmWithItsPrefix", "PB411", kHopper, "gpuArchSM = \"9.0\"", "gpuArchSM = \"sm_90\"",
              "gpuArchSM is \"sm_90\", expected \"9.0\""},
      Planted{"SmOfANeighbour", "PB411", kSpark, "gpuArchSM = \"12.1\"", "gpuArchSM = \"12.0\"",
              "gpuArchSM is \"12.0\""},
      Planted{"NumberWithADot", "PB412", kSpark, "gpuArchNum = \"121\"", "gpuArchNum = \"12.1\"",
              "gpuArchNum is \"12.1\", expected \"121\""},
      Planted{"FmaInAvx", "PB413", kCpu, "\"-mavx\"\n", "\"-mavx\" \"-mfma\"\n", "-mfma is not a part of avx"},
      Planted{"Avx512InAvx2", "PB413", kAvx2, "\"-mf16c\"", "\"-mf16c\" \"-mavx512f\"",
              "-mavx512f is not a part of avx2"},
      Planted{"FlagsMissing", "PB413", kHopper, "\"-mavx512vl\"", "", "avx512 lacks -mavx512vl"},
      Planted{"Armv8InArmv9", "PB413", kSpark, "-march=armv9-a+sve2", "-march=armv8.2-a+fp16+dotprod",
              "is not a part of armv9"},
      Planted{"NoFlags", "PB413", kSpark, "cpuFlags = [", "otherFlags = [", "no cpuFlags"},
      Planted{"PlatformOfX86", "PB414", kSpark, "platforms = [ \"aarch64-linux\" ]", "platforms = [ \"x86_64-linux\" ]",
              "platforms are x86_64-linux, expected aarch64-linux"},
      Planted{"BothPlatforms", "PB414", kHopper, "[ \"x86_64-linux\" ]", "[ \"x86_64-linux\" \"aarch64-linux\" ]",
              "platforms are x86_64-linux, aarch64-linux"},
      Planted{"DescriptionOfAnotherCuda", "PB415", kSpark, "description = \"PyTorch 2.10.0 with CUDA 13.0",
              "description = \"PyTorch 2.10.0 with CUDA 13.1", "the description says CUDA 13.1"},
      Planted{"DescriptionOfAnotherSm", "PB415", kSpark, "with CUDA 13.0 for SM121 (DGX Spark (GB10)) and armv9\"",
              "with CUDA 13.0 for SM120\"", "the description says SM120"},
      Planted{"DeadCmakeFlags", "PB416", kSpark, "in\n", "  cmakeFlags = [ \"-DCUDA_VERSION=13.0\" ];\nin\n",
              "-DCUDA_VERSION"},
      Planted{"AllPatchesDropped", "PB417", kSpark, "dropPatches = false;", "patches = [ ];", "every patch of nixpkgs"},
      Planted{"PatchesDroppedByTheSwitch", "PB417", kSpark, "dropPatches = false;", "dropPatches = true;",
              "recipes/matrix.json keeps them"},
      Planted{"ArchListAsAnAttribute", "PB418", kSpark, "in\n", "  TORCH_CUDA_ARCH_LIST = \"12.1\";\nin\n",
              "as an attribute"},
      Planted{"GpuTargetsWithPrefix", "PB418", kSpark, "in\n", "  gpuTargets = [ \"sm_121\" ];\nin\n", "\"sm_121\""},
      Planted{"CudaByOverride", "PB419", kSpark, "in\n", "  t = torch.override { cudaPackages = x; };\nin\n",
              "by an override"},
      Planted{"OnePythonSetOnly", "PB420", kSpark, "pythonPackagesExtensions = prev.pythonPackagesExtensions",
              "python3Packages = prev.python3Packages.override", "only in python3Packages"},
      Planted{"AllBrokenAllowed", "PB421", kSpark, "in\n", "  config = { allowBroken = true; };\nin\n",
              "every broken package"},
      Planted{"UnknownArgument", "PB422", kSpark, "in\n", "  x = { effectiveStdenv = gcc14; };\nin\n",
              "no argument effectiveStdenv"},
      Planted{"OldAttribute", "PB422", kSpark, "in\n", "  x = python3Packages.pytorch;\nin\n", "not pytorch"},
      Planted{"ClobberedProvider", "PB422", kSpark, "in\n", "  passthru.blasProvider = \"cublas\";\nin\n",
              "is overwritten"},
      Planted{"FixedBuildFolder", "PB423", kSpark, "in\n", "  x = \"-I/build/cccl-compat\";\nin\n",
              "not a build folder"},
      Planted{"AvxWithFbgemm", "PB425", kCpu, "USE_FBGEMM = \"0\";", "", "USE_FBGEMM=0 is not set"},
      Planted{"PascalWithCudnn", "PB425", kOld, "USE_CUDNN = \"0\";", "", "USE_CUDNN=0 is not set"},
  };
  return all;
}

INSTANTIATE_TEST_SUITE_P(Verify, PlantedFault, testing::ValuesIn(planted_faults()),
                         [](const auto& test) { return std::string(test.param.title); });

// A recipe written by hand, in one file.
constexpr std::string_view kByHand = R"nix(
{ lib }:
let
  nixpkgs = fetchTarball {
    url = "https://github.com/NixOS/nixpkgs/archive/6a030d535719c5190187c4cec156f335e95e3211.tar.gz";
  };
  gpuArchNum = "120";
  gpuArchSM = "12.0";  # TORCH_CUDA_ARCH_LIST
  cpuFlags = [ "-mfma" "-mavx512bw" "-mavx512vl" "-mavx512dq" "-mavx512f" ];
  pkgs = import nixpkgs {
    config.allowUnfree = true;
    overlays = [
      (final: prev: { cudaPackages = final.cudaPackages_13_0; })
      (final: prev: { magma = prev.magma.overrideAttrs (old: { patches = [ (fetchpatch {
        name = "cuda-13.0-clockrate-fix.patch";
        hash = "sha256-i9InbxD5HtfonB/GyF9nQhFmok3jZ73RxGcIciGBGvU=";
      }) ]; }); })
    ];
  };
in pkgs.python313Packages.torch.overrideAttrs (old: {
  pname = "pytorch210-python313-cuda13_0-sm120-avx512";
  version = "2.10.0";
  meta = old.meta // { description = "PyTorch for RTX 5090 (SM120)";
platforms = ["x86_64-linux"];
};
})
)nix";

TEST(Verify, ReadsARecipeWrittenByHand) {
  const auto findings = verify_recipe("pytorch-python313-cuda13_0-sm120-avx512.nix", kByHand);
  EXPECT_THAT(ids(findings), ElementsAre("PB424", "PB405"));
  EXPECT_EQ(findings[0].where, "pytorch-python313-cuda13_0-sm120-avx512.nix:4");
  EXPECT_EQ(findings[0].what, "nixpkgs is imported without a system");
}

TEST(Verify, EquivalentSpellingsAreOne) {
  auto text = sound(kSpark);
  const std::string flag = "-march=armv9-a+sve2";
  text.replace(text.find(flag), flag.size(), "-march=armv9-a");
  EXPECT_THAT(ids(verify_recipe(std::string(kSpark) + ".nix", text)), ElementsAre("PB405"));
}

TEST(Verify, PlantsAFaultForEveryCheck) {
  std::set<std::string_view> seen;
  for (const auto& check : recipe_checks()) {
    EXPECT_TRUE(seen.insert(check.id).second) << check.id << " twice";
    EXPECT_FALSE(check_question(check.id).empty() || check.remedy.empty()) << check.id;
  }
  EXPECT_EQ(seen.size(), 29u) << "a new check wants its planted fault here";
}

TEST(Verify, OurOwnRecipesHaveTheOneAllowedFinding) {
  const auto verified = verify_folder(std::string(PBPROBE_SOURCE_DIR) + "/.flox/pkgs");
  ASSERT_TRUE(verified) << verified.error().message;
  const size_t variants = list_variants({})->size();
  EXPECT_EQ(verified->recipes, variants);
  EXPECT_EQ(verified->findings.size(), variants);
  EXPECT_THAT(ids(verified->findings), Each("PB405"));
  EXPECT_FALSE(has_failures(*verified));
  EXPECT_THAT(render_verified(*verified),
              HasSubstr(fmt::format("{} recipes, none evaluated by Nix, 0 failures", variants)));
}

TEST(Verify, AcceptsEveryRecipeOfEveryLine) {
  const auto variants = list_variants({.line = "all"});
  for (const auto& variant : *variants)
    EXPECT_THAT(ids(verify_recipe(variant_name(variant) + ".nix", recipe_text(variant, "openblas"))),
                ElementsAre("PB405"))
        << variant_name(variant);
}

TEST(Verify, FindsAReadmeThatMiscounts) {
  const auto findings =
      verify_counts("README.md", "# Title\nAll 44-variant and 57 variants; SM90 has 6 variants.\n", 59);
  ASSERT_THAT(ids(findings), ElementsAre("PB426"));
  EXPECT_EQ(findings[0].where, "README.md:2");
  EXPECT_THAT(findings[0].what, HasSubstr("57 variants, and there are 59 recipes"));
}

TEST(Verify, AcceptsAPinWithAHash) {
  const std::string hash = "sha256-0123456789abcdefghijABCDEFGHIJ0123456789abc=";
  auto m = matrix();
  for (auto& line : m.lines) line.pin.hash = hash;
  const auto variant = *parse_variant(kSpark);
  EXPECT_THAT(verify_recipe(std::string(kSpark) + ".nix", recipe_text(variant, "openblas", m), m), IsEmpty());
}

TEST(Verify, PatchesThatTheMatrixDropsAreNotKept) {
  auto m = matrix();
  for (auto& line : m.lines) {
    if (line.source) line.source->drop_patches = true;
  }
  const auto variant = *parse_variant(kSpark);
  const auto path = std::string(kSpark) + ".nix";
  EXPECT_THAT(ids(verify_recipe(path, recipe_text(variant, "openblas", m), m)), ElementsAre("PB405"));
  auto text = sound(kSpark);
  for (const std::string_view kept : {"dropPatches = false;", ""}) {
    const auto at = text.find("dropPatches = false;");
    text.replace(at, std::string_view("dropPatches = false;").size(), kept);
    const auto findings = verify_recipe(path, text, m);
    ASSERT_THAT(ids(findings), ElementsAre("PB405", "PB417")) << kept;
    EXPECT_EQ(findings[1].what,
              "the recipe keeps nixpkgs' patches (no dropPatches = true), and recipes/matrix.json drops them");
  }
}

TEST(Verify, ReportsAFolderWithoutRecipes) {
  const nix::TempFolder scratch;
  const auto none = verify_folder(scratch.path() / "none");
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("give a folder such as .flox/pkgs"));
  const auto empty = verify_folder(scratch.path());
  ASSERT_FALSE(empty);
  EXPECT_THAT(empty.error().message, HasSubstr("the folder has no recipe (pytorch*.nix)"));
}

// Compares the examples in docs/checks with findings; evaluate_test.cpp compares examples that need Nix.
TEST(Verify, MatchesTheExamplesOfThePages) {
  std::vector<Finding> found = verify_recipe("pytorch-python313-cuda13_0-sm120-avx512.nix", kByHand);
  const auto more = verify_counts("README.md", "# Title\n57 variants\n", 59);
  found.insert(found.end(), more.begin(), more.end());
  for (const auto& fault : planted_faults()) {
    for (auto& finding : list_findings(fault)) {
      if (finding.id == fault.id) found.push_back(std::move(finding));
    }
  }
  for (const auto& check : recipe_checks()) {
    const std::string id(check.id), example = test::read_example(id);
    if (id >= "PB427") continue;
    const auto has = [&](const Finding& finding) { return finding.id == id && test::is_shown(example, finding); };
    const auto first = std::find_if(found.begin(), found.end(), [&](const Finding& f) { return f.id == id; });
    EXPECT_TRUE(std::any_of(found.begin(), found.end(), has))
        << id << " shows: " << example << "\nplanted: " << (first == found.end() ? "" : test::shown(*first));
  }
}

}  // namespace
}  // namespace pbprobe
