// Chooses an RDMA port and GID: see datapath/rdma_devices.h.
#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>

#include "datapath/rdma_devices.h"

namespace heddle::datapath {
namespace {

using Address = std::array<uint8_t, 16>;

bool is_ipv4(const Address& address) {
  static constexpr Address kPrefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::equal(address.begin(), address.begin() + 12, kPrefix.begin());
}

bool is_link_local(const Address& address) {
  return address[0] == 0xfe && (address[1] & 0xc0) == 0x80;
}

struct Refusal {
  std::string reason;
  std::string todo;
};

// Why no binding can use this port.
std::optional<Refusal> refuse(const RdmaDevice& device, const RdmaPort& port) {
  if (!port.ethernet) {
    return Refusal{"its link layer is InfiniBand, and heddle's verbs need RoCE version 2",
                   "use IP over InfiniBand with the UDP datapath, or an Ethernet port"};
  }
  if (port.state != "ACTIVE") {
    return Refusal{fmt::format("the port is {}", port.state.empty() ? "unknown" : port.state),
                   "check the cable, and enable its interface: ip link set DEVICE up"};
  }
  if (device.node.empty()) {
    return Refusal{"the kernel has no verbs node for the device", "modprobe ib_uverbs"};
  }
  if (device.node_state == NodeState::kMissing) {
    return Refusal{fmt::format("{} is missing", device.node),
                   "in a container: pass it in (docker run --device=/dev/infiniband)"};
  }
  if (device.node_state == NodeState::kForbidden) {
    return Refusal{fmt::format("this user may not open {}", device.node),
                   fmt::format("chmod 666 {}, as rdma-core's udev rule does", device.node)};
  }
  if (port.gids.empty()) {
    return Refusal{"its GID table is empty: the interface has no address",
                   "give the interface an IP address"};
  }
  if (std::none_of(port.gids.begin(), port.gids.end(),
                   [](const RdmaGid& gid) { return gid.roce_v2; })) {
    return Refusal{"it has only GIDs of RoCE version 1, which routers do not forward",
                   "enable RoCE version 2 in the driver, or give the interface an IP address"};
  }
  return std::nullopt;
}

// Lower is better: IPv4 first, since routes and firewalls are most often made for it.
int rank_of(const RdmaGid& gid) { return is_ipv4(gid.address) ? 0 : 1; }

// Judges one port of a machine for one binding.
class Judge {
 public:
  Judge(const RdmaFacts& facts, const RdmaBinding& binding) : binding_(binding) {
    const auto master = facts.masters.find(binding.interface);
    interface_ = master == facts.masters.end() ? binding.interface : master->second;
  }

  RdmaVerdict judge(const RdmaDevice& device, const RdmaPort& port) const {
    RdmaVerdict verdict{device.name, port.number, std::nullopt, {}, {}};
    if (const auto refusal = refuse(device, port)) {
      verdict.reason = refusal->reason;
      verdict.todo = refusal->todo;
      return verdict;
    }
    const RdmaGid* const best = best_of(port.gids);
    if (best == nullptr) {
      explain(port, verdict);
      return verdict;
    }
    verdict.choice = RdmaChoice{device.name, port.number, *best, device.software};
    verdict.reason = reason_of(*best);
    return verdict;
  }

 private:
  bool fits(const RdmaGid& gid) const {
    if (!gid.roce_v2) return false;
    if (binding_.address && gid.address != *binding_.address) return false;
    if (!interface_.empty() && gid.interface != interface_) return false;
    return !is_link_local(gid.address);
  }

  const RdmaGid* best_of(const std::vector<RdmaGid>& gids) const {
    const RdmaGid* best = nullptr;
    for (const RdmaGid& gid : gids) {
      if (fits(gid) && (best == nullptr || rank_of(gid) < rank_of(*best))) best = &gid;
    }
    return best;
  }

  std::string reason_of(const RdmaGid& gid) const {
    if (binding_.address) return "it is the bound address";
    const std::string of =
        interface_.empty()                 ? std::string()
        : interface_ == binding_.interface ? fmt::format(" of the bound interface {}", interface_)
                                           : fmt::format(" of {}, the bond of {}", interface_,
                                                         binding_.interface);
    return fmt::format("the first {} of RoCE version 2{}",
                       is_ipv4(gid.address) ? "IPv4 address" : "IPv6 address, there is no IPv4 one",
                       of);
  }

  void explain(const RdmaPort& port, RdmaVerdict& verdict) const {
    if (binding_.address) {
      const std::string text = rdma_address_text(*binding_.address);
      const bool only_v1 = std::any_of(port.gids.begin(), port.gids.end(), [&](const RdmaGid& gid) {
        return gid.address == *binding_.address;
      });
      verdict.reason = is_link_local(*binding_.address) ? text + " is a link-local address"
                       : only_v1 ? fmt::format("{} is there for RoCE version 1 only", text)
                                 : fmt::format("no GID is {}", text);
      verdict.todo = "bind an address of the port's interface";
      return;
    }
    const bool of_others = !interface_.empty() && std::none_of(port.gids.begin(), port.gids.end(),
                                                               [&](const RdmaGid& gid) {
                                                                 return gid.interface == interface_;
                                                               });
    verdict.reason = of_others ? fmt::format("its GIDs belong to {}, not to {}",
                                             port.gids[0].interface, interface_)
                               : "its only GIDs of RoCE version 2 are link-local";
    verdict.todo = of_others ? fmt::format("bind {}, or an address of it", port.gids[0].interface)
                             : "give the interface an IP address";
  }

  const RdmaBinding& binding_;
  std::string interface_;
};

}  // namespace

std::vector<RdmaVerdict> judge_rdma_ports(const RdmaFacts& facts, const RdmaBinding& binding) {
  const Judge judge(facts, binding);
  std::vector<RdmaVerdict> verdicts;
  for (const RdmaDevice& device : facts.devices) {
    for (const RdmaPort& port : device.ports) verdicts.push_back(judge.judge(device, port));
  }
  return verdicts;
}

Result<RdmaChoice> choose_rdma_port(const RdmaFacts& facts, const RdmaBinding& binding) {
  std::string reasons;
  for (const RdmaVerdict& verdict : judge_rdma_ports(facts, binding)) {
    if (verdict.choice) return *verdict.choice;
    reasons += fmt::format("{}{} port {}: {}", reasons.empty() ? "" : "; ", verdict.device,
                           verdict.port, verdict.reason);
  }
  return fail(ErrorCode::kUnavailable, "no RDMA port can be used",
              reasons.empty() ? "this host has no RDMA devices" : reasons,
              "see heddle doctor rdma");
}

std::string rdma_address_text(const Address& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (is_ipv4(address)) {
    inet_ntop(AF_INET, address.data() + 12, text.data(), text.size());
  } else {
    inet_ntop(AF_INET6, address.data(), text.data(), text.size());
  }
  return text.data();
}

Result<Address> parse_rdma_address(const std::string& text) {
  Address address{};
  if (inet_pton(AF_INET6, text.c_str(), address.data()) == 1) return address;
  if (inet_pton(AF_INET, text.c_str(), address.data() + 12) == 1) {
    address[10] = address[11] = 0xff;
    return address;
  }
  return fail(ErrorCode::kInvalid, fmt::format("'{}' is no address", text), "",
              "give one like 10.0.0.1 or fd00::1");
}

}  // namespace heddle::datapath
