// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// A driver that loads every kernel, launches nothing, and remembers names: tests add what they look at.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/driver/driver_api.hpp"

namespace pbprobe::test {

// In the order of loading; a kernel's handle is its place, counted from 1.
inline std::vector<std::string> loaded_names;

inline const std::string& name_of_function(CuFunction function) {
  return loaded_names[reinterpret_cast<uintptr_t>(function) - 1];
}

// Returns a driver that reports all memory as device memory.
inline DriverApi loading_driver() {
  loaded_names.clear();
  DriverApi driver;
  driver.cuLibraryLoadData = [](CuLibrary* library, const void*, int*, void**, unsigned, int*, void**, unsigned) {
    *library = reinterpret_cast<CuLibrary>(uintptr_t{1});
    return 0;
  };
  driver.cuLibraryUnload = [](CuLibrary) { return 0; };
  driver.cuLibraryGetKernel = [](CuKernel* kernel, CuLibrary, const char* name) {
    loaded_names.emplace_back(name);
    *kernel = reinterpret_cast<CuKernel>(loaded_names.size());
    return 0;
  };
  driver.cuDeviceGetAttribute = [](int* value, int, CuDevice) { return *value = 0; };  // a capability of no target
  driver.cuCtxGetDevice = [](CuDevice* device) { return *device = 0; };
  driver.cuPointerGetAttributes = [](unsigned, int*, void** values, CuDevicePtr) {
    *static_cast<unsigned*>(values[0]) = kCuMemoryDevice;
    return 0;
  };
  driver.cuKernelSetAttribute = [](int, int, CuKernel, CuDevice) { return 0; };
  driver.cuKernelGetAttribute = [](int* value, int, CuKernel, CuDevice) { return *value = 0; };
  return driver;
}

}  // namespace pbprobe::test
