// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The rows of an environment as text, against a committed one. PBPROBE_UPDATE_GOLDEN=1 writes it again: read the diff.
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>

#include "core/facts/environment.hpp"
#include "core/json.hpp"
#include "paths.hpp"
#include "probes/report/text.hpp"

namespace pbprobe::test {
namespace {

Distribution torch_row() {
  return {.name = "torch",
          .version = "2.11.0+cu130",
          .files = 20,
          .torch_abi = TorchAbi::own,
          .python = {"cp311"},
          .cuda = {"13"},
          .cubin = {{"sm_75", 4}, {"sm_100", 4}, {"sm_100a", 1}, {"sm_120", 4}}};
}

// An extension that was built for Hopper, with a fault.
Distribution extension_row() {
  Distribution row{.name = "hopper-kernels",
                   .version = "0.1",
                   .tags = {"cp39-abi3-manylinux_2_28_x86_64"},
                   .torch_abi = TorchAbi::cxx,
                   .torch_symbols = 212,
                   .python = {"abi3"},
                   .toolkits = {"12.8"},
                   .cubin = {{"sm_80", 2}, {"sm_90a", 2}},
                   .ptx = {{"sm_80", 1}, {"sm_90", 1}},
                   .ptx_versions = {{"sm_80", "8.7"}, {"sm_90", "8.8"}},
                   .minimum_cpu = "avx2"};
  row.gpus = {{.sm = "sm_121",
               .code = GpuCode::ptx,
               .ptx = 3,
               .none = 2,
               .kept_by_suffix = 0,
               .lacking = {{.only_for = {"sm_90a"}, .kernels = 2, .first = {"_ZN5flash3fwdIfEEvT_"}}}},
              {.sm = "sm_90", .code = GpuCode::native, .native = 5}};
  row.findings = {{.id = "PB102",
                   .severity = Severity::warn,
                   .what = "_C.so: 1 of its fatbin entries does not match its header",
                   .remedy = "install its package again"}};
  row.worst = Severity::warn;
  return row;
}

Environment environment() {
  Environment environment{.artifacts = {".venv/lib/python3.11/site-packages"},
                          .sms = {"sm_121", "sm_90"},
                          .distributions = {extension_row(), torch_row()},
                          .without_files = 12,
                          .problems = {"numpy is installed 2 times"},
                          .notes = {"scipy-1.0.dist-info: its RECORD names no files"}};
  Distribution broken{.name = "broken", .tags = {"py3-none-any"}, .problems = {"broken/_C.so: it is empty"}};
  broken.self_loaded = {{"sm_80", 1}};
  environment.distributions.push_back(broken);
  return environment;
}

TEST(Environment, PrintsRowPerPackageAndGpuTable) {
  const std::string path = std::string(PBPROBE_SOURCE_DIR) + "/tests/report/golden/environment.txt";
  const std::string text = render_environment(environment());
  if (std::getenv("PBPROBE_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << text;
  std::ostringstream committed;
  committed << std::ifstream(path).rdbuf();
  EXPECT_EQ(text, committed.str());
}

TEST(Environment, ListsUnreadableFilesOnce) {
  Environment one = environment();
  Distribution& broken = one.distributions.back();
  broken.findings = {{.id = "PB102", .severity = Severity::warn, .what = "it is empty", .where = "broken/_C.so"}};
  one.reinstall = "python -m pip install broken==1.0";
  const std::string text = render_environment(one);
  EXPECT_EQ(text.find("it is empty"), text.rfind("it is empty"));
  EXPECT_THAT(text, testing::HasSubstr("\npython -m pip install broken==1.0\n"));
}

TEST(Environment, KeepsEnvironmentInJsonRoundTrip) {
  const Json json = to_json(environment());
  const auto again = from_json<Environment>(json);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(to_json(*again), json);
}

TEST(Environment, OmitsGpusThatWereNotRequested) {
  Environment plain = environment();
  plain.sms.clear();
  EXPECT_THAT(render_environment(plain), testing::Not(testing::HasSubstr("each GPU")));
}

// A changed library is the cause of findings about symbols (pytorch/pytorch#186591).
TEST(Environment, PrintsChangedFilesBeforeFindings) {
  Environment changed = environment();
  changed.reinstall = "python -m pip install --force-reinstall --no-deps nvidia-nccl-cu13==2.29.7";
  const std::string text = render_environment(changed);
  EXPECT_LT(text.find("Defects and unreadable files"), text.find(*changed.reinstall));
  EXPECT_LT(text.find(*changed.reinstall), text.find("Findings"));
}

}  // namespace
}  // namespace pbprobe::test
