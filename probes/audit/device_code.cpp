// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/device_code.hpp"

#include <map>
#include <set>

#include <fmt/ranges.h>

#include "probes/audit/cubin.hpp"
#include "probes/audit/decompress.hpp"
#include "probes/audit/parallel.hpp"

namespace pbprobe {
namespace {

constexpr size_t kNamedTrapKernels = 10;
constexpr uint64_t kMaxInsideBytes = 8ULL << 30;  // of one file

Result<ImageFacts> read_facts(const DeviceImage& image, std::span<const uint8_t> payload, const std::string& name,
                              bool with_census) {
  ImageFacts facts;
  PBPROBE_TRY(const ImageContent content, decompress_image(image, payload, name));
  PBPROBE_TRY(const Elf elf, read_elf(Bytes(content.bytes, name)));
  if (elf.problem) return *elf.problem;
  if (elf.header.e_machine != kMachineCuda)
    return make_error(ErrorCode::malformed, "{}: machine {} inside a device image, {} (CUDA) expected", name,
                      elf.header.e_machine, kMachineCuda);
  PBPROBE_TRY(facts.toolkit, read_toolkit(elf));
  if (with_census) {
    PBPROBE_TRY(facts.census, read_census(elf, static_cast<uint32_t>(number_of(image.sm))));
  }
  return facts;
}

// Which images a listing looks into: what costs nothing, and one of each SM.
std::set<size_t> sample(const std::vector<DeviceImage>& images) {
  std::set<size_t> chosen;
  std::map<std::string, size_t> smallest;
  for (size_t i = 0; i < images.size(); ++i) {
    if (images[i].kind != ImageKind::cubin) continue;
    if (images[i].compression == Compression::none) {
      chosen.insert(i);
      continue;
    }
    const auto [entry, is_new] = smallest.emplace(sm_name(images[i].sm), i);
    if (!is_new && images[i].uncompressed_bytes < images[entry->second].uncompressed_bytes) entry->second = i;
  }
  for (const auto& [target, index] : smallest) chosen.insert(index);
  return chosen;
}

// `number`: which of the file's cubins it is, as cuobjdump counts them.
void add(SmCensus& sum, const CubinCensus& census, int64_t number) {
  sum.kernels += census.kernels;
  sum.words += census.words;
  for (const auto& [mnemonic, count] : census.instructions) sum.instructions[mnemonic] += count;
  if (!sum.tensor_cubins) sum.tensor_cubins.emplace();
  if (census.has_tensor_instructions) sum.tensor_cubins->push_back(number);
  sum.trap_kernels += static_cast<int64_t>(census.only_traps.size());
  for (const auto& kernel : census.only_traps) {
    if (sum.only_traps.size() < kNamedTrapKernels) sum.only_traps.push_back(kernel);
  }
}

void add(std::map<std::string, ImageBytes>& bytes, const DeviceImage& image) {
  ImageBytes& sum = bytes[sm_name(image.sm)];
  sum.stored_bytes += static_cast<int64_t>(image.stored_bytes);
  sum.uncompressed_bytes += static_cast<int64_t>(image.uncompressed_bytes);
}

std::map<std::string, int64_t> sets_of_units(const std::vector<DeviceImage>& images) {
  std::map<uint64_t, std::set<std::string>> units;
  for (const auto& image : images) {
    if (image.kind == ImageKind::cubin) units[image.container].insert(sm_name(image.sm));
  }
  std::map<std::string, int64_t> sets;
  for (const auto& [container, targets] : units) ++sets[fmt::format("{}", fmt::join(targets, " "))];
  return sets;
}

}  // namespace

ImageFacts look_inside(const DeviceImage& image, std::span<const uint8_t> payload, const std::string& name,
                       uint64_t offset, bool with_census) {
  const std::string label = fmt::format("{} image at 0x{:x} ({})", name, offset, sm_name(image.sm));
  auto facts = read_facts(image, payload, label, with_census);
  if (facts) return std::move(*facts);
  ImageFacts failed;
  failed.problem = facts.error();
  return failed;
}

InsideFacts look_inside_all(const std::vector<DeviceImage>& images, const Bytes& file, bool full) {
  InsideFacts inside(images.size());
  std::vector<size_t> order;
  if (full) {
    for (size_t i = 0; i < images.size(); ++i) {
      if (images[i].kind == ImageKind::cubin) order.push_back(i);
    }
  } else {
    const auto chosen = sample(images);
    order.assign(chosen.begin(), chosen.end());
  }
  uint64_t total = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    total += images[order[i]].uncompressed_bytes;
    if (total <= kMaxInsideBytes) continue;
    inside[order[i]].emplace().problem =
        make_error(ErrorCode::limit,
                   "{}: more than {} bytes of device code uncompressed: from image {} on they are not looked into",
                   file.name(), kMaxInsideBytes, order[i] + 1);
    order.resize(i);
  }
  run_on_spare_cores(order.size(), [&](size_t i) {
    const DeviceImage& image = images[order[i]];
    const auto offset = static_cast<uint64_t>(image.payload.data() - file.span().data());
    inside[order[i]] = look_inside(image, image.payload, file.name(), offset, full);
  });
  return inside;
}

DeviceCode add_up(const std::vector<DeviceImage>& images, const InsideFacts& inside, bool full) {
  DeviceCode code;
  code.cubin_bytes.emplace();
  code.ptx_bytes.emplace();
  code.toolkits.emplace();
  code.unit_sets = sets_of_units(images);
  if (full) code.census.emplace();
  int64_t cubins = 0;
  for (size_t i = 0; i < images.size(); ++i) {
    const DeviceImage& image = images[i];
    auto& counts = image.kind == ImageKind::cubin ? code.cubin : image.kind == ImageKind::ptx ? code.ptx : code.lto_ir;
    ++counts[sm_name(image.sm)];
    code.stored_bytes += static_cast<int64_t>(image.stored_bytes);
    code.uncompressed_bytes += static_cast<int64_t>(image.uncompressed_bytes);
    if (image.kind == ImageKind::cubin) add(*code.cubin_bytes, image);
    if (image.kind == ImageKind::cubin) ++cubins;
    if (image.kind == ImageKind::ptx) add(*code.ptx_bytes, image);
    if (!inside[i]) continue;
    if (inside[i]->toolkit) ++(*code.toolkits)[*inside[i]->toolkit];
    if (inside[i]->census) add((*code.census)[sm_name(image.sm)], *inside[i]->census, cubins);
  }
  return code;
}

std::optional<Error> first_problem(const InsideFacts& inside) {
  for (const auto& facts : inside) {
    if (facts && facts->problem) return facts->problem;
  }
  return std::nullopt;
}

}  // namespace pbprobe
