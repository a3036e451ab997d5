// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Every row of the table becomes tests: Gemm/<kernel>.<Case>, Peak/<loop>.Runs, and for each target <id>.table
// and, of a GPU, <id>.cubin. CTest labels them with the target's id.
//
// PBPROBE_EVIDENCE_DIR=folder: a kernel that passes ManyShapes adds its evidence record to <target>.json there.
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/dispatch/run.hpp"
#include "kernels/gemm/evidence.hpp"
#include "tests/kernels/backend.hpp"
#include "tests/kernels/cases.hpp"
#include "tests/kernels/device_cases.hpp"
#include "tests/kernels/evidence_file.hpp"
#include "tests/kernels/rows.hpp"

namespace pbprobe::test {
namespace {

using testing::HasSubstr;

// --- kernels ---

void ragged(const Kernel& kernel, Backend& backend) {
  const Tile& t = kernel.tile;
  const int64_t block = kernel.k_block > 0 ? kernel.k_block : 64;
  const std::array<int64_t, 3> shapes[] = {
      {1, 1, 1},
      {1, t.n + 1, 2},
      {t.m + 1, 1, 3},
      {t.m, t.n, t.k},
      {t.m - 1, t.n - 1, 17},
      {t.m + 1, t.n + 1, 31},
      {13, 31, 61},
      {2 * t.m + 3, 7, block},
      {5, 2 * t.n + 5, block + 1},
      {3, 3, 2 * block + 3},
  };
  for (DType type : list_types(kernel)) {
    for (Layout layout : kLayouts) {
      for (const auto& [m, n, k] : shapes) {
        if (m == 0 || n == 0) continue;
        expect_right(kernel, backend, make_kernel_problem(kernel, limit_rows(kernel, m), n, k, type, layout));
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

void leading_dimensions(const Kernel& kernel, Backend& backend) {
  for (DType type : list_types(kernel)) {
    for (Layout layout : kLayouts) {
      for (int64_t by : {1, 3, 16}) {
        expect_right(kernel, backend,
                     spaced(make_kernel_problem(kernel, limit_rows(kernel, 23), 37, 41, type, layout), by));
      }
    }
  }
}

void unaligned(const Kernel& kernel, Backend& backend) {
  for (DType type : list_types(kernel)) {
    for (Layout layout : kLayouts) {
      for (int64_t misalign : {1, 3}) {
        CheckOptions options;
        options.misalign = misalign;
        expect_right(kernel, backend, make_kernel_problem(kernel, limit_rows(kernel, 33), 65, 70, type, layout),
                     options);
      }
    }
  }
}

void empty(const Kernel& kernel, Backend& backend) {
  for (DType type : list_types(kernel)) {
    for (const auto& [m, n, k] : {std::array<int64_t, 3>{0, 5, 5}, {5, 0, 5}, {5, 5, 0}, {0, 0, 0}}) {
      expect_right(kernel, backend, make_kernel_problem(kernel, limit_rows(kernel, m), n, k, type));
    }
  }
  if (kernel.function == nullptr) return;
  // With k = 0, A and B may be missing, for small M and for few columns too.
  for (const auto& [m, n] : {std::pair<int64_t, int64_t>{1, 64}, {64, 3}}) {
    const Problem problem = make_kernel_problem(kernel, m, n, 0, kernel.dtype);
    auto plan = make_plan(kernel, backend, problem, 1);
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    std::vector<int32_t> c(static_cast<size_t>(m * n), -1);
    std::vector<std::byte> workspace(static_cast<size_t>(plan->workspace_bytes));
    const auto done =
        run(*plan, {.c = c.data()}, {.workspace = workspace.data(), .workspace_bytes = plan->workspace_bytes});
    ASSERT_TRUE(done.ok()) << done.error().message;
    EXPECT_EQ(std::count(c.begin(), c.end(), 0), m * n) << kernel.name;
  }
}

// Checks each type of C, with every combination of bias and scales; k in one pass, in several and, on a CPU, of few
// words.
void outputs(const Kernel& kernel, Backend& backend) {
  const int64_t ks[] = {50, kernel.k_block + 60, kernel.function != nullptr ? 7 : 50};
  for (DType type : list_types(kernel)) {
    for (DType c : {DType::fp32, DType::bf16, DType::fp16}) {
      if (!kernel.c.has(c)) continue;
      for (int vectors = 0; vectors < 8; ++vectors) {
        auto problem = make_kernel_problem(kernel, limit_rows(kernel, 2 * kernel.tile.m + 1), kernel.tile.n + 3,
                                           ks[vectors % 3], type, c);
        problem.bias = (vectors & 1) != 0;
        problem.scale_a = (vectors & 2) != 0;
        problem.scale_b = (vectors & 4) != 0;
        expect_right(kernel, backend, spaced(problem, 1));
        if (writes_c_nm(kernel)) expect_right(kernel, backend, transpose_c(problem, vectors));
        if (kernel.function == nullptr && vectors > 1) {
          problem.per_tensor = true;
          expect_right(kernel, backend, spaced(problem, 1));
        }
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

// Several threads give the very bits that one gives.
void four_threads(const Kernel& kernel, Backend& backend) {
  for (DType type : list_types(kernel)) {
    const auto problem =
        make_kernel_problem(kernel, limit_rows(kernel, 5 * kernel.tile.m + 1), 6 * kernel.tile.n + 1, 304, type);
    constexpr int64_t kThreads[] = {1, 4, kAlone};
    std::vector<std::byte> bits[std::size(kThreads)];
    for (size_t i = 0; i < std::size(kThreads); ++i) {
      const auto record = [&](const Problem& p, CheckData& data) -> Result<void> {
        PBPROBE_CHECK(make_execute(kernel, backend, kThreads[i])(p, data));
        bits[i] = {data.c.data(), data.c.data() + data.c.length_bytes};
        return {};
      };
      const auto result = check(problem, Tier::random, record);
      ASSERT_TRUE(result.ok()) << result.error().message;
      EXPECT_TRUE(result->passed) << result->what;
    }
    EXPECT_EQ(bits[0], bits[1]);
    EXPECT_EQ(bits[0], bits[2]);
    expect_right(kernel, backend, problem, {}, 4);
  }
}

// Beyond what is compared element by element: blocks of rows and columns follow one another.
void large(const Kernel& kernel, Backend& backend) {
  for (DType type : list_types(kernel)) {
    const int64_t part = emulated() ? 12 : 1;
    const auto problem =
        make_kernel_problem(kernel, limit_rows(kernel, 611 / part), 523 / part, kernel.max_m < 611 ? 4112 : 1031, type);
    for (const int64_t threads : {int64_t{1}, int64_t{2}, kAlone}) expect_right(kernel, backend, problem, {}, threads);
    // Rows of C as a whole, and, of longer k, more columns than one pass of a CPU plan takes.
    for (const int64_t k : {19, emulated() ? 20 : 300})
      expect_right(kernel, backend, make_kernel_problem(kernel, limit_rows(kernel, 17), 4200, k, type, Layout::nn));
  }
}

// QEMU reads all of what an AVX load is masked from.
#if defined(__x86_64__)
constexpr bool kReadsMasked = true;
#else
constexpr bool kReadsMasked = false;
#endif

// Copy of an operand that ends at an unreadable page.
class PageEnd {
 public:
  PageEnd(const void* from, int64_t bytes) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const auto size = static_cast<size_t>(bytes);
    length_ = (size + page - 1) / page * page + page;
    map_ = static_cast<std::byte*>(mmap(nullptr, length_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (!kReadsMasked || !emulated()) mprotect(map_ + length_ - page, page, PROT_NONE);
    at_ = map_ + length_ - page - size;
    std::memcpy(at_, from, size);
  }
  ~PageEnd() { munmap(map_, length_); }
  PageEnd(const PageEnd&) = delete;
  PageEnd& operator=(const PageEnd&) = delete;
  [[nodiscard]] const void* data() const { return at_; }

 private:
  size_t length_ = 0;
  std::byte* map_ = nullptr;
  std::byte* at_ = nullptr;
};

Result<void> run_at_page_ends(const Plan& plan, CheckData& data) {
  const Problem& p = plan.problem;
  Operands operands = data.operands();
  const PageEnd a(operands.a, extent(stored_rows_a(p), stored_columns_a(p), p.lda) * size_of(p.a));
  const PageEnd b(operands.b, extent(stored_rows_b(p), stored_columns_b(p), p.ldb) * size_of(p.b));
  operands.a = a.data();
  operands.b = b.data();
  std::vector<std::byte> workspace(static_cast<size_t>(plan.workspace_bytes));
  return run(plan, operands, {.workspace = workspace.data(), .workspace_bytes = plan.workspace_bytes});
}

// Words that are read with their neighbours, and rows of C as a whole.
void short_k(const Kernel& kernel, Backend& backend) {
  int turn = 0;
  for (DType type : list_types(kernel)) {
    for (Layout layout : kLayouts) {
      for (const int64_t k : {1, 2, 3, 4, 5, 8, 12, 16, 17}) {
        if (emulated() && k % 4 != 0) continue;
        const int64_t m = kernel.in_place ? 1 + turn % 8 : 2 * kernel.tile.m + 3;
        const auto problem = make_kernel_problem(kernel, m, 3 * kernel.tile.n + 5, k, type, layout);
        CheckOptions options;
        options.misalign = turn % 2;
        expect_right(kernel, backend, spaced(problem, turn % 3), options, 1 + turn % 3);
        const auto result = check(problem, [&](const Problem&, CheckData& data) -> Result<void> {
          PBPROBE_TRY(const Plan plan, make_plan(kernel, backend, problem, 1));
          return run_at_page_ends(plan, data);
        });
        ASSERT_TRUE(result.ok()) << result.error().message;
        EXPECT_TRUE(result->passed) << kernel.name << ": " << result->what;
        if (testing::Test::HasFailure()) return;
        ++turn;
      }
    }
  }
}

void write_evidence(const Kernel& kernel, const Backend& backend, int64_t shapes) {
  const char* folder = std::getenv("PBPROBE_EVIDENCE_DIR");
  if (folder == nullptr) return;
  EvidenceRecord record;
  record.kernel = kernel.name;
  record.digest = build_of(kernel).digest;
  record.device = backend.device();
  record.driver = this_host().driver.version;
  if (const char* via = std::getenv("PBPROBE_EVIDENCE_VIA")) {
    record.level = EvidenceLevel::emulated;
    record.via = via;
  }
  const TargetBuild& build = build_of(kernel);
  if (!build.ptx.empty()) {
    record.level = EvidenceLevel::executed_via_ptx;
    record.via = fmt::format("compute_{} PTX, run on {}", build.ptx, backend.capability());
    record.digest = build.source_digest;
  }
  if (find_target(kernel.target)->kind == TargetKind::cpu) record.driver.reset();
  record.tiers = {"exact", "random"};
  record.shapes = shapes;
  const std::time_t now = std::time(nullptr);
  char date[16];
  std::strftime(date, sizeof date, "%Y-%m-%d", std::gmtime(&now));
  record.date = date;
  const auto written = add_record(std::filesystem::path(folder) / (std::string(kernel.target) + ".json"), record);
  ASSERT_TRUE(written.ok()) << written.error().message;
}

// Many shapes by chance, the same ones everywhere; both tiers on each.
void many_shapes(const Kernel& kernel, Backend& backend) {
  const bool gpu = backend.gpu_kernels() != nullptr;
  const int64_t count = gpu ? 400 : emulated() ? 24 : 120;
  uint64_t state = 12345;
  const auto next = [&state](int64_t below) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<int64_t>(state >> 33) % below;
  };
  const auto types = list_types(kernel);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t m = limit_rows(kernel, 1 + next(i % 4 == 0 ? 300 : 3 * kernel.tile.m));
    const int64_t n = 1 + next(i % 4 == 1 ? 300 : 3 * kernel.tile.n);
    const int64_t k = 1 + next(i % 4 == 2 ? 1200 : 100);
    const DType type = types[static_cast<size_t>(i) % types.size()];
    const bool as_columns = kernel.in_place && type != DType::uint8 && i / 2 % 2 == 1;
    auto problem = make_kernel_problem(kernel, as_columns ? n : m, as_columns ? m : n, k, type, kLayouts[next(4)]);
    problem = spaced(problem, next(3));
    CheckOptions options;
    options.seed = static_cast<uint64_t>(i);
    options.misalign = next(2);
    if (writes_c_nm(kernel) && i % 3 == 0) {
      problem = transpose_c(problem, next(3));
      // If no map names the operands, the plan that is not swapped runs.
      if (kernel.work == GpuWork::small_m) options.misalign = 0;
    }
    expect_right(kernel, backend, problem, options, 1 + next(3));
    if (testing::Test::HasFailure()) return;
  }
  write_evidence(kernel, backend, count);
}

void refusals(const Kernel& kernel, Backend& backend) {
  ChooseOptions options = backend.options();
  options.kernel = std::string(kernel.name);
  const auto problem =
      make_kernel_problem(kernel, limit_rows(kernel, 4), 4, 4, list_types(kernel).front(), kernel.accumulator);
  const auto plan = choose(problem, this_host(), {}, options);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  Context context;
  context.gpu = backend.gpu_kernels();
  std::vector<std::byte> workspace(static_cast<size_t>(plan->workspace_bytes));
  context.workspace = workspace.data();
  context.workspace_bytes = plan->workspace_bytes;
  auto result = run(*plan, Operands{}, context);
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message, HasSubstr("C is a null pointer"));
  // On error, run() writes nothing.
  std::vector<float> c(16, 7.0F);
  std::vector<float> ab(32, 1.0F);
  Operands operands;
  operands.a = ab.data();
  operands.b = ab.data();
  operands.c = c.data();
  const std::vector<float> scales(256);
  if (kernel.block_scale != BlockScale::none) operands.blocks_a = operands.blocks_b = scales.data();
  if (plan->workspace_bytes > 0) {
    context.workspace_bytes = plan->workspace_bytes - 1;
    result = run(*plan, operands, context);
    ASSERT_FALSE(result.ok());
    EXPECT_THAT(result.error().message, HasSubstr("needs a workspace of"));
    EXPECT_EQ(c, std::vector<float>(16, 7.0F));
    context.workspace_bytes = plan->workspace_bytes;
  }
  operands.c = ab.data();
  EXPECT_FALSE(run(*plan, operands, context).ok());
  if (backend.gpu_kernels() != nullptr) {
    operands.c = c.data();
    // Host memory: refused by name, where a launch would have broken the context of every test after this one.
    result = run(*plan, operands, context);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, ErrorCode::usage);
    EXPECT_THAT(result.error().message, HasSubstr("is in host memory"));
    EXPECT_EQ(c, std::vector<float>(16, 7.0F));
    context.gpu = nullptr;
    result = run(*plan, operands, context);
    ASSERT_FALSE(result.ok());
    EXPECT_THAT(result.error().message, HasSubstr("GpuKernels::load"));
  }
}

// No hardware is needed: the host is passed in.
void refused_without_isa(const Kernel& kernel) {
  const Target* target = find_target(kernel.target);
  ASSERT_NE(target, nullptr);
  Host host;
  host.cpu.architecture = "x86_64";
  host.cpu.name = "a CPU without features";
  ChooseOptions options;
  options.kernel = std::string(kernel.name);
  if (target->kind == TargetKind::gpu) {
    Gpu gpu;
    gpu.name = "an older GPU";
    gpu.capability = "3.5";
    host.gpus.push_back(gpu);
    options.gpu = 0;
  }
  const auto problem =
      make_kernel_problem(kernel, limit_rows(kernel, 4), 4, 4, list_types(kernel).front(), kernel.accumulator);
  const auto plan = choose(problem, host, {}, options);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code, ErrorCode::unsupported);
  EXPECT_THAT(plan.error().message, HasSubstr("cannot run here"));
  // A machine without the ISA refuses to run the target's kernels, even if they are forced.
  if (target->kind == TargetKind::gpu || hardware_lacking(kernel.target).empty()) {
    EXPECT_FALSE(refusal_expected()) << "this machine has " << kernel.target;
    return;
  }
  const auto here = choose(problem, this_host(), {}, options);
  ASSERT_FALSE(here.ok());
  EXPECT_EQ(here.error().code, ErrorCode::unsupported);
  EXPECT_THAT(here.error().message, HasSubstr("cannot run here"));
}

// Checks the driver's data about the loaded code: the target's machine code without spills, or code that the driver
// made from the target's PTX.
void loaded_cubin(const Kernel& kernel, Backend& backend) {
  const Target* target = find_target(kernel.target);
  const auto* kernels = backend.gpu_kernels();
  ASSERT_NE(kernels, nullptr);
  const auto ptx = build_of(kernel).ptx;
  const std::string version = without_dot(ptx.empty() ? target->capability.value_or("") : backend.capability());
  const auto spills = [&](std::string_view symbol) {
    return std::any_of(kernel_table().begin(), kernel_table().end(), [&](const Kernel& other) {
      return other.target == kernel.target && other.spills && symbol.starts_with(other.function_name);
    });
  };
  for (const auto& [symbol, loaded] : kernels->kernels()) {
    EXPECT_EQ(std::to_string(loaded.binary_version), version) << symbol;
    if (ptx.empty()) {
      EXPECT_TRUE(loaded.local_bytes == 0 || spills(symbol)) << symbol;
    } else {
      EXPECT_EQ(std::to_string(loaded.ptx_version), ptx) << symbol;
    }
  }
}

// The launcher enforces the target's own limit, whatever the GPU has: a plan that asks for more is refused.
void keeps_to_its_limits(const Kernel& kernel, Backend& backend) {
  ChooseOptions options = backend.options();
  options.kernel = std::string(kernel.name);
  const auto problem =
      make_kernel_problem(kernel, limit_rows(kernel, 4), 4, 4, list_types(kernel).front(), kernel.accumulator);
  auto plan = choose(problem, this_host(), {}, options);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  plan->shared_bytes = find_target(kernel.target)->limits.shared_per_block_bytes.value_or(0) + 16;
  CheckOptions check_options;
  const auto result = check(
      problem, [&](const Problem&, CheckData& data) { return backend.run(*plan, data); }, check_options);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::limit);
  EXPECT_THAT(result.error().message, HasSubstr(fmt::format("a block of {} has at most", kernel.target)));
}

void register_kernel(const Kernel& kernel) {
  const std::string suite = "Gemm/" + std::string(kernel.name);
  using Case = void (*)(const Kernel&, Backend&);
  std::vector<std::pair<const char*, Case>> cases{
      {"Ragged", ragged},
      {"LeadingDimensions", leading_dimensions},
      {"Unaligned", unaligned},
      {"Empty", empty},
      {"Outputs", outputs},
      {"FourThreads", four_threads},
      {"Large", large},
      {"ManyShapes", many_shapes},
      {"Refusals", refusals},
      {"Prepacked", prepacked},
      {"PackedOnce", packed_once},
  };
  if (kernel.in_place) cases.emplace_back("FewColumns", few_columns);
  if (kernel.function != nullptr) cases.emplace_back("LongK", long_k);
  if (kernel.function != nullptr) cases.emplace_back("ShortK", short_k);
  const Target* target = find_target(kernel.target);
  if (target != nullptr && target->kind == TargetKind::gpu) {
    cases.emplace_back("LoadedCubin", loaded_cubin);
    cases.emplace_back("KeepsToItsLimits", keeps_to_its_limits);
    cases.emplace_back("Launches", launches);
    cases.emplace_back("FarApart", far_apart);
    if (kernel.work != GpuWork::blocks) cases.emplace_back("SeveralTiles", several_tiles);
  }
  for (const auto& [name, run_case] : cases) {
    add(suite, name, [&kernel, run_case = run_case] {
      Ready to;
      prepare(kernel, to);
      if (to.ready) run_case(kernel, *to.backend);
    });
  }
  add(suite, "RefusedWithoutItsIsa", [&kernel] { refused_without_isa(kernel); });
}

void register_all() {
  for (const auto& target : all_targets()) register_target(target);
  for (const auto& kernel : kernel_table()) register_kernel(kernel);
  for (const auto& peak : peak_table()) register_peak(peak);
}

void list_devices() {
  for (const auto& target : all_targets())
    if (target.kind == TargetKind::gpu && hardware_lacking(target.id).empty()) fmt::print("{}\n", target.id);
}

// Reports whether tests ran and each of them skipped, and prints the reason of the last one.
bool all_skipped() {
  const auto& tests = *testing::UnitTest::GetInstance();
  if (tests.skipped_test_count() == 0 || tests.skipped_test_count() != tests.test_to_run_count()) return false;
  std::string why;
  for (int i = 0; i < tests.total_test_suite_count(); ++i) {
    const auto& suite = *tests.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j) {
      const auto& result = *suite.GetTestInfo(j)->result();
      if (result.Skipped()) why = result.GetTestPartResult(0).message();
    }
  }
  fmt::print("skipped {} tests: {}\n", tests.skipped_test_count(), why);
  return true;
}

}  // namespace
}  // namespace pbprobe::test

// --list-devices prints the GPU targets that a device of this machine runs. Exit code 77: every test skipped.
int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc == 2 && std::string_view(argv[1]) == "--list-devices") {
    pbprobe::test::list_devices();
    return 0;
  }
  pbprobe::test::register_all();
  const int code = RUN_ALL_TESTS();
  return code == 0 && pbprobe::test::all_skipped() ? 77 : code;
}
