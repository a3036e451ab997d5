// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/report/text.hpp"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "probes/report/sections.hpp"
#include "tests/report/documents.hpp"

namespace pbprobe::test {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string first_lines(const std::string& text, int lines) {
  size_t at = 0;
  for (int i = 0; i < lines; ++i) at = text.find('\n', at) + 1;
  return text.substr(0, at);
}

std::string flat(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  for (size_t at; (at = text.find("  ")) != text.npos;) text.erase(at, 1);
  return text;
}

TEST(Text, PrintsVerdictReasonAndFixFirst) {
  EXPECT_THAT(first_lines(render_report(h200_document()), 1),
              testing::StartsWith("PASS  torch 2.11.0+cu130 on NVIDIA H200 (sm_90)"));
  const std::string failed = first_lines(render_report(pascal_document()), 5);
  EXPECT_THAT(failed, testing::StartsWith("FAIL  "));
  EXPECT_THAT(failed, HasSubstr("\n  GPU 0 NVIDIA GeForce GTX 1080 Ti (6.1): no machine code or PTX"));
  EXPECT_THAT(failed, HasSubstr("\n  --> torch/lib/libtorch_cuda.so"));
  EXPECT_THAT(failed, HasSubstr("\n  help: install a torch built for 6.1 with CUDA 12.9 or older"));
  EXPECT_THAT(failed, HasSubstr("\n  more: pbprobe explain PB301"));
  EXPECT_THAT(first_lines(render_report(no_gpu_document()), 1), testing::StartsWith("UNKNOWN  "));
  Report report = h200_document();
  report.verdict.reset();
  EXPECT_THAT(render_report(report), testing::StartsWith("NO VERDICT  "));
}

TEST(Text, OmitsLeadingObjectionFromFindings) {
  const std::string text = render_report(pascal_document());
  EXPECT_EQ(text.find("PB301"), text.rfind("PB301"));
  const std::string unknown = render_report(no_gpu_document());
  EXPECT_EQ(unknown.find("No NVIDIA driver library"), unknown.rfind("No NVIDIA driver library"));
  const std::string nothing = render_report(no_torch_document());
  EXPECT_EQ(nothing.find("no torch was found"), nothing.rfind("no torch was found"));
}

// Without measurements, dispatch chooses the first kernel of the table; another one may be faster.
TEST(Text, ShowsFastestKernelOfEachProduct) {
  Report report = h200_document();
  BenchRow row{.kernel = "chosen", .target = "avx512", .dtype = "bf16", .m = 512, .n = 512, .k = 512, .threads = 2};
  row.gflops = 200;
  row.best = true;
  BenchRow faster = row;
  faster.kernel = "faster";
  faster.target = "avx512bf16";
  faster.gflops = 400;
  faster.best = false;
  report.measurements->rows = {row, faster};
  const std::string text = render_report(report);
  EXPECT_THAT(text, HasSubstr("faster"));
  EXPECT_THAT(text, Not(HasSubstr("chosen")));
}

// Without a claim an audit prints no verdict: then nothing leads.
TEST(Text, ListsFindingsOfAuditWithoutClaim) {
  Report report = pascal_document();
  EXPECT_THAT(render_audit(report), HasSubstr("\nfail[PB301]: "));
  report.claim = Claim{.text = "sm61"};
  EXPECT_THAT(render_audit(report), Not(HasSubstr("\nfail[PB301]: ")));
  EXPECT_THAT(render_audit(report), HasSubstr("\n  more: pbprobe explain PB301\n"));
}

TEST(Text, PrintsFindingAsBlock) {
  const std::string text = render_report(gb10_document());
  EXPECT_THAT(text,
              testing::ContainsRegex("\nnote\\[PB303\\]: GPU 0 [^\n]*\n(  [^\n]*\n)*  --> torch/lib/libtorch_cuda.so\n"
                                     "  help: "));
  EXPECT_THAT(text, HasSubstr("\n  more: pbprobe explain PB303\n"));
}

// A check of a gate without an answer has no finding, but is printed as a block too.
TEST(Text, PrintsUnknownCheckAsBlock) {
  Report report = h200_document();
  report.verdict->outcome = Outcome::unknown;
  report.verdict->reason = "the first";
  report.verdict->objections = {{.id = "PB502", .what = "the first"}, {.id = "PB504", .what = "the second"}};
  const std::string text = render_report(report);
  EXPECT_THAT(text, HasSubstr("\nunknown[PB504]: the second\n  more: pbprobe explain PB504\n"));
  EXPECT_THAT(text, HasSubstr("\n  the first\n  more: pbprobe explain PB502\n"));
  EXPECT_THAT(text, HasSubstr("2 questions unanswered"));
}

TEST(Text, PrintsRowForEachDevice) {
  EXPECT_THAT(render_report(h200_document()),
              testing::ContainsRegex("GPU 0 +NVIDIA H200 +ok sm_90 +ok +ok +not compared"));
  EXPECT_THAT(render_report(gb10_document()), testing::ContainsRegex("GPU 0 +NVIDIA GB10 +~ sm_120 +ok +ok"));
  EXPECT_THAT(render_report(pascal_document()), testing::ContainsRegex("GPU 0 .*1080 Ti +FAIL +- +- +-"));
  EXPECT_THAT(render_report(no_gpu_document()), testing::ContainsRegex("GPU +none here +unknown\n"));
}

TEST(Text, JoinsEqualUntestedGpus) {
  const std::string text = render_report(eight_gpus_document());
  EXPECT_THAT(text, testing::ContainsRegex("GPU 0 +NVIDIA B300 +~ sm_100 +ok +ok"));
  EXPECT_THAT(text, testing::ContainsRegex("GPU 1-7 +NVIDIA B300 \\(7 equal\\) +~ sm_100 +not tested +not tested"));
  EXPECT_THAT(text, HasSubstr("1 of 8 GPUs tested"));
}

TEST(Text, OmitsEmptyColumns) {
  Report report = no_torch_document();
  EXPECT_THAT(render_report(report), Not(HasSubstr("vs generic build")));
  EXPECT_THAT(render_report(h200_document()), HasSubstr("vs generic build"));
}

TEST(Text, OmitsPeakShareIfLaunchDominates) {
  Report report = h200_document();
  BenchRow& row = report.measurements->rows.front();
  row.threads = 0;
  row.m = row.n = row.k = 1024;
  row.gflops = 290000;  // 7 us
  EXPECT_THAT(render_report(report), testing::ContainsRegex("gemm_fp32_8x48 +fp32 +1024x1024x1024 .* launch"));
  row.gflops = 290;  // 7 ms
  EXPECT_THAT(render_report(report), testing::ContainsRegex("gemm_fp32_8x48 +fp32 +1024x1024x1024 .* 91 %"));
}

TEST(Text, PrintsChildOutputOnlyIfVerbose) {
  Report report = h200_document();
  report.measurements->not_run = {
      {.what = "libtorch did not end within 3 s" + std::string(kLastWords) + "frame #0: c10::Error\""}};
  report.measurements->notes = {"the measuring process also printed 9000 bytes"};
  const std::string text = render_report(report);
  EXPECT_THAT(flat(text), HasSubstr("libtorch did not end within 3 s (--verbose has what it printed)"));
  EXPECT_THAT(text, Not(HasSubstr("frame #0")));
  EXPECT_THAT(text, Not(HasSubstr("9000 bytes")));
  const std::string verbose = flat(render_report(report, {.verbose = true}));
  EXPECT_THAT(verbose, HasSubstr("frame #0: c10::Error"));
  EXPECT_THAT(verbose, HasSubstr("9000 bytes"));
}

TEST(Text, AddsInventoryAndEnvironmentIfVerbose) {
  for (const char* part :
       {"\nDevice code\n", "\nEnvironment\n", "Code of this torch for each GPU", "libtorch_cuda.so        444"}) {
    EXPECT_THAT(render_report(h200_document()), Not(HasSubstr(part)));
    EXPECT_THAT(render_report(h200_document(), {.verbose = true}), HasSubstr(part));
  }
}

TEST(Text, PrintsOneLineIfQuiet) {
  const std::string text = render_quiet(pascal_document());
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  EXPECT_THAT(text, testing::StartsWith("FAIL  torch 2.11.0+cu130 on NVIDIA GeForce GTX 1080 Ti (sm_61): GPU 0 "));
}

TEST(Text, PrintsCountsInLastLine) {
  Report report = gb10_document();
  report.seconds = 8.24;
  EXPECT_THAT(render_report(report),
              testing::EndsWith("\n\n1 note | 1 of 1 GPU tested | 8.2 s\nMarkdown for an issue: `pbprobe "
                                "report --format markdown`; --verbose has the inventory\n"));
  EXPECT_THAT(render_report(report, {.unicode = true}), HasSubstr("1 note · 1 of 1 GPU tested"));
  EXPECT_THAT(render_report(h200_document()), HasSubstr("\nnothing to fix | "));
}

std::string render_device_code(const DeviceCode& code) {
  return text::clean(text::device_code_line(code), true);
}

TEST(Text, SummarizesDeviceCodeByCount) {
  Report report = h200_document();
  EXPECT_EQ(render_device_code(*libtorch_cuda(report).device_code),
            "444 × sm_75, 80, 86, 90, 100, 120; 59 × sm_100a, 103a; 4 × sm_90a; 1 × sm_89, 120a, 121a; no PTX");
  EXPECT_EQ(render_device_code({.ptx = {{"sm_80", 11}}}), "no machine code; PTX 11 × sm_80");
  EXPECT_EQ(render_device_code({.cubin = {{"sm_90", 2}}, .lto_ir = {{"sm_90", 1}}}),
            "2 × sm_90; no PTX; LTO-IR 1 × sm_90");
  EXPECT_EQ(render_device_code({.cubin = {{"sm_120a", 1}}, .other_entries = {{{"Tile IR", {{"sm_120", 3}}}}}}),
            "1 × sm_120a; no PTX; Tile IR 3 × sm_120");
}

TEST(Text, PrintsDeviceCodeDetailsPerSm) {
  const auto details = [](const DeviceCode& code) {
    std::vector<std::string> lines = text::device_code_details(code);
    for (auto& line : lines) line = text::clean(line, true);
    return lines;
  };
  EXPECT_THAT(details({.cubin = {{"sm_90", 2}}}), testing::IsEmpty());
  EXPECT_THAT(details({.assemblers = {{{"12.9", {{"sm_80", {.cubins = 1}}}},
                                       {"13.0.88", {{"sm_80", {.cubins = 2}}, {"sm_90", {.cubins = 2}}}}}}}),
              testing::ElementsAre("by ptxas 12.9: 1 × sm_80", "by ptxas 13.0.88: 2 × sm_80, 90"));
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
                  "3.0 MiB of device code, 1.0 MiB stored", "sm_80: 1 kernel",
                  "sm_90a: 12 kernels, 400 HGMMA, 12 HMMA; tensor instructions in 2 of 5 cubins; 2 of them only "
                  "trap: _Z1kv"));
}

