// toml++ inside the plugin, so that it loads where toml++ is not installed; CMakeLists.txt asks for
// its implementation.
#undef TOML_SHARED_LIB
#include <toml++/toml.h>
