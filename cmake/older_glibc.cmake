# Toolchain file for what runs on Debian 11, Ubuntu 20.04 and later: this system's compiler, with the glibc that
# `scripts/sysroot amd64 bullseye` unpacks. In that glibc, threads, dlopen and shm_open are libraries of their own.
set(sysroot "${CMAKE_CURRENT_LIST_DIR}/../build/sysroot/amd64-bullseye")
get_filename_component(CMAKE_SYSROOT "${sysroot}" ABSOLUTE)
# The compiler looks for libc beside itself first, where this system's is; folders of -B come before.
set(CMAKE_CXX_FLAGS_INIT
    "-B${CMAKE_SYSROOT}/usr/lib/x86_64-linux-gnu/ -B${CMAKE_SYSROOT}/lib/x86_64-linux-gnu/")
set(CMAKE_CXX_STANDARD_LIBRARIES_INIT "-lpthread -ldl -lrt")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
foreach(what LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${what} ONLY)
endforeach()
set(OPENSSL_USE_STATIC_LIBS TRUE)
