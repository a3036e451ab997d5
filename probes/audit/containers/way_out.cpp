// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/containers/way_out.hpp"

namespace pbprobe {
namespace {

std::string_view way_out(ErrorCode code, ReadFrom from) {
  if (code == ErrorCode::limit) return ": report it if you trust its maker, else delete it";
  if (code != ErrorCode::malformed) return "";
  switch (from) {
    case ReadFrom::file: return ": copy, download or build it again";
    case ReadFrom::wheel: return ": download it again from its publisher";
    case ReadFrom::text: return ": install this torch again";
  }
  return "";
}

}  // namespace

Error append_remedy(Error error, ReadFrom from) {
  error.message += way_out(error.code, from);
  return error;
}

}  // namespace pbprobe
