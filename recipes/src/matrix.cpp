// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "recipes/src/matrix.hpp"

#include <algorithm>
#include <set>

#include "core/json.hpp"
#include "core/sm.hpp"
#include "core/strings.hpp"

namespace pbprobe {
namespace {

constexpr std::string_view kMatrixJson =
#include "matrix.inc"  // recipes/matrix.json as string literals (cmake/Embed.cmake)
    ;

bool is_lower_hex(std::string_view text, size_t length) {
  return text.size() == length && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Reports whether `hash` is a sha256 in the form of Nix: 43 characters of base64 and one "=" for 32 bytes.
bool is_sri_hash(std::string_view text) {
  constexpr std::string_view kPrefix = "sha256-";
  if (!text.starts_with(kPrefix) || text.size() != kPrefix.size() + 44 || text.back() != '=') return false;
  text.remove_prefix(kPrefix.size());
  text.remove_suffix(1);
  const bool base64 = std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '+' || c == '/';
  });
  // Reject the placeholder hash that packagers write until the first build prints the right one.
  return base64 && text.find_first_not_of('A') != std::string_view::npos;
}

Error at(std::string_view path, const Error& error) {
  return make_error(ErrorCode::malformed, "{}: {}", path, error.message);
}

Result<void> check_hash(const std::optional<std::string>& hash, const std::string& path) {
  if (hash && !is_sri_hash(*hash))
    return make_error(ErrorCode::malformed,
                      "{}: \"{}\" is not a hash: write null until it is known, or sha256- and 44 base64 characters",
                      path, *hash);
  return {};
}

Result<void> check_ids(const std::vector<std::string>& ids, TargetKind kind, const std::string& path) {
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto here = fmt::format("{}[{}]", path, i);
    const auto target = require_target(ids[i]);
    if (!target) return at(here, target.error());
    if ((*target)->kind != kind)
      return make_error(ErrorCode::malformed, "{}: {} is a {} target, and a {} target belongs here", here, ids[i],
                        name_of((*target)->kind), name_of(kind));
    if (std::find(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(i), ids[i]) !=
        ids.begin() + static_cast<std::ptrdiff_t>(i))
      return make_error(ErrorCode::malformed, "{}: {} is listed twice", here, ids[i]);
  }
  return {};
}

Result<void> check_row(const MatrixLine& line, const MatrixRow& row, std::set<std::string>& seen,
                       const std::string& path) {
  PBPROBE_CHECK(check_ids(row.gpus, TargetKind::gpu, path + ".gpus"));
  PBPROBE_CHECK(check_ids(row.cpus, TargetKind::cpu, path + ".cpus"));
  for (const auto& gpu : row.gpus) {
    if (auto builds = cuda_builds(line.cuda, *find_target(gpu)); !builds) return at(path + ".gpus", builds.error());
    for (const auto& cpu : row.cpus) {
      if (common_platforms(*find_target(gpu), *find_target(cpu)).empty())
        return make_error(ErrorCode::malformed, "{}: no machine has both {} and {}", path, gpu, cpu);
      if (!seen.insert(gpu + "-" + cpu).second)
        return make_error(ErrorCode::malformed, "{}: {}-{} is already in another row", path, gpu, cpu);
    }
  }
  return {};
}

Result<void> check_line(const MatrixLine& line, const std::string& path) {
  if (!is_version(line.cuda, 2, 2))
    return make_error(ErrorCode::malformed, "{}.cuda: \"{}\" is not like 13.0", path, line.cuda);
  if (!is_version(line.torch, 3, 3))
    return make_error(ErrorCode::malformed, "{}.torch: \"{}\" is not like 2.10.0", path, line.torch);
  auto suffix = line.cuda;
  std::ranges::replace(suffix, '.', '_');
  if (line.id != "cuda" + suffix)
    return make_error(ErrorCode::malformed, "{}.id: {} is not cuda{}, which the line's CUDA {} requires", path, line.id,
                      suffix, line.cuda);
  if (line.cuda_packages != "cudaPackages_" + suffix)
    return make_error(ErrorCode::malformed, "{}.cuda_packages: {} is not cudaPackages_{}", path, line.cuda_packages,
                      suffix);
  if (line.cuda_release != line.cuda && !line.cuda_release.starts_with(line.cuda + "."))
    return make_error(ErrorCode::malformed, "{}.cuda_release: {} is not a release of CUDA {}", path, line.cuda_release,
                      line.cuda);
  if (!is_lower_hex(line.pin.rev, 40))
    return make_error(ErrorCode::malformed, "{}.pin.rev: \"{}\" is not a commit: 40 hexadecimal digits", path,
                      line.pin.rev);
  PBPROBE_CHECK(check_hash(line.pin.hash, path + ".pin.hash"));
  if (line.source) PBPROBE_CHECK(check_hash(line.source->hash, path + ".source.hash"));
  if (!line.source && line.torch != line.pin.torch)
    return make_error(ErrorCode::malformed, "{}.source: the pin has torch {}, so torch {} needs a source of its own",
                      path, line.pin.torch, line.torch);
  for (size_t i = 0; i < line.patches.size(); ++i)
    PBPROBE_CHECK(check_hash(line.patches[i].hash, fmt::format("{}.patches[{}].hash", path, i)));
  std::set<std::string> seen;
  for (size_t i = 0; i < line.rows.size(); ++i)
    PBPROBE_CHECK(check_row(line, line.rows[i], seen, fmt::format("{}.rows[{}]", path, i)));
  return check_ids(line.cpu_only, TargetKind::cpu, path + ".cpu_only");
}

