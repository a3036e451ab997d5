// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// A bounded view of a file, or of a part of it. Every read is checked and copied out; an error names file, part,
// offset, what was wanted and what was left: "libtorch_cuda.so .nv_fatbin+0x1a40: header needs 16 bytes, 9 left".
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/result.hpp"

namespace pbprobe {

static_assert(std::endian::native == std::endian::little, "every format read here is little-endian");

inline constexpr uint64_t kLongestText = 4096;

class Bytes {
 public:
  Bytes() = default;
  Bytes(std::span<const uint8_t> data, std::string name) : data_(data), name_(std::move(name)) {}

  [[nodiscard]] uint64_t size() const { return data_.size(); }
  [[nodiscard]] std::span<const uint8_t> span() const { return data_; }
  [[nodiscard]] std::string_view text() const { return {reinterpret_cast<const char*>(data_.data()), data_.size()}; }
  [[nodiscard]] const std::string& name() const { return name_; }

  // "libtorch_cuda.so .nv_fatbin+0x1a40"
  [[nodiscard]] std::string at(uint64_t offset) const { return fmt::format("{}+0x{:x}", name_, origin_ + offset); }

  // Returns a part whose offsets continue the offsets of this view.
  [[nodiscard]] Result<Bytes> slice(uint64_t offset, uint64_t size, std::string_view what) const {
    PBPROBE_CHECK(need(offset, size, what));
    Bytes part(data_.subspan(offset, size), name_);
    part.origin_ = origin_ + offset;
    return part;
  }

  // Returns a part with its own name ("libtorch_cuda.so .nv_fatbin"). Offsets count from its start.
  [[nodiscard]] Result<Bytes> part(uint64_t offset, uint64_t size, std::string_view name) const {
    PBPROBE_CHECK(need(offset, size, name));
    return Bytes(data_.subspan(offset, size), fmt::format("{} {}", name_, name));
  }

  // Copies a T from any offset, aligned or not. Error: malformed, naming `what`, if the T does not fit.
  template <class T>
  [[nodiscard]] Result<T> read(uint64_t offset, std::string_view what) const {
    static_assert(std::is_trivially_copyable_v<T>);
    PBPROBE_CHECK(need(offset, sizeof(T), what));
    T value;
    std::memcpy(&value, data_.data() + offset, sizeof(T));
    return value;
  }

  // Returns the text up to a NUL byte, at most `longest` bytes: hostile names may all be one long text.
  [[nodiscard]] Result<std::string> string(uint64_t offset, std::string_view what,
                                           uint64_t longest = kLongestText) const {
    PBPROBE_CHECK(need(offset, 1, what));
    const std::string_view rest = text().substr(offset);
    const size_t end = rest.substr(0, longest + 1).find('\0');
    if (end == std::string_view::npos && rest.size() > longest)
      return make_error(ErrorCode::limit, "{}: {} of more than {} bytes", at(offset), what, longest);
    if (end == std::string_view::npos)
      return make_error(ErrorCode::malformed, "{}: {} has no terminating NUL within the {} bytes left", at(offset),
                        what, rest.size());
    return std::string(rest.substr(0, end));
  }

 private:
  [[nodiscard]] Result<void> need(uint64_t offset, uint64_t size, std::string_view what) const {
    const uint64_t left = offset < data_.size() ? data_.size() - offset : 0;
    if (size <= left && offset <= data_.size()) return {};
    return make_error(ErrorCode::malformed, "{}: {} needs {} bytes, {} left", at(offset), what, size, left);
  }

  std::span<const uint8_t> data_;
  std::string name_;
  uint64_t origin_ = 0;
};

}  // namespace pbprobe
