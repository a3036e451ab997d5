# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
#
# What a wheel carries: the objects of this build, linked to an older release's libc and libstdc++ and stripped, in
# build/wheel/pbprobe. ci/older-libc fills the folder with that release, and ci/pack-wheel packs the wheel; ci/cross-wheel does both
# for aarch64 on x86-64.
set(PBPROBE_OLDER_LIBC "" CACHE PATH "The root folder of an older Debian: a wheel's program and operators are linked to it")

# Shared libraries come from there, and from this compiler's archive only what those lack (exception_ptr's counters), hidden.
# Both come before torch's library, which exports a libstdc++ of its own, without versions; -u: a later archive has the call.
function(pbprobe_link_to_older_libc target of)
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libstdc++.a OUTPUT_VARIABLE archive OUTPUT_STRIP_TRAILING_WHITESPACE)
  get_target_property(libraries ${of} LINK_LIBRARIES)
  # libpthread by name: before glibc 2.34 libstdc++ has threads only where somebody else brought it.
  target_link_libraries(${target} PRIVATE -lstdc++ ${archive} ${libraries} -Wl,--push-state,--no-as-needed,-lpthread,--pop-state
                                          -lstdc++ ${archive})
  # -B: its own crt1.o too, for that of a newer libc leaves the program's constructors to the libc.
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
