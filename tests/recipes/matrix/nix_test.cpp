// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Every recipe of every line, evaluated in the stand-in nixpkgs (recipes/nix/stand-in): what comes out is compared with
// the matrix.
#include <filesystem>
#include <optional>
#include <set>

#include <fmt/ranges.h>
#include <gmock/gmock.h>

#include "core/json.hpp"
#include "recipes/src/variant_facts.hpp"
#include "recipes/src/write.hpp"
#include "tests/recipes/matrix/nix.hpp"

namespace pbprobe {
namespace {

using nix::Tree;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class RecipesInNix : public testing::Test {
 protected:
  void SetUp() override {
    if (!nix::present()) {
      ASSERT_EQ(std::getenv("PBPROBE_REQUIRE_NIX"), nullptr) << "nix-instantiate is not installed";
      GTEST_SKIP() << "nix-instantiate is not installed: apt install nix-bin";
    }
  }

  void write_line(const std::string& line, const std::string& python = "313", const std::string& blas = "openblas") {
    const auto files = recipe_files({line, python, blas});
    ASSERT_TRUE(files) << files.error().message;
    const auto written = write_recipes(tree.recipes, *files, false);
    ASSERT_TRUE(written) << written.error().message;
  }

  // Facts of every variant, evaluated in one go.
  std::map<std::string, Json> evaluate(const std::vector<Variant>& variants) {
    std::string files;
    std::string systems;
    for (const auto& variant : variants) {
      files += fmt::format(" (dir + \"/{}.nix\")", variant_name(variant));
      systems += fmt::format(" \"{}\"", variant_platforms(variant).front());
    }
    const auto result = tree.eval("evaluate { files = [" + files + " ]; systems = [" + systems + " ]; }");
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    std::map<std::string, Json> facts;
    if (result.exit_code != 0) return facts;
    const auto rows = Json::parse(result.output);
    for (size_t i = 0; i < variants.size(); ++i) facts[variant_name(variants[i])] = rows[i];
    return facts;
  }

  // The derivation of each; nullopt where Nix refuses it.
  std::vector<std::optional<std::string>> derivations(const std::vector<Variant>& variants) {
    std::string items;
    for (const auto& variant : variants)
      items += fmt::format(" {{ file = dir + \"/{}.nix\"; system = \"{}\"; }}", variant_name(variant),
                           variant_platforms(variant).front());
    const auto result = tree.eval(
        "map (v: (builtins.tryEval (builtins.head (evaluate { files = [ v.file ]; systems = [ v.system ]; })).drvPath)"
        ".value) [" +
        items + " ]");
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    std::vector<std::optional<std::string>> paths(variants.size());
    if (result.exit_code != 0) return paths;
    const auto found = Json::parse(result.output);
    for (size_t i = 0; i < paths.size(); ++i)
      if (found[i].is_string()) paths[i] = found[i].get<std::string>();
    return paths;
  }

  nix::TempFolder scratch;
  Tree tree{scratch.path()};
};

Json strings(const std::vector<std::string>& items) {
  return to_json(items);
}

void expect_gpu(const Json& seen, const VariantFacts& facts, const MatrixLine& line) {
  const std::string configure = seen["preConfigure"];
  EXPECT_THAT(configure, HasSubstr(fmt::format("export TORCH_CUDA_ARCH_LIST=\"{}\"\n", *facts.gpu_arch_sm)));
  EXPECT_EQ(configure.find("cccl-compat") != std::string::npos, compare_versions(line.cuda, "13.0") >= 0);
  EXPECT_EQ(seen["cuda"], line.cuda);
  EXPECT_EQ(seen["magmaCuda"], line.cuda);
  EXPECT_EQ(seen["magma"], Json::array({*facts.gpu_arch_sm}));
  EXPECT_EQ(seen["nccl"], Json::array({*facts.gpu_arch_sm}));
  Json patches = Json::array();
  for (const auto& patch : line.patches) patches.push_back(patch.name);
  EXPECT_EQ(seen["magmaPatches"], patches);
  EXPECT_EQ(seen["pbprobe"]["driver"], to_json(facts.min_driver));
  EXPECT_EQ(seen["pbprobe"]["cudaToolkitRepo"], nullptr);
  EXPECT_THAT(std::string(seen["meta"]["longDescription"]), HasSubstr("CUDA " + line.cuda));
}

void expect_as_the_matrix_says(const Json& seen, const Variant& variant) {
  const auto facts = collect_variant_facts(variant);
  const auto& line = *matrix().find_line(variant.line);
  EXPECT_EQ(seen["pname"], facts.pname);
  EXPECT_EQ(seen["name"], facts.pname + "-" + line.torch);
  EXPECT_EQ(seen["version"], line.torch);
  EXPECT_EQ(seen["PYTORCH_BUILD_VERSION"], line.torch);
  EXPECT_THAT(std::string(seen["src"]), HasSubstr("\"tag\":\"v" + line.torch + "\""));
  EXPECT_THAT(std::string(seen["meta"]["changelog"]), HasSubstr("v" + line.torch));
  EXPECT_EQ(seen["system"], facts.platforms.front());
  EXPECT_EQ(seen["outputs"], Json({"out", "dev", "lib", "cxxdev", "dist"}));
  EXPECT_EQ(seen["patches"], Json({"c10-says-it-is-patched.patch", "no-find-cuda-toolkit.patch"}));
  const std::string configure = seen["preConfigure"];
  const auto flags = fmt::format("{}", fmt::join(facts.cpu_flags, " "));
  EXPECT_THAT(configure, HasSubstr("export CXXFLAGS=\"${CXXFLAGS:-} " + flags + "\"\n"));
  EXPECT_THAT(configure, HasSubstr("export CFLAGS=\"${CFLAGS:-} " + flags + "\"\n"));
  std::map<std::string, std::string> environment = {
      {"USE_CUDNN", facts.gpu ? "1" : "0"}, {"USE_MKLDNN", "1"}, {"USE_MKLDNN_CBLAS", "1"}, {"USE_VULKAN", "0"}};
  for (const auto& [key, value] : facts.environment) environment[key] = value;
  for (const auto& [key, value] : environment) EXPECT_EQ(seen["environment"][key], value) << key;
  EXPECT_EQ(seen["blas"], "openblas");
  EXPECT_EQ(seen["meta"]["platforms"], strings(facts.platforms));
  EXPECT_EQ(seen["meta"]["description"], facts.description);
  EXPECT_EQ(seen["meta"]["broken"], false);
  EXPECT_EQ(seen["pbprobe"]["claim"], facts.name);
  EXPECT_EQ(seen["pbprobe"]["cpuFlags"], strings(facts.cpu_flags));
  EXPECT_EQ(seen["pbprobe"]["nixpkgs"], line.pin.rev);
  EXPECT_EQ(seen["pbprobe"]["nixpkgsVerified"], line.pin.hash.has_value());
  EXPECT_THAT(std::string(seen["probe"]), HasSubstr("pbprobe-for-" + facts.pname));
  if (facts.gpu) {
    expect_gpu(seen, facts, line);
  } else {
    EXPECT_THAT(configure, Not(HasSubstr("TORCH_CUDA_ARCH_LIST")));
    EXPECT_EQ(seen["cuda"], nullptr);
    EXPECT_EQ(seen["pbprobe"]["cuda"], nullptr);
  }
}

class EveryLine : public RecipesInNix, public testing::WithParamInterface<std::string> {};

TEST_P(EveryLine, MatchesTheMatrixInEveryRecipe) {
  write_line(GetParam());
  const auto variants = line_variants(*matrix().find_line(GetParam()), "313");
  const auto facts = evaluate(variants);
  std::set<std::string> derivations;
  for (const auto& variant : variants) {
    SCOPED_TRACE(variant_name(variant));
    const auto found = facts.find(variant_name(variant));
    ASSERT_NE(found, facts.end());
    expect_as_the_matrix_says(found->second, variant);
    derivations.insert(std::string(found->second["drvPath"]));
  }
  EXPECT_EQ(derivations.size(), variants.size());
}

INSTANTIATE_TEST_SUITE_P(Nix, EveryLine, testing::ValuesIn([] {
                           std::vector<std::string> ids;
                           for (const auto& line : matrix().lines) ids.push_back(line.id);
                           return ids;
                         }()),
                         [](const auto& test) { return test.param; });

TEST_F(RecipesInNix, UsesEachLineThatPackagersLookFor) {
  write_line("cuda13_0");
  std::vector<Variant> variants;
  for (const auto& variant : line_variants(*matrix().find_line("cuda13_0"), "313"))
    if (variant.gpu) variants.push_back(variant);
  ASSERT_THAT(variants, Contains(Variant{"cuda13_0", "313", "sm110", "armv9"}));
  const auto before = derivations(variants);
  const std::vector<std::pair<std::string, std::string>> changes = {
      {"cudaPackages_13_0", "cudaPackages_12_9"},
      {"\"cuda-13.0-clockrate-fix.patch\"", "\"another.patch\""},
      {"version = \"2.10.0\"", "version = \"2.10.1\""}};
  for (const auto& [from, to] : changes) {
    SCOPED_TRACE(from);
    write_line("cuda13_0");
    for (const auto& variant : variants) {
      const auto file = tree.recipes / (variant_name(variant) + ".nix");
      auto text = nix::read(file);
      ASSERT_NE(text.find(from), std::string::npos) << variant_name(variant);
      nix::write(file, text.replace(text.find(from), from.size(), to));
    }
    const auto after = derivations(variants);
    for (size_t i = 0; i < variants.size(); ++i) {
      SCOPED_TRACE(variant_name(variants[i]));
      ASSERT_TRUE(before[i]);
      // CUDA 12.9 does not know SM110: a refusal shows the load as well.
      EXPECT_EQ(after[i].has_value(), !(to == "cudaPackages_12_9" && variants[i].gpu == "sm110"));
      EXPECT_NE(after[i], before[i]);
    }
    std::filesystem::remove_all(tree.recipes);
  }
}

TEST_F(RecipesInNix, SupportsOtherPythonsAndBlas) {
  write_line("cuda13_0", "312", "mkl");
  const Variant variant{"cuda13_0", "312", "sm90", "avx512"};
  const auto facts = evaluate({variant})[variant_name(variant)];
  EXPECT_EQ(facts["pname"], "pytorch210-python312-cuda13_0-sm90-avx512");
  EXPECT_EQ(facts["blas"], "mkl");
  EXPECT_EQ(facts["pbprobe"]["blas"], "mkl");
  EXPECT_EQ(facts["version"], "2.10.0");
}

TEST_F(RecipesInNix, WritesImportsOutsideACheckout) {
  const Variant variant{"cuda12_9", "313", "sm61", "avx2"};
  for (const char* place : {"elsewhere/my recipes", "project/.flox/pkgs"}) {
    SCOPED_TRACE(place);
    const auto folder = scratch.path() / "of_others" / place;
    const auto imports = find_imports(folder);
    EXPECT_TRUE(imports.written);
    const auto files = recipe_files({"cuda12_9", "313", "openblas", imports});
    ASSERT_TRUE(files) << files.error().message;
    const auto written = write_recipes(folder, *files, false);
    ASSERT_TRUE(written) << written.error().message;
    EXPECT_THAT(*compare_recipes(folder, *files), testing::IsEmpty());
    // flox would build them as packages.
    EXPECT_EQ(std::filesystem::exists(folder / "recipes"), std::string(place).find(".flox") == std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(folder / "pbprobe.nix"));
    const auto file = (folder / (variant_name(variant) + ".nix")).string();
    const auto result =
        tree.eval("builtins.head (evaluate { files = [ (/. + \"" + file + "\") ]; systems = [ \"x86_64-linux\" ]; })");
    ASSERT_EQ(result.exit_code, 0) << result.errors;
    auto seen = Json::parse(result.output);
    EXPECT_EQ(seen["probe"], nullptr);  // there is no source of pbprobe to build
    EXPECT_EQ(seen["cuda"], "12.9");
    EXPECT_EQ(seen["pname"], "pytorch-python313-cuda12_9-sm61-avx2");
  }
  EXPECT_FALSE(find_imports(std::string(PBPROBE_SOURCE_DIR) + "/.flox/pkgs").written);
  EXPECT_FALSE(find_imports(std::string(PBPROBE_SOURCE_DIR) + "/.flox/pkgs/").written);
}

TEST_F(RecipesInNix, NixpkgsPatchesAreKeptOrDroppedByOneSwitch) {
  auto m = matrix();
  const Variant variant{"cuda13_0", "313", "sm121", "armv9"};
  const auto file = tree.recipes / (variant_name(variant) + ".nix");
  for (const bool drop : {false, true}) {
    SCOPED_TRACE(drop);
    for (auto& line : m.lines) {
      if (line.source) line.source->drop_patches = drop;
    }
    nix::write(file, recipe_text(variant, "openblas", m));
    const auto facts = evaluate({variant})[variant_name(variant)];
    EXPECT_EQ(facts["patches"].size(), drop ? 0u : 2u);
    EXPECT_EQ(facts["magmaPatches"].size(), 1u);  // ours
    const std::string post_patch = facts["postPatch"];
    EXPECT_EQ(post_patch.find("include(\"${CMAKE_ROOT}/Modules/FindCUDAToolkit.cmake\")") != std::string::npos, drop);
  }
  for (const auto& line : matrix().lines) {
    if (line.source) {
      EXPECT_FALSE(line.source->drop_patches_why.empty());
    }
  }
}

TEST_F(RecipesInNix, RefusesAnotherSystem) {
  write_line("cuda13_0");
  const auto result = tree.eval_file("pytorch-python313-cuda13_0-sm90-avx2.nix", "aarch64-linux");
  EXPECT_NE(result.exit_code, 0);
  EXPECT_THAT(result.errors, HasSubstr("is not available on the requested hostPlatform aarch64-linux"));
}

TEST_F(RecipesInNix, ReplacesPinnedCudaPackagesByACheckout) {
  write_line("cuda13_0");
  const std::string name = "pytorch-python313-cuda13_0-sm121-armv9";
  const auto pinned = Json::parse(tree.eval_file(name + ".nix", "aarch64-linux").output);
  const auto checkout = scratch.path() / "checkout";
  for (const char* file : {"cudatoolkit-13_0.nix", "nccl-13_0.nix", "libcusparse_lt-13_0.nix"})
    nix::write(checkout / ".flox/pkgs" / file,
               "{ stdenv }: stdenv.mkDerivation { pname = \"cuda\"; version = \"mine\"; gpuTargets = [ ]; }");
  const auto lacking = tree.eval_file(name + ".nix", "aarch64-linux", "CUDA_TOOLKIT_REPO='" + checkout.string() + "'");
  EXPECT_NE(lacking.exit_code, 0);
  EXPECT_THAT(lacking.errors, HasSubstr("it has no .flox/pkgs/cudnn-13_0.nix"));
  nix::write(checkout / ".flox/pkgs/cudnn-13_0.nix",
             "{ stdenv }: stdenv.mkDerivation { pname = \"cudnn\"; version = \"mine\"; }");
  const auto result = tree.eval_file(name + ".nix", "aarch64-linux", "CUDA_TOOLKIT_REPO='" + checkout.string() + "'");
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  const auto local = Json::parse(result.output);
  EXPECT_THAT(std::string(local["cudnn"]), HasSubstr("cudnn-mine"));
  EXPECT_NE(local["drvPath"], pinned["drvPath"]);
  EXPECT_EQ(local["pbprobe"]["cudaToolkitRepo"], checkout.string());
  // The toolkit of the checkout replaces packages without a file: no package of the pinned CUDA remains.
  std::set<std::string> inputs;
  for (const auto& input : local["inputs"]) inputs.insert(std::string(input));
  EXPECT_THAT(inputs, testing::ElementsAre("blas-3", "cmake-0", "cuda-mine", "cudnn-mine", "magma-2.9.0", "ninja-0"));
  nix::write(checkout / ".flox/pkgs/cuda_nvcc-13_0.nix",
             "{ stdenv }: stdenv.mkDerivation { pname = \"nvcc\"; version = \"mine\"; }");
  const auto one = tree.eval_file(name + ".nix", "aarch64-linux", "CUDA_TOOLKIT_REPO='" + checkout.string() + "'");
  ASSERT_EQ(one.exit_code, 0) << one.errors;
  EXPECT_THAT(Json::parse(one.output)["inputs"].dump(), HasSubstr("nvcc-mine"));
}

TEST_F(RecipesInNix, RefusesACheckoutWithoutCudaPackages) {
  write_line("cuda12_9");
  const auto result =
      tree.eval_file("pytorch-python313-cuda12_9-sm90-avx2.nix", "x86_64-linux", "CUDA_TOOLKIT_REPO=/somewhere");
  EXPECT_NE(result.exit_code, 0);
  EXPECT_THAT(result.errors, HasSubstr("has no effect on this recipe"));
}

TEST_F(RecipesInNix, CudaPackagesAreThoseOfThePin) {
  write_line("cuda13_0");
  for (const auto& component : matrix().default_matrix_line().cuda_components) {
    const auto result = tree.eval_file(component.name + ".nix", "aarch64-linux");
    ASSERT_EQ(result.exit_code, 0) << result.errors;
    const auto facts = Json::parse(result.output);
    EXPECT_EQ(facts["pname"], component.attribute);
    EXPECT_THAT(std::string(facts["version"]), HasSubstr("13.0"));
  }
}

TEST_F(RecipesInNix, PbprobeIsAPackageToo) {
  write_line("cuda13_0");
  for (const char* system : {"x86_64-linux", "aarch64-linux"}) {
    const auto result = tree.eval_file("pbprobe.nix", system);
    ASSERT_EQ(result.exit_code, 0) << result.errors;
    const auto facts = Json::parse(result.output);
    EXPECT_THAT(std::string(facts["drvPath"]), HasSubstr("pbprobe"));
    // Without a variant, pbprobe has every ISA of the processor.
    EXPECT_EQ(facts["cmakeFlags"].at(0), "-DPBPROBE_TARGETS=cpu");
  }
}

TEST_F(RecipesInNix, HasAGenericBaselineForEachLine) {
  for (const auto& line : matrix().lines) {
    SCOPED_TRACE(line.id);
    nix::write(tree.recipes / "generic.nix",
               "{ system }: import ../../recipes/nix/generic.nix { inherit system; line = \"" + line.id + "\"; }");
    const auto result = tree.eval_file("generic.nix", "x86_64-linux");
    ASSERT_EQ(result.exit_code, 0) << result.errors;
    const auto facts = Json::parse(result.output);
    EXPECT_EQ(facts["version"], line.torch);
    EXPECT_EQ(facts["cuda"], line.cuda);
    EXPECT_EQ(facts["magmaCuda"], line.cuda);
    EXPECT_THAT(std::string(facts["preConfigure"]), Not(HasSubstr("CXXFLAGS:-} -m")));
    EXPECT_THAT(std::string(facts["preConfigure"]), HasSubstr(";9.0;"));
  }
}

}  // namespace
}  // namespace pbprobe
