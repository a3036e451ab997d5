// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <dlfcn.h>
#include <zlib.h>
#if __has_include(<isa-l/igzip_lib.h>)
#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>
#endif

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "probes/audit/containers/zip.hpp"

namespace pbprobe {
namespace {

constexpr uint64_t kPieceBytes = 1 << 20;

// cut: the data end early.
enum class InflateEnd { whole, stopped, broken, cut };

// Receives the next piece; returns false to stop.
using PieceSink = std::function<bool(std::span<const uint8_t>)>;

// Inflate and CRC of ISA-L, twice as fast as zlib. Loaded at run time if the machine has libisal.so.2, so that programs
// start without it.
#if __has_include(<isa-l/igzip_lib.h>)
struct IsalFunctions {
  decltype(&isal_inflate_init) init = nullptr;
  decltype(&isal_inflate) inflate = nullptr;
  decltype(&crc32_gzip_refl) crc = nullptr;
};

IsalFunctions load_isal() {
  IsalFunctions functions;
  void* library = dlopen("libisal.so.2", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return functions;
  functions.init = reinterpret_cast<decltype(functions.init)>(dlsym(library, "isal_inflate_init"));
  functions.inflate = reinterpret_cast<decltype(functions.inflate)>(dlsym(library, "isal_inflate"));
  functions.crc = reinterpret_cast<decltype(functions.crc)>(dlsym(library, "crc32_gzip_refl"));
  return functions;
}

const IsalFunctions& isal() {
  static const IsalFunctions loaded = load_isal();
  return loaded;
}

bool has_isal() {
  const IsalFunctions& f = isal();
  return f.init != nullptr && f.inflate != nullptr && f.crc != nullptr;
}

InflateEnd isal_inflate_raw(std::span<const uint8_t> data, std::span<uint8_t> buffer, const PieceSink& sink) {
  const auto state = std::make_unique<inflate_state>();
  isal().init(state.get());
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
    if (isal().inflate(state.get()) < 0) return InflateEnd::broken;
    const size_t made = buffer.size() - state->avail_out;
    if (made > 0 && !sink(buffer.first(made))) return InflateEnd::stopped;
    const bool stuck = made == 0 && state->avail_in == input && data.empty();
    if (stuck && state->block_state != ISAL_BLOCK_FINISH) return InflateEnd::cut;
  }
  return InflateEnd::whole;
}

uint32_t isal_crc32(uint32_t crc, std::span<const uint8_t> bytes) {
  return isal().crc(crc, const_cast<uint8_t*>(bytes.data()), bytes.size());
}
#else
bool has_isal() {
  return false;
}
InflateEnd isal_inflate_raw(std::span<const uint8_t>, std::span<uint8_t>, const PieceSink&) {
  return InflateEnd::broken;
}
uint32_t isal_crc32(uint32_t, std::span<const uint8_t>) {
  return 0;
}
#endif

struct Inflater {
  z_stream stream{};
  bool ready = false;
  Inflater() { ready = inflateInit2(&stream, -MAX_WBITS) == Z_OK; }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() {
    if (ready) inflateEnd(&stream);
  }
};

// Counts and sums what goes to the sink.
struct Output {
  const ZipMember& member;
  const ZipSink& sink;
  Inflate library;
  uint64_t bytes = 0;
  uint32_t crc = 0;
  bool stopped = false;

  bool give(std::span<const uint8_t> piece) {
    bytes += piece.size();
    if (bytes > member.size_bytes) return false;
    crc = library == Inflate::isal ? isal_crc32(crc, piece)
                                   : static_cast<uint32_t>(crc32_z(crc, piece.data(), piece.size()));
    stopped = !sink(piece);
    return !stopped;
  }
};

InflateEnd zlib_inflate_raw(z_stream& stream, std::span<const uint8_t> data, std::span<uint8_t> buffer,
                            const PieceSink& sink) {
  for (int status = Z_OK; status != Z_STREAM_END;) {
    if (stream.avail_in == 0) {
      const size_t piece = std::min<size_t>(data.size(), std::numeric_limits<uint32_t>::max());
      stream.next_in = const_cast<Bytef*>(data.data());  // zlib does not write to it
      stream.avail_in = static_cast<uInt>(piece);
      data = data.subspan(piece);
    }
    stream.next_out = buffer.data();
    stream.avail_out = static_cast<uInt>(buffer.size());
    status = inflate(&stream, Z_NO_FLUSH);
    const size_t made = buffer.size() - stream.avail_out;
    if (status == Z_BUF_ERROR && made == 0) return InflateEnd::cut;
    if (status != Z_OK && status != Z_STREAM_END) return InflateEnd::broken;
    if (made > 0 && !sink(buffer.first(made))) return InflateEnd::stopped;
  }
  return InflateEnd::whole;
}

Result<void> run(std::span<const uint8_t> data, Output& output, const std::string& name) {
  std::vector<uint8_t> buffer(kPieceBytes);
  const auto sink = [&](std::span<const uint8_t> piece) { return output.give(piece); };
  InflateEnd end = InflateEnd::broken;
  if (output.library == Inflate::isal) {
    end = isal_inflate_raw(data, buffer, sink);
  } else {
    Inflater inflater;
    if (!inflater.ready) return make_error(ErrorCode::limit, "{}: zlib has no memory to start", name);
    end = zlib_inflate_raw(inflater.stream, data, buffer, sink);
  }
  if (end == InflateEnd::broken) return make_error(ErrorCode::malformed, "{}: broken deflate data", name);
  if (end == InflateEnd::cut) return make_error(ErrorCode::malformed, "{}: its deflate data end too early", name);
  return {};
}

}  // namespace

Inflate best_inflate() {
  return has_isal() ? Inflate::isal : Inflate::zlib;
}

Result<void> inflate_member(const ZipArchive& archive, const ZipMember& member, const ZipSink& sink, Inflate library) {
  ++read_counts().inflated;
  const std::string name = fmt::format("{}: member {}", archive.file.name(), member.name);
  PBPROBE_TRY(const Bytes data, archive.file.slice(member.data_offset, member.compressed_bytes, member.name));
  Output output{member, sink, library};
  if (member.method == 0) {
    output.give(data.span());
  } else {
    PBPROBE_CHECK(run(data.span(), output, name));
  }
  if (output.stopped) return {};
  if (output.bytes != member.size_bytes)
    return make_error(ErrorCode::malformed, "{}: {} {} bytes, not the {} announced: refused", name,
                      output.bytes > member.size_bytes ? "holds at least" : "holds", output.bytes, member.size_bytes);
  if (output.crc != member.crc32)
    return make_error(ErrorCode::malformed, "{}: checksum {:08x}, {:08x} announced", name, output.crc, member.crc32);
  return {};
}

}  // namespace pbprobe
