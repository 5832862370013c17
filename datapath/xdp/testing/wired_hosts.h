// WiredHosts, for tests: two network namespaces joined by a veth pair, or by a router in a third
// that marks congestion. Needs root; otherwise create() returns the reason, with which the test is
// skipped.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "datapath/udp/testing/private_network.h"

namespace heddle::datapath {

struct WiredHostsOptions {
  uint32_t mtu_bytes = 1500;
  uint32_t queues = 1;           // of each interface
  bool router = false;           // between them, in its own namespace; marks every ECT packet CE
  bool static_neighbors = true;  // else the kernel resolves them
  bool vlan = false;             // the addresses are on the VLAN interface `tagged0`, id 5
};

class WiredHosts {
 public:
  // Addresses: 10.8.0.1 and 10.8.0.2 (behind a router 10.9.0.2), fd08::1 and fd08::2 (fd09::2). The
  // interfaces are `wire0`, their MAC addresses end with 01 and 02.
  static Result<std::unique_ptr<WiredHosts>> create(const WiredHostsOptions& options) {
    auto made = std::make_unique<WiredHosts>();
    for (std::unique_ptr<PrivateNetwork>* host : {&made->a_, &made->b_, &made->router_}) {
      if (host == &made->router_ && !options.router) continue;
      Result<std::unique_ptr<PrivateNetwork>> network = PrivateNetwork::create();
      if (!network) return fail(network.error());
      *host = std::move(*network);
    }
    if (Result<void> wired = options.router ? made->wire_router(options) : made->wire(options);
        !wired) {
      return fail(wired.error());
    }
    return made;
  }

  // A second pair, `wire1`: 10.8.1.1 and 10.8.1.2.
  Result<void> add_second_wire() {
    if (auto done =
            a_->command("ip link add wire1 type veth peer name wire1 netns " + name_of(*b_));
        !done) {
      return done;
    }
    const auto commands = [](const std::string& own, const std::string& other) {
      return Commands{"ip link set wire1 address 02:00:00:00:01:0" + own,
                      "ip addr add 10.8.1." + own + "/24 dev wire1", "ip link set wire1 up",
                      "ip neigh replace 10.8.1." + other + " lladdr 02:00:00:00:01:0" + other +
                          " nud permanent dev wire1"};
    };
    if (auto done = run(*a_, commands("1", "2")); !done) return done;
    return run(*b_, commands("2", "1"));
  }

  PrivateNetwork& a() { return *a_; }
  PrivateNetwork& b() { return *b_; }
  static std::string address_a(bool six) { return six ? "fd08::1" : "10.8.0.1"; }
  std::string address_b(bool six) const {
    if (router_ != nullptr) return six ? "fd09::2" : "10.9.0.2";
    return six ? "fd08::2" : "10.8.0.2";
  }

 private:
  using Commands = std::vector<std::string>;

  static Result<void> run(PrivateNetwork& network, const Commands& commands) {
    for (const std::string& command : commands) {
      if (Result<void> done = network.command(command); !done) return done;
    }
    return {};
  }

  // A thread's id names its namespace.
  static std::string name_of(PrivateNetwork& network) {
    long id = 0;
    network.run([&id] { id = syscall(SYS_gettid); });
    return std::to_string(id);
  }

  static std::string veth(const WiredHostsOptions& options, const std::string& name,
                          const std::string& peer, PrivateNetwork& peer_network) {
    const std::string queues = " numrxqueues " + std::to_string(options.queues) + " numtxqueues " +
                               std::to_string(options.queues);
    const std::string mtu = " mtu " + std::to_string(options.mtu_bytes);
    return "ip link add " + name + mtu + queues + " type veth peer name " + peer + mtu + queues +
           " netns " + name_of(peer_network);
  }

  // Duplicate address detection would delay the first IPv6 packet.
  static Commands up(const std::string& name, const std::string& mac, const std::string& net,
                     const std::string& host) {
    return {"sysctl -w net.ipv6.conf." + name + ".accept_dad=0",
            "ip link set " + name + " address 02:00:00:00:00:" + mac,
            "ip addr add 10." + net + ".0." + host + "/24 dev " + name,
            "ip addr add fd0" + net + "::" + host + "/64 dev " + name + " nodad",
            "ip link set " + name + " up"};
  }

  static Commands neighbor(const std::string& name, const std::string& mac, const std::string& net,
                           const std::string& host) {
    const std::string tail = " lladdr 02:00:00:00:00:" + mac + " nud permanent dev " + name;
    return {"ip neigh replace 10." + net + ".0." + host + tail,
            "ip neigh replace fd0" + net + "::" + host + tail};
  }

  Result<void> wire(const WiredHostsOptions& options) {
    if (auto done = a_->command(veth(options, "wire0", "wire0", *b_)); !done) return done;
    const std::string name = options.vlan ? "tagged0" : "wire0";
    if (options.vlan) {
      // Without the offload, so that frames on the wire have their tags.
      const Commands tagged = {"ethtool -K wire0 txvlan off rxvlan off", "ip link set wire0 up",
                               "ip link add link wire0 name tagged0 type vlan id 5"};
      if (auto done = run(*a_, tagged); !done) return done;
      if (auto done = run(*b_, tagged); !done) return done;
    }
    if (auto done = run(*a_, up(name, "01", "8", "1")); !done) return done;
    if (auto done = run(*b_, up(name, "02", "8", "2")); !done) return done;
    if (!options.static_neighbors) return {};
    if (auto done = run(*a_, neighbor(name, "02", "8", "2")); !done) return done;
    return run(*b_, neighbor(name, "01", "8", "1"));
  }

  Result<void> wire_router(const WiredHostsOptions& options) {
    if (auto done = a_->command(veth(options, "wire0", "left0", *router_)); !done) return done;
    if (auto done = b_->command(veth(options, "wire0", "right0", *router_)); !done) return done;
    if (auto done = run(*a_, up("wire0", "01", "8", "1")); !done) return done;
    if (auto done = run(*b_, up("wire0", "02", "9", "2")); !done) return done;
    if (auto done = run(*router_, up("left0", "03", "8", "9")); !done) return done;
    if (auto done = run(*router_, up("right0", "04", "9", "9")); !done) return done;
    if (auto done = run(*a_, neighbor("wire0", "03", "8", "9")); !done) return done;
    if (auto done = run(*b_, neighbor("wire0", "04", "9", "9")); !done) return done;
    if (auto done = run(*router_, neighbor("left0", "01", "8", "1")); !done) return done;
    if (auto done = run(*router_, neighbor("right0", "02", "9", "2")); !done) return done;
    if (auto done = run(
            *a_, {"ip route add 10.9.0.0/24 via 10.8.0.9", "ip route add fd09::/64 via fd08::9"});
        !done) {
      return done;
    }
    if (auto done = run(
            *b_, {"ip route add 10.8.0.0/24 via 10.9.0.9", "ip route add fd08::/64 via fd09::9"});
        !done) {
      return done;
    }
    return run(*router_,
               {"sysctl -w net.ipv4.ip_forward=1", "sysctl -w net.ipv6.conf.all.forwarding=1",
                "nft 'add table inet t; add chain inet t c { type filter hook forward priority 0; "
                "}; add rule inet t c ip ecn ect0 ip ecn set ce; add rule inet t c ip6 ecn ect0 "
                "ip6 ecn set ce'"});
  }

  std::unique_ptr<PrivateNetwork> router_;
  std::unique_ptr<PrivateNetwork> b_;
  std::unique_ptr<PrivateNetwork> a_;
};

}  // namespace heddle::datapath
