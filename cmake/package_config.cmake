# Read by find_package(heddle): what the libraries were built with, then the targets heddle::<room>.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
find_dependency(fmt)
find_dependency(spdlog)
find_dependency(tomlplusplus)
find_dependency(OpenSSL COMPONENTS Crypto)
find_dependency(pugixml)
include("${CMAKE_CURRENT_LIST_DIR}/heddle_targets.cmake")
