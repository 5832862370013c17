// See probe_ports.h.
#include "measure/probe_ports.h"

#include <fmt/core.h>
#include <poll.h>

#include <algorithm>

#include "datapath/resolve.h"

namespace heddle::measure {

Result<void> ProbePorts::learn(const std::vector<probing::NicAddress>& nics, uint16_t port) {
  for (const probing::NicAddress& nic : nics) {
    const Result<transport::Address> address = datapath::resolve(nic.address, port);
    if (!address) return fail(address.error());
    addresses_[nic.nic] = *address;
  }
  return {};
}

Result<datapath::ProbeSocket*> ProbePorts::open(const ProbePort& port) {
  const auto found = sockets_.find(port);
  if (found != sockets_.end()) return &found->second;
  const transport::Address* const known = address_of(port.first);
  if (known == nullptr) {
    return fail(ErrorCode::kInvalid, "cannot probe", fmt::format("no NIC {} is known", port.first));
  }
  transport::Address local = *known;
  local.port = port.second;
  Result<datapath::ProbeSocket> socket = datapath::ProbeSocket::open(local);
  if (!socket) return fail(std::move(socket).error());
  return &sockets_.emplace(port, std::move(*socket)).first->second;
}

const transport::Address* ProbePorts::address_of(uint32_t nic) const {
  const auto found = addresses_.find(nic);
  return found == addresses_.end() ? nullptr : &found->second;
}

bool ProbePorts::is_of(const transport::Address& address, uint32_t nic) const {
  const transport::Address* const known = address_of(nic);
  return known != nullptr && known->host == address.host;
}

uint32_t ProbePorts::nic_at(const transport::Address& address) const {
  for (const auto& [nic, known] : addresses_) {
    if (known.host == address.host) return nic;
  }
  return UINT32_MAX;
}

const std::vector<ProbePort>& ProbePorts::wait(Nanos most) {
  ready_.clear();
  std::vector<pollfd> waiting;
  waiting.reserve(sockets_.size());
  for (const auto& [port, socket] : sockets_) {
    waiting.push_back({.fd = socket.descriptor(), .events = POLLIN, .revents = 0});
  }
  const int64_t left = std::max<int64_t>(most.count, 0);
  const timespec limit{.tv_sec = left / 1'000'000'000, .tv_nsec = left % 1'000'000'000};
  if (ppoll(waiting.data(), waiting.size(), &limit, nullptr) <= 0) return ready_;
  size_t i = 0;
  for (const auto& [port, socket] : sockets_) {
    if (waiting[i++].revents != 0) ready_.push_back(port);
  }
  return ready_;
}

}  // namespace heddle::measure
