// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/process/channel.hpp"

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include <sys/socket.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/facts/measurement.hpp"
#include "core/json.hpp"
#include "probes/process/gemm.hpp"

namespace pbprobe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

class Wire : public testing::Test {
 protected:
  Wire()
      : broker_(ends_.supervisor,
                {.forward = [this](std::string_view event, uint64_t) { events_.emplace_back(event); },
                 .intrude = [this](const std::string& loading,
                                   std::string_view line) { intrusions_.emplace_back(loading, line); }}),
        channel_(ends_.worker, broker_.word(), broker_.seed()) {}
  ~Wire() override {
    close(ends_.worker);
    close(ends_.supervisor);
  }
  // Writes as code does that knows nothing but the descriptor.
  void scribble(const std::string& text) {
    ASSERT_EQ(write(ends_.worker, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  // The broker answers while the worker waits.
  template <class Does>
  void answered(Does does) {
    std::atomic<bool> done = false;
    std::thread worker([&] {
      does();
      done = true;
    });
    while (!done) {
      broker_.pump();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    worker.join();
  }
  void load() {
    answered([this] { channel_.close("/t/libtorch_cpu.so"); });
  }
  void open() {
    answered([this] { channel_.open(); });
  }

  ChannelEnds ends_ = make_channel().value();
  std::vector<std::string> events_;
  std::vector<std::pair<std::string, std::string>> intrusions_;
  Broker broker_;
  Channel channel_;
};

TEST_F(Wire, EventsGoThroughBeforeAndAfterALibraryIsLoaded) {
  const uint64_t seed = broker_.seed();
  channel_.send("{\"note\": \"before\"}");
  load();
  EXPECT_EQ(broker_.word(), "");
  open();
  channel_.send("{\"note\": \"after\"}");
  broker_.finish();
  EXPECT_THAT(events_, ElementsAre("{\"note\": \"before\"}", "{\"note\": \"after\"}"));
  EXPECT_THAT(intrusions_, IsEmpty());
  EXPECT_NE(broker_.seed(), seed) << "the operands are drawn when nothing of the library could know them before";
  EXPECT_EQ(channel_.seed(), broker_.seed());
}

TEST_F(Wire, RejectsEventsWrittenDuringLoad) {
  load();
  scribble("{\"finished\": true}\n");
  broker_.pump();
  open();
  channel_.send("{\"note\": \"after\"}");
  broker_.finish();
  EXPECT_THAT(events_, ElementsAre("{\"note\": \"after\"}"));
  EXPECT_THAT(intrusions_, ElementsAre(Pair("/t/libtorch_cpu.so", "{\"finished\": true}")));
}

TEST_F(Wire, KeepsUnterminatedIntrusionApart) {
  load();
  scribble("{\"finished\": true}");
  open();
  channel_.send("{\"note\": \"after\"}");
  broker_.finish();
  EXPECT_THAT(events_, ElementsAre("{\"note\": \"after\"}"));
  EXPECT_EQ(intrusions_.size(), 1U);
}

// A library that another one loads as it computes.
TEST_F(Wire, RejectsEventsWithoutWord) {
  const std::string old = broker_.word();
  load();
  open();
  scribble(old + " {\"finished\": true}\n");
  scribble("{\"finished\": true}\n");
  scribble("loaded\n");
  broker_.finish();
  EXPECT_THAT(events_, IsEmpty());
  EXPECT_EQ(intrusions_.size(), 3U);
}

TEST_F(Wire, HalfAnEventOfAWorkerThatWasEndedIsNoIntrusion) {
  scribble("\n" + broker_.word() + " {\"note\": \"bef");
  broker_.finish();
  EXPECT_THAT(intrusions_, IsEmpty());
  EXPECT_THAT(events_, IsEmpty());
}

// --- who decides whether a GEMM is right ---

std::string format_event(const ReturnedGemm& gemm) {
  Json event = Json::object();
  event["gemm"] = to_json(gemm);
  return event.dump();
}

std::vector<unsigned char> correct_gemm(DType type, uint64_t seed) {
  GemmMatrices matrices = gemm_operands(type, seed);
  const auto bytes = static_cast<size_t>(size_of(type));
  const auto value = [&](const std::vector<unsigned char>& from, int64_t index) {
    uint32_t bits = 0;
    std::memcpy(reinterpret_cast<unsigned char*>(&bits) + 4 - bytes, from.data() + static_cast<size_t>(index) * bytes,
                bytes);
    float number = 0;
    std::memcpy(&number, &bits, sizeof number);
    return number;
  };
  for (int64_t i = 0; i < kGemmM; ++i) {
    for (int64_t j = 0; j < kGemmN; ++j) {
      float sum = 0;
      for (int64_t k = 0; k < kGemmK; ++k) sum += value(matrices.a, i * kGemmK + k) * value(matrices.b, k * kGemmN + j);
      uint32_t bits = 0;
      std::memcpy(&bits, &sum, sizeof bits);
      std::memcpy(matrices.c.data() + static_cast<size_t>(i * kGemmN + j) * bytes,
                  reinterpret_cast<unsigned char*>(&bits) + 4 - bytes, bytes);
    }
  }
  return matrices.c;
}

LibtorchRun pass_run(Verifier& verifier, const LibtorchRun& run) {
  Json event = Json::object();
  event["libtorch"] = to_json(run);
  const auto passed = verifier.pass(event.dump(), 7);
  EXPECT_TRUE(passed.has_value());
  return from_json<LibtorchRun>(parse_json(passed.value_or("{}")).value()["libtorch"]).value();
}

const LibtorchRun kSaysSo{.path = "/t", .loaded = true, .executed = true, .executed_on_gpu = true};

TEST(Verifier, BelievesWhatItCouldCompare) {
  Verifier verifier;
  for (const char* device : {"cpu", "cuda:0"})
    for (const DType type : {DType::fp32, DType::bf16})
      EXPECT_EQ(verifier.pass(format_event(returned_gemm(device, type, correct_gemm(type, 7))), 7), std::nullopt);
  const LibtorchRun run = pass_run(verifier, kSaysSo);
  EXPECT_TRUE(run.executed);
  EXPECT_EQ(run.executed_on_gpu, true);
  EXPECT_EQ(run.problem, std::nullopt);
}

TEST(Verifier, BelievesNoReportWithoutAGemm) {
  Verifier verifier;
  const LibtorchRun run = pass_run(verifier, kSaysSo);
  EXPECT_FALSE(run.executed);
  EXPECT_EQ(run.executed_on_gpu, false);
  EXPECT_THAT(run.problem.value_or(""), HasSubstr("no GEMM came back"));
}

TEST(Verifier, RefusesForgedNumbers) {
  Verifier verifier;
  // Results of other operands, as code would return if made before the operands were drawn.
  for (const DType type : {DType::fp32, DType::bf16})
    EXPECT_EQ(verifier.pass(format_event(returned_gemm("cpu", type, correct_gemm(type, 6))), 7), std::nullopt);
  LibtorchRun run = kSaysSo;
  run.executed_on_gpu.reset();
  run = pass_run(verifier, run);
  EXPECT_FALSE(run.executed);
  EXPECT_EQ(run.obstacle, std::nullopt);
  EXPECT_THAT(run.problem.value_or(""), HasSubstr(" a 37x41x61 GEMM in fp32 is "));
}

TEST(Verifier, ReportsWrongGemmBesideCorrectOne) {
  Verifier verifier;
  std::vector<unsigned char> wrong = correct_gemm(DType::fp32, 7);
  wrong[5] ^= 1;
  EXPECT_EQ(verifier.pass(format_event(returned_gemm("cpu", DType::fp32, wrong)), 7), std::nullopt);
  for (const DType type : {DType::fp32, DType::bf16})
    EXPECT_EQ(verifier.pass(format_event(returned_gemm("cpu", type, correct_gemm(type, 7))), 7), std::nullopt);
  EXPECT_FALSE(pass_run(verifier, {.path = "/t", .loaded = true, .executed = true}).executed);
}

TEST(Verifier, RequiresBothTypes) {
  Verifier verifier;
  EXPECT_EQ(verifier.pass(format_event(returned_gemm("cpu", DType::fp32, correct_gemm(DType::fp32, 7))), 7),
            std::nullopt);
  EXPECT_FALSE(pass_run(verifier, {.path = "/t", .loaded = true, .executed = true}).executed);
}

TEST(Verifier, RejectsEmptyGemm) {
  for (const std::string hex : {"", "0", "zz", "00"}) {
    Verifier verifier;
    ReturnedGemm gemm{.device = "cpu", .dtype = "fp32", .c = hex};
    EXPECT_EQ(verifier.pass(format_event(gemm), 7), std::nullopt);
    EXPECT_FALSE(pass_run(verifier, {.path = "/t", .loaded = true, .executed = true}).executed);
  }
}

TEST(Verifier, PassesOtherEventsUnchanged) {
  Verifier verifier;
  EXPECT_EQ(verifier.pass("{\"note\": \"x\"}", 7), "{\"note\": \"x\"}");
}

}  // namespace
}  // namespace pbprobe
