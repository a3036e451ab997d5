# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
#
# pbprobe_operators(<torch> <folder>) adds the target pbprobe_operators, which builds <folder>/libpbprobe_ops.so, the shared
# object of pbprobe.ops. If the torch is too old, it sets PBPROBE_NO_OPERATORS to the reason. From torch 2.10 on, the shared
# object uses the stable ABI of LibTorch and loads in every later torch and Python. With torch 2.8 and 2.9, it uses the C++
# API and loads only in that version.
function(pbprobe_operators torch folder)
  set(header ${torch}/include/torch/csrc/api/include/torch/version.h)
  if(EXISTS ${torch}/include/torch/headeronly/version.h)
    set(header ${torch}/include/torch/headeronly/version.h)
  endif()
  if(NOT EXISTS ${header} OR NOT EXISTS ${torch}/lib/libtorch_cpu.so)
    message(FATAL_ERROR "pbprobe: -DPBPROBE_TORCH=${torch} has no include/torch with a version.h, or no lib/libtorch_cpu.so: name "
                        "the folder of a torch, such as site-packages/torch or libtorch")
  endif()
  file(STRINGS ${header} lines REGEX "define TORCH_VERSION_(MAJOR|MINOR) ")
  string(REGEX REPLACE ".*MAJOR ([0-9]+).*MINOR ([0-9]+).*" "\\1.\\2" version "${lines}")
  if(version VERSION_LESS 2.8)
    set(PBPROBE_NO_OPERATORS "the torch that was there, ${version}, is older than 2.8" PARENT_SCOPE)
    message(STATUS "pbprobe: the operators are not built: torch ${version} is older than 2.8")
    return()
  endif()
  add_library(pbprobe_operators MODULE ${PROJECT_SOURCE_DIR}/bindings/torch.cpp ${PROJECT_SOURCE_DIR}/bindings/gemm.cpp
              ${PROJECT_SOURCE_DIR}/bindings/direct_calls.cpp)
  # The headers of torch contain another fmt: this folder precedes them.
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/generated/ours)
  file(CREATE_LINK ${PBPROBE_FMT_INCLUDE}/fmt ${PROJECT_BINARY_DIR}/generated/ours/fmt SYMBOLIC)
  target_include_directories(pbprobe_operators SYSTEM PRIVATE ${PROJECT_BINARY_DIR}/generated/ours ${torch}/include
                             ${torch}/include/torch/csrc/api/include)
  if(version VERSION_GREATER_EQUAL 2.10)
    target_compile_definitions(pbprobe_operators PRIVATE PBPROBE_STABLE_ABI TORCH_TARGET_VERSION=0x020a000000000000)
    set(libraries ${torch}/lib/libtorch_cpu.so)
    message(STATUS "pbprobe: operators for torch 2.10 and later, built against ${version}")
  else()
    set(libraries ${torch}/lib/libtorch_cpu.so ${torch}/lib/libc10.so)
    message(STATUS "pbprobe: operators for torch ${version} only")
  endif()
  # Read e_machine of the ELF header: a cross build may use a torch for the building machine.
  set(x86_64 3e00)
  set(aarch64 b700)
  file(READ ${torch}/lib/libtorch_cpu.so machine OFFSET 18 LIMIT 2 HEX)
  set(complete -Wl,--no-undefined)  # this torch must define each called function
  if(NOT machine STREQUAL ${CMAKE_SYSTEM_PROCESSOR})  # headers fit every processor, and the linker needs only the name of the library
    set(complete "")
    file(WRITE ${PROJECT_BINARY_DIR}/generated/empty.c "")
    add_library(pbprobe_named_torch SHARED EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/generated/empty.c)
    set_target_properties(pbprobe_named_torch PROPERTIES OUTPUT_NAME torch_cpu LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/generated)
    set(libraries -Wl,--push-state,--no-as-needed pbprobe_named_torch -Wl,--pop-state)
  endif()
  # Checks of torch print __FILE__. Map it to the same text for every location of source tree and torch; ccache makes paths
  # relative. Set the maps on the sources: the last map counts, and pbprobe_options has one for the whole tree.
  set(maps -DPBPROBE_MAPPED_FILES)  # the ccache key omits the maps: do not reuse objects compiled without them
  set(folders ${PROJECT_SOURCE_DIR} ${torch}/include)
  set(names . torch/include)
  foreach(folder_here name IN ZIP_LISTS folders names)
    file(RELATIVE_PATH relative ${PROJECT_BINARY_DIR} ${folder_here})
    string(REGEX REPLACE "/$" "" relative ${relative})
    list(APPEND maps -ffile-prefix-map=${relative}=${name} -ffile-prefix-map=${folder_here}=${name})
  endforeach()
  get_target_property(sources pbprobe_operators SOURCES)
  set_property(SOURCE ${sources} APPEND PROPERTY COMPILE_OPTIONS ${maps})
  # Set no RPATH: the libraries of torch are loaded before this one. -lstdc++ comes first, because the libraries of torch
  # export unversioned symbols of libstdc++.
  target_link_libraries(pbprobe_operators PRIVATE -lstdc++ pbprobe_options pbprobe_kernels pbprobe_host ${libraries})
  target_link_options(pbprobe_operators PRIVATE -Wl,--exclude-libs,ALL -Wl,--as-needed ${complete})
  set_target_properties(pbprobe_operators PROPERTIES OUTPUT_NAME pbprobe_ops LIBRARY_OUTPUT_DIRECTORY ${folder}
                        BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "")
  if(TARGET pbprobe_python)
    add_dependencies(pbprobe_python pbprobe_operators)
  endif()
  install(TARGETS pbprobe_operators LIBRARY DESTINATION ${PBPROBE_PYTHON_DESTINATION} COMPONENT python)
endfunction()
