// MessagePattern: contents of test messages that depend on the message's number and on the place,
// so that a byte which is lost, late, doubled or out of place is noticed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace heddle::measure {

// Writes the contents of message `number`.
void fill_message(std::span<std::byte> bytes, uint64_t number);

// The offset of the first byte that differs from them; nothing when all agree.
std::optional<uint64_t> find_difference(std::span<const std::byte> bytes, uint64_t number);

}  // namespace heddle::measure
