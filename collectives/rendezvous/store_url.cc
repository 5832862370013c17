// Store URLs: see store_url.h.
#include "collectives/rendezvous/store_url.h"

#include "engine/host_port.h"

namespace heddle::collectives {

Result<StoreUrl> parse_store_url(std::string_view text) {
  const auto wrong = [text](std::string why) {
    return fail(ErrorCode::kInvalid, "cannot use the store '" + std::string(text) + "'",
                std::move(why), "give udp://HOST:PORT or file:///PATH");
  };
  for (const std::string_view scheme : {"udp://", "tcp://"}) {
    if (!text.starts_with(scheme)) continue;
    const std::string_view place = text.substr(scheme.size());
    const Result<engine::HostPort> parts = engine::parse_host_port(place, 0);
    if (!parts) return wrong(parts.error().why);
    if (parts->port == 0) return wrong("it has no port");
    return StoreUrl{.host_port = std::string(place), .file = {}};
  }
  constexpr std::string_view kFile = "file://";
  if (!text.starts_with(kFile)) return wrong("it is neither an address nor a file");
  const std::string_view path = text.substr(kFile.size());
  if (!path.starts_with('/')) return wrong("the path does not begin with '/'");
  if (path.ends_with('/')) return wrong("the path is a folder's");
  return StoreUrl{.host_port = {}, .file = std::string(path)};
}

}  // namespace heddle::collectives
