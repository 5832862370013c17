// ControlRecord: what the connecting side of a link sends on channel 0, ahead of payload on the
// channels that the record names. It allocates all numbers; the accepting side only reads.
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
