// See output.h.
#include "apps/cli/output.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "apps/cli/terminal.h"
#include "base/document.h"

namespace heddle::cli {
namespace {

// Whether a file may take its place: it is none yet, or a plain one, in a folder that is writable.
bool may_be_replaced(const std::string& file) {
  struct stat about {};
  if (lstat(file.c_str(), &about) == 0 && !S_ISREG(about.st_mode)) return false;
  const std::string folder = std::filesystem::path(file).parent_path().string();
  return access(folder.empty() ? "." : folder.c_str(), W_OK) == 0;
}

}  // namespace

// A full disk must not cost what was there: jobs follow plans that are replaced.
Result<void> write_output(const std::string& file, const std::string& text) {
  if (!file.empty()) {
    return may_be_replaced(file) ? replace_text_file(file, text) : write_text_file(file, text);
  }
  print(text);
  return {};
}

}  // namespace heddle::cli
