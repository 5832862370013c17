# NCCL's own headers, for the tests of nccl/layout: -DHEDDLE_NCCL=DIR names a source tree of NCCL, its src/include,
# or a folder that has nccl.h and plugin/nccl_net.h. heddle itself is built without them.
#   heddle_use_nccl_headers(<target>)   includes them and defines HEDDLE_NCCL_HEADERS; without the option, nothing
include_guard()

set(HEDDLE_NCCL "" CACHE PATH "NCCL's headers (a source tree's src/include), for tests of layouts")

# The folder that holds plugin/nccl_net.h.
function(heddle_find_nccl_plugin_headers out)
  foreach(folder IN ITEMS "${HEDDLE_NCCL}" "${HEDDLE_NCCL}/src/include" "${HEDDLE_NCCL}/include")
    if(EXISTS "${folder}/plugin/nccl_net.h")
      set(${out} "${folder}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
  message(FATAL_ERROR "HEDDLE_NCCL=${HEDDLE_NCCL}: there is no plugin/nccl_net.h in it; name src/include of a source "
                      "tree of NCCL (an installed NCCL has no headers for plugins)")
endfunction()

# A source tree has nccl.h as a pattern in which the build writes the version; so does this.
function(heddle_write_nccl_header folder out)
  set(${out} "" PARENT_SCOPE)
  if(EXISTS "${folder}/nccl.h")
    return()
  endif()
  set(pattern "${folder}/../nccl.h.in")
  if(NOT EXISTS "${pattern}")
    message(FATAL_ERROR "HEDDLE_NCCL=${HEDDLE_NCCL}: there is neither nccl.h in it nor nccl.h.in above it")
  endif()
  file(READ "${pattern}" text)
  foreach(part IN ITEMS Major Minor Patch Version)
    string(REPLACE "\${nccl:${part}}" "0" text "${text}")
  endforeach()
  string(REPLACE "\${nccl:Suffix}" "" text "${text}")
  file(WRITE "${PROJECT_BINARY_DIR}/nccl_headers/nccl.h" "${text}")
  set(${out} "${PROJECT_BINARY_DIR}/nccl_headers" PARENT_SCOPE)
endfunction()

function(heddle_use_nccl_headers target)
  if(NOT HEDDLE_NCCL)
    return()
  endif()
  heddle_find_nccl_plugin_headers(folder)
  heddle_write_nccl_header("${folder}" written)
  find_path(HEDDLE_CUDA_INCLUDE cuda_runtime.h PATHS /usr/local/cuda/include /opt/cuda/include)
  if(NOT HEDDLE_CUDA_INCLUDE)
    message(FATAL_ERROR "NCCL's headers include CUDA's: name their folder with -DHEDDLE_CUDA_INCLUDE=DIR")
  endif()
  target_include_directories(${target} SYSTEM PRIVATE "${folder}" "${folder}/plugin" ${written}
                             "${HEDDLE_CUDA_INCLUDE}")
  target_compile_definitions(${target} PRIVATE HEDDLE_NCCL_HEADERS)
endfunction()
