// The packet store: fixed-size records from one pool, larger contents in blocks of a few sizes.
#include "simulator/packet.h"

#include <cstring>

#include "base/check.h"

namespace heddle::simulator {
namespace {

constexpr uint32_t kIndexBits = 28;
constexpr uint32_t kIndexMask = (1u << kIndexBits) - 1;

}  // namespace

PacketId PacketStore::lend(uint16_t header_bytes, uint32_t payload_bytes,
                           transport::RegionId content, uint64_t content_at) {
  const PacketId id = packets_.lend();
  CHECK(id != kNoIndex);
  Packet& packet = packets_[id];
  packet = Packet();
  packet.header_bytes = header_bytes;
  packet.payload_bytes = payload_bytes;
  packet.content = content;
  packet.content_at = content_at;
  const uint32_t bytes = real_bytes(packet);
  if (bytes > Packet::kInlineBytes) packet.block = lend_block(bytes);
  return id;
}

PacketId PacketStore::clone(PacketId id) {
  const PacketId copy = packets_.lend();
  CHECK(copy != kNoIndex);
  const Packet& from = packets_[id];
  Packet& to = packets_[copy];
  to = from;
  if (from.block != kNoIndex) {
    to.block = lend_block(real_bytes(from));
    std::memcpy(block(to.block), block(from.block), real_bytes(from));
  }
  return copy;
}

void PacketStore::give_back(PacketId id) {
  const uint32_t name = packets_[id].block;
  if (name != kNoIndex) classes_[name >> kIndexBits].free.push_back(name & kIndexMask);
  packets_.give_back(id);
}

std::byte* PacketStore::bytes(Packet& packet) {
  return packet.block == kNoIndex ? packet.header.data() : block(packet.block);
}

const std::byte* PacketStore::bytes(const Packet& packet) const {
  return packet.block == kNoIndex ? packet.header.data() : block(packet.block);
}

uint32_t PacketStore::lend_block(uint32_t bytes) {
  uint32_t which = 0;
  while (which < classes_.size() && classes_[which].bytes < bytes) ++which;
  CHECK(which < classes_.size());
  BlockClass& size_class = classes_[which];
  if (size_class.free.empty()) {
    CHECK(size_class.blocks.size() < kIndexMask);
    size_class.free.push_back(static_cast<uint32_t>(size_class.blocks.size()));
    size_class.blocks.push_back(std::make_unique<std::byte[]>(size_class.bytes));
    size_class.free.reserve(size_class.blocks.size());
  }
  const uint32_t index = size_class.free.back();
  size_class.free.pop_back();
  return which << kIndexBits | index;
}

std::byte* PacketStore::block(uint32_t name) const {
  return classes_[name >> kIndexBits].blocks[name & kIndexMask].get();
}

}  // namespace heddle::simulator
