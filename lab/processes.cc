// See processes.h.
#include "lab/processes.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <utility>

#include "lab/params.h"

namespace heddle::lab {
namespace {

using NamespaceId = std::pair<dev_t, ino_t>;

std::vector<pid_t> all_processes() {
  std::vector<pid_t> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename().string();
    pid_t process = 0;
    const auto [end, parsed] = std::from_chars(name.data(), name.data() + name.size(), process);
    if (parsed == std::errc() && end == name.data() + name.size()) found.push_back(process);
  }
  return found;
}

pid_t parent_of(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string text;
  std::getline(file, text);
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos || name_end + 4 > text.size()) return 0;
  return static_cast<pid_t>(std::strtol(text.c_str() + name_end + 4, nullptr, 10));
}

}  // namespace

std::vector<pid_t> processes_in(const std::vector<std::string>& namespaces) {
  std::set<NamespaceId> wanted;
  for (const std::string& name : namespaces) {
    struct stat there {};
    if (stat(("/run/netns/" + name).c_str(), &there) == 0) {
      wanted.insert({there.st_dev, there.st_ino});
    }
  }
  std::vector<pid_t> found;
  if (wanted.empty()) return found;
  for (const pid_t process : all_processes()) {
    struct stat here {};
    const std::string link = fmt::format("/proc/{}/ns/net", process);
    if (process == getpid() || stat(link.c_str(), &here) != 0) continue;
    if (wanted.contains({here.st_dev, here.st_ino})) found.push_back(process);
  }
  return found;
}

Result<void> end_processes_in(const std::vector<std::string>& namespaces) {
  std::vector<pid_t> left;
  for (int round = 0; round < params::kScans; ++round) {
    left = processes_in(namespaces);
    if (left.empty()) return {};
    for (const pid_t process : left) kill(process, SIGKILL);
    while (waitpid(-1, nullptr, WNOHANG) > 0) continue;  // our own children
    usleep(params::kScanPauseUs);
  }
  return fail(ErrorCode::kSystem, "cannot end all processes of the lab",
              fmt::format("process {} does not die", left.front()), "look at it with `ps`");
}

size_t signal_processes_in(const std::string& netns, bool stop) {
  std::set<pid_t> reached;
  for (int round = 0; round < params::kScans; ++round) {  // until no new process appears
    const size_t before = reached.size();
    for (const pid_t process : processes_in({netns})) {
      if (reached.contains(process)) continue;
      if (kill(process, stop ? SIGSTOP : SIGCONT) == 0) reached.insert(process);
    }
    if (reached.size() == before) break;
  }
  return reached.size();
}

std::vector<pid_t> descendants() {
  std::multimap<pid_t, pid_t> children;
  for (const pid_t process : all_processes()) children.insert({parent_of(process), process});
  std::vector<pid_t> found = {getpid()};
  for (size_t at = 0; at < found.size(); ++at) {
    const auto [begin, end] = children.equal_range(found[at]);
    for (auto it = begin; it != end; ++it) found.push_back(it->second);
  }
  found.erase(found.begin());
  return found;
}

}  // namespace heddle::lab
