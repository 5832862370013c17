// Payload: what a message holds, computed from its comm and its number, so that the receiver knows
// every byte without being given it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace heddle::nccl {

// The seed of a comm's messages; both ends name the comm alike.
uint64_t payload_seed(std::string_view comm_key);
void fill_payload(std::span<std::byte> message, uint64_t seed, uint64_t index);
bool is_payload(std::span<const std::byte> message, uint64_t seed, uint64_t index);

}  // namespace heddle::nccl
