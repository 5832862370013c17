// See output.h.
#include "apps/cli/output.h"

#include "apps/cli/terminal.h"
#include "base/document.h"

namespace heddle::cli {

Result<void> write_output(const std::string& file, const std::string& text) {
  if (!file.empty()) return write_text_file(file, text);
  print(text);
  return {};
}

}  // namespace heddle::cli
