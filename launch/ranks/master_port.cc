// The port of programs for torchrun: see master_port.h.
#include "launch/ranks/master_port.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <string>

#include "base/random.h"
#include "launch/params.h"

namespace heddle::launch {
namespace {

std::string read_all(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

// "   0: 0100007F:4E20 00000000:0000 0A ...": the port follows the second colon.
std::set<uint16_t> tcp_ports(std::string_view text) {
  std::set<uint16_t> ports;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const size_t first = line.find(':');
    const size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    uint16_t port = 0;
    const char* const end = line.data() + line.size();
    const auto parsed = std::from_chars(line.data() + second + 1, end, port, 16);
    if (parsed.ec == std::errc() && port != 0) ports.insert(port);
  }
  return ports;
}

uint16_t choose_master_port(uint64_t seed) {
  std::set<uint16_t> taken = tcp_ports(read_all("/proc/net/tcp"));
  taken.merge(tcp_ports(read_all("/proc/net/tcp6")));
  Random random(seed);
  for (int attempt = 0;; ++attempt) {
    const auto port =
        static_cast<uint16_t>(params::kFirstMasterPort + random.below(params::kMasterPorts));
    if (!taken.contains(port) || attempt == params::kMasterPorts) return port;
  }
}

}  // namespace heddle::launch
