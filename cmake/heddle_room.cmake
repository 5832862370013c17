# heddle_room(<room> [TESTS_AT_LENGTH] [PUBLIC_LIBS lib...] [PRIVATE_LIBS lib...] [GENERATED file...])
#
# Makes the targets of one room from the files that lie in it (new files are found by the next
# build, nothing has to be listed):
#   *.cc         static library heddle_<room> (alias heddle::<room>), linked by cmake/rooms.txt
#   *_test.cc    one GoogleTest program <room>_test, each test known to ctest with label <room>
#   *_bench.cc   one Google Benchmark program <room>_bench
#   *_fuzz.cc    one program each: under libFuzzer in the fuzz preset, elsewhere a ctest that
#                replays tests/fuzz/corpus/<name>/ and a few thousand seeded mutations of it
#   X_main.cc    a program X in bin/
#   testing/*.cc what tests share: static library heddle_<room>_testing, linked by the room's test,
#                bench and fuzz programs and never by heddle_<room>
# Every header compiles alone: x.cc and x_test.cc prove it for x.h by including it first
# (tests/house sees to that); a header that has neither is compiled by itself, in <room>_headers.
# TESTS_AT_LENGTH: its tests run what other rooms' tests look at, for longer (see HEDDLE_AT_LENGTH).
# GENERATED names sources in the build tree that belong to the library too. A subfolder with a
# CMakeLists.txt of its own is left to that file. A room without files is an interface library.
include_guard()

set(HEDDLE_ROOMS_FILE "${PROJECT_SOURCE_DIR}/cmake/rooms.txt")
set_property(DIRECTORY "${PROJECT_SOURCE_DIR}" APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
             "${HEDDLE_ROOMS_FILE}")

# Reads the table: HEDDLE_ROOMS is the list of rooms, HEDDLE_ROOM_<room> what each may include.
macro(heddle_read_rooms)
  file(STRINGS "${HEDDLE_ROOMS_FILE}" heddle_lines REGEX "^[a-z]")
  set(HEDDLE_ROOMS "")
  foreach(line IN LISTS heddle_lines)
    string(REGEX MATCH "^([a-z_]+):(.*)$" matched "${line}")
    if(NOT matched)
      message(FATAL_ERROR "cmake/rooms.txt: cannot read the line '${line}'")
    endif()
    set(heddle_name "${CMAKE_MATCH_1}")
    string(REGEX MATCHALL "[a-z_]+" HEDDLE_ROOM_${heddle_name} "${CMAKE_MATCH_2}")
    list(APPEND HEDDLE_ROOMS "${heddle_name}")
  endforeach()
endmacro()
heddle_read_rooms()

# Adds every room of the table.
macro(heddle_add_rooms)
  foreach(heddle_name IN LISTS HEDDLE_ROOMS)
    add_subdirectory(${heddle_name})
  endforeach()
endmacro()

