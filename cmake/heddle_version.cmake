# base/version.h changes with a release; base/revision.h is fixed and its source file changes with a
# commit, so a commit recompiles one small file and relinks only what links heddle::revision.
set(HEDDLE_GENERATED_DIR "${PROJECT_BINARY_DIR}/generated")
configure_file("${PROJECT_SOURCE_DIR}/cmake/version.h.in" "${HEDDLE_GENERATED_DIR}/base/version.h"
               @ONLY)
configure_file("${PROJECT_SOURCE_DIR}/cmake/revision.h.in" "${HEDDLE_GENERATED_DIR}/base/revision.h"
               COPYONLY)

string(JOIN ", " heddle_build_type "${CMAKE_BUILD_TYPE}" ${HEDDLE_SANITIZERS})
add_custom_target(heddle_write_revision
  COMMAND "${CMAKE_COMMAND}" "-DSOURCE_DIR=${PROJECT_SOURCE_DIR}"
          "-DOUTPUT=${HEDDLE_GENERATED_DIR}/base/revision.cc" "-DBUILD_TYPE=${heddle_build_type}"
          -P "${PROJECT_SOURCE_DIR}/cmake/write_revision.cmake"
  BYPRODUCTS "${HEDDLE_GENERATED_DIR}/base/revision.cc"
  COMMENT "Reading the git revision"
  VERBATIM)

add_library(heddle_revision STATIC "${HEDDLE_GENERATED_DIR}/base/revision.cc")
add_library(heddle::revision ALIAS heddle_revision)
set_target_properties(heddle_revision PROPERTIES EXPORT_NAME revision)
add_dependencies(heddle_revision heddle_write_revision)
target_include_directories(heddle_revision PUBLIC "$<BUILD_INTERFACE:${HEDDLE_GENERATED_DIR}>")
