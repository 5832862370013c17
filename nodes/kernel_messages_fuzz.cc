// Fuzzer: any bytes as a record of /dev/kmsg, and as a message's text. What is classified has a
// class and texts without a line break.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "nodes/kernel_messages.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace heddle;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  std::string_view text = bytes;
  if (const auto record = nodes::parse_kernel_record(bytes)) {
    CHECK(record->severity < 8 && record->stamp >= Nanos{});
    CHECK(record->text.find('\n') == std::string_view::npos);
    text = record->text;
  }
  if (const auto message = nodes::classify_kernel_message(text)) {
    CHECK(static_cast<size_t>(message->what) < events::kKernelMessageClassCount);
    CHECK(text.find(message->device.view()) != std::string_view::npos);
    CHECK(text.find(message->detail.view()) != std::string_view::npos);
  }
  return 0;
}
