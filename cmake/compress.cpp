// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Build tool (cmake/Kernels.cmake): compress FROM TO [PREFIX] writes a file as one zstd frame with its size. With
// PREFIX, the frame omits data that both files share, and decompression needs PREFIX too.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include <zstd.h>

namespace {

bool read(const char* path, std::string& text) {
  std::ifstream from(path, std::ios::binary);
  text.assign(std::istreambuf_iterator<char>(from), std::istreambuf_iterator<char>());
  return from && !text.empty();
}

}  // namespace

int main(int argc, char** argv) {
  constexpr int kLevel = 19;
  constexpr int kWindow = 25;  // 32 MiB: the largest cubin and its prefix
  if (argc != 3 && argc != 4) return 2;
  std::string text;
  std::string prefix;
  bool good = read(argv[1], text) && (argc == 3 || read(argv[3], prefix));
  const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(), &ZSTD_freeCCtx);
  const auto set = [&](ZSTD_cParameter parameter, int value) {
    good = good && ZSTD_isError(ZSTD_CCtx_setParameter(context.get(), parameter, value)) == 0;
  };
  set(ZSTD_c_compressionLevel, kLevel);
  if (!prefix.empty()) {
    set(ZSTD_c_windowLog, kWindow);
    set(ZSTD_c_enableLongDistanceMatching, 1);
    good = good && ZSTD_isError(ZSTD_CCtx_refPrefix(context.get(), prefix.data(), prefix.size())) == 0;
  }
  std::string frame(ZSTD_compressBound(text.size()), '\0');
  const size_t size = ZSTD_compress2(context.get(), frame.data(), frame.size(), text.data(), text.size());
  if (!good || ZSTD_isError(size) != 0) {
    std::fprintf(stderr, "compress: %s: it cannot be read or compressed\n", argv[1]);
    return 1;
  }
  std::ofstream to(argv[2], std::ios::binary);
  to.write(frame.data(), static_cast<std::streamsize>(size)).flush();
  return to ? 0 : 1;
}
