# make install: programs, libraries, headers, shell completions.
get_property(programs GLOBAL PROPERTY HEDDLE_PROGRAMS)
if(programs)
  install(TARGETS ${programs} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()

set(libraries heddle_revision)
foreach(room IN LISTS HEDDLE_ROOMS)
  if(room STREQUAL "tests" OR room STREQUAL "bench" OR room STREQUAL "apps")
    continue()
  endif()
  list(APPEND libraries heddle_${room})
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/${room}" "${HEDDLE_GENERATED_DIR}/${room}"
          DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/heddle" OPTIONAL
          FILES_MATCHING PATTERN "*.h")
endforeach()
install(TARGETS ${libraries} EXPORT heddle ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
