// See started_receiver.h.
#include "apps/cli/copy/started_receiver.h"

#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <vector>

#include "apps/cli/params.h"
#include "base/clocks.h"
#include "base/interrupt.h"
#include "base/printable.h"
#include "copying/params.h"
#include "engine/key_file.h"
#include "launch/remote_shell.h"

namespace heddle::cli {
namespace {

// This process' settings, without its own address and keys.
std::vector<std::string> settings_there() {
  std::vector<std::string> settings = launch::settings_for_others();
  std::erase_if(settings, [](const std::string& each) {
    return each.starts_with("HEDDLE_KEY_FILE=") || each.starts_with("HEDDLE_BIND=");
  });
  return settings;
}

// Of the line "heddle VERSION receives on ADDRESS:PORT"; 0: it is another line.
uint16_t port_in(const std::string& line) {
  if (!line.starts_with("heddle ") || line.find(" receives on ") == std::string::npos) return 0;
  const std::string digits = line.substr(line.rfind(':') + 1);
  uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  return error == std::errc() && end == digits.data() + digits.size() ? port : 0;
}

// Waits a slice for output, and adds it. False: it has ended.
bool read_some(int descriptor, std::string& text) {
  pollfd watched{descriptor, POLLIN, 0};
  if (poll(&watched, 1, static_cast<int>(copying::params::kSlice / millis(1))) <= 0) return true;
  std::array<char, 512> piece{};
  const ssize_t got = read(descriptor, piece.data(), piece.size());
  if (got < 0) return errno == EAGAIN || errno == EINTR;
  text.append(piece.data(), static_cast<size_t>(got));
  return got > 0 && text.size() <= params::copy::kLongestLine;
}

}  // namespace

Result<StartedReceiver> StartedReceiver::start(const std::string& via, const std::string& host,
                                               const std::string& folder) {
  const Result<launch::RemoteShell> shell = launch::parse_remote_shell(via);
  if (!shell) return fail(shell.error());
  const Result<transport::ClusterKey> key = engine::generate_key();
  if (!key) return fail(key.error());
  const launch::RemoteCommand command{.words = {"heddle", "copy", "--receive", folder},
                                      .settings = settings_there(),
                                      .secrets = {{"HEDDLE_KEY_FILE", engine::key_file_text(*key)}},
                                      .same_folder = false};
  Result<launch::RemoteStream> stream = launch::RemoteStream::start(*shell, host, command);
  if (!stream) return fail(stream.error());
  StartedReceiver made(std::move(*stream), *key);
  if (Result<void> read = made.read_port(host); !read) return fail(read.error());
  return made;
}

Result<void> StartedReceiver::read_port(const std::string& host) {
  std::string text;
  std::string first;
  while (true) {
    for (size_t end; (end = text.find('\n')) != std::string::npos; text.erase(0, end + 1)) {
      port_ = port_in(text.substr(0, end));
      if (port_ != 0) return {};
      if (first.empty()) first = printable(text.substr(0, end));  // of a login shell, perhaps
    }
    if (interrupted() != 0) return fail(ErrorCode::kCancelled, "stopped", "by a signal");
    if (!read_some(stream_.descriptor(), text)) break;
  }
  const std::string complaint = stream_.complaint();
  return fail(ErrorCode::kUnavailable, fmt::format("cannot start a receiver on {}", host),
              complaint.empty() ? fmt::format("it wrote '{}'", first) : complaint,
              complaint.empty() ? "install the same version of heddle there" : "");
}

std::string StartedReceiver::finish() {
  std::string rest;
  for (int slices = 0; slices < 30 && read_some(stream_.descriptor(), rest); ++slices) {
  }
  return stream_.complaint();
}

}  // namespace heddle::cli
