// See tool.h. Input and both outputs are anonymous files, so no pipe can fill up.
#include "lab/tool.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/exec.h"

namespace heddle::lab {
namespace {

// A file in memory.
class Scratch {
 public:
  Scratch() : descriptor_(memfd_create("heddle-lab", MFD_CLOEXEC)) {}
  ~Scratch() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  int descriptor() const { return descriptor_; }

  bool fill(const std::string& text) const {
    size_t done = 0;
    while (done < text.size()) {
      const ssize_t wrote = write(descriptor_, text.data() + done, text.size() - done);
      if (wrote <= 0) return false;
      done += static_cast<size_t>(wrote);
    }
    return lseek(descriptor_, 0, SEEK_SET) == 0;
  }

  std::string content() const {
    std::string text;
    std::array<char, 65536> block;
    lseek(descriptor_, 0, SEEK_SET);
    for (;;) {
      const ssize_t got = read(descriptor_, block.data(), block.size());
      if (got <= 0) return text;
      text.append(block.data(), static_cast<size_t>(got));
    }
  }

 private:
  int descriptor_;
};

std::string last_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  const size_t begin = text.rfind('\n');
  // ip and tc end with "Command failed -:3"; the failure is described before it.
  if (begin != std::string::npos && text.find("Command failed", begin) != std::string::npos) {
    std::string place = text.substr(begin + 1);
    text.resize(begin);
    return last_line(text) + " [" + place + "]";
  }
  return begin == std::string::npos ? text : text.substr(begin + 1);
}

[[noreturn]] void become(const std::vector<std::string>& words, const Scratch& in,
                         const Scratch& out, const Scratch& err) {
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  dup2(in.descriptor(), STDIN_FILENO);
  dup2(out.descriptor(), STDOUT_FILENO);
  dup2(err.descriptor(), STDERR_FILENO);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setsid();  // Ctrl-C goes to the lab's process, which then removes the incomplete lab
  execvp(arguments[0], arguments.data());
  _exit(kNotFound);
}

// A pause of a host stops all processes in its namespace; a tool that only reads or changes the lab
// is none of the host's, and goes on.
int status_at_end_of(pid_t child) {
  int status = 0;
  for (;;) {
    const pid_t changed = waitpid(child, &status, WUNTRACED);
    if (changed < 0 && errno == EINTR) continue;
    if (changed < 0 || !WIFSTOPPED(status)) return status;
    kill(child, SIGCONT);
  }
}

}  // namespace

Result<std::string> run_tool(const std::vector<std::string>& words, const std::string& input) {
  const Scratch in, out, err;
  const std::string what = fmt::format("{} failed", words.front());
  if (in.descriptor() < 0 || out.descriptor() < 0 || err.descriptor() < 0 || !in.fill(input)) {
    return fail(ErrorCode::kSystem, what, std::strerror(errno), "see `ulimit -a`");
  }
  const pid_t child = fork();
  if (child < 0) return fail(ErrorCode::kSystem, what, std::strerror(errno), "see `ulimit -u`");
  if (child == 0) become(words, in, out, err);
  const int status = status_at_end_of(child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return out.content();
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNotFound) {
    return fail(ErrorCode::kUnavailable, what, "it is not installed",
                "install it: a lab's tools are in Debian's ethtool, iproute2 and nftables");
  }
  const std::string said = last_line(err.content());
  return fail(ErrorCode::kSystem, fmt::format("`{}` failed", fmt::join(words, " ")),
              said.empty() ? "it gave no reason" : said,
              "namespaces, veth, tbf and nftables must be in the kernel and allowed here");
}

Result<void> run_batch(std::vector<std::string> tool, const std::string& text) {
  if (text.empty()) return {};
  tool.insert(tool.end(), {"-batch", "-"});
  const Result<std::string> done = run_tool(tool, text);
  if (!done) return fail(done.error());
  return {};
}

Result<void> run_filter(const std::string& text) {
  if (text.empty()) return {};
  const Result<std::string> done = run_tool({"nft", "-f", "-"}, text);
  if (!done) return fail(done.error());
  return {};
}

std::string find_program(const std::string& program) {
  const char* const path = std::getenv("PATH");
  std::string folders = path == nullptr ? "/usr/sbin:/usr/bin:/sbin:/bin" : path;
  folders += ":";
  for (size_t at = 0, end = 0; (end = folders.find(':', at)) != std::string::npos; at = end + 1) {
    std::string file = folders.substr(at, end - at) + "/" + program;
    if (access(file.c_str(), X_OK) == 0) return file;
  }
  return {};
}

Result<void> check_tools() {
  for (const char* const tool : {"ip", "tc", "nft", "ethtool"}) {
    if (!find_program(tool).empty()) continue;
    return fail(ErrorCode::kUnavailable, "cannot make a lab",
                fmt::format("the program {} is not installed", tool),
                "install iproute2, nftables and ethtool; as root, /usr/sbin belongs into PATH");
  }
  // Each host sees the lab's names in its place, and a mount needs a file to cover.
  if (access("/etc/hosts", F_OK) != 0) {
    return fail(ErrorCode::kUnavailable, "cannot make a lab",
                "there is no file /etc/hosts, in whose place hosts see the names of all hosts",
                "make an empty one: touch /etc/hosts");
  }
  return {};
}

}  // namespace heddle::lab
