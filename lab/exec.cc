// See exec.h.
#include "lab/exec.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cstdlib>

#include "lab/worker.h"

namespace heddle::lab {
namespace {

// Ignores errors: a program can run without these if a container forbids them.
void dress(const Lab& lab, const std::string& host) {
  const std::string hosts = lab_folder(lab.state.name) + "/hosts";
  static_cast<void>(mount(hosts.c_str(), "/etc/hosts", nullptr, MS_BIND, nullptr));
  if (unshare(CLONE_NEWUTS) == 0) static_cast<void>(sethostname(host.data(), host.size()));
  setenv("HEDDLE_LAB", lab.state.name.c_str(), 1);
  setenv("HEDDLE_LAB_HOST", host.c_str(), 1);
}

const Place* find_place(const Layout& layout, const std::string& name) {
  for (const Place& place : layout.places) {
    if (place.name == name) return &place;
  }
  return nullptr;
}

}  // namespace

ExecFailure exec_on_host(const Lab& lab, const std::string& host,
                         const std::vector<std::string>& words, const std::string& file) {
  const Place* place = find_place(lab.layout, host);
  if (place == nullptr) {
    return {{ErrorCode::kInvalid, fmt::format("cannot run {} on '{}'", words.front(), host),
             fmt::format("the lab '{}' has no host or switch of that name", lab.state.name),
             "see `heddle lab list` for its hosts"}};
  }
  if (Result<void> in = enter_namespace(place->netns, true); !in) return {in.error()};
  dress(lab, host);
  return exec_program(words, file);
}

}  // namespace heddle::lab
