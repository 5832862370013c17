// For any file contents, reading ends and accesses no memory outside the file.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "events/recording_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // Aligned like a mapped file.
  std::vector<uint64_t> aligned(size / 8 + 1);
  std::memcpy(aligned.data(), data, size);
  auto reader = heddle::events::RecordingReader::over(
      reinterpret_cast<const std::byte*>(aligned.data()), size, "fuzz");
  if (!reader) return 0;
  heddle::events::RecordedEvent event;
  size_t bytes = 0;
  while (reader->next(event)) {
    bytes += std::visit([](const auto& each) { return to_text(each).size(); }, event.event);
  }
  return bytes == SIZE_MAX ? 1 : 0;
}
