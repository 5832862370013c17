// ProbePorts: the sockets of probes, by NIC and port, and waiting for any of them. Sender and
// receiver of probes own one each.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"
#include "datapath/probe_socket.h"
#include "probing/tasks.h"
#include "transport/address.h"

namespace heddle::measure {

// A NIC and a port of it.
using ProbePort = std::pair<uint32_t, uint16_t>;

class ProbePorts {
 public:
  // Resolves the addresses. Errors: those of datapath::resolve().
  Result<void> learn(const std::vector<probing::NicAddress>& nics, uint16_t port);
  // The socket, opened if it is not open. Errors: those of ProbeSocket::open(); kInvalid for a NIC
  // that is not known.
  Result<datapath::ProbeSocket*> open(const ProbePort& port);

  // Where a NIC receives probes; nullptr: it is not known.
  const transport::Address* address_of(uint32_t nic) const;
  // Whether an address is this NIC's, at any port.
  bool is_of(const transport::Address& address, uint32_t nic) const;
  // The NIC with this address; UINT32_MAX: none.
  uint32_t nic_at(const transport::Address& address) const;

  // Waits until a socket has something to read, at most this long: those that have.
  const std::vector<ProbePort>& wait(Nanos most);
  datapath::ProbeSocket& at(const ProbePort& port) { return sockets_.at(port); }

 private:
  std::map<uint32_t, transport::Address> addresses_;
  std::map<ProbePort, datapath::ProbeSocket> sockets_;
  std::vector<ProbePort> ready_;
};

}  // namespace heddle::measure
