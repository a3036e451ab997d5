# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
#
# Adds the target pbprobe_python: the module pbprobe._core for one Python, in the folder ${package}.
find_package(Python 3.10 QUIET COMPONENTS Interpreter Development.Module)
if(NOT Python_FOUND)
  message(FATAL_ERROR "pbprobe: the headers of Python ≥ 3.10 were not found: install Debian's python3-dev, set "
                      "-DPython_EXECUTABLE=…, or build without the module: -DPBPROBE_BUILD_PYTHON=OFF")
endif()
find_package(pybind11 3.0 CONFIG QUIET)
if(NOT pybind11_FOUND)
  execute_process(COMMAND ${Python_EXECUTABLE} -m pybind11 --cmakedir
                  OUTPUT_VARIABLE pybind11_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  find_package(pybind11 3.0 CONFIG QUIET PATHS "${pybind11_ROOT}" NO_DEFAULT_PATH)
endif()
if(NOT pybind11_FOUND)
  message(FATAL_ERROR "pbprobe: pybind11 ≥ 3.0 was not found: ${Python_EXECUTABLE} -m pip install pybind11, or run "
                      "`make setup`")
endif()

pybind11_add_module(pbprobe_python MODULE ${PROJECT_SOURCE_DIR}/bindings/core.cpp)
target_link_libraries(pbprobe_python PRIVATE pbprobe_options pbprobe_report)
set_target_properties(pbprobe_python PROPERTIES OUTPUT_NAME _core LIBRARY_OUTPUT_DIRECTORY ${package}
                      BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "\$ORIGIN/lib")
add_dependencies(pbprobe_python pbprobe)
install(TARGETS pbprobe_python LIBRARY DESTINATION ${PBPROBE_PYTHON_DESTINATION} COMPONENT python)
