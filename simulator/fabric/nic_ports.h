// NicPorts: the ports at the NICs of a simulated network, which NICs are down, and the ports that
// wait for room in their NIC's queue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/nanos.h"
#include "simulator/packet.h"

namespace heddle::simulator {

// The receiver at a port of a NIC.
class Port {
 public:
  virtual ~Port() = default;
  // Takes ownership of the packet.
  virtual void handle_packet(PacketId packet) = 0;
  // The NIC was full and has room again.
  virtual void handle_room() = 0;
  // A piece of a remote write that this port sent has crossed the NIC's link: the NIC reads its
  // payload now, not when it was posted. False: it may not, and the packet ends.
  virtual bool handle_departure(PacketId /*packet*/) { return true; }
};

class NicPorts {
 public:
  struct Attached {
    uint16_t port = 0;
    uint16_t send_base = 0;
    Port* receiver = nullptr;

    // Whether it is one of the 256 ports that this one sends from.
    bool sends_from(uint16_t other) const { return other >= send_base && other - send_base < 256; }
  };

  explicit NicPorts(size_t nics) : nics_(nics) {}

  size_t nics() const { return nics_.size(); }
  // See Network.
  uint16_t attach(NicId nic, uint16_t port, Port& receiver);
  void detach(NicId nic, uint16_t port);
  std::span<const Attached> of(NicId nic) const { return nics_[nic].ports; }

  bool down(NicId nic) const { return nics_[nic].down; }
  void set_down(NicId nic, bool down) { nics_[nic].down = down; }

  // --- room ---
  // The port waits for it.
  void want_room(NicId nic, Port& port);
  bool wants_room(NicId nic) const { return !nics_[nic].wanting_room.empty(); }
  // When there will be room; never(): it is not known.
  Nanos room_at(NicId nic) const { return nics_[nic].room_at; }
  void set_room_at(NicId nic, Nanos at) { nics_[nic].room_at = at; }
  // Calls handle_room() of the ports that wait.
  void notify_of_room(NicId nic);

 private:
  struct State {
    bool down = false;
    std::vector<Attached> ports;
    std::vector<Port*> wanting_room;
    Nanos room_at = Nanos::never();
  };

  std::vector<State> nics_;
  std::vector<Port*> notified_;  // scratch of notify_of_room()
};

}  // namespace heddle::simulator
