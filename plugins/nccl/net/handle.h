// Handle: the 128 bytes that NCCL carries from a listening rank to the rank that connects. It names
// the listener's process, endpoint and listen comm; the version makes two releases of heddle that
// cannot talk name the side to upgrade.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/result.h"
#include "nccl/types.h"
#include "transport/address.h"

namespace heddle::nccl {

struct Handle {
  // Of the handle and of the control records; a change of either raises it.
  static constexpr uint16_t kVersion = 1;

  uint64_t process = 0;   // random, of the listening process's attachment
  uint64_t listener = 0;  // random: a peer without the handle cannot reach the listen comm
  transport::Address address;
};

using HandleBytes = std::span<std::byte, kHandleBytes>;

void write_handle(HandleBytes bytes, const Handle& handle);
// Errors: kInvalid (no handle of heddle), kVersion.
Result<Handle> read_handle(std::span<const std::byte, kHandleBytes> bytes);

// NCCL calls connect() with the same buffer until it succeeds. A number of the connecting side is
// kept in it from the first call on; 0 before.
uint64_t pending_connect(std::span<const std::byte, kHandleBytes> bytes);
void set_pending_connect(HandleBytes bytes, uint64_t number);
// Which of the connecting side's endpoints connects, kept in the same way. None before, and where
// the buffer has a number that is not below `endpoints`.
std::optional<int> connecting_endpoint(std::span<const std::byte, kHandleBytes> bytes,
                                       int endpoints);
void set_connecting_endpoint(HandleBytes bytes, int endpoint);

}  // namespace heddle::nccl
