// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// compress FROM TO: a file as one zstd frame that states its size. A tool of the build (cmake/Kernels.cmake).
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include <zstd.h>

int main(int argc, char** argv) {
  constexpr int kLevel = 19;
  if (argc != 3) return 2;
  std::ifstream from(argv[1], std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(from), std::istreambuf_iterator<char>()};
  std::string frame(ZSTD_compressBound(text.size()), '\0');
  const size_t size = ZSTD_compress(frame.data(), frame.size(), text.data(), text.size(), kLevel);
  if (!from || text.empty() || ZSTD_isError(size) != 0) {
    std::fprintf(stderr, "compress: %s: it cannot be read or compressed\n", argv[1]);
    return 1;
  }
  std::ofstream to(argv[2], std::ios::binary);
  to.write(frame.data(), static_cast<std::streamsize>(size)).flush();
  return to ? 0 : 1;
}
