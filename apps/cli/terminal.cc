// Terminal: see terminal.h.
#include "apps/cli/terminal.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>

namespace heddle::cli {

namespace {

int g_output_error = 0;  // errno of the first write to standard output that failed

}  // namespace

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

void print_error(const Error& error) { fmt::print(stderr, "heddle: {}\n", error.message()); }

void print_warning(std::string_view text) { fmt::print(stderr, "heddle: note: {}\n", text); }

ProgressLine::ProgressLine() : visible_(isatty(STDERR_FILENO) == 1) {}

void ProgressLine::show(std::string_view text) {
  if (!visible_) return;
  const size_t padding = shown_ > text.size() ? shown_ - text.size() : 0;
  fmt::print(stderr, "\r{}{:{}}", text, "", padding);
  std::fflush(stderr);
  shown_ = text.size();
}

void ProgressLine::clear() {
  if (!visible_ || shown_ == 0) return;
  fmt::print(stderr, "\r{:{}}\r", "", shown_);
  std::fflush(stderr);
  shown_ = 0;
}

}  // namespace heddle::cli
