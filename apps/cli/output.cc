// See output.h.
#include "apps/cli/output.h"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "apps/cli/terminal.h"

namespace heddle::cli {

Result<void> write_output(const std::string& file, const std::string& text) {
  if (file.empty()) {
    print(text);
    return {};
  }
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  if (out) return {};
  return fail(ErrorCode::kSystem, "cannot write " + file, std::strerror(errno),
              "choose another file, or make room there");
}

std::string printable(std::string text) {
  for (char& each : text) {
    if (static_cast<unsigned char>(each) < ' ' || each == 127) each = '?';
  }
  return text;
}

}  // namespace heddle::cli
