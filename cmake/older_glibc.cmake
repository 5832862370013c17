# Toolchain file for what runs on Debian 11, Ubuntu 20.04 and later: this system's compiler, with the glibc that
# `scripts/sysroot amd64 bullseye` unpacks. In that glibc, threads, dlopen and shm_open are libraries of their own.
set(names_x86_64 amd64)
set(names_aarch64 arm64)
set(architecture "${names_${CMAKE_HOST_SYSTEM_PROCESSOR}}")
get_filename_component(CMAKE_SYSROOT "${CMAKE_CURRENT_LIST_DIR}/../build/sysroot/${architecture}-bullseye" ABSOLUTE)
if(NOT EXISTS "${CMAKE_SYSROOT}/packages")
  message(FATAL_ERROR "there is no ${CMAKE_SYSROOT}: run scripts/sysroot ${architecture} bullseye")
endif()
# The compiler looks for libc beside itself first, where this system's is; folders of -B come before.
set(libraries "lib/${CMAKE_HOST_SYSTEM_PROCESSOR}-linux-gnu/")
set(CMAKE_CXX_FLAGS_INIT "-B${CMAKE_SYSROOT}/usr/${libraries} -B${CMAKE_SYSROOT}/${libraries}")
set(CMAKE_CXX_STANDARD_LIBRARIES_INIT "-lpthread -ldl -lrt")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
foreach(what LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${what} ONLY)
endforeach()
set(OPENSSL_USE_STATIC_LIBS TRUE)
