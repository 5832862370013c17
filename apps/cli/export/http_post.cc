// See http_post.h.
#include "apps/cli/export/http_post.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>
#include <utility>

#include "lab/exec.h"

namespace heddle::cli {
namespace {

constexpr size_t kMostToldBytes = 400;

struct Pipe {
  Pipe() {
    if (pipe2(ends.data(), O_CLOEXEC) != 0) ends = {-1, -1};
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void close_end(size_t end) {
    if (ends.at(end) >= 0) close(ends.at(end));
    ends.at(end) = -1;
  }
  std::array<int, 2> ends{};
};

// False: nobody reads.
bool write_all(int to, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = write(to, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    text.remove_prefix(static_cast<size_t>(wrote));
  }
  return true;
}

std::string read_all(int from) {
  std::string text;
  std::array<char, 4096> some{};
  for (;;) {
    const ssize_t got = read(from, some.data(), some.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(some.data(), static_cast<size_t>(got));
  }
}

// One line for a person.
std::string told(std::string text) {
  text.resize(std::min(text.size(), kMostToldBytes));
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) {
    text.pop_back();
  }
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

[[noreturn]] void become_curl(const Pipe& settings, const Pipe& body, const Pipe& answer) {
  dup2(body.ends[0], STDIN_FILENO);
  dup2(answer.ends[1], STDOUT_FILENO);
  dup2(answer.ends[1], STDERR_FILENO);
  const int kept = dup(settings.ends[0]);  // without closing on exec
  signal(SIGPIPE, SIG_DFL);
  const Error error = lab::exec_program({"curl", "-K", "/dev/fd/" + std::to_string(kept)});
  const std::string why = "cannot run curl: " + error.why;
  static_cast<void>(write_all(STDOUT_FILENO, why));
  _exit(127);
}

}  // namespace

Result<HttpPost> HttpPost::to(const std::string& url) {
  const bool known = url.rfind("http://", 0) == 0 || url.rfind("https://", 0) == 0;
  const bool plain = std::all_of(url.begin(), url.end(), [](unsigned char each) {
    return each > ' ' && each < 127 && each != '"' && each != '\\';
  });
  if (known && plain) return HttpPost(url);
  return fail(ErrorCode::kInvalid, "cannot send anything to " + url, "it is no address of HTTP",
              "give one such as http://clickhouse.example:8123/");
}

std::string HttpPost::shown() const {
  const size_t begin = url_.find("//") + 2;
  const size_t end = std::min(url_.find('/', begin), url_.size());
  const size_t at = url_.rfind('@', end);
  if (at == std::string::npos || at < begin) return url_;
  return url_.substr(0, begin) + url_.substr(at + 1);
}

Result<std::string> HttpPost::send(const std::string& text) const {
  const std::string what = "cannot send to " + shown();
  const std::string todo = "see that the server runs there, and that its HTTP interface is open";
  Pipe settings;
  Pipe body;
  Pipe answer;
  const std::string config = "url = \"" + url_ +
                             "\"\ndata-binary = \"@-\"\nsilent\nshow-error\nfail-with-body\n"
                             "globoff\nconnect-timeout = 20\nheader = \"Expect:\"\n";
  // It fits into the pipe, which nobody reads yet.
  if (answer.ends[0] < 0 || body.ends[0] < 0 || !write_all(settings.ends[1], config)) {
    return fail(ErrorCode::kSystem, what, std::strerror(errno), "see `ulimit -n`");
  }
  settings.close_end(1);
  const pid_t process = fork();
  if (process == 0) become_curl(settings, body, answer);
  if (process < 0)
    return fail(ErrorCode::kSystem, what, "no process can be made", "see `ulimit -u`");
  body.close_end(0);
  answer.close_end(1);
  static_cast<void>(write_all(body.ends[1], text));
  body.close_end(1);
  const std::string said = read_all(answer.ends[0]);
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) continue;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return said;
  return fail(ErrorCode::kUnavailable, what,
              said.empty() ? "curl ended without a word" : told(said), todo);
}

}  // namespace heddle::cli
