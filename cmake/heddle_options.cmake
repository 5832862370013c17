# Language, warnings, sanitizers and output folders, for every target of the tree.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release or Debug" FORCE)
endif()
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g")
if(CMAKE_CROSSCOMPILING)
  set(CMAKE_CXX_FLAGS_DEBUG "-O1")  # a debugger has little use of it, and files are a fourteenth
endif()
if(HEDDLE_SANITIZERS)
  set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g1")  # names and lines are all that a report shows
endif()
if(HEDDLE_SANITIZERS MATCHES "address")
  # Files take 0.4 to 0.8 of -O1's time to compile, and tests of pure computation 1.4 times as long, of which a run of
  # all tests has few. At this level gcc warns of values that are set on every way.
  set(CMAKE_CXX_FLAGS_DEBUG "-Og -g1 -Wno-maybe-uninitialized")
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1")
if(HEDDLE_BUNDLED)
  set(CMAKE_CXX_FLAGS_RELEASE "-O2")  # it has no packages of debug symbols
  add_link_options(LINKER:--as-needed)
endif()

add_compile_options(-Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wextra-semi -Wvla -Wundef
                    -Wimplicit-fallthrough -Wformat=2 -Werror
                    # A sink overrides the few events it wants; designated initialisers name the
                    # few fields they set.
                    -Wno-overloaded-virtual -Wno-missing-field-initializers)
# Nobody replaces a function of ours at load time, so calls within a file may be inlined.
add_compile_options(-fno-semantic-interposition)
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  # GCC fuses a multiplication and an addition where every processor of the kind can, as on arm64: other bits than on
  # x86-64, where ranks of both compute the same plan, choice or simulation.
  add_compile_options(-ffp-contract=off)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-Wno-restrict)  # GCC 12 reports it falsely on std::string
  if(HEDDLE_SANITIZERS)
    # Falsely too: fences under TSan, and values that ASan's code only seems to leave open.
    add_compile_options(-Wno-tsan -Wno-maybe-uninitialized)
  endif()
endif()

if(HEDDLE_PACKAGED)
  # The build folder first: it is below the source folder, and the later option is tried first.
  set(maps "-ffile-prefix-map=${PROJECT_SOURCE_DIR}=." "-ffile-prefix-map=${PROJECT_BINARY_DIR}=./build")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC 12 does not pass them on to the assembler, which writes its folder into line tables.
    list(APPEND maps "-Wa,--debug-prefix-map=${PROJECT_SOURCE_DIR}=."
                     "-Wa,--debug-prefix-map=${PROJECT_BINARY_DIR}=./build")
  endif()
  add_compile_options(${maps})
  add_link_options(${maps})  # link-time optimization compiles once more
  # What distributions ask for, as far as it costs nothing on the packet path. It makes compilers
  # warn of more, and a package must not depend on which warnings a compiler has.
  add_compile_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -Wno-error)
  add_link_options(LINKER:-z,relro LINKER:-z,now)
endif()

if(HEDDLE_SANITIZERS)
  add_compile_options(-fsanitize=${HEDDLE_SANITIZERS} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${HEDDLE_SANITIZERS})
  if(HEDDLE_SANITIZERS MATCHES "address")
    # Each global has a descriptor with pointers, which a position-independent program relocates at every start:
    # half of the time that a start takes, of thousands of starts in a run of all tests.
    add_link_options("$<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-no-pie>")
  endif()
  if(HEDDLE_SANITIZERS MATCHES "undefined")
    # An eighth of the compiler's time, for what the address sanitizer and the processor end as well.
    add_compile_options(-fno-sanitize=null,object-size,vptr)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT HEDDLE_UNDEFINED_IN_WORDS)
      # A check's text is 100 to 200 bytes of data with the address sanitizer's own around it: nine tenths of a
      # program's data, registered at each start. A check that fails is an illegal instruction, of which that
      # sanitizer prints the stack with its line.
      add_compile_options(-fsanitize-undefined-trap-on-error)
    endif()
  endif()
endif()
# The environment of tests that run at length what unit tests run step by step: programs, simulations, seeds and
# replayed inputs. To find pointers into stacks of functions that have returned doubles their time with the address
# sanitizer, and unit tests look for those.
set(HEDDLE_AT_LENGTH "ASAN_OPTIONS=detect_stack_use_after_return=0:handle_sigill=1")
if(HEDDLE_FUZZERS)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# What programs spend their time in is optimized as a whole (LTO): a small message goes through a
# hundred small functions of these rooms. Their objects hold both, so that tests link fast, without
# it; what is installed of them holds machine code only.
include(CMakeDependentOption)
cmake_dependent_option(HEDDLE_WHOLE "Optimize programs as a whole (LTO)" ON
  "CMAKE_CXX_COMPILER_ID STREQUAL GNU;CMAKE_BUILD_TYPE STREQUAL Release" OFF)
set(HEDDLE_WHOLE_ROOMS base events datapath transport engine collectives)
if(HEDDLE_WHOLE)
  add_link_options("$<IF:$<BOOL:$<TARGET_PROPERTY:HEDDLE_WHOLE>>,-flto=auto,-fno-lto>")
endif()
function(heddle_optimize_whole target)
  set_target_properties(${target} PROPERTIES HEDDLE_WHOLE ON)
endfunction()

# Puts the C++ runtime into `target`. With an older glibc the unwinder of libgcc stays outside: that of this compiler
# wants glibc 2.35, and every system has one beside its glibc.
function(heddle_own_runtime target)
  target_link_options(${target} PRIVATE -static-libstdc++)
  if(HEDDLE_BUNDLED)
    target_sources(${target} PRIVATE "$<TARGET_OBJECTS:heddle_older_glibc>")
  else()
    target_link_options(${target} PRIVATE -static-libgcc)
  endif()
endfunction()

# Puts all libraries but glibc's into `target`, where the build asks for that.
function(heddle_bundle target)
  if(HEDDLE_BUNDLED)
    heddle_own_runtime(${target})
    target_sources(${target} PRIVATE "$<TARGET_OBJECTS:heddle_bundled>")
  endif()
endfunction()

# Worktrees and clones share the compiler cache: paths are taken relative to the source tree.
find_program(HEDDLE_CCACHE ccache)
if(HEDDLE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1
      "CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime"
      "${HEDDLE_CCACHE}")
endif()
