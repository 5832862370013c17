// The record's layout as a plain little-endian structure.
#include "plugins/nccl/net/control_record.h"

#include <cstring>

namespace heddle::nccl {
namespace {

struct Layout {
  uint32_t kind = 0;
  uint32_t comm = 0;
  int32_t tag = 0;
  uint16_t channel = 0;
  uint16_t zero = 0;
  uint64_t listener = 0;
  uint64_t unused = 0;
};
static_assert(sizeof(Layout) == ControlRecord::kBytes);

}  // namespace

void write_record(std::span<std::byte, ControlRecord::kBytes> bytes, const ControlRecord& record) {
  const Layout layout = {.kind = static_cast<uint32_t>(record.kind),
                         .comm = record.comm,
                         .tag = record.tag,
                         .channel = record.channel,
                         .listener = record.listener};
  std::memcpy(bytes.data(), &layout, sizeof layout);
}

std::optional<ControlRecord> read_record(std::span<const std::byte, ControlRecord::kBytes> bytes) {
  Layout layout;
  std::memcpy(&layout, bytes.data(), sizeof layout);
  if (layout.kind < static_cast<uint32_t>(ControlKind::kOpen) ||
      layout.kind > static_cast<uint32_t>(ControlKind::kClosed)) {
    return std::nullopt;
  }
  return ControlRecord{.kind = static_cast<ControlKind>(layout.kind),
                       .comm = layout.comm,
                       .tag = layout.tag,
                       .channel = layout.channel,
                       .listener = layout.listener};
}

}  // namespace heddle::nccl
