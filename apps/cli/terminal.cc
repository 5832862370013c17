// Terminal: see terminal.h.
#include "apps/cli/terminal.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>

namespace heddle::cli {

void print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
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
