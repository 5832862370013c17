# make install: programs, libraries, headers, and what find_package(heddle) reads.
get_property(programs GLOBAL PROPERTY HEDDLE_PROGRAMS_apps)
if(programs)
  install(TARGETS ${programs} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()

set(libraries heddle_revision)
foreach(room IN LISTS HEDDLE_ROOMS)
  if(room MATCHES "^(tests|bench|apps|plugins)$")
    continue()
  endif()
  list(APPEND libraries heddle_${room})
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/${room}" "${HEDDLE_GENERATED_DIR}/${room}"
          DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/heddle" OPTIONAL
          FILES_MATCHING PATTERN "*.h" PATTERN "testing" EXCLUDE)
endforeach()
install(TARGETS ${libraries} EXPORT heddle ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
if(HEDDLE_WHOLE)
  # Of what link-time optimization needs another compiler could make nothing.
  install(CODE "
    foreach(room IN ITEMS ${HEDDLE_WHOLE_ROOMS})
      execute_process(COMMAND \"${CMAKE_OBJCOPY}\" --wildcard --remove-section .gnu.lto_*
                              --remove-section .gnu.debuglto_*
                              \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/libheddle_\${room}.a\"
                      COMMAND_ERROR_IS_FATAL ANY)
    endforeach()")
endif()

set(config_folder "${CMAKE_INSTALL_LIBDIR}/cmake/heddle")
install(EXPORT heddle NAMESPACE heddle:: FILE heddle_targets.cmake DESTINATION "${config_folder}")
include(CMakePackageConfigHelpers)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/heddle-config-version.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_SOURCE_DIR}/cmake/package_config.cmake" RENAME heddle-config.cmake
        DESTINATION "${config_folder}")
install(FILES "${PROJECT_BINARY_DIR}/heddle-config-version.cmake" DESTINATION "${config_folder}")

# The program itself knows its completions and its pages of the manual.
set(completions "${PROJECT_BINARY_DIR}/completions")
set(manual "${PROJECT_BINARY_DIR}/man")
install(CODE "
  file(MAKE_DIRECTORY \"${completions}\")
  foreach(shell bash zsh fish)
    execute_process(COMMAND \"$<TARGET_FILE:heddle>\" completion \${shell}
                    OUTPUT_FILE \"${completions}/heddle.\${shell}\" COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
  file(REMOVE_RECURSE \"${manual}\")
  file(MAKE_DIRECTORY \"${manual}/man7\")
  execute_process(COMMAND \"$<TARGET_FILE:heddle>\" help --format man -o \"${manual}/man1\"
                  COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND \"$<TARGET_FILE:heddle>\" help settings --format man
                          -o \"${manual}/man7/heddle-settings.7\" COMMAND_ERROR_IS_FATAL ANY)")
install(FILES "${completions}/heddle.bash" RENAME heddle
        DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions")
install(FILES "${completions}/heddle.zsh" RENAME _heddle
        DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions")
install(FILES "${completions}/heddle.fish"
        DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d")
install(DIRECTORY "${manual}/" DESTINATION "${CMAKE_INSTALL_MANDIR}")
install(FILES "${PROJECT_SOURCE_DIR}/plugins/wireshark/heddle.lua"
        DESTINATION "${CMAKE_INSTALL_DATADIR}/heddle/wireshark")

# What users get, without tests; and the programs that bench/run starts beside it.
get_property(bench_programs GLOBAL PROPERTY HEDDLE_PROGRAMS_bench)
add_custom_target(product DEPENDS ${programs} ${libraries} heddle_c heddle_nccl_net
                                  heddle_nccl_trace_preload)
add_custom_target(bench_programs DEPENDS ${bench_programs})
