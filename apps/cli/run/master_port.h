// The port that programs for torchrun are told (MASTER_PORT), for a TCP server of their own.
#pragma once

#include <cstdint>
#include <set>
#include <string_view>

namespace heddle::cli {

// The local ports in the text of /proc/net/tcp or tcp6, whatever their state.
std::set<uint16_t> tcp_ports(std::string_view text);

// One of 20000 to 31999, below those that the system gives to whoever asks for any, that nobody on
// this host has now; which of them, `seed` says.
uint16_t choose_master_port(uint64_t seed);

}  // namespace heddle::cli
