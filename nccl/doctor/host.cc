// Checks of the host: UDP, socket buffers, limits, cores, keys and firewalls.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "nccl/doctor/checks.h"

namespace heddle::nccl::doctor {
namespace {

constexpr int64_t kWantedBuffer = int64_t{8} << 20;  // datapath::UdpOptions::receive_buffer
// heddle's sockets for each NIC (docs/how-to/several_nics.md), and those of NCCL and the program.
constexpr int64_t kDescriptorsOfNic = 65;
constexpr int64_t kDescriptorsOfProgram = 512;

void check_udp(const HostFacts& facts, Findings& findings) {
  if (facts.udp_error) {
    fail(findings, "udp", *facts.udp_error);
    return;
  }
  if (facts.gso && facts.gro) {
    ok(findings, "udp", "the kernel sends and receives bursts in one call (GSO, GRO)");
    return;
  }
  findings.push_back({Grade::kWarn, "udp",
                      fmt::format("no {}", facts.gso   ? "GRO"
                                           : facts.gro ? "GSO"
                                                       : "GSO and no GRO"),
                      "each packet costs a system call of its own",
                      "Linux 5.0 or newer, without a sandbox that emulates the network (gVisor)"});
}

void check_buffers(const HostFacts& facts, Findings& findings) {
  if (facts.rmem_max_bytes < 0 || facts.wmem_max_bytes < 0) return;
  const std::string text =
      fmt::format("rmem_max {}, wmem_max {} bytes", facts.rmem_max_bytes, facts.wmem_max_bytes);
  if (facts.forces_buffers) {
    ok(findings, "buffers", text + "; CAP_NET_ADMIN allows larger buffers");
  } else if (facts.rmem_max_bytes >= kWantedBuffer && facts.wmem_max_bytes >= kWantedBuffer) {
    ok(findings, "buffers", text);
  } else {
    // heddle counts half of what the system grants as receive capacity
    const int64_t capacity = facts.rmem_max_bytes / 2;
    findings.push_back(
        {Grade::kWarn, "buffers", text,
         fmt::format("a receiver allows {} bytes in flight, which at a round trip of 100 us is at "
                     "most {:.1f} Gb/s",
                     capacity, static_cast<double>(capacity) * 8 / 100e-6 / 1e9),
         "sysctl -w net.core.rmem_max=16777216 net.core.wmem_max=16777216"});
  }
}

void check_descriptors(const HostFacts& facts, Findings& findings) {
  if (facts.descriptors < 0) return;
  const auto nics = static_cast<int64_t>(select_nics(facts.nics, facts.selection).size());
  const int64_t needed =
      kDescriptorsOfProgram + kDescriptorsOfNic * nics * std::max(1, facts.threads);
  const std::string text = fmt::format("{} open files a process", facts.descriptors);
  if (facts.descriptors >= needed) {
    ok(findings, "limits", text);
    return;
  }
  findings.push_back(
      {Grade::kWarn, "limits", text,
       fmt::format("NCCL's and heddle's sockets for {} NICs need about {}", nics, needed),
       "ulimit -n 65536, or LimitNOFILE= of the service"});
}

void check_cores(const HostFacts& facts, Findings& findings) {
  if (facts.usable_cores < 0) return;
  const std::string text = fmt::format("{} of {} cores usable", facts.usable_cores, facts.cores);
  const int processes = std::max(1, facts.gpus);
  const int busy = processes * (facts.threads + 1);  // with NCCL's progress thread
  if (facts.usable_cores < 2) {
    findings.push_back(
        {Grade::kWarn, "cores", text,
         "the program, NCCL's progress thread and heddle share one core",
         "raise the container's CPU limit or the affinity: two cores a rank or more"});
  } else if (facts.threads > 0 && busy > facts.usable_cores) {
    findings.push_back(
        {Grade::kWarn, "cores", text,
         fmt::format("HEDDLE_NCCL_THREADS={} makes {} busy threads for {}", facts.threads, busy,
                     facts.gpus > 1 ? fmt::format("{} GPUs", facts.gpus) : "one process"),
         "lower HEDDLE_NCCL_THREADS, or unset it: threads that share cores are slower than none"});
  } else {
    ok(findings, "cores", text);
  }
}

void check_keys(const HostFacts& facts, Findings& findings) {
  if (facts.keys.error) {
    fail(findings, "keys", *facts.keys.error);
  } else if (facts.keys.file.empty()) {
    findings.push_back({Grade::kWarn, "keys", "no cluster keys",
                        "traffic is neither encrypted nor authenticated",
                        "where others share the network: heddle key generate FILE, then "
                        "HEDDLE_KEY_FILE=FILE on all hosts"});
  } else {
    ok(findings, "keys", fmt::format("{}: {}", facts.keys.file, fmt::join(facts.keys.ids, ", ")));
  }
}

void check_firewall(const HostFacts& facts, Findings& findings) {
  if (!facts.firewalls.empty()) {
    findings.push_back(
        {Grade::kWarn, "firewall",
         fmt::format("{} is set to run", fmt::join(facts.firewalls, ", ")),
         "heddle needs UDP between all hosts of a job, from and to any port above 1023",
         "allow UDP from the training network; 'heddle perf' between two hosts tests it"});
  }
  const int64_t most = facts.tracked_connections_most;
  if (most <= 0 || facts.tracked_connections < 0) return;
  if (facts.tracked_connections <= most / 5 * 4) return;
  findings.push_back(
      {Grade::kWarn, "firewall",
       fmt::format("connection tracking holds {} of at most {} entries", facts.tracked_connections,
                   most),
       "each path of heddle is an entry; when the table is full, packets are dropped",
       "raise net.netfilter.nf_conntrack_max, or exempt the training network "
       "(notrack)"});
}

}  // namespace

void check_host(const HostFacts& facts, Findings& findings) {
  check_udp(facts, findings);
  check_buffers(facts, findings);
  check_descriptors(facts, findings);
  check_cores(facts, findings);
  check_keys(facts, findings);
  check_firewall(facts, findings);
}

}  // namespace heddle::nccl::doctor
