// Terminal: see terminal.h.
#include "apps/cli/terminal.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>

#include "base/printable.h"

namespace heddle::cli {

namespace {

int g_output_error = 0;  // errno of the first write to standard output that failed

// Standard error may be closed or full; then the text is lost, and the command goes on.
void write_error(const std::string& text) {
  static_cast<void>(std::fwrite(text.data(), 1, text.size(), stderr));
  static_cast<void>(std::fflush(stderr));
}

}  // namespace

void hold_standard_streams() {
  // Opened for reading: what is written there still fails as on a closed stream.
  int descriptor = 0;
  do {
    descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC);
  } while (descriptor >= 0 && descriptor <= STDERR_FILENO);
  if (descriptor >= 0) close(descriptor);
}

void print(std::string_view text) {
  const bool written =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (!written && g_output_error == 0) g_output_error = errno;
}

Result<void> check_output() {
  std::cout.flush();  // the command line's help
  if (!std::cout && g_output_error == 0) g_output_error = EIO;
  if (g_output_error == 0) return {};
  return fail(ErrorCode::kSystem, "cannot write all of the output", std::strerror(g_output_error),
              "free some space, or let it go elsewhere");
}

void print_error(const Error& error) {
  write_error(fmt::format("heddle: {}\n", printable(error.message())));
}

void print_warning(std::string_view text) {
  if (text.empty()) return;
  write_error(fmt::format("heddle: warning: {}\n", printable(std::string(text))));
}

void print_progress(std::string_view text) {
  write_error(fmt::format("heddle: {}\n", printable(std::string(text))));
}

ProgressLine::ProgressLine() : visible_(isatty(STDERR_FILENO) == 1) {}

void ProgressLine::show(std::string_view text) {
  if (!visible_) return;
  const size_t padding = shown_ > text.size() ? shown_ - text.size() : 0;
  write_error(fmt::format("\r{}{:{}}", printable(std::string(text)), "", padding));
  shown_ = text.size();
}

void ProgressLine::clear() {
  if (!visible_ || shown_ == 0) return;
  write_error(fmt::format("\r{:{}}\r", "", shown_));
  shown_ = 0;
}

}  // namespace heddle::cli
