// ControlRecord: what the two sides of a link send to each other on channel 0. The connecting side
// announces comms and tags ahead of payload and allocates their numbers; the accepting side reports
// comms that have ended.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "engine/endpoint.h"

namespace heddle::nccl {

inline constexpr engine::Channel kControlChannel = 0;

enum class ControlKind : uint32_t {
  kOpen = 1,  // comm `comm` begins; it belongs to the listen comm `listener`
  kTag = 2,   // sends of `comm` with `tag` travel on `channel`
  // Backwards: `comm` has no receiver any more, or its listen comm does not exist.
  kClosed = 3,
};

struct ControlRecord {
  static constexpr size_t kBytes = 32;

  ControlKind kind = ControlKind::kOpen;
  uint32_t comm = 0;
  int32_t tag = 0;
  engine::Channel channel = 0;
  uint64_t listener = 0;
};

void write_record(std::span<std::byte, ControlRecord::kBytes> bytes, const ControlRecord& record);
// Empty: no record of this version.
std::optional<ControlRecord> read_record(std::span<const std::byte, ControlRecord::kBytes> bytes);

}  // namespace heddle::nccl
