# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
#
# Builds the contents of a wheel in build/wheel/pbprobe: the objects of this build, stripped, and linked to the libc and
# libstdc++ of an older release. ci/older-libc downloads this release, and ci/pack-wheel packs the wheel; ci/cross-wheel does
# both for aarch64 on x86-64.
set(PBPROBE_OLDER_LIBC "" CACHE PATH "The root folder of an older Debian: a wheel's program and operators are linked to it")

# Links `target` to the shared libraries of the older release. The archive of this compiler adds, hidden, only symbols that
# these libraries lack (the counters of exception_ptr). Both precede the library of torch, which exports unversioned symbols
# of libstdc++. -u: an object in a later archive needs the symbol.
function(pbprobe_link_to_older_libc target of)
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libstdc++.a OUTPUT_VARIABLE archive OUTPUT_STRIP_TRAILING_WHITESPACE)
  get_target_property(libraries ${of} LINK_LIBRARIES)
  # Link libpthread by name: before glibc 2.34, libstdc++ has threads only if another library needs libpthread.
  target_link_libraries(${target} PRIVATE -lstdc++ ${archive} ${libraries} -Wl,--push-state,--no-as-needed,-lpthread,--pop-state
                                          -lstdc++ ${archive})
  # -B selects crt1.o of the older release: crt1.o of a newer libc leaves constructors of the program to the libc.
  set(folder ${PBPROBE_OLDER_LIBC}/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE})
  target_link_options(${target} PRIVATE --sysroot=${PBPROBE_OLDER_LIBC} -B${folder} -L${folder}
                      -Wl,-u,_ZNSt15__exception_ptr13exception_ptr10_M_releaseEv -s -Wl,--as-needed -Wl,--exclude-libs,ALL)
  set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON BUILD_WITH_INSTALL_RPATH ON)
endfunction()

if(PBPROBE_OLDER_LIBC)
  set(wheel ${PROJECT_BINARY_DIR}/wheel/pbprobe)
  add_executable(pbprobe_wheel_program $<TARGET_OBJECTS:pbprobe> ${PROJECT_SOURCE_DIR}/cmake/older_libc.cpp)
  pbprobe_link_to_older_libc(pbprobe_wheel_program pbprobe)
  set_target_properties(pbprobe_wheel_program PROPERTIES OUTPUT_NAME pbprobe RUNTIME_OUTPUT_DIRECTORY ${wheel}/bin
                        INSTALL_RPATH "\$ORIGIN/../lib")
  add_custom_target(pbprobe_wheel DEPENDS pbprobe_wheel_program)
  add_custom_command(TARGET pbprobe_wheel POST_BUILD VERBATIM
    COMMAND ${CMAKE_COMMAND} -E make_directory ${wheel}/lib
    COMMAND ${CMAKE_COMMAND} -E copy_if_different $<TARGET_FILE:Zydis::Zydis> ${wheel}/lib/$<TARGET_SONAME_FILE_NAME:Zydis::Zydis>)
  if(TARGET pbprobe_operators)
    add_library(pbprobe_wheel_operators MODULE $<TARGET_OBJECTS:pbprobe_operators> ${PROJECT_SOURCE_DIR}/cmake/older_libc.cpp)
    pbprobe_link_to_older_libc(pbprobe_wheel_operators pbprobe_operators)
    set_target_properties(pbprobe_wheel_operators PROPERTIES OUTPUT_NAME pbprobe_ops LIBRARY_OUTPUT_DIRECTORY ${wheel} INSTALL_RPATH "")
    add_dependencies(pbprobe_wheel pbprobe_wheel_operators)
  endif()
endif()
