// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/report/text.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "probes/report/sections.hpp"
#include "tests/report/documents.hpp"

namespace pbprobe::test {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string begin_of(const std::string& text, int lines) {
  size_t at = 0;
  for (int i = 0; i < lines; ++i) at = text.find('\n', at) + 1;
  return text.substr(0, at);
}

TEST(Text, TheVerdictItsReasonAndItsFixComeFirst) {
  EXPECT_THAT(begin_of(render_report(h200_document()), 1),
              testing::StartsWith("PASS  torch 2.11.0+cu130 on NVIDIA H200"));
  const std::string failed = begin_of(render_report(pascal_document()), 3);
  EXPECT_THAT(failed, testing::StartsWith("FAIL  "));
  EXPECT_THAT(failed, HasSubstr("reason  GPU 0 NVIDIA GeForce GTX 1080 Ti (6.1): no machine code or PTX"));
  EXPECT_THAT(failed, HasSubstr("fix     install a torch built for 6.1 with CUDA 12.9 or older"));
  EXPECT_THAT(begin_of(render_report(no_gpu_document()), 1), testing::StartsWith("UNKNOWN  "));
  Report report = h200_document();
  report.verdict.reset();
  EXPECT_THAT(render_report(report), testing::StartsWith("NO VERDICT  "));
}

std::string device_code_of(const DeviceCode& code) {
  return text::clean(text::device_code_line(code), true);
}

TEST(Text, DeviceCodeIsSummarizedByCount) {
  Report report = h200_document();
  EXPECT_EQ(device_code_of(*libtorch_cuda(report).device_code),
            "444 × sm_75, 80, 86, 90, 100, 120; 59 × sm_100a, 103a; 4 × sm_90a; 1 × sm_89, 120a, 121a; no PTX");
  EXPECT_EQ(device_code_of({.ptx = {{"sm_80", 11}}}), "no machine code; PTX 11 × sm_80");
  EXPECT_EQ(device_code_of({.cubin = {{"sm_90", 2}}, .lto_ir = {{"sm_90", 1}}}), "2 × sm_90; no PTX; LTO-IR 1 × sm_90");
}

TEST(Text, WhatIsInsideDeviceCodeIsALineAnSm) {
  const auto details = [](const DeviceCode& code) {
    std::vector<std::string> lines = text::device_code_details(code);
    for (auto& line : lines) line = text::clean(line, true);
    return lines;
  };
  EXPECT_THAT(details({.cubin = {{"sm_90", 2}}}), testing::IsEmpty());
  EXPECT_THAT(details({.toolkits = {{"12.9", 1}, {"13.0", 3}}}), testing::ElementsAre("made by CUDA 12.9 and 13.0"));
  EXPECT_THAT(details({.cubin = {{"sm_90a", 5}},
                       .stored_bytes = 1 << 20,
                       .uncompressed_bytes = 3 << 20,
                       .census = {{{"sm_80", {.kernels = 1}},
                                   {"sm_90a",
                                    {.kernels = 12,
                                     .instructions = {{"HGMMA", 400}, {"HMMA", 12}},
                                     .tensor_cubins = {2, 3},
                                     .trap_kernels = 2,
                                     .only_traps = {"_Z1kv", "_Z1lv"}}}}}}),
              testing::ElementsAre(
                  "3.0 MiB of device code, 1.0 MiB as stored", "sm_80: 1 kernel",
                  "sm_90a: 12 kernels, 400 HGMMA, 12 HMMA; tensor instructions in 2 of 5 cubins; 2 of them only "
                  "trap: _Z1kv"));
}

// The four states of the driver are four different sentences; a host's text has them whole.
TEST(Text, TheDriversStateIsReported) {
  Host host = *no_gpu_document().host;
  host.driver.version = "580.1";
  host.driver.cuda_version = "13.0";
  const std::pair<DriverState, const char*> words[] = {{DriverState::no_driver, "driver    none"},
                                                       {DriverState::too_old, "too old for pbprobe's own kernels"},
                                                       {DriverState::no_gpu, "it lists no GPU"},
                                                       {DriverState::gpu_bad, "a GPU cannot be used"}};
  for (const auto& [state, word] : words) {
    host.driver.state = state;
    host.driver.sentence = "the whole sentence";
    EXPECT_THAT(render_host(host), HasSubstr(word));
    EXPECT_THAT(render_host(host), HasSubstr("the whole sentence"));
  }
}

TEST(Text, TheFourGpuOutcomesHaveTheirWords) {
  const std::pair<GpuCode, const char*> words[] = {{GpuCode::native, "native cubin"},
                                                   {GpuCode::same_major, "same-major cubin"},
                                                   {GpuCode::ptx, "PTX compiled at load"},
                                                   {GpuCode::none, "none"},
                                                   {GpuCode::unknown, "unknown"}};
  for (const auto& [code, word] : words) {
    Report report = h200_document();
    report.verdict->gpus[0].code = code;
    EXPECT_THAT(render_report(report), HasSubstr(fmt::format("GPU 0     {}: ", word)));
  }
}

TEST(Text, ColourAndSignsOnlyWhereAskedFor) {
  const Report report = h200_document();
  const std::string plain = render_report(report);
  EXPECT_THAT(plain, Not(HasSubstr("\033")));
  EXPECT_THAT(plain, HasSubstr("444 x sm_75"));
  EXPECT_THAT(render_report(report, {.colour = true}), HasSubstr("\033[1;32mPASS\033[0m"));
  EXPECT_THAT(render_report(report, {.unicode = true}), HasSubstr("444 × sm_75"));
}

// Device and file names come from outside: a report must not act on the reader's terminal.
TEST(Text, ForeignBytesAreMadeHarmless) {
  EXPECT_EQ(text::clean("a\033[31mb\x07", true), "a?[31mb?");
  EXPECT_EQ(text::clean("\xC2\x9B"
                        "31m",
                        true),
            "?31m");
  EXPECT_EQ(text::clean("\xFF\xC3", true), "??");
  EXPECT_EQ(text::clean("line\nnext\ttab", true), "line next tab");
  EXPECT_EQ(text::clean("3 × 4 → … é", false), "3 x 4 -> ... ?");
  EXPECT_EQ(text::clean("3 × é", true), "3 × é");
  Report report = h200_document();
  report.host->gpus[0].name = "evil\033]0;title\007";
  EXPECT_THAT(render_report(report), Not(HasSubstr("\033")));
}

TEST(Text, BytesHaveReadableUnits) {
  EXPECT_EQ(text::bytes(0), "0 bytes");
  EXPECT_EQ(text::bytes(1023), "1023 bytes");
  EXPECT_EQ(text::bytes(1536), "1.5 KiB");
  EXPECT_EQ(text::bytes(int64_t{3} << 40), "3.0 TiB");
}

TEST(Text, NarrowPagesWrapUnderTheText) {
  const std::string text = render_report(no_gpu_document(), {.width = 60});
  EXPECT_THAT(text, HasSubstr("\n          "));
  std::istringstream lines(begin_of(text, 6));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
}

TEST(Text, HostInventoryBenchAndTargetsStandOnTheirOwn) {
  const Report report = h200_document();
  const std::string host = render_host(*report.host);
  EXPECT_THAT(host, HasSubstr("Intel(R) Xeon(R) Processor, x86_64, 2 CPUs"));
  EXPECT_THAT(host, HasSubstr("features  "));
  const std::string inventory = render_audit({.inventory = report.inventory});
  EXPECT_THAT(inventory, testing::StartsWith("torch 2.11.0+cu130, CUDA 13.0, site-packages: "));
  EXPECT_THAT(inventory, HasSubstr("torch/lib/libtorch_cuda.so\n      444 x sm_75, 80, 86, 90, 100, 120; 59"));
  const std::string bench = render_bench(*report.measurements);
  EXPECT_THAT(bench, HasSubstr("gemm_fp32_8x48  *  fp32  1024x1024x1024  nt        2      158     91 %"));
  EXPECT_THAT(bench, HasSubstr("1.04x"));
  const TargetList list{
      .targets = {{.id = "one",
                   .products = {"Chip"},
                   .built = true,
                   .kernels = {{.name = "gemm_fp32", .dtype = "fp32", .instruction = "FFMA", .evidence = "assembled"}}},
                  {.id = "two", .why_not = "not built: make build TARGETS=two"}}};
  EXPECT_EQ(render_targets(list),
            "one  Chip\n  gemm_fp32  fp32  FFMA  assembled\n"
            "two    (not built)\n  no kernel yet\n  not built: make build TARGETS=two\n"
            "Preferred for each type\n  one  fp32  gemm_fp32  FFMA  assembled\n");
}

TEST(Text, WhatCouldNotBeReadIsListed) {
  Report report = h200_document();
  libtorch_cuda(report).problem = "header needs 16 bytes, 9 left";
  report.inventory->problems = {"nvidia/x.so: permission denied"};
  const std::string inventory = render_audit(report);
  EXPECT_THAT(inventory, HasSubstr("libtorch_cuda.so: header needs 16 bytes, 9 left"));
  EXPECT_THAT(inventory, HasSubstr("permission denied"));
}

TEST(Text, ManyShapesEndWithWhatTheChosenKernelsReach) {
  Measurements measurements;
  for (int i = 0; i < 20; ++i) {
    BenchRow row{.kernel = "chosen", .target = "sm90", .dtype = "bf16", .m = 10, .n = 10, .k = 10, .layout = "nt"};
    row.gflops = 1;  // 2 us
    row.best = true;
    row.model_us = 3;
    row.peers["cublaslt"] = {1, i == 0 ? 0.25 : i == 1 ? 0.5 : 2.0, {2.0}};
    measurements.rows.push_back(row);
  }
  const std::string text = render_bench(measurements, {});
  EXPECT_THAT(text, testing::HasSubstr("geometric mean"));
  EXPECT_THAT(text, testing::ContainsRegex("bf16 nt of cublaslt +20 +1.68 +0.50 +0.25"));
  EXPECT_THAT(text, testing::HasSubstr("off by 50 % on average"));
  measurements.rows.pop_back();
  EXPECT_THAT(render_bench(measurements, {}), testing::Not(testing::HasSubstr("geometric mean"))) << "19 are too few";
}

}  // namespace
}  // namespace pbprobe::test
