// See bearer_token.h.
#include "metrics/bearer_token.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/descriptor.h"
#include "metrics/params.h"

namespace heddle::metrics {
namespace {

Unexpected refuse(ErrorCode code, const std::string& file, const std::string& why,
                  const std::string& todo) {
  return fail(code, "cannot use the token in " + file, why, todo);
}

}  // namespace

Result<std::string> read_token(const std::string& file) {
  const Descriptor opened(open(file.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat about {};
  if (!opened.valid() || fstat(opened.number(), &about) != 0) {
    const bool denied = errno == EACCES || errno == EPERM;
    return refuse(denied ? ErrorCode::kPermission : ErrorCode::kUnavailable, file,
                  std::strerror(errno), "give a file that can be read");
  }
  if ((about.st_mode & S_IRWXO) != 0) {
    return refuse(ErrorCode::kPermission, file, "other users may read it", "chmod o= " + file);
  }
  std::array<char, params::kMostTokenBytes + 1> bytes{};
  const ssize_t got = read(opened.number(), bytes.data(), bytes.size());
  std::string token(bytes.data(), got > 0 ? static_cast<size_t>(got) : 0);
  token.resize(std::min(token.size(), token.find_first_of("\r\n")));
  if (token.size() > params::kMostTokenBytes) {
    return refuse(ErrorCode::kInvalid, file,
                  fmt::format("its first line has more than {} bytes", params::kMostTokenBytes),
                  "write a shorter one, as `openssl rand -hex 32` prints it");
  }
  const bool plain =
      std::all_of(token.begin(), token.end(), [](char each) { return each > ' ' && each <= '~'; });
  if (token.empty() || !plain) {
    return refuse(ErrorCode::kInvalid, file,
                  token.empty() ? "its first line is empty" : "it has blanks or other characters",
                  "write letters and digits, as `openssl rand -hex 32` prints them");
  }
  return token;
}

bool is_loopback(const ListenAddress& at) {
  return at.address.starts_with("127.") || at.address == "::1";
}

Result<std::unique_ptr<Server>> listen_with_token(const ListenAddress& at,
                                                  const std::string& token_file) {
  if (token_file.empty() && !is_loopback(at)) {
    return fail(ErrorCode::kInvalid, fmt::format("cannot serve on {}", at.address),
                "other machines reach it, and no token is asked for",
                "give --token-file FILE, or an address of this machine alone: 127.0.0.1");
  }
  std::string token;
  if (!token_file.empty()) {
    Result<std::string> read = read_token(token_file);
    if (!read) return fail(std::move(read).error());
    token = std::move(*read);
  }
  Result<std::unique_ptr<Server>> server = Server::listen(at);
  if (server) (*server)->require_token(std::move(token));
  return server;
}

}  // namespace heddle::metrics
