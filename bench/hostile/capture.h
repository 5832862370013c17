// Capture: records the datagrams that pass an interface, as an attacker on the path could.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heddle::bench {

// One UDP datagram over IPv4, addresses and ports in network order.
struct Datagram {
  uint32_t from = 0;
  uint32_t to = 0;
  uint16_t from_port = 0;
  uint16_t to_port = 0;
  std::vector<uint8_t> payload;
};

class Capture {
 public:
  // Listens on an interface of this namespace. Throws std::system_error.
  explicit Capture(const std::string& interface);
  ~Capture();
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  // The datagrams since the last call; GSO bursts are split into their datagrams. Blocks for at
  // most `wait_ms`.
  std::vector<Datagram> take(int wait_ms);

 private:
  int descriptor_;
};

}  // namespace heddle::bench
