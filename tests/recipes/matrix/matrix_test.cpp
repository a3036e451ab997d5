// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "recipes/src/matrix.hpp"

#include <fstream>
#include <functional>
#include <sstream>

#include <gmock/gmock.h>

#include "core/json.hpp"
#include "paths.hpp"
#include "recipes/src/variant.hpp"

namespace pbprobe {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

std::string read(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

Json committed() {
  return *parse_json(read(std::string(PBPROBE_SOURCE_DIR) + "/recipes/matrix.json"));
}

// Every SM of a row with every ISA of that row, and the ISAs without CUDA.
TEST(Matrix, HoldsAsManyVariantsAsItsRowsMake) {
  const auto file = committed();
  ASSERT_EQ(matrix().lines.size(), file["lines"].size());
  for (const auto& line : file["lines"]) {
    size_t count = line["cpu_only"].size();
    for (const auto& row : line["rows"]) count += row["gpus"].size() * row["cpus"].size();
    const auto* read_line = matrix().find_line(std::string(line["id"]));
    ASSERT_NE(read_line, nullptr) << line["id"];
    EXPECT_EQ(line_variants(*read_line, "313").size(), count) << line["id"];
  }
  EXPECT_EQ(matrix().default_line, "cuda13_0");
}

TEST(Matrix, HoldsTheKnownVariants) {
  const auto variants = [](const char* line) { return line_variants(*matrix().find_line(line), "313"); };
  EXPECT_THAT(variants("cuda12_8"), Contains(Variant{"cuda12_8", "313", "sm61", "avx"}));
  EXPECT_THAT(variants("cuda12_8"), Not(Contains(Variant{"cuda12_8", "313", "sm103", "avx2"})));
  EXPECT_THAT(variants("cuda12_9"), Contains(Variant{"cuda12_9", "313", "sm103", "avx512vnni"}));
  EXPECT_THAT(variants("cuda13_0"), Contains(Variant{"cuda13_0", "313", "sm121", "armv9"}));
  EXPECT_THAT(variants("cuda13_0"), Contains(Variant{"cuda13_0", "313", std::nullopt, "avx"}));
  EXPECT_THAT(variants("cuda13_0"), Not(Contains(Variant{"cuda13_0", "313", "sm61", "avx2"})));
}

TEST(Matrix, KeepsThePinsOfItsLines) {
  EXPECT_EQ(matrix().find_line("cuda12_8")->pin.rev, "fe5e41d7ffc0421f0913e8472ce6238ed0daf8e3");
  EXPECT_EQ(matrix().find_line("cuda12_9")->pin.rev, "6a030d535719c5190187c4cec156f335e95e3211");
  EXPECT_EQ(matrix().find_line("cuda13_0")->pin.rev, "6a030d535719c5190187c4cec156f335e95e3211");
}

TEST(Matrix, HoldsEverySmOfTheTableInSomeLine) {
  for (const auto& target : all_targets()) {
    if (!has_variants(target)) continue;
    bool found = false;
    for (const auto& line : matrix().lines) {
      for (const auto& variant : line_variants(line, "313"))
        found |= variant.gpu == target.id || variant.cpu == target.id;
    }
    EXPECT_TRUE(found) << target.id << " is in no line of recipes/matrix.json";
  }
}

TEST(Matrix, HasDatesOfItsSources) {
  using testing::MatchesRegex;
  const auto& m = matrix();
  EXPECT_THAT(m.last_drivers.source, testing::StartsWith("https://docs.nvidia.com/"));
  EXPECT_THAT(m.jetson.source, testing::StartsWith("https://pytorch.org/TensorRT/"));
  for (const auto& date : {m.last_drivers.read, m.jetson.read})
    EXPECT_THAT(date, MatchesRegex("20[0-9][0-9]-[0-9][0-9]-[0-9][0-9]"));
}

TEST(Matrix, SchemaIsWhatTheCodeReads) {
  EXPECT_EQ(read(std::string(PBPROBE_SOURCE_DIR) + "/recipes/matrix.schema.json"), matrix_schema());
}

struct Broken {
  const char* name;
  std::function<void(Json&)> plant;
  const char* message;
};

class BrokenMatrix : public testing::TestWithParam<Broken> {};

TEST_P(BrokenMatrix, IsRefusedByPathAndReason) {
  auto json = committed();
  ASSERT_TRUE(parse_matrix(json.dump()));
  GetParam().plant(json);
  const auto m = parse_matrix(json.dump());
  ASSERT_FALSE(m);
  EXPECT_EQ(m.error().code, ErrorCode::malformed);
  EXPECT_THAT(m.error().message, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Matrix, BrokenMatrix,
    testing::Values(Broken{"UnknownSm", [](Json& m) { m["lines"][2]["rows"][1]["gpus"][0] = "sm999"; },
                           "lines[2].rows[1].gpus[0]: unknown target \"sm999\""},
                    Broken{"IsaWhereAnSmBelongs", [](Json& m) { m["lines"][2]["rows"][1]["gpus"][0] = "avx"; },
                           "lines[2].rows[1].gpus[0]: avx is a cpu target, and a gpu target belongs here"},
                    Broken{"NoSuchMachine", [](Json& m) { m["lines"][2]["rows"][1]["cpus"][0] = "avx2"; },
                           "lines[2].rows[1]: no machine has both sm110 and avx2"},
                    Broken{"SmNewerThanItsCuda", [](Json& m) { m["lines"][0]["rows"][1]["gpus"].push_back("sm103"); },
                           "lines[0].rows[1].gpus: CUDA 12.8 does not know sm103: the first that does is 12.9"},
                    Broken{"SmDroppedByItsCuda", [](Json& m) { m["lines"][2]["rows"][0]["gpus"].push_back("sm61"); },
                           "CUDA 13.0 has dropped sm61: the last that builds it is 12.9"},
                    Broken{"SameVariantTwice",
                           [](Json& m) {
                             auto& rows = m["lines"][2]["rows"];
                             rows.insert(rows.begin(), Json{{"gpus", {"sm90"}}, {"cpus", {"avx2"}}});
                           },
                           "lines[2].rows[1]: sm90-avx2 is already in another row"},
                    Broken{"SameIsaTwice", [](Json& m) { m["lines"][2]["cpu_only"][1] = "avx"; },
                           "lines[2].cpu_only[1]: avx is listed twice"},
                    Broken{"EmptyHash", [](Json& m) { m["lines"][2]["pin"]["hash"] = ""; },
                           "lines[2].pin.hash: \"\" is not a hash"},
                    Broken{"HashOfNothing",
                           [](Json& m) {
                             m["lines"][2]["source"]["hash"] = "sha256-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
                           },
                           "lines[2].source.hash"},
                    Broken{"ShortHash", [](Json& m) { m["lines"][2]["patches"][0]["hash"] = "sha256-abc="; },
                           "lines[2].patches[0].hash"},
                    Broken{"ShortRevision", [](Json& m) { m["lines"][1]["pin"]["rev"] = "6a030d5"; },
                           "lines[1].pin.rev: \"6a030d5\" is not a commit"},
                    Broken{"LineUnlikeItsCuda", [](Json& m) { m["lines"][2]["cuda"] = "13.1"; },
                           "lines[2].id: cuda13_0 is not cuda13_1, which the line's CUDA 13.1 requires"},
                    Broken{"PackagesOfAnotherCuda", [](Json& m) { m["lines"][2]["cuda_packages"] = "cudaPackages_13"; },
                           "lines[2].cuda_packages: cudaPackages_13 is not cudaPackages_13_0"},
                    Broken{"ReleaseOfAnotherCuda", [](Json& m) { m["lines"][1]["cuda_release"] = "12.8.1"; },
                           "lines[1].cuda_release: 12.8.1 is not a release of CUDA 12.9"},
                    Broken{"VersionWithoutItsSource", [](Json& m) { m["lines"][2]["source"] = nullptr; },
                           "lines[2].source: the pin has torch 2.9.1, so torch 2.10.0 needs a source of its own"},
                    Broken{"UnknownDefaultLine", [](Json& m) { m["default_line"] = "cuda14_0"; }, "cuda14_0"},
                    Broken{"DefaultPythonNotAmongItsChoices", [](Json& m) { m["python"]["default"] = "310"; },
                           "python.default: 310 is none of its choices"},
                    Broken{"LastDriverOfNoCapability", [](Json& m) { m["last_drivers"]["below"]["Kepler"] = 470; },
                           "last_drivers.below: \"Kepler\" is not a compute capability"},
                    Broken{"LastDriversWithoutSource", [](Json& m) { m["last_drivers"].erase("source"); },
                           "last_drivers.source: required key is missing"},
                    Broken{"RequiredKeyMissing", [](Json& m) { m["lines"][0].erase("torch"); },
                           "lines[0].torch: required key is missing"},
                    Broken{"NumberForAString", [](Json& m) { m["lines"][0]["cuda"] = 12.8; },
                           "lines[0].cuda: expected a string, got a fractional number"},
                    Broken{"AnotherSchema", [](Json& m) { m["schema"] = "pbprobe.matrix/2"; }, "schema"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(Matrix, SyntaxErrorNamesItsLine) {
  const auto m = parse_matrix("{\n  \"schema\": \"pbprobe.matrix/1\",\n  oops\n}");
  ASSERT_FALSE(m);
  EXPECT_THAT(m.error().message, HasSubstr("line 3"));
}

TEST(Versions, AreComparedNumberByNumber) {
  EXPECT_EQ(compare_versions("2.10.0", "2.9.1"), 1);
  EXPECT_EQ(compare_versions("12.8", "12.9"), -1);
  EXPECT_EQ(compare_versions("12.9.1", "12.9"), 1);
  EXPECT_EQ(compare_versions("13.0", "13"), 0);
  EXPECT_TRUE(is_version("2.10.0", 3, 3));
  EXPECT_FALSE(is_version("2.10.", 2, 3));
  EXPECT_FALSE(is_version(".10", 1, 3));
  EXPECT_FALSE(is_version("2.10a", 1, 3));
  EXPECT_FALSE(is_version("", 0, 3));
}

}  // namespace
}  // namespace pbprobe
