// Any bytes as a sender's message and as a receiver's answers: each is read or refused, and what is
// read is written again as the same records.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "copying/records.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> message(reinterpret_cast<const std::byte*>(data), size);
  std::vector<std::byte> again(size);
  heddle::copying::RecordWriter writer(again);
  heddle::copying::RecordReader reader(message);
  while (true) {
    const auto record = reader.next();
    if (!record || !record->has_value()) return 0;
    const size_t before = writer.bytes();
    if (!writer.add(**record)) __builtin_trap();
    // What a peer's texts hold may be any bytes; their places may not change.
    for (size_t i = before; i < writer.bytes(); ++i) {
      if (again[i] != message[i]) __builtin_trap();
    }
  }
}
