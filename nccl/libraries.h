// Libraries: where this machine's NCCL lies, its version, and the plugin tables that it asks for.
// `heddle nccl doctor` calls it; nothing of NCCL is loaded or run.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heddle::nccl {

// One libnccl. A table's versions are those that it looks for in a plugin, newest first.
struct NcclLibrary {
  std::string path;
  std::string origin;   // "LD_LIBRARY_PATH", "ldconfig" or "Python"
  std::string version;  // "2.28.9"; empty: unknown
  std::vector<int> net;
  std::vector<int> profiler;
  std::vector<int> tuner;
  bool from_version = false;  // net is inferred from `version`, as its names were not found
};

// The inputs of a search; a test gives folders of its own.
struct LibrarySources {
  std::string root;             // of the file system; empty: "/"
  std::string ld_library_path;  // as in the environment
  std::string ldconfig;         // the output of `ldconfig -p`
  std::string virtual_env;      // VIRTUAL_ENV, CONDA_PREFIX, HOME; empty: unset
  std::string conda_prefix;
  std::string home;
};

// Every libnccl.so.2 found, in the order in which a program finds it: LD_LIBRARY_PATH, the packages
// of Python (as PyTorch's wheels bring it), ldconfig. The same file counts once.
std::vector<NcclLibrary> find_nccl_libraries(const LibrarySources& sources);

// Fills version and tables from the content of a libnccl: it has its version and the symbols that
// it looks for as text.
void read_nccl(std::string_view content, NcclLibrary& library);

// The newest net table that NCCL of this version looks for; 0 for versions before 2.18, and for
// text that is no version. From the sources of NCCL's releases 2.18.3 to 2.30.7.
int net_table_of(std::string_view version);

}  // namespace heddle::nccl
