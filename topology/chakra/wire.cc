// See wire.h.
#include "topology/chakra/wire.h"

namespace heddle::topology::chakra {

bool WireReader::varint(uint64_t& value) {
  value = 0;
  for (uint32_t shift = 0; shift < 64; shift += 7) {
    if (at_ == bytes_.size()) return false;
    const auto byte = static_cast<uint8_t>(bytes_[at_++]);
    if (shift == 63 && byte > 1) return false;
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return true;
  }
  return false;
}

bool WireReader::bytes(std::string_view& value) {
  uint64_t length = 0;
  if (!varint(length) || length > bytes_.size() - at_) return false;
  length_ = static_cast<size_t>(length);
  value = bytes_.substr(at_, length_);
  at_ += length_;
  return true;
}

bool WireReader::fixed(size_t size, uint64_t& value) {
  if (bytes_.size() - at_ < size) return false;
  value = 0;
  for (size_t i = 0; i < size; ++i) {
    value |= static_cast<uint64_t>(static_cast<uint8_t>(bytes_[at_ + i])) << (8 * i);
  }
  at_ += size;
  return true;
}

bool WireReader::next(Field& field) {
  uint64_t tag = 0;
  if (!varint(tag) || tag >> 3 == 0 || tag >> 3 > 0x1fff'ffff) return false;
  field.number = static_cast<uint32_t>(tag >> 3);
  field.type = static_cast<WireType>(tag & 7);
  switch (field.type) {
    case WireType::kVarint:
      return varint(field.integer);
    case WireType::kFixed64:
      return fixed(8, field.integer);
    case WireType::kFixed32:
      return fixed(4, field.integer);
    case WireType::kBytes:
      return bytes(field.bytes);
  }
  return false;  // groups, which proto3 does not have
}

void append_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

void append_integer(std::string& out, uint32_t number, uint64_t value) {
  if (value == 0) return;
  append_varint(out, uint64_t{number} << 3);
  append_varint(out, value);
}

void append_bytes(std::string& out, uint32_t number, std::string_view value) {
  append_varint(out, (uint64_t{number} << 3) | static_cast<uint64_t>(WireType::kBytes));
  append_varint(out, value.size());
  out.append(value);
}

}  // namespace heddle::topology::chakra
