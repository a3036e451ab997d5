// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/containers/isal.hpp"

#if __has_include(<isa-l/igzip_lib.h>)
#include <dlfcn.h>
#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>

#include <algorithm>
#include <limits>
#include <memory>

namespace pbprobe {
namespace {

struct Functions {
  decltype(&isal_inflate_init) init = nullptr;
  decltype(&isal_inflate) inflate = nullptr;
  decltype(&crc32_gzip_refl) crc = nullptr;
};

Functions load() {
  Functions functions;
  void* library = dlopen("libisal.so.2", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return functions;
  functions.init = reinterpret_cast<decltype(functions.init)>(dlsym(library, "isal_inflate_init"));
  functions.inflate = reinterpret_cast<decltype(functions.inflate)>(dlsym(library, "isal_inflate"));
  functions.crc = reinterpret_cast<decltype(functions.crc)>(dlsym(library, "crc32_gzip_refl"));
  return functions;
}

const Functions& functions() {
  static const Functions loaded = load();
  return loaded;
}

}  // namespace

bool has_isal() {
  const Functions& f = functions();
  return f.init != nullptr && f.inflate != nullptr && f.crc != nullptr;
}

InflateEnd isal_inflate_raw(std::span<const uint8_t> data, std::span<uint8_t> buffer, const PieceSink& sink) {
  const auto state = std::make_unique<inflate_state>();
  functions().init(state.get());
  state->crc_flag = ISAL_DEFLATE;
  while (state->block_state != ISAL_BLOCK_FINISH) {
    if (state->avail_in == 0) {
      const size_t piece = std::min<size_t>(data.size(), std::numeric_limits<uint32_t>::max());
      state->next_in = const_cast<uint8_t*>(data.data());  // ISA-L only reads next_in
      state->avail_in = static_cast<uint32_t>(piece);
      data = data.subspan(piece);
    }
    const uint32_t input = state->avail_in;
    state->next_out = buffer.data();
    state->avail_out = static_cast<uint32_t>(buffer.size());
    if (functions().inflate(state.get()) < 0) return InflateEnd::broken;
    const size_t made = buffer.size() - state->avail_out;
    if (made > 0 && !sink(buffer.first(made))) return InflateEnd::stopped;
    const bool stuck = made == 0 && state->avail_in == input && data.empty();
    if (stuck && state->block_state != ISAL_BLOCK_FINISH) return InflateEnd::cut;
  }
  return InflateEnd::whole;
}

uint32_t isal_crc32(uint32_t crc, std::span<const uint8_t> bytes) {
  return functions().crc(crc, const_cast<uint8_t*>(bytes.data()), bytes.size());
}

}  // namespace pbprobe
#else
namespace pbprobe {

bool has_isal() {
  return false;
}
InflateEnd isal_inflate_raw(std::span<const uint8_t>, std::span<uint8_t>, const PieceSink&) {
  return InflateEnd::broken;
}
uint32_t isal_crc32(uint32_t, std::span<const uint8_t>) {
  return 0;
}

}  // namespace pbprobe
#endif
