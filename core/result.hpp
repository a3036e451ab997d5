// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
// Result and Error: errors are values. No exception crosses a room boundary. A message states the attempt, the
// observation and the fix.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "core/obstacle.hpp"

namespace pbprobe {

// Kind of an error. If two fit, use the earlier one.
enum class ErrorCode {
  usage,         // the caller's argument is wrong: an unknown target, a shape of 0, an unknown format
  not_found,     // missing torch, missing file
  unreadable,    // exists, but the system denies reading: permissions, I/O
  malformed,     // violates its format: a truncated ELF, a JSON document without a required key
  unsupported,   // well-formed, but not for this machine or this build: a missing ISA, a target that was not built
  limit,         // a time, memory or size limit was reached
  failed_child,  // a child process crashed or left no answer
  device,        // the GPU driver or the device reported an error
};

[[nodiscard]] std::string_view name_of(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::usage;
  std::string message;
  std::optional<Obstacle> obstacle = std::nullopt;  // set if the step could not run, which proves no fault
};

// Value or Error. Use PBPROBE_TRY to pass on an error with context.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  [[nodiscard]] T& value() & { return std::get<0>(state_); }
  [[nodiscard]] const T& value() const& { return std::get<0>(state_); }
  [[nodiscard]] T&& value() && { return std::get<0>(std::move(state_)); }
  [[nodiscard]] const Error& error() const { return std::get<1>(state_); }

  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}
  [[nodiscard]] bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  [[nodiscard]] const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

template <class... Args>
[[nodiscard]] Error make_error(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  return Error{code, fmt::vformat(format, fmt::make_format_args(args...))};
}

// Makes an Error for a step that `why` kept from running.
template <class... Args>
[[nodiscard]] Error make_error(Obstacle why, ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  return Error{code, fmt::vformat(format, fmt::make_format_args(args...)), why};
}

// Returns the value of embedded data. Throws on an error: tests read all embedded data, so that an error is a defect of
// the build.
template <class T>
[[nodiscard]] T embedded(Result<T> value, std::string_view file) {
  if (!value) throw std::logic_error(fmt::format("embedded {}: {}", file, value.error().message));
  return std::move(*value);
}

namespace detail {
// Puts the context before the message.
Error add_context(Error error, fmt::string_view format, fmt::format_args args);

inline Error prepend_context(Error error) {
  return error;
}
template <class... Args>
Error prepend_context(Error error, fmt::format_string<Args...> format, Args&&... args) {
  return add_context(std::move(error), format, fmt::make_format_args(args...));
}
}  // namespace detail

#define PBPROBE_CONCAT_(a, b) a##b
#define PBPROBE_CONCAT(a, b) PBPROBE_CONCAT_(a, b)

// PBPROBE_TRY(auto elf, read_elf(path), "while auditing {}", artifact); Declares `elf` from the Result's value, or
// returns its Error with the context before the message.
#define PBPROBE_TRY(declaration, expression, ...) \
  PBPROBE_TRY_(PBPROBE_CONCAT(pbprobe_result_, __LINE__), declaration, expression, __VA_ARGS__)
#define PBPROBE_TRY_(result, declaration, expression, ...)                                                \
  auto result = (expression);                                                                             \
  if (!result.ok()) return ::pbprobe::detail::prepend_context(result.error() __VA_OPT__(, ) __VA_ARGS__); \
  declaration = std::move(result).value()

// PBPROBE_CHECK(check(path), "while auditing {}", artifact); Returns the error of a Result<void>, with context.
#define PBPROBE_CHECK(expression, ...)                                                               \
  do {                                                                                               \
    if (auto pbprobe_result_ = (expression); !pbprobe_result_.ok())                                  \
      return ::pbprobe::detail::prepend_context(pbprobe_result_.error() __VA_OPT__(, ) __VA_ARGS__); \
  } while (false)

}  // namespace pbprobe
