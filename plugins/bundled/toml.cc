// toml++ inside what is linked with it, which so loads where toml++ is not installed;
// CMakeLists.txt asks for its implementation.
#undef TOML_SHARED_LIB
#include <toml++/toml.h>
