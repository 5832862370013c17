# Every library that heddle builds on, each a Debian 12 package (see scripts/setup).
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(pugixml REQUIRED)
find_package(Boost 1.74 REQUIRED)  # headers alone: Asio and Beast

# Debian's Python before another one in the path: tests import modules that only its packages bring, such as seccomp.
if(EXISTS /usr/bin/python3)
  set(Python3_EXECUTABLE /usr/bin/python3)
endif()
find_package(Python3 3.11 REQUIRED COMPONENTS Interpreter)

if(HEDDLE_TESTS)
  find_package(GTest REQUIRED)
  find_package(benchmark REQUIRED)
  include(GoogleTest)
endif()
