// Fuzzes what UD reads from the network: greetings, and what is around a datagram.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "datapath/ud/greeting.h"
#include "datapath/ud/packet.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace heddle;
  using namespace heddle::datapath;
  const auto* first = reinterpret_cast<const std::byte*>(data);
  // Copies of their own size, so that the address sanitizer sees every access behind them.
  const std::vector<std::byte> bytes(first, first + size);
  if (const auto greeting = read_greeting(bytes)) {
    const auto again = write_greeting(*greeting);
    CHECK(std::equal(bytes.begin(), bytes.end(), again.begin(), again.end()));
  }
  // Flags and length as the NIC states them, then what it wrote; the address is what it says.
  constexpr size_t kClaims = 10;
  if (size < kClaims) return 0;
  UdReceived received{.has_header = data[0] % 8 != 0, .has_immediate = data[0] % 8 != 1};
  std::memcpy(&received.immediate, data + 1, sizeof received.immediate);
  std::memcpy(&received.bytes, data + 5, sizeof received.bytes);
  const std::vector<std::byte> buffer(bytes.begin() + kClaims, bytes.end());
  if (data[9] % 4 != 0) received.bytes = static_cast<uint32_t>(buffer.size());
  transport::Address local;
  local.port = static_cast<uint16_t>(received.immediate);
  const bool four = data[0] % 2 == 0;
  if (four) local.host[10] = local.host[11] = 0xff;
  if (buffer.size() >= kGrhBytes) {
    const size_t bytes_of = four ? 4 : 16;
    std::memcpy(&local.host[16 - bytes_of], &buffer[kGrhBytes - bytes_of], bytes_of);
  }
  if (const auto arrival = read_arrival(buffer, received, local)) {
    CHECK(arrival->bytes > 0 && kGrhBytes + arrival->bytes <= buffer.size());
    CHECK(arrival->from.port != 0);
    CHECK(transport::same_family(arrival->from, local));
  }
  return 0;
}
