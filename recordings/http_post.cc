// See http_post.h.
#include "recordings/http_post.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/exec.h"
#include "base/write_all.h"
#include "recordings/params.h"

namespace heddle::recordings {
namespace {

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

// As one line of an error.
std::string one_line(std::string text) {
  text.resize(std::min(text.size(), params::post::kMostReportedBytes));
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
  const ExecFailure failure = exec_program({"curl", "-K", "/dev/fd/" + std::to_string(kept)});
  const std::string why = "cannot run curl: " + failure.error.why;
  static_cast<void>(write_all(STDOUT_FILENO, why));
  _exit(failure.exit_status);
}

// What stands between the scheme and the path: [user[:password]@]host[:port].
struct Authority {
  explicit Authority(const std::string& url)
      : begin(url.find("//") + 2), end(std::min(url.find_first_of("/?#", begin), url.size())) {
    const size_t at = url.rfind('@', end);
    host = at == std::string::npos || at < begin || at >= end ? begin : at + 1;
  }
  size_t begin;
  size_t end;
  size_t host;
};

bool holds_control(const std::string& text) {
  return std::any_of(text.begin(), text.end(),
                     [](unsigned char each) { return each < ' ' || each == 127; });
}

// The error in an address; empty: none. The text has no part of the address, which may contain a
// password.
std::string wrong_with(const std::string& url) {
  const bool known = url.rfind("http://", 0) == 0 || url.rfind("https://", 0) == 0;
  const bool plain = std::all_of(url.begin(), url.end(), [](unsigned char each) {
    return each > ' ' && each < 127 && each != '"' && each != '\\';
  });
  if (!known || !plain) return "it is no address of HTTP";
  if (url.size() > params::post::kMostAddressBytes) return "it is too long";
  const Authority authority(url);
  if (url.find('@', authority.end) != std::string::npos) {
    return "an @ follows the first / ? or #, which a password can only hold as %2F, %3F, %23";
  }
  const std::string host = url.substr(authority.host, authority.end - authority.host);
  const size_t name_end = host.find(':', host.rfind('[', 0) == 0 ? host.find(']') : 0);
  if (host.empty() || name_end == 0) return "it names no host";
  if (name_end == std::string::npos) return "";
  const bool number = std::all_of(host.begin() + static_cast<ptrdiff_t>(name_end) + 1, host.end(),
                                  [](unsigned char each) { return std::isdigit(each) != 0; });
  return number ? "" : "its port is no number";
}

// With %40 read as @.
std::string decoded(std::string_view text) {
  std::string made;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned char value = 0;
    const char* const digits = text.data() + i + 1;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(digits, digits + 2, value, 16).ptr == digits + 2) {
      made += static_cast<char>(value);
      i += 2;
    } else {
      made += text[i];
    }
  }
  return made;
}

std::string quoted(const std::string& text) {
  std::string made = "\"";
  for (const char each : text) {
    if (each == '"' || each == '\\') made += '\\';
    made += each;
  }
  return made + "\"";
}

}  // namespace

Result<HttpPost> HttpPost::to(const std::string& url, const Credentials& otherwise) {
  if (const std::string why = wrong_with(url); !why.empty()) {
    return fail(ErrorCode::kInvalid, "cannot send anything to the address that is given", why,
                "give one such as http://clickhouse.example:8123/");
  }
  const Authority authority(url);
  Credentials credentials = otherwise;
  if (authority.host > authority.begin) {
    const std::string given = url.substr(authority.begin, authority.host - 1 - authority.begin);
    const size_t colon = given.find(':');
    credentials.user = decoded(given.substr(0, colon));
    if (colon != std::string::npos) credentials.password = decoded(given.substr(colon + 1));
  }
  const std::string both = credentials.user + credentials.password;
  if (holds_control(both) || both.size() > params::post::kMostAddressBytes ||
      credentials.user.find(':') != std::string::npos) {
    return fail(ErrorCode::kInvalid, "cannot send user and password",
                "HTTP knows no control characters in them, no : in a user's name, and some KiB",
                "choose others");
  }
  return HttpPost(url.substr(0, authority.begin) + url.substr(authority.host), credentials);
}

std::string HttpPost::shown() const { return url_.substr(0, url_.find_first_of("?#")); }

std::string HttpPost::settings() const {
  std::string text = "url = " + quoted(url_) +
                     "\ndata-binary = \"@-\"\nsilent\nshow-error\nfail-with-body\n"
                     "globoff\nconnect-timeout = 20\nheader = \"Expect:\"\n";
  if (!credentials_.user.empty() || !credentials_.password.empty()) {
    // The colon keeps curl from prompting for a password.
    text += "user = " + quoted(credentials_.user + ":" + credentials_.password) + "\n";
  }
  return text;
}

Result<std::string> HttpPost::send(const std::string& text) const {
  const std::string what = "cannot send to " + shown();
  const std::string todo = "see that the server runs there, and that its HTTP interface is open";
  Pipe config;
  Pipe body;
  Pipe answer;
  // It fits into the pipe's buffer; curl does not read yet.
  if (answer.ends[0] < 0 || body.ends[0] < 0 || !write_all(config.ends[1], settings())) {
    return fail(ErrorCode::kSystem, what, std::strerror(errno), "see `ulimit -n`");
  }
  config.close_end(1);
  const pid_t process = fork();
  if (process == 0) become_curl(config, body, answer);
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
              said.empty() ? "curl ended without a word" : one_line(said), todo);
}

}  // namespace heddle::recordings
