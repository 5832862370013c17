// NicPorts: see nic_ports.h.
#include "simulator/fabric/nic_ports.h"

#include <algorithm>

#include "base/check.h"
#include "topology/ecmp.h"

namespace heddle::simulator {
namespace {

constexpr uint16_t kFirstSendPort = topology::kFirstSourcePort;
constexpr uint16_t kSendPorts = topology::kSourcePorts;  // per port

}  // namespace

uint16_t NicPorts::attach(NicId nic, uint16_t port, Port& receiver) {
  CHECK(nic < nics_.size());
  std::vector<Attached>& ports = nics_[nic].ports;
  for (const Attached& other : ports) CHECK(other.port != port);
  uint16_t base = kFirstSendPort;
  const auto taken = [&](const Attached& other) { return other.send_base == base; };
  while (std::any_of(ports.begin(), ports.end(), taken)) base += kSendPorts;
  CHECK(base >= kFirstSendPort && port < kFirstSendPort);
  ports.push_back({port, base, &receiver});
  return base;
}

void NicPorts::detach(NicId nic, uint16_t port) {
  std::vector<Attached>& ports = nics_[nic].ports;
  const auto found = std::find_if(ports.begin(), ports.end(),
                                  [port](const Attached& each) { return each.port == port; });
  CHECK(found != ports.end());
  std::erase(nics_[nic].wanting_room, found->receiver);
  ports.erase(found);
}

void NicPorts::want_room(NicId nic, Port& port) {
  std::vector<Port*>& wanting = nics_[nic].wanting_room;
  if (std::find(wanting.begin(), wanting.end(), &port) == wanting.end()) wanting.push_back(&port);
}

void NicPorts::notify_of_room(NicId nic) {
  State& state = nics_[nic];
  state.room_at = Nanos::never();
  notified_.swap(state.wanting_room);
  for (Port* port : notified_) port->handle_room();
  notified_.clear();
}

}  // namespace heddle::simulator