# The room's files by kind, without those in subfolders that have a CMakeLists.txt of their own.
function(heddle_collect_files)
  file(GLOB_RECURSE all CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cc")
  file(GLOB_RECURSE own CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*/CMakeLists.txt")
  foreach(list_file IN LISTS own)
    get_filename_component(folder "${list_file}" DIRECTORY)
    string(REGEX REPLACE "([][+.*()^$?|\\])" "\\\\\\1" folder "${folder}")
    list(FILTER all EXCLUDE REGEX "^${folder}/")
  endforeach()
  foreach(kind test bench fuzz main)
    set(files ${all})
    list(FILTER files INCLUDE REGEX "_${kind}\\.cc$")
    list(FILTER all EXCLUDE REGEX "_${kind}\\.cc$")
    set(room_${kind}_files ${files} PARENT_SCOPE)
  endforeach()
  set(testing ${all})
  list(FILTER testing INCLUDE REGEX "/testing/[^/]+\\.cc$")
  list(FILTER all EXCLUDE REGEX "/testing/[^/]+\\.cc$")
  set(room_testing_files ${testing} PARENT_SCOPE)
  set(room_library_files ${all} PARENT_SCOPE)
  set(room_own_list_files ${own} PARENT_SCOPE)
endfunction()

function(heddle_room room)
  cmake_parse_arguments(PARSE_ARGV 1 arg "TESTS_AT_LENGTH" "" "PUBLIC_LIBS;PRIVATE_LIBS;GENERATED")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "heddle_room(${room}): unknown arguments ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT room IN_LIST HEDDLE_ROOMS)
    message(FATAL_ERROR "heddle_room(${room}): add the room to cmake/rooms.txt first")
  endif()
  heddle_collect_files()
  list(APPEND room_library_files ${arg_GENERATED})
  heddle_room_library(${room} "${room_library_files}" "${arg_PUBLIC_LIBS}" "${arg_PRIVATE_LIBS}")
  heddle_room_programs(${room} "${room_main_files}")
  heddle_room_testing(${room} "${room_testing_files}")
  if(HEDDLE_TESTS)
    heddle_room_tests(${room} "${room_test_files}" ${arg_TESTS_AT_LENGTH})
    # A sanitizer has nothing to say of either, and they are a sixth of what is compiled.
    if(NOT HEDDLE_SANITIZERS)
      heddle_room_bench(${room} "${room_bench_files}")
      heddle_room_headers(${room})
    endif()
  endif()
  heddle_room_fuzz(${room} "${room_fuzz_files}")
  foreach(list_file IN LISTS room_own_list_files)
    get_filename_component(folder "${list_file}" DIRECTORY)
    add_subdirectory("${folder}")
  endforeach()
endfunction()

function(heddle_room_library room files public_libs private_libs)
  set(target heddle_${room})
  set(arrows ${HEDDLE_ROOM_${room}})
  list(TRANSFORM arrows PREPEND heddle_)
  if(files)
    add_library(${target} STATIC ${files})
    target_link_libraries(${target} PUBLIC ${arrows} ${public_libs} PRIVATE ${private_libs})
    if(HEDDLE_WHOLE AND room IN_LIST HEDDLE_WHOLE_ROOMS)
      # Tools of clang read these commands too.
      target_compile_options(${target} PRIVATE -flto -ffat-lto-objects
                             -Wno-ignored-optimization-argument)
    endif()
    set(scope PUBLIC)
  else()
    add_library(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE ${arrows} ${public_libs} ${private_libs})
    set(scope INTERFACE)
  endif()
  add_library(heddle::${room} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${room})
  target_include_directories(${target} ${scope}
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>" "$<BUILD_INTERFACE:${HEDDLE_GENERATED_DIR}>"
    "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/heddle>")
endfunction()

function(heddle_room_programs room files)
  foreach(file IN LISTS files)
    get_filename_component(name "${file}" NAME_WE)
    string(REGEX REPLACE "_main$" "" name "${name}")
    add_executable(${name} "${file}")
    target_link_libraries(${name} PRIVATE heddle_${room})
    heddle_optimize_whole(${name})
    heddle_bundle(${name})
    set_property(GLOBAL APPEND PROPERTY HEDDLE_PROGRAMS_${room} ${name})
  endforeach()
endfunction()

function(heddle_room_testing room files)
  if(files AND (HEDDLE_TESTS OR HEDDLE_FUZZERS))
    add_library(heddle_${room}_testing STATIC ${files})
    target_link_libraries(heddle_${room}_testing PUBLIC heddle_${room})
  endif()
endfunction()

# What a test, bench or fuzz program of a room links: the room, and what its tests share.
function(heddle_link_room target room)
  # In this order, so that the linker is given the room's library once.
  if(TARGET heddle_${room}_testing)
    target_link_libraries(${target} PRIVATE heddle_${room}_testing)
  endif()
  target_link_libraries(${target} PRIVATE heddle_${room} ${ARGN})
endfunction()

function(heddle_room_tests room files at_length)
  if(NOT files)
    return()
  endif()
  set(properties LABELS ${room} TIMEOUT 300)
  if(at_length)
    list(APPEND properties ENVIRONMENT "${HEDDLE_AT_LENGTH}")
  endif()
  add_executable(${room}_test ${files})
  heddle_link_room(${room}_test ${room} GTest::gmock GTest::gtest_main)
  if(NOT TARGET unit_tests)
    add_custom_target(unit_tests)  # of all rooms, without what runs programs
  endif()
  add_dependencies(unit_tests ${room}_test)
  gtest_discover_tests(${room}_test
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
    DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 60
    TEST_PREFIX "${room}."
    PROPERTIES ${properties})
endfunction()

function(heddle_room_bench room files)
  if(files)
    add_executable(${room}_bench ${files})
    heddle_link_room(${room}_bench ${room} benchmark::benchmark_main)
    heddle_optimize_whole(${room}_bench)
  endif()
endfunction()

function(heddle_room_headers room)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}"
       "${CMAKE_CURRENT_SOURCE_DIR}/*.h")
  foreach(list_file IN LISTS room_own_list_files)
    file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}" "${list_file}")
    string(REGEX REPLACE "CMakeLists\\.txt$" "" folder "${folder}")
    list(FILTER headers EXCLUDE REGEX "^${folder}")
  endforeach()
  set(sources "")
  foreach(header IN LISTS headers)
    string(REGEX REPLACE "\\.h$" "" stem "${header}")
    if(EXISTS "${PROJECT_SOURCE_DIR}/${stem}.cc" OR EXISTS "${PROJECT_SOURCE_DIR}/${stem}_test.cc")
      continue()
    endif()
    set(source "${PROJECT_BINARY_DIR}/headers/${stem}.cc")
    file(CONFIGURE OUTPUT "${source}" CONTENT "#include \"${header}\"\n")
    list(APPEND sources "${source}")
  endforeach()
  if(sources)
    add_library(${room}_headers OBJECT ${sources})
    target_link_libraries(${room}_headers PRIVATE heddle_${room} GTest::gmock
                          benchmark::benchmark)
  endif()
endfunction()

function(heddle_room_fuzz room files)
  foreach(file IN LISTS files)
    get_filename_component(name "${file}" NAME_WE)
    set(corpus "${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${name}")
    if(HEDDLE_FUZZERS)
      add_executable(${name} "${file}")
      target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    elseif(HEDDLE_TESTS)
      add_executable(${name} "${file}" "${PROJECT_SOURCE_DIR}/cmake/fuzz_replay.cc")
      add_test(NAME fuzz.${name} COMMAND ${name} "${corpus}"
               WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
      set_tests_properties(fuzz.${name} PROPERTIES LABELS "${room};fuzz" TIMEOUT 120 ENVIRONMENT "${HEDDLE_AT_LENGTH}")
    else()
      continue()
    endif()
    heddle_link_room(${name} ${room})
  endforeach()
endfunction()