// The four states of the driver are four different sentences; a host's text has them whole.
TEST(Text, PrintsDriverState) {
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

TEST(Text, PrintsEachGpuOutcome) {
  const std::pair<GpuCode, const char*> words[] = {{GpuCode::native, "native cubin"},
                                                   {GpuCode::same_major, "same-major cubin"},
                                                   {GpuCode::ptx, "PTX compiled at load"},
                                                   {GpuCode::none, "none"},
                                                   {GpuCode::unknown, "unknown"}};
  for (const auto& [code, word] : words) {
    Report report = h200_document();
    report.verdict->gpus[0].code = code;
    EXPECT_THAT(render_report(report, {.verbose = true}), HasSubstr(fmt::format("GPU 0     {}: ", word)));
  }
}

TEST(Text, PrintsColourAndSignsOnlyIfRequested) {
  const Report report = h200_document();
  const std::string plain = render_report(report, {.verbose = true});
  EXPECT_THAT(plain, Not(HasSubstr("\033")));
  EXPECT_THAT(plain, HasSubstr("444 x sm_75"));
  EXPECT_THAT(render_report(report, {.colour = true}), HasSubstr("\033[1;32mPASS  \033[0m"));
  EXPECT_THAT(render_report(report, {.unicode = true, .verbose = true}), HasSubstr("444 × sm_75"));
  EXPECT_THAT(render_report(report, {.unicode = true}), testing::StartsWith("✓ PASS"));
}

// Device and file names come from outside: a report must not act on the reader's terminal.
TEST(Text, ReplacesUnsafeBytes) {
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

TEST(Text, PrintsBytesWithUnits) {
  EXPECT_EQ(text::bytes(0), "0 bytes");
  EXPECT_EQ(text::bytes(1023), "1023 bytes");
  EXPECT_EQ(text::bytes(1536), "1.5 KiB");
  EXPECT_EQ(text::bytes(int64_t{3} << 40), "3.0 TiB");
}

TEST(Text, FitsSixtyColumns) {
  Report long_named = no_gpu_document();
  long_named.host->cpu.name = "A Processor With A Name Far Longer Than Sixty Columns, 3.0 GHz, of 2026";
  for (const Report& report :
       {h200_document(), gb10_document(), eight_gpus_document(), pascal_document(), long_named}) {
    std::istringstream lines(render_report(report, {.width = 60}));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 60U) << line;
  }
  EXPECT_THAT(render_report(long_named, {.width = 60}), HasSubstr("A Processor With"));
}

TEST(Text, RendersHostInventoryBenchAndTargets) {
  const Report report = h200_document();
  const std::string host = render_host(*report.host);
  EXPECT_THAT(host, HasSubstr("Intel(R) Xeon(R) Processor, x86_64, 2 CPUs"));
  EXPECT_THAT(host, HasSubstr("features  "));
  const std::string inventory = render_audit({.inventory = report.inventory});
  EXPECT_THAT(inventory, testing::StartsWith("torch 2.11.0+cu130, CUDA 13.0, site-packages: "));
  EXPECT_THAT(inventory, HasSubstr("torch/lib/libtorch_cuda.so\n      444 x sm_75, 80, 86, 90, 100, 120; 59"));
  const std::string bench = render_bench(*report.measurements);
  EXPECT_THAT(bench, HasSubstr("gemm_fp32_8x48  *  fp32  1024x1024x1024  nt            2      158     91 %"));
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

TEST(Text, ListsUnreadableFiles) {
  Report report = h200_document();
  libtorch_cuda(report).problem = "header needs 16 bytes, 9 left";
  report.inventory->problems = {"nvidia/x.so: permission denied"};
  const std::string inventory = render_audit(report);
  EXPECT_THAT(inventory, HasSubstr("libtorch_cuda.so: header needs 16 bytes, 9 left"));
  EXPECT_THAT(inventory, HasSubstr("permission denied"));
}

TEST(Text, SummarizesManyShapes) {
  Measurements measurements;
  for (int i = 0; i < 20; ++i) {
    BenchRow row{.kernel = "chosen", .target = "sm90", .dtype = "bf16", .m = 10, .n = 10, .k = 10, .layout = "nt"};
    row.gflops = 1;  // 2 us
    row.best = true;
    row.model_us = 3;
    row.peers["cublaslt"] = {1, i == 0 ? 0.25 : i == 1 ? 0.5 : 2.0, {2.0}};
    if (i % 2 == 1) {
      row.k = 16;  // rows of 32 bytes
      row.model_us = 4.8;
    }
    measurements.rows.push_back(row);
  }
  const std::string text = render_bench(measurements, {});
  EXPECT_THAT(text, testing::HasSubstr("geometric mean"));
  EXPECT_THAT(text, testing::ContainsRegex("bf16 nt of cublaslt, aligned rows +10 +1.74 +0.50 +0.50"));
  EXPECT_THAT(text, testing::ContainsRegex("bf16 nt of cublaslt, unaligned rows +10 +1.62 +0.25 +0.25"));
  EXPECT_THAT(text, testing::HasSubstr("mean error of the times that dispatch's model predicts: 50 %"));
  measurements.rows.pop_back();
  EXPECT_THAT(render_bench(measurements, {}), testing::Not(testing::HasSubstr("geometric mean"))) << "19 are too few";
}

}  // namespace
}  // namespace pbprobe::test
