// toml++ inside the plugin, so that it loads where toml++ is not installed.
#undef TOML_SHARED_LIB
#define TOML_IMPLEMENTATION
#define TOML_HEADER_ONLY 0
#include <toml++/toml.h>
