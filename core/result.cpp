// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/result.hpp"

namespace pbprobe {

std::string_view name_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::usage: return "usage";
    case ErrorCode::not_found: return "not_found";
    case ErrorCode::unreadable: return "unreadable";
    case ErrorCode::malformed: return "malformed";
    case ErrorCode::unsupported: return "unsupported";
    case ErrorCode::limit: return "limit";
    case ErrorCode::failed_child: return "failed_child";
    case ErrorCode::device: return "device";
  }
  return "unknown";
}

Error detail::add_context(Error error, fmt::string_view format, fmt::format_args args) {
  error.message = fmt::format("{}: {}", fmt::vformat(format, args), error.message);
  return error;
}

}  // namespace pbprobe
