// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Build tool: compiles one .cu with a given libnvrtc, for SMs that nvcc dropped.
//
//   nvrtc LIBRARY LAST_CUDA SOURCE INCLUDE OUTPUT FLAG…
//
// Writes OUTPUT (a cubin, or PTX if the flags name compute_X) and OUTPUT.resources (the report of ptxas). Declares the
// functions of the library and loads it at run time, so that this file compiles without CUDA. Exit code: 0, or 2 with a
// message. Source of the declarations: NVRTC documentation of CUDA.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <dlfcn.h>

namespace {

using Program = struct OpaqueProgram*;

struct Nvrtc {
  int (*version)(int* major, int* minor);
  int (*create)(Program*, const char* source, const char* name, int headers, const char* const*, const char* const*);
  int (*compile)(Program, int count, const char* const* options);
  int (*log_size)(Program, size_t*);
  int (*log)(Program, char*);
  int (*cubin_size)(Program, size_t*);
  int (*cubin)(Program, char*);
  int (*ptx_size)(Program, size_t*);
  int (*ptx)(Program, char*);
  const char* (*error)(int);
};

[[noreturn]] void give_up(const std::string& sentence) {
  std::fprintf(stderr, "nvrtc: %s\n", sentence.c_str());
  std::exit(2);
}

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) give_up(std::string("the library has no ") + name);
}

Nvrtc load(const char* path) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) give_up(dlerror());
  Nvrtc nvrtc{};
  find(library, "nvrtcVersion", nvrtc.version);
  find(library, "nvrtcCreateProgram", nvrtc.create);
  find(library, "nvrtcCompileProgram", nvrtc.compile);
  find(library, "nvrtcGetProgramLogSize", nvrtc.log_size);
  find(library, "nvrtcGetProgramLog", nvrtc.log);
  find(library, "nvrtcGetCUBINSize", nvrtc.cubin_size);
  find(library, "nvrtcGetCUBIN", nvrtc.cubin);
  find(library, "nvrtcGetPTXSize", nvrtc.ptx_size);
  find(library, "nvrtcGetPTX", nvrtc.ptx);
  find(library, "nvrtcGetErrorString", nvrtc.error);
  return nvrtc;
}

// Reads text or bytes that the library returns in two calls: size, then contents.
std::string take(const Nvrtc& nvrtc, Program program, int (*size)(Program, size_t*), int (*get)(Program, char*)) {
  size_t count = 0;
  int result = size(program, &count);
  std::string bytes(count, '\0');
  if (result == 0 && count > 0) result = get(program, bytes.data());
  if (result != 0) give_up(nvrtc.error(result));
  return bytes;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) give_up("cannot read " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) give_up("cannot write " + path);
}

}  // namespace

int main(int argc, char** argv) {
  constexpr int kFirstFlag = 6;
  if (argc <= kFirstFlag) give_up("usage: nvrtc LIBRARY LAST_CUDA SOURCE INCLUDE OUTPUT FLAG...");
  const Nvrtc nvrtc = load(argv[1]);
  int major = 0;
  int minor = 0;
  nvrtc.version(&major, &minor);
  const std::string version = std::to_string(major) + "." + std::to_string(minor);
  if (version != argv[2]) give_up(std::string(argv[1]) + " is of CUDA " + version + ", and " + argv[2] + " is needed");
  std::vector<std::string> options(argv + kFirstFlag, argv + argc);
  options.insert(options.end(), {"--std=c++20", "-DNDEBUG", std::string("-I") + argv[4]});
  bool ptx = false;
  for (const auto& option : options) ptx = ptx || option.find("=compute_") != std::string::npos;
  if (!ptx) options.emplace_back("--ptxas-options=-v");
  std::vector<const char*> words;
  for (const auto& option : options) words.push_back(option.c_str());
  Program program = nullptr;
  int result = nvrtc.create(&program, read_file(argv[3]).c_str(), argv[3], 0, nullptr, nullptr);
  if (result == 0) result = nvrtc.compile(program, static_cast<int>(words.size()), words.data());
  const std::string log = take(nvrtc, program, nvrtc.log_size, nvrtc.log);
  if (result != 0) give_up(std::string(argv[3]) + ": " + nvrtc.error(result) + "\n" + log);
  // Suppress the expected warning about an old SM.
  size_t expected = 0;
  for (size_t at = 0; (at = log.find("are deprecated and may be removed", at)) != std::string::npos; ++at) ++expected;
  size_t warnings = 0;
  for (size_t at = 0; (at = log.find("warning", at)) != std::string::npos; ++at) ++warnings;
  if (warnings > expected) give_up(std::string(argv[3]) + ": warnings are errors in kernels:\n" + log);
  std::string cubin =
      ptx ? take(nvrtc, program, nvrtc.ptx_size, nvrtc.ptx) : take(nvrtc, program, nvrtc.cubin_size, nvrtc.cubin);
  while (ptx && !cubin.empty() && cubin.back() == '\0') cubin.pop_back();
  write_file(argv[5], cubin);
  write_file(std::string(argv[5]) + ".resources", log.c_str());
  return 0;
}
