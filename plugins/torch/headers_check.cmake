# heddle_torch_headers_check compiles the sources of PyTorch's backend, and links nothing, against the
# headers of any torch: those in the folders of HEDDLE_TORCH_HEADERS, as site-packages/torch/include
# of an unpacked wheel or usr/include of an unpacked libtorch-dev. pybind11 and Python.h may be there
# too; else the system's are used.
set(HEDDLE_TORCH_HEADERS "" CACHE STRING
    "Folders of the headers that heddle_torch_headers_check compiles against")

function(heddle_first_folder result name)
  foreach(folder ${ARGN})
    if(EXISTS "${folder}/${name}")
      set(${result} "${folder}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
  set(${result} "" PARENT_SCOPE)
endfunction()

# The version as its headers have it; empty: they do not.
function(heddle_torch_version result headers)
  set(version "")
  foreach(file torch/csrc/api/include/torch/version.h torch/headeronly/version.h)
    if(NOT EXISTS "${headers}/${file}")
      continue()
    endif()
    file(STRINGS "${headers}/${file}" lines REGEX "define TORCH_VERSION_(MAJOR|MINOR|PATCH) [0-9]+")
    foreach(line ${lines})
      string(REGEX REPLACE ".* " "" number "${line}")
      list(APPEND version "${number}")
    endforeach()
    if(version)
      break()
    endif()
  endforeach()
  list(JOIN version "." version)
  set(${result} "${version}" PARENT_SCOPE)
endfunction()

set(headers_missing "")
set(python_globs "")
foreach(folder ${HEDDLE_TORCH_HEADERS})
  file(GLOB found LIST_DIRECTORIES true "${folder}/python3*")
  list(APPEND python_globs ${found})
endforeach()
heddle_first_folder(headers torch/csrc/distributed/c10d/Work.hpp ${HEDDLE_TORCH_HEADERS})
heddle_first_folder(headers_pybind pybind11/pybind11.h ${HEDDLE_TORCH_HEADERS} /usr/include)
heddle_first_folder(headers_python Python.h ${HEDDLE_TORCH_HEADERS} ${python_globs} "${python_include}")
if(NOT HEDDLE_TORCH_HEADERS)
  set(headers_missing "give the folders of a torch's headers: cmake --preset release -DHEDDLE_TORCH_HEADERS=FOLDER")
elseif(NOT headers)
  set(headers_missing "there is no torch/csrc/distributed/c10d/Work.hpp in ${HEDDLE_TORCH_HEADERS}")
elseif(NOT EXISTS "${headers}/ATen/core/TensorBody.h")
  string(CONCAT headers_missing "${headers} has no ATen/core/TensorBody.h, which torch's build "
                "generates: give the headers of a built torch, not of its sources")
elseif(NOT headers_pybind OR NOT headers_python)
  string(CONCAT headers_missing "headers of pybind11 or Python are missing: add their folders to "
                "HEDDLE_TORCH_HEADERS, or run scripts/setup --torch")
endif()

if(headers_missing)
  add_custom_target(heddle_torch_headers_check
                    COMMAND "${CMAKE_COMMAND}" -E echo "heddle_torch_headers_check: ${headers_missing}"
                    COMMAND "${CMAKE_COMMAND}" -E false VERBATIM)
else()
  heddle_torch_version(headers_version "${headers}")
  message(STATUS "heddle_torch_headers_check: torch ${headers_version} in ${headers}")
  file(GLOB headers_sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cc")
  list(FILTER headers_sources EXCLUDE REGEX "_test\\.cc$")
  add_library(heddle_torch_headers OBJECT EXCLUDE_FROM_ALL ${headers_sources})
  target_include_directories(heddle_torch_headers SYSTEM PRIVATE
    "${headers_python}" "${headers}" "${headers}/torch/csrc/api/include" "${headers_pybind}")
  target_compile_definitions(heddle_torch_headers PRIVATE TORCH_EXTENSION_NAME=_backend
                             TORCH_API_INCLUDE_EXTENSION_H)
  target_compile_options(heddle_torch_headers PRIVATE -O0 -g0)
  target_precompile_headers(heddle_torch_headers PRIVATE c10d.h)
  target_link_libraries(heddle_torch_headers PRIVATE heddle_collectives heddle_revision
                        spdlog::spdlog tomlplusplus::tomlplusplus)
  list(LENGTH headers_sources headers_count)
  add_custom_target(heddle_torch_headers_check
    COMMAND "${CMAKE_COMMAND}" -E echo
            "heddle_torch_headers_check: ${headers_count} files compile against torch ${headers_version}"
    VERBATIM)
  add_dependencies(heddle_torch_headers_check heddle_torch_headers)
endif()
