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

}  // namespace pbprobe
