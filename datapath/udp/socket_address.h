// SocketAddress: conversion between transport::Address and sockaddr.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "transport/address.h"

namespace heddle::datapath {

// The family of a socket. A wildcard kIpv6 socket carries IPv4 as mapped addresses.
enum class Family : uint8_t { kIpv4, kIpv6 };

// A sockaddr_in or sockaddr_in6; keeps the system's types out of headers.
struct SocketAddress {
  alignas(8) std::array<std::byte, 28> bytes{};
  uint32_t length = 0;
};

// True for addresses of the form ::ffff:a.b.c.d.
bool is_ipv4(const transport::Address& address);
// The wildcard address of a family.
transport::Address any_address(Family family, uint16_t port);
bool is_any(const transport::Address& address);

// False: an IPv6 address on an IPv4 socket.
bool to_socket_address(const transport::Address& address, Family family, SocketAddress& out);
// Converts a sockaddr_in or sockaddr_in6 at `address`; an empty address for other families.
transport::Address from_socket_address(const void* address);

}  // namespace heddle::datapath
