// ProcessPlace: where a process of a group is, as one line of text: the network that it is in (two
// processes with the same can reach each other by loopback), its port, the address that it is bound
// to or has learned, and a number of the writer's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "collectives/driven_endpoint.h"

namespace heddle::collectives {

inline constexpr const char* kNoAddress = "-";

struct ProcessPlace {
  std::string network;
  uint16_t port = 0;
  std::string address = kNoAddress;  // without port
  uint64_t number = 0;
};

ProcessPlace own_place(const DrivenEndpoint& endpoint, uint64_t number);
// Others reach this process by `host`, an address without port.
void learn_address(const std::string& host);

std::string text_of(const ProcessPlace& place);
// Of rank `rank`, to be named where it cannot be read (kVersion): of another version, the error
// names the host to upgrade.
Result<ProcessPlace> place_of(const std::string& text, uint32_t rank);

std::string without_port(const transport::Address& address);
// The address of each without port; empty: not known yet.
std::vector<std::string> known_hosts(const std::vector<ProcessPlace>& places);
Result<transport::Address> address_of(const std::string& host, uint16_t port);

}  // namespace heddle::collectives
