// The handle's layout as a plain structure. Both sides are little-endian; a big-endian machine
// would not read the version that it expects.
#include "plugins/nccl/net/handle.h"

#include <bit>
#include <cstring>
#include <string>

namespace heddle::nccl {
namespace {

constexpr std::array<char, 8> kMagic = {'h', 'e', 'd', 'd', 'l', 'e', 'N', 'T'};

struct Layout {
  std::array<char, 8> magic = kMagic;
  uint16_t version = Handle::kVersion;
  uint16_t port = 0;
  uint32_t scope = 0;
  std::array<uint8_t, 16> host = {};
  uint64_t process = 0;
  uint64_t listener = 0;
  uint64_t pending = 0;          // of the side that connects
  uint64_t endpoint_from_1 = 0;  // likewise
  std::array<uint8_t, 64> unused = {};
};
static_assert(sizeof(Layout) == kHandleBytes);
static_assert(std::endian::native == std::endian::little);

Layout layout_of(std::span<const std::byte, kHandleBytes> bytes) {
  Layout layout;
  std::memcpy(&layout, bytes.data(), sizeof layout);
  return layout;
}

}  // namespace

void write_handle(HandleBytes bytes, const Handle& handle) {
  Layout layout;
  layout.port = handle.address.port;
  layout.scope = handle.address.scope;
  layout.host = handle.address.host;
  layout.process = handle.process;
  layout.listener = handle.listener;
  std::memcpy(bytes.data(), &layout, sizeof layout);
}

Result<Handle> read_handle(std::span<const std::byte, kHandleBytes> bytes) {
  const Layout layout = layout_of(bytes);
  if (layout.magic != kMagic) {
    return fail(ErrorCode::kInvalid, "cannot connect to a peer",
                "its handle is not heddle's, so it uses another network plugin",
                "set NCCL_NET_PLUGIN=heddle and NCCL_NET=heddle on all ranks");
  }
  if (layout.version != Handle::kVersion) {
    return fail(ErrorCode::kVersion, "cannot connect to a peer",
                "its heddle has version " + std::to_string(layout.version) +
                    " of the plugin's protocol, this one has version " +
                    std::to_string(Handle::kVersion),
                layout.version < Handle::kVersion ? "upgrade heddle on the peer's machine"
                                                  : "upgrade heddle on this machine");
  }
  Handle handle;
  handle.address = {.host = layout.host, .scope = layout.scope, .port = layout.port};
  handle.process = layout.process;
  handle.listener = layout.listener;
  return handle;
}

uint64_t pending_connect(std::span<const std::byte, kHandleBytes> bytes) {
  return layout_of(bytes).pending;
}

void set_pending_connect(HandleBytes bytes, uint64_t number) {
  Layout layout = layout_of(bytes);
  layout.pending = number;
  std::memcpy(bytes.data(), &layout, sizeof layout);
}

std::optional<int> connecting_endpoint(std::span<const std::byte, kHandleBytes> bytes,
                                       int endpoints) {
  const uint64_t from_1 = layout_of(bytes).endpoint_from_1;
  if (from_1 == 0 || from_1 > static_cast<uint64_t>(endpoints)) return std::nullopt;
  return static_cast<int>(from_1) - 1;
}

void set_connecting_endpoint(HandleBytes bytes, int endpoint) {
  Layout layout = layout_of(bytes);
  layout.endpoint_from_1 = static_cast<uint64_t>(endpoint) + 1;
  std::memcpy(bytes.data(), &layout, sizeof layout);
}

}  // namespace heddle::nccl