Result<void> check_choice(const Choice& choice, std::string_view path) {
  if (std::ranges::find(choice.choices, choice.default_value) == choice.choices.end())
    return make_error(ErrorCode::malformed, "{}.default: {} is none of its choices", path, choice.default_value);
  return {};
}

Result<void> check_last_drivers(const LastDrivers& last) {
  for (const auto& [capability, branch] : last.below) {
    if (!parse_sm(capability))
      return make_error(ErrorCode::malformed, "last_drivers.below: \"{}\" is not a compute capability", capability);
  }
  return {};
}

Result<void> check_matrix(const Matrix& m) {
  PBPROBE_CHECK(check_last_drivers(m.last_drivers));
  PBPROBE_CHECK(check_choice(m.python, "python"));
  PBPROBE_CHECK(check_choice(m.blas, "blas"));
  if (m.workloads.empty()) return make_error(ErrorCode::malformed, "workloads: it is empty");
  for (size_t i = 0; i < m.workloads.size(); ++i)
    PBPROBE_CHECK(check_ids(m.workloads[i].cpus, TargetKind::cpu, fmt::format("workloads[{}].cpus", i)));
  std::set<std::string> ids;
  for (size_t i = 0; i < m.lines.size(); ++i) {
    const auto path = fmt::format("lines[{}]", i);
    PBPROBE_CHECK(check_line(m.lines[i], path));
    if (!ids.insert(m.lines[i].id).second)
      return make_error(ErrorCode::malformed, "{}.id: another line of the matrix has the id {} too", path,
                        m.lines[i].id);
    if (!m.lines[i].cpu_only.empty() && m.lines[i].id != m.default_line)
      return make_error(ErrorCode::malformed, "{}.cpu_only: only the default line, {}, may have CPU-only variants",
                        path, m.default_line);
  }
  if (m.find_line(m.default_line) == nullptr)
    return make_error(ErrorCode::malformed, "default_line: no line has the id {}", m.default_line);
  for (size_t i = 0; i < m.rules.size(); ++i) {
    PBPROBE_CHECK(check_ids(m.rules[i].gpus, TargetKind::gpu, fmt::format("rules[{}].gpus", i)));
    PBPROBE_CHECK(check_ids(m.rules[i].cpus, TargetKind::cpu, fmt::format("rules[{}].cpus", i)));
  }
  return {};
}

// Removes the leading number and its dot from `text`, and returns the number; 0 for an empty text.
int64_t take_number(std::string_view& text) {
  int64_t number = 0;
  while (!text.empty() && text.front() >= '0' && text.front() <= '9' && number < 1'000'000'000) {
    number = number * 10 + (text.front() - '0');
    text.remove_prefix(1);
  }
  if (!text.empty()) text.remove_prefix(1);
  return number;
}

}  // namespace

const MatrixLine* Matrix::find_line(std::string_view id) const {
  for (const auto& line : lines) {
    if (line.id == id) return &line;
  }
  return nullptr;
}

const MatrixLine& Matrix::default_matrix_line() const {
  return *find_line(default_line);
}

const Matrix& matrix() {
  static const Matrix loaded = embedded(parse_matrix(kMatrixJson), "recipes/matrix.json");
  return loaded;
}

Result<Matrix> parse_matrix(std::string_view text) {
  PBPROBE_TRY(const auto json, parse_json(text));
  PBPROBE_TRY(auto m, from_json<Matrix>(json));
  PBPROBE_CHECK(check_matrix(m));
  return m;
}

std::string matrix_schema() {
  Json schema{{"$schema", "https://json-schema.org/draft/2020-12/schema"},
              {"$id", "pbprobe.matrix/1"},
              {"title", "The matrix of targeted builds"}};
  schema.update(json_schema<Matrix>());
  return dump_schema(schema);
}

std::vector<std::string> common_platforms(const Target& gpu, const Target& cpu) {
  std::vector<std::string> common;
  for (const auto& platform : gpu.platforms) {
    if (std::ranges::find(cpu.platforms, platform) != cpu.platforms.end()) common.push_back(platform);
  }
  return common;
}

int compare_versions(std::string_view a, std::string_view b) {
  while (!a.empty() || !b.empty()) {
    const auto x = take_number(a);
    const auto y = take_number(b);
    if (x != y) return x < y ? -1 : 1;
  }
  return 0;
}

bool is_version(std::string_view text, int least, int most) {
  int numbers = 0;
  bool digit = false;
  for (const char c : text) {
    if (is_digit(c)) {
      if (!digit) ++numbers;
      digit = true;
    } else if (c == '.' && digit) {
      digit = false;
    } else {
      return false;
    }
  }
  return digit && numbers >= least && numbers <= most;
}

Result<void> cuda_builds(std::string_view cuda, const Target& gpu) {
  if (gpu.first_cuda && compare_versions(cuda, *gpu.first_cuda) < 0)
    return make_error(ErrorCode::usage, "CUDA {} does not know {}: the first that does is {}", cuda, gpu.id,
                      *gpu.first_cuda);
  // "12.9" includes 12.9.1.
  if (gpu.last_cuda && compare_versions(cuda, *gpu.last_cuda) > 0 && !cuda.starts_with(*gpu.last_cuda + "."))
    return make_error(ErrorCode::usage, "CUDA {} has dropped {}: the last that builds it is {}", cuda, gpu.id,
                      *gpu.last_cuda);
  return {};
}

}  // namespace pbprobe
