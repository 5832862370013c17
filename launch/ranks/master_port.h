// The port of MASTER_PORT, which programs for torchrun use for their own TCP server.
#pragma once

#include <cstdint>
#include <set>
#include <string_view>

namespace heddle::launch {

// The local ports in the text of /proc/net/tcp or tcp6, whatever their state.
std::set<uint16_t> tcp_ports(std::string_view text);

// A port of 20000 to 31999 (below the system's ephemeral range) that is free on this host; `seed`
// selects it.
uint16_t choose_master_port(uint64_t seed);

}  // namespace heddle::launch
