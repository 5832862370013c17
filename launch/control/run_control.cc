// RunControl: see run_control.h. A request is a number in digits, an answer some lines.
#include "launch/run_control.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/temporary_folder.h"
#include "launch/params.h"

namespace heddle::launch {
namespace {

constexpr std::string_view kRefused = "refused";

std::optional<sockaddr_un> address_in(const std::string& folder) {
  const std::string path = folder + "/control";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return std::nullopt;
  std::copy(path.begin(), path.end(), address.sun_path);
  return address;
}

class Socket {
 public:
  explicit Socket(int number) : number_(number) {}
  ~Socket() {
    if (number_ >= 0) close(number_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  int number() const { return number_; }
  bool send_text(std::string_view text) const {
    const std::string_view sent = text.substr(0, params::kLongestMessage);
    return send(number_, sent.data(), sent.size(), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
  }
  // Nothing: none came in time.
  std::optional<std::string> receive_text(int patience_ms) const {
    pollfd watched{number_, POLLIN, 0};
    std::array<char, params::kLongestMessage> text{};
    if (poll(&watched, 1, patience_ms) != 1) return std::nullopt;
    const ssize_t got = recv(number_, text.data(), text.size(), MSG_DONTWAIT);
    if (got <= 0) return std::nullopt;
    return std::string(text.data(), static_cast<size_t>(got));
  }

 private:
  int number_;
};

template <typename Number>
std::optional<Number> number_of(std::string_view digits) {
  Number value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

// The text up to the next end of a line, which is taken off.
std::string take_line(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  std::string line(text.substr(0, end));
  text.remove_prefix(std::min(text.size(), end + 1));
  return line;
}

std::string text_of(const Result<RunState>& state) {
  if (!state) {
    const Error& error = state.error();
    return fmt::format("{}\n{}\n{}\n{}", kRefused, error.what, error.why, error.todo);
  }
  return fmt::format("{}\n{}\n{}\n{}\n{}", state->process, state->ranks, state->wanted,
                     elastic_text(state->elastic), state->command);
}

Result<RunState> state_of(std::string_view text) {
  const std::string first = take_line(text);
  if (first == kRefused) {
    return fail(Error{ErrorCode::kInvalid, take_line(text), take_line(text), take_line(text)});
  }
  const auto process = number_of<pid_t>(first);
  const auto ranks = number_of<uint32_t>(take_line(text));
  const auto wanted = number_of<uint32_t>(take_line(text));
  const Result<Elastic> elastic = parse_elastic(take_line(text));
  if (!process || !ranks || !wanted || !elastic) {
    return fail(ErrorCode::kVersion, "cannot understand the run", "it is of another version",
                "use the heddle that started it");
  }
  return RunState{"", *process, *ranks, *wanted, *elastic, std::string(text)};
}

// Nothing: no run listens there.
std::optional<Result<RunState>> ask(const std::string& folder, uint32_t wanted) {
  const auto address = address_in(folder);
  const Socket socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  // For connect().
  constexpr timeval kWait = {.tv_sec = params::kConnectPatience / seconds(1), .tv_usec = 0};
  setsockopt(socket.number(), SOL_SOCKET, SO_SNDTIMEO, &kWait, sizeof kWait);
  if (!address ||
      connect(socket.number(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) !=
          0 ||
      !socket.send_text(std::to_string(wanted))) {
    return std::nullopt;
  }
  const auto text = socket.receive_text(params::kAnswerPatienceMs);
  if (!text) return std::nullopt;
  Result<RunState> state = state_of(*text);
  if (state) state->folder = folder;
  return state;
}

bool is_own_folder(const std::string& path) {
  struct stat found {};
  return lstat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode) && found.st_uid == geteuid();
}

// Folders of candidates: the run that this process is a rank of, else all runs of this user.
std::vector<std::string> folders() {
  constexpr std::string_view kFile = "file://";
  const char* const store = std::getenv("HEDDLE_STORE");
  const bool is_rank = std::getenv("HEDDLE_RUN") != nullptr && store != nullptr;
  if (is_rank && std::string_view(store).starts_with(kFile)) {
    return {std::filesystem::path(store + kFile.size()).parent_path().string()};
  }
  std::vector<std::string> found;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(TemporaryFolder::place(), failed)) {
    const std::string name = entry.path().filename().string();
    const std::string path = entry.path().string();
    if (name.starts_with("heddle-run-") && is_own_folder(path)) found.push_back(path);
  }
  return found;
}

}  // namespace

RunControl::RunControl() : spare_(open("/dev/null", O_RDONLY | O_CLOEXEC)) {}

RunControl::~RunControl() {
  for (const int each : {socket_, spare_}) {
    if (each >= 0) close(each);
  }
}

Result<void> RunControl::listen(const std::string& folder) {
  const auto failed = [](const char* why) {
    return fail(ErrorCode::kSystem, "cannot listen for `heddle resize`", why,
                "set TMPDIR to a folder with a short name where you may write");
  };
  const auto address = address_in(folder);
  if (!address) return failed("the path of the run's folder is too long");
  socket_ = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket_ < 0 ||
      bind(socket_, reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0 ||
      ::listen(socket_, 8) != 0) {
    return failed(std::strerror(errno));
  }
  return {};
}

void RunControl::answer(const Answer& answer) const {
  if (socket_ < 0) return;
  while (true) {
    const Socket asking(accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (asking.number() < 0 && (errno == EMFILE || errno == ENFILE) && spare_ >= 0) {
      close(spare_);
      { const Socket turned_away(accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC)); }
      spare_ = open("/dev/null", O_RDONLY | O_CLOEXEC);
      return;
    }
    if (asking.number() < 0) return;
    const auto request = asking.receive_text(params::kPatienceMs);
    const auto wanted = request ? number_of<uint32_t>(*request) : std::nullopt;
    if (wanted) asking.send_text(text_of(answer(*wanted)));
  }
}

Result<std::vector<RunState>> running_runs() {
  std::vector<RunState> runs;
  std::optional<Error> other;
  for (const std::string& folder : folders()) {
    const auto state = ask(folder, 0);
    if (state && *state) runs.push_back(**state);
    if (state && !*state) other = state->error();
  }
  if (runs.empty() && other) return fail(*other);
  std::sort(runs.begin(), runs.end(),
            [](const RunState& a, const RunState& b) { return a.process < b.process; });
  return runs;
}

Result<RunState> resize_run(const RunState& run, uint32_t ranks) {
  if (auto changed = ask(run.folder, ranks)) return *std::move(changed);
  return fail(ErrorCode::kUnavailable, "cannot change the number of ranks",
              fmt::format("the run of process {} does not answer", run.process),
              "see `heddle resize`");
}

}  // namespace heddle::launch
