// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/facts/json.hpp"

#include <gtest/gtest.h>

#include "core/facts/report.hpp"

namespace pbprobe {
namespace {

Host full_host() {
  Host host{.hostname = "h", .os = "Debian", .kernel = "6", .glibc = "2.36", .memory_bytes = 1};
  host.cpu = Cpu{.architecture = "x86_64",
                 .vendor = "v",
                 .name = "n",
                 .features = {"avx2"},
                 .targets = {"avx2"},
                 .core_classes = {{.name = "P", .count = 8}},
                 .logical_cpus = 8,
                 .usable_cpus = 2,
                 .sve_bits = 128,
                 .last_level_cache_bytes = 1};
  host.driver = Driver{
      .state = DriverState::ok, .sentence = "s", .version = "580.1", .cuda_version = "13.0", .library = "libcuda.so.1"};
  host.gpus = {Gpu{.index = 0,
                   .name = "NVIDIA GB10",
                   .capability = "12.1",
                   .target = "sm121",
                   .uuid = "u",
                   .sm_count = 48,
                   .memory_bytes = 1,
                   .unified_memory = true,
                   .max_sm_clock_mhz = 1,
                   .max_memory_clock_mhz = 1,
                   .l2_cache_bytes = 1,
                   .power_limit_watts = 1,
                   .mig = false,
                   .ecc = false,
                   .problem = "x"}};
  return host;
}

Inventory full_inventory() {
  Inventory inventory{
      .artifact = "a",
      .layout = "wheel",
      .torch_version = "2.11.0",
      .cuda_version = "13.0",
      .git_version = "g",
      .stated_versions = {{"torch", "torch/version.py:1", "2.11.0"}},
      .packages = {{"torch-2.11.0.dist-info", "torch", "2.11.0", "==2.11.0"}},
      .component_versions = std::map<std::string, std::string>{{"cuDNN", "9"}},
      .version_floors = std::map<std::string, std::string>{{"GLIBC", "2.28"}},
      .python_abi = "cp313",
      .platform = "x86_64-linux",
      .libtorch_dir = "/d",
      .open_folders = std::vector<std::string>{"/tmp"},
      .sha256 = "0",
      .store_closure = StoreClosure{.outputs = {"/nix/store/x-torch-2.10.0"},
                                    .paths = {{.path = "/nix/store/x-torch-2.10.0",
                                               .package = "torch",
                                               .version = "2.10.0",
                                               .component = "MAGMA"}},
                                    .problem = "p"},
      .loading = std::vector<Loading>{{.path = "f",
                                       .missing_libraries = {{"libcudart.so.12", "f", "o"}},
                                       .missing_versions = {{"GLIBCXX_3.4.32", "l", "f", "LD_LIBRARY_PATH"}},
                                       .unresolved = {{"_Z1fv", "V", "f", {"2.9"}, "l", "how"}},
                                       .assumed = {"a"}}},
      .redirected = std::vector<RedirectedLibrary>{{"n", "b", "t", "h", "i"}},
      .torch_beside = "2.11.0",
      .other_processor =
          OtherProcessor{
              .processor = "aarch64", .expected = "x86_64", .known_by = "torch", .first = "f", .reinstall = "r"},
      .problems = {"p"}};
  inventory.files = {File{
      .path = "f",
      .size_bytes = 1,
      .component = "libtorch",
      .machine = "x86_64",
      .soname = "s",
      .needed = {"n"},
      .rpath = {"r"},
      .runpath = {"r"},
      .links = Links{.dependencies = {{.name = "libc.so.6", .provider = Provider::system, .path = "/p", .by = "b"}},
                     .version_floors = {{"GLIBC", "2.28"}},
                     .contains = {"MAGMA"},
                     .versions = {{{"oneDNN", "3.10.2"}}}},
      .device_code = DeviceCode{.cubin = {{"sm_90a", 4}}, .ptx = {{"sm_80", 1}}, .lto_ir = {{"sm_80", 1}}},
      .sha256 = "0",
      .problem = "p"}};
  return inventory;
}

Measurements full_measurements() {
  Measurements measurements{.libtorch = LibtorchRun{.path = "/d",
                                                    .loaded = true,
                                                    .executed = true,
                                                    .version = "2.11.0",
                                                    .cpu_capability = "AVX512",
                                                    .loader = ForeignLoader{"/ld.so", "2.40", "ldconfig"},
                                                    .problem = "p",
                                                    .obstacle = Obstacle::out_of_memory,
                                                    .intruded = "i"},
                            .notes = {"n"}};
  measurements.rows = {BenchRow{.kernel = "k",
                                .target = "avx2",
                                .dtype = "fp32",
                                .m = 1,
                                .n = 1,
                                .k = 1,
                                .layout = "nt",
                                .out = "fp32",
                                .instruction = "fma",
                                .shape_class = "square",
                                .gflops = 1.5,
                                .peak_fraction = 0.9,
                                .best = true,
                                .clock_ghz = 3.0,
                                .plan = "p",
                                .samples_us = {1.5},
                                .peers = {{"libtorch", {.gflops = 1, .ratio = 1.5, .samples_us = {1}}}},
                                .note = "n",
                                .disturbed = "d"}};
  return measurements;
}

Verdict full_verdict() {
  Verdict verdict{.outcome = Outcome::pass, .reason = "r", .fix = "f", .cpu_targets = {"avx2"}};
  verdict.gpus = {
      GpuOutcome{.name = "n", .capability = "12.1", .code = GpuCode::native, .best = "sm_121", .sentence = "s"}};
  verdict.claims = {ClaimRow{.claim = "c",
                             .claimed = "y",
                             .shipped = Outcome::pass,
                             .loaded = Outcome::pass,
                             .executed = Outcome::pass,
                             .measured = Outcome::pass,
                             .required = Level::shipped,
                             .proven = Level::measured,
                             .outcome = Outcome::pass,
                             .detail = "d"}};
  verdict.findings = {
      Finding{.id = "PB301", .what = "w", .where = "f", .remedy = "r", .waived = "w", .distribution = "d"}};
  verdict.require = Level::shipped;
  verdict.policy.name = "p";
  verdict.objections = {{.id = "claim", .what = "w", .where = "f", .remedy = "r"}};
  verdict.waivers = {{.waiver = {.id = "PB316", .component = "f", .reason = "r", .until = "2027-01-31"}}};
  verdict.checks = {{.id = "PB301", .asks = "?", .why = "w"}};
  verdict.holdings =
      Holdings{.sentence = "s", .minimum_cpu = "avx2", .minimum_cpu_at_most = "avx512", .leaks = {{"bmi2"}}};
  return verdict;
}

// Every optional filled, every list with an element: a document in which each key of the schema occurs.
Report full_report() {
  Report report{.version = "1",
                .commit = "c",
                .created = "2026-01-01T00:00:00Z",
                .input = InputKind::artifact,
                .problems = {"p"}};
  report.host = full_host();
  report.claim = Claim{.text = "sm121",
                       .exact = true,
                       .targets = {"sm121"},
                       .cuda = "13.0",
                       .torch = "2.10.0",
                       .python = "3.13",
                       .blas = "mkl"};
  report.inventory = full_inventory();
  report.measurements = full_measurements();
  report.preflight = Preflight{.cxx_compiler = {"g++", "CXX", "/usr/bin/g++"},
                               .c_compiler = CalledCompiler{"gcc", "CC", "/usr/bin/gcc"},
                               .python_header = PythonHeader{"/usr/include/python3.11/Python.h", true},
                               .driver = LinkedDriver{"libcuda.so.1", "V", "/sbin/ldconfig", true, {"/lib"}, "/lib/x"},
                               .ptxas = {{"ptxas", "p", "V", "i", "w", Compiler{"12.8.93", {"sm_90a"}}}},
                               .caches = {{"Triton", "/home/u/.triton/cache", "TRITON_CACHE_DIR", "w"}}};
  report.imports = {
      {"torch", "/p/torch/_C.so", "r", "p", Obstacle::killed, {"/p"}, {"/l"}, {{"n", "/p", "/l"}}, {"/u"}}};
  report.verdict = full_verdict();
  return report;
}

// A value of another type than `json` has.
Json change_type(const Json& json) {
  return json.is_string() ? Json(1) : Json("text");
}

const Json& report_schema() {
  static const Json schema = json_schema<Report>();
  return schema;
}

// "#/$defs/Gpu" as a pointer into the schema.
Json::json_pointer make_pointer(const std::string& reference) {
  return Json::json_pointer(reference.substr(1));
}

// Calls `visit(document, path, required)` with each key of each object changed in turn by `change`.
template <class Change, class Visit>
void mutate(Json& document, const Json& schema, Json& node, const std::string& path, Change change, Visit visit) {
  const Json& present = schema.contains("anyOf") ? schema["anyOf"][0] : schema;
  const Json& plain = present.contains("$ref") ? report_schema().at(make_pointer(present["$ref"])) : present;
  if (node.is_array() && !node.empty()) return mutate(document, plain["items"], node[0], path + "[0]", change, visit);
  if (!node.is_object()) return;
  std::vector<std::string> keys;
  for (const auto& [key, value] : node.items()) keys.push_back(key);
  for (const auto& key : keys) {
    const std::string here = path.empty() ? key : path + "." + key;
    const bool named = plain.contains("properties");
    if (named) {
      bool required = false;
      for (const auto& entry : plain["required"]) required |= entry == key;
      const Json before = node;
      change(node, key);
      visit(here, required);
      node = before;
    }
    mutate(document, named ? plain["properties"][key] : plain["additionalProperties"], node[key], here, change, visit);
  }
}

TEST(Fields, KeepsFullReportInRoundTrip) {
  const Json json = to_json(full_report());
  auto again = from_json<Report>(json);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(to_json(*again), json);
}

TEST(Fields, RejectsMissingRequiredKeys) {
  Json json = to_json(full_report());
  int seen = 0;
  mutate(
      json, report_schema(), json, "", [](Json& node, const std::string& key) { node.erase(key); },
      [&](const std::string& path, bool required) {
        const auto result = from_json<Report>(json);
        ASSERT_EQ(result.ok(), !required) << path;
        if (required) {
          EXPECT_EQ(result.error().message, path + ": required key is missing");
        }
        ++seen;
      });
  EXPECT_GT(seen, 120);
}

TEST(Fields, ListsEachStructOnceInSchema) {
  const Json& schema = report_schema();
  EXPECT_EQ(schema["properties"]["host"]["anyOf"], Json::parse(R"([{"$ref": "#/$defs/Host"}, {"type": "null"}])"));
  EXPECT_EQ(schema["$defs"]["Host"]["properties"]["gpus"]["items"], Json::parse(R"({"$ref": "#/$defs/Gpu"})"));
  EXPECT_EQ(schema["$defs"]["Host"]["properties"]["glibc"]["type"], Json::parse(R"(["string", "null"])"));
}

TEST(Fields, DescribesEachField) {
  size_t seen = 0;
  const auto check = [&seen](const std::string& type, const Json& schema) {
    for (const auto& [key, property] : schema["properties"].items()) {
      ++seen;
      EXPECT_TRUE(property.contains("const") || !property.value("description", "").empty()) << type << "." << key;
    }
  };
  check("Report", report_schema());
  for (const auto& [name, definition] : report_schema()["$defs"].items()) check(name, definition);
  EXPECT_GT(seen, 400U);
}

TEST(Fields, WritesSchemaInShortLines) {
  const Json schema = Json::parse(R"({"a": {"enum": ["x", "y"]}, "b": [], "c": 1})");
  EXPECT_EQ(dump_schema(schema), "{\"a\": {\"enum\": [\"x\", \"y\"]}, \"b\": [], \"c\": 1}\n");
  const Json longer{{"a", std::string(60, 'x')}, {"b", std::string(60, 'y')}};
  EXPECT_EQ(dump_schema(longer),
            "{\n  \"a\": \"" + std::string(60, 'x') + "\",\n  \"b\": \"" + std::string(60, 'y') + "\"\n}\n");
}

TEST(Fields, ChecksEveryType) {
  Json json = to_json(full_report());
  mutate(
      json, report_schema(), json, "", [](Json& node, const std::string& key) { node[key] = change_type(node[key]); },
      [&](const std::string& path, bool) {
        const auto result = from_json<Report>(json);
        ASSERT_FALSE(result.ok()) << path;
        EXPECT_EQ(result.error().message.rfind(path + ": ", 0), 0U) << result.error().message;
      });
}

TEST(Fields, RejectsFractionsAndBooleansAsIntegers) {
  for (const Json& wrong : {Json(1.5), Json(true)}) {
    const auto result = from_json<CoreClass>(Json{{"name", "P"}, {"count", wrong}});
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().message.rfind("count: expected an integer", 0), 0U);
  }
}

TEST(Fields, IgnoresUnknownKeysAndRejectsUnknownNames) {
  EXPECT_TRUE(from_json<CoreClass>(Json{{"name", "P"}, {"count", 1}, {"new", {}}}).ok());
  const auto result = from_json<Driver>(Json{{"state", "asleep"}, {"sentence", ""}});
  EXPECT_EQ(result.error().message, "state: unknown value \"asleep\"");
}

TEST(ParseJson, NamesLineAndColumn) {
  const auto result = parse_json("{\n  \"a\": }");
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().message.find("line 2, column 8"), std::string::npos) << result.error().message;
}

TEST(ParseJson, RejectsDuplicateKeys) {
  const auto refusal = [](const char* text) {
    const auto result = parse_json(text);
    return result.ok() ? std::string("accepted") : result.error().message;
  };
  EXPECT_EQ(refusal(R"({"a": 1, "b": 2, "a": 1})"), "a: the key appears twice: keep one");
  EXPECT_EQ(refusal(R"({"a": {"b": [{"c": 1}, {"c": 2, "\u0063": 3}]}})"), "a.b.c: the key appears twice: keep one");
  EXPECT_EQ(refusal(R"({"": 1, "": 2})"), "\"\": the key appears twice: keep one");
  EXPECT_EQ(refusal(R"({"a": {"a": {"a": 1}}, "b": [{"a": 1}, {"a": 1}]})"), "accepted");
}

TEST(ParseJson, RejectsDeepNesting) {
  EXPECT_TRUE(parse_json(std::string(64, '[') + std::string(64, ']')).ok());
  EXPECT_EQ(parse_json(std::string(65, '[') + std::string(65, ']')).error().message,
            "JSON nests deeper than 64 levels");
  EXPECT_TRUE(parse_json("\"" + std::string(100, '[') + "\"").ok());
}

}  // namespace
}  // namespace pbprobe
