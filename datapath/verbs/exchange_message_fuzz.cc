// Fuzzes the parsers of the exchange: what they accept is encoded to the same bytes again.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "datapath/verbs/exchange_message.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace heddle;
  using namespace heddle::datapath;
  const auto* first = reinterpret_cast<const std::byte*>(data);
  // A copy of its own size, so that the address sanitizer sees every access behind it.
  const std::vector<std::byte> bytes(first, first + size);
  if (const auto message = read_exchange(bytes)) {
    std::array<std::byte, kExchangeBytes> again{};
    write_exchange(*message, again);
    CHECK(std::equal(bytes.begin(), bytes.end(), again.begin(), again.end()));
  }
  transport::MemoryToken token;
  token.length = static_cast<uint8_t>(std::min<size_t>(size, UINT8_MAX));
  std::copy_n(bytes.begin(), std::min(size, token.bytes.size()), token.bytes.begin());
  if (const auto known = read_token(token)) {
    const transport::MemoryToken again = write_token(*known);
    CHECK(again.length == token.length);
    CHECK(std::equal(again.bytes.begin(), again.bytes.begin() + again.length, token.bytes.begin()));
  }
  return 0;
}
