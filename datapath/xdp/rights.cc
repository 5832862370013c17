// See rights.h. Who may do what: capabilities(7), and the kernel's bpf and xsk sources.
#include "datapath/xdp/rights.h"

#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdint>

namespace heddle::datapath {

namespace {

constexpr char kWhat[] = "cannot use AF_XDP";
constexpr char kGrant[] =
    "run it as root, or `setcap cap_net_raw,cap_net_admin,cap_bpf,cap_ipc_lock+ep PROGRAM`; UDP "
    "needs no rights";

uint64_t effective_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> data{};
  if (syscall(SYS_capget, &header, data.data()) != 0) return 0;
  return uint64_t{data[1].effective} << 32 | data[0].effective;
}

}  // namespace

Result<void> check_xdp_rights() {
  const uint64_t have = effective_capabilities();
  const auto has = [have](int capability) { return (have >> capability & 1) != 0; };
  std::string missing;
  const auto need = [&missing](bool there, const char* name) {
    if (!there) missing += (missing.empty() ? "" : ", ") + std::string(name);
  };
  need(has(CAP_NET_RAW), "CAP_NET_RAW");
  need(has(CAP_NET_ADMIN), "CAP_NET_ADMIN");
  need(has(CAP_BPF) || has(CAP_SYS_ADMIN), "CAP_BPF");
  if (missing.empty()) return {};
  return fail(ErrorCode::kPermission, kWhat, "this process lacks " + missing, kGrant);
}

Error xdp_refused(const std::string& step) {
  return {ErrorCode::kPermission, kWhat,
          "the kernel refuses it to this process (" + step +
              "), as in user namespaces and some containers, where CAP_NET_RAW, CAP_NET_ADMIN and "
              "CAP_BPF count for less",
          "run it in the host's user namespace; UDP needs no rights"};
}

Error xdp_memory_exhausted(size_t bytes) {
  rlimit limit{};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  const std::string kibibytes = std::to_string(limit.rlim_cur / 1024);
  return {ErrorCode::kExhausted, kWhat,
          "its frames take " + std::to_string(bytes / 1024) + " KiB of locked memory, and " +
              (limit.rlim_cur == RLIM_INFINITY ? "the system has no more"
                                               : "the limit is " + kibibytes + " KiB"),
          "raise the limit (`ulimit -l`), grant CAP_IPC_LOCK, or use fewer queues"};
}

void raise_locked_memory_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_MEMLOCK, &limit);
}

}  // namespace heddle::datapath
