// See datapath/rdma_doctor.h.
#include "datapath/rdma_doctor.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

#include "datapath/interfaces.h"
#include "datapath/verbs/params.h"

namespace heddle::datapath {
namespace {

namespace fs = std::filesystem;

bool is_capable(unsigned capability) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> data{};
  if (syscall(SYS_capget, &header, data.data()) != 0) return false;
  return (data[capability / 32].effective & (1u << capability % 32)) != 0;
}

uint32_t count_providers() {
  uint32_t count = 0;
  std::error_code failed;
  for (fs::directory_iterator entry("/etc/libibverbs.d", failed), end; !failed && entry != end;
       entry.increment(failed)) {
    if (entry->path().extension() == ".driver") ++count;
  }
  return count;
}

void check_library(const RdmaHost& host, std::vector<Finding>& findings) {
  if (!host.library) {
    findings.push_back({Grade::kFail, "library", "libibverbs.so.1 is not installed",
                        "no program of this host can use RDMA",
                        "apt-get install libibverbs1 ibverbs-providers"});
  } else if (host.providers == 0) {
    findings.push_back({Grade::kFail, "library", "libibverbs has no drivers",
                        "it finds no device without the NIC's driver library",
                        "apt-get install ibverbs-providers"});
  } else {
    findings.push_back(
        {Grade::kOk, "library",
         fmt::format("libibverbs with drivers for {} kinds of NICs", host.providers)});
  }
}

std::string port_name(const RdmaVerdict& verdict) {
  return fmt::format("{} port {}", verdict.device, verdict.port);
}

void check_ports(const RdmaHost& host, const std::vector<RdmaVerdict>& verdicts,
                 std::vector<Finding>& findings) {
  if (verdicts.empty()) {
    findings.push_back({Grade::kFail, "device", "this host has no RDMA devices",
                        "heddle uses its UDP datapath",
                        "load the driver of the NIC; heddle lab vm has RDMA devices for tests"});
    return;
  }
  const bool any = std::any_of(verdicts.begin(), verdicts.end(),
                               [](const RdmaVerdict& each) { return each.choice.has_value(); });
  bool taken = false;
  for (const RdmaVerdict& verdict : verdicts) {
    if (!verdict.choice) {
      // A port that is not in use next to one that is needs no attention of a script.
      findings.push_back({any ? Grade::kWarn : Grade::kFail, "port",
                          fmt::format("{} is not used", port_name(verdict)), verdict.reason,
                          verdict.todo});
      continue;
    }
    const RdmaGid& gid = verdict.choice->gid;
    findings.push_back(
        {Grade::kOk, "port",
         fmt::format("{} {}: GID {}, {}{}, {}", port_name(verdict),
                     taken ? "could be used, too" : "is used", gid.index,
                     rdma_address_text(gid.address),
                     gid.interface.empty() ? "" : " of " + gid.interface, verdict.reason)});
    taken = true;
  }
  if (any || (!host.binding.address && host.binding.interface.empty())) return;
  findings.push_back({Grade::kFail, "binding", "no port fits what heddle is bound to",
                      "verbs and UDP of an endpoint use the same address",
                      "leave --local out to see what there is"});
}

void check_mtu(const RdmaHost& host, const std::vector<RdmaVerdict>& verdicts,
               std::vector<Finding>& findings) {
  for (const RdmaVerdict& verdict : verdicts) {
    if (!verdict.choice) continue;
    const auto found = std::find_if(
        host.interfaces.begin(), host.interfaces.end(), [&](const HostInterface& each) {
          return each.name == verdict.choice->gid.interface && each.mtu_bytes > 0;
        });
    if (found == host.interfaces.end()) continue;
    const std::string text = fmt::format("{}: {} bytes", found->name, found->mtu_bytes);
    if (found->mtu_bytes >= verbs_params::kWantedMtu) {
      findings.push_back({Grade::kOk, "mtu", text});
    } else {
      findings.push_back(
          {Grade::kWarn, "mtu", text,
           found->mtu_bytes >= verbs_params::kEnoughForDatagrams
               ? "packets of RoCE carry at most 2,048 bytes"
               : "packets of RoCE carry at most 1,024 bytes, too few for rdma_mode ud",
           fmt::format("ip link set {} mtu 9000, on all hosts and switches", found->name)});
    }
  }
}

void check_memlock(const RdmaHost& host, std::vector<Finding>& findings) {
  if (host.may_lock || host.memlock_bytes < 0) {
    findings.push_back({Grade::kOk, "memlock", "memory can be registered without a limit"});
    return;
  }
  const std::string text = fmt::format("{} KiB of memory can be locked", host.memlock_bytes >> 10);
  if (host.memlock_bytes >= verbs_params::kWantedMemlock) {
    findings.push_back({Grade::kOk, "memlock", text});
    return;
  }
  findings.push_back({Grade::kWarn, "memlock", text, "registering larger buffers fails",
                      "ulimit -l unlimited, LimitMEMLOCK=infinity of the service, or "
                      "docker run --ulimit memlock=-1"});
}

}  // namespace

RdmaHost read_rdma_host(const RdmaBinding& binding) {
  RdmaHost host;
  host.devices = read_rdma_facts();
  host.binding = binding;
  host.interfaces = host_interfaces();
  if (void* const library = dlopen("libibverbs.so.1", RTLD_LAZY | RTLD_LOCAL)) {
    host.library = true;
    dlclose(library);
  }
  host.providers = count_providers();
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0) {
    host.memlock_bytes =
        limit.rlim_cur == RLIM_INFINITY ? -1 : static_cast<int64_t>(limit.rlim_cur);
  }
  host.may_lock = is_capable(CAP_IPC_LOCK);
  return host;
}

std::vector<Finding> examine_rdma(const RdmaHost& host) {
  const std::vector<RdmaVerdict> verdicts = judge_rdma_ports(host.devices, host.binding);
  std::vector<Finding> findings;
  check_ports(host, verdicts, findings);
  check_library(host, findings);
  if (verdicts.empty()) return findings;
  check_mtu(host, verdicts, findings);
  check_memlock(host, findings);
  return findings;
}

}  // namespace heddle::datapath
