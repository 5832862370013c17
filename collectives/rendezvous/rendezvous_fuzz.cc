// Fuzzes the readers of the rendezvous' messages: what one accepts, it writes again as it was read.
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "collectives/rendezvous/host_list.h"
#include "collectives/rendezvous/messages.h"

using namespace heddle::collectives;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> message(reinterpret_cast<const std::byte*>(data), size);
  const auto registration = decode_registration(message);
  if (registration && registration->version == kRendezvousVersion) {
    CHECK(registration->size >= 1 && registration->size <= kMostRanks);
    CHECK(encode(*registration).size() == size);
  }
  if (const auto answer = decode_answer(message)) CHECK(encode(*answer).size() == size);
  if (const auto group = decode_group(message)) {
    CHECK(group->addresses.size() == group->size && group->hosts.size() == group->size);
    CHECK(encode(*group).size() == size);
  }
  const auto names = expand_host_list({reinterpret_cast<const char*>(data), size});
  if (names) CHECK(!names->empty() && names->size() <= kMostRanks);
  return 0;
}
