// See rights.h.
#include "lab/rights.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "lab/worker.h"

namespace heddle::lab {
namespace {

Unexpected refused(const std::string& why) {
  return fail(ErrorCode::kPermission, "cannot make a lab", why,
              "run it as root, or where user namespaces are allowed (sysctl "
              "kernel.unprivileged_userns_clone, user.max_user_namespaces; a container's default "
              "seccomp profile may refuse them)");
}

// Tested in a child process, so that this one stays in its namespaces.
bool may_make_namespaces() {
  const Result<std::string> tried = run_apart([]() -> Result<std::string> {
    if (unshare(CLONE_NEWNET | CLONE_NEWNS) != 0) return refused(std::strerror(errno));
    return std::string("yes");
  });
  return tried.has_value();
}

Result<void> become_root_of_own(uid_t user, gid_t group) {
  if (unshare(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWNS) != 0) {
    return refused(
        fmt::format("this user may not make network namespaces: {}", std::strerror(errno)));
  }
  const Result<void> steps[] = {
      write_kernel_file("/proc/self/setgroups", "deny"),
      write_kernel_file("/proc/self/uid_map", fmt::format("0 {} 1", user)),
      write_kernel_file("/proc/self/gid_map", fmt::format("0 {} 1", group)),
  };
  for (const Result<void>& step : steps) {
    if (!step) return refused(step.error().message());
  }
  if (mount("", "/", nullptr, MS_PRIVATE | MS_REC, nullptr) != 0 ||
      mount("heddle-lab", "/run", "tmpfs", 0, "mode=755") != 0 || mkdir("/run/netns", 0755) != 0) {
    return refused(fmt::format("cannot have a /run of its own: {}", std::strerror(errno)));
  }
  return {};
}

}  // namespace

Result<void> need_root() {
  if (geteuid() == 0 && may_make_namespaces()) return {};
  return fail(ErrorCode::kPermission, "cannot make a lab that stays",
              geteuid() == 0 ? "root may not make network namespaces here" : "this is not root",
              "run it as root; without root there is `heddle lab run TOPOLOGY -- COMMAND`");
}

Result<void> get_rights() {
  if (geteuid() == 0 && may_make_namespaces()) return {};
  return become_root_of_own(geteuid(), getegid());
}

}  // namespace heddle::lab
