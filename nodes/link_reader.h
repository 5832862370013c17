// LinkReader: counters of the network interfaces that this thread's network namespace has, and when
// they lose their carriers, from the kernel by rtnetlink(7): one question for all of them.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"

namespace heddle::nodes {

struct LinkState {
  int index = 0;
  std::string name;
  bool is_loopback = false;
  bool is_virtual = false;  // a bridge, a veth, a tunnel
  bool is_bridge = false;
  bool is_removed = false;
  bool up = false;  // it is on, and has a carrier
  uint32_t carrier_losses = 0;
  uint64_t received_bytes = 0;
  uint64_t sent_bytes = 0;
  uint64_t received_packets = 0;
  uint64_t sent_packets = 0;
  uint64_t received_errors = 0;
  uint64_t sent_errors = 0;
  uint64_t received_drops = 0;
  uint64_t sent_drops = 0;
};

// The links that messages of rtnetlink describe; a link that is removed is one that is not up.
// What is malformed is left out. `done`: they end an answer. Public for tests.
std::vector<LinkState> parse_links(std::span<const std::byte> messages, bool& done);

class LinkReader {
 public:
  // Errors: kPermission, kExhausted, kSystem.
  static Result<LinkReader> open();

  // All of them. Errors: kSystem.
  Result<std::vector<LinkState>> read();
  // Mbit/s of an interface; 0: not known.
  uint32_t speed_of(const std::string& interface) const;

  // Whether an interface has an IP address that others can reach; a pod's interface has one in the
  // pod's namespace, and none at the other end of its pair.
  static bool has_address(const std::string& interface);

  // Readable when an interface has changed.
  int notifications() const { return notifications_.number(); }
  // Those that were notified since the last call, in order.
  std::vector<LinkState> take_notified();

 private:
  LinkReader(Descriptor requests, Descriptor notifications)
      : requests_(std::move(requests)), notifications_(std::move(notifications)) {}

  Descriptor requests_;
  Descriptor notifications_;
  uint32_t sequence_ = 0;
};

}  // namespace heddle::nodes
