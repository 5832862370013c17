// Protobuf's wire format, as far as traces need it: varints, tagged fields and their lengths. The
// readers of messages (protobuf.cc) call it. No field is believed before its length is checked.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace heddle::topology::chakra {

enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

// The next field of a message.
struct Field {
  uint32_t number = 0;
  WireType type = WireType::kVarint;
  uint64_t integer = 0;    // of all but kBytes
  std::string_view bytes;  // kBytes
};

class WireReader {
 public:
  // `begin` is where the bytes lie in the file.
  WireReader(std::string_view bytes, uint64_t begin) : bytes_(bytes), begin_(begin) {}

  bool at_end() const { return at_ == bytes_.size(); }
  uint64_t place() const { return begin_ + at_; }
  // Where the latest field's bytes begin in the file.
  uint64_t place_of_bytes() const { return begin_ + at_ - length_; }
  // These return false where the bytes are cut off or make no sense.
  bool varint(uint64_t& value);
  bool bytes(std::string_view& value);  // after their length
  bool next(Field& field);

 private:
  bool fixed(size_t size, uint64_t& value);

  std::string_view bytes_;
  uint64_t begin_;
  size_t at_ = 0;
  size_t length_ = 0;
};

void append_varint(std::string& out, uint64_t value);
// Fields; what has its default value is left out, as proto3 does.
void append_integer(std::string& out, uint32_t number, uint64_t value);
void append_bytes(std::string& out, uint32_t number, std::string_view value);

}  // namespace heddle::topology::chakra
