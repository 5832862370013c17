// Every setting of heddle. A new one is one row here; a row that no code reads must not be here.

#include <array>

#include "base/config.h"

namespace heddle {
namespace {

constexpr int64_t kMaxPaths = 256;
constexpr int64_t kHourMs = 3'600'000;

constexpr std::array kKeys = {
    ConfigKey{.name = "log",
              .fallback = "warn",
              .doc = "what is written to standard error",
              .choices = "debug|info|warn|error|off"},
    ConfigKey{.name = "port",
              .type = ConfigType::kInteger,
              .fallback = "18700",
              .doc = "UDP port on which `heddle ping` and `heddle perf` listen",
              .min = 1,
              .max = 65535},
    ConfigKey{.name = "bind", .doc = "address or host name of this host to use; empty: any"},
    ConfigKey{.name = "mtu_bytes",
              .type = ConfigType::kInteger,
              .fallback = "0",
              .unit = "bytes",
              .doc = "MTU of the local link, IP header included; 0: ask the interface",
              .min = 1280,
              .max = 65535,
              .or_zero = true},
    ConfigKey{.name = "receive_buffer_bytes",
              .type = ConfigType::kInteger,
              .fallback = "0",
              .unit = "bytes",
              .doc = "socket buffer to ask the system for; 0: as much as is useful",
              .min = 0,
              .max = int64_t{1} << 30},
    ConfigKey{.name = "key_file",
              .doc = "file with the cluster's keys, for its owner only (0600); empty: nothing is "
                     "sealed"},
    ConfigKey{.name = "unsealed_chunks",
              .type = ConfigType::kBoolean,
              .fallback = "false",
              .doc = "with keys: lets network cards write payload remotely, which seals nothing"},
    ConfigKey{.name = "drive",
              .fallback = "inline",
              .doc = "who moves data: the program's own calls, or a thread of its own",
              .choices = "inline|thread"},
    ConfigKey{.name = "spin",
              .fallback = "auto",
              .doc = "whether to spin for input before sleeping; never with too few cores",
              .choices = "auto|never|always"},
    ConfigKey{.name = "paths",
              .type = ConfigType::kInteger,
              .fallback = "8",
              .doc = "paths a connection sends on",
              .min = 1,
              .max = kMaxPaths},
    ConfigKey{.name = "discovery",
              .fallback = "never",
              .doc = "whether a connection looks how many ways the fabric has, and uses some paths "
                     "of each",
              .choices = "auto|never"},
    ConfigKey{.name = "congestion", .fallback = "cubic", .doc = "congestion control"},
    ConfigKey{.name = "receive_rate_mbits_per_s",
              .type = ConfigType::kInteger,
              .fallback = "0",
              .unit = "mbits_per_s",
              .doc = "rate at which credit is given to all senders together; 0: as measured",
              .min = 0,
              .max = 10'000'000},
    ConfigKey{.name = "selector", .fallback = "reps", .doc = "how a path is chosen"},
    ConfigKey{.name = "peer_dead_after_ms",
              .type = ConfigType::kInteger,
              .fallback = "5000",
              .unit = "ms",
              .doc = "a peer that leaves probes unanswered for so long is dead",
              .min = 10,
              .max = kHourMs},
    ConfigKey{.name = "handshake_timeout_ms",
              .type = ConfigType::kInteger,
              .fallback = "5000",
              .unit = "ms",
              .doc = "a connection that is not answered for so long fails",
              .min = 10,
              .max = kHourMs},
    ConfigKey{.name = "close_timeout_ms",
              .type = ConfigType::kInteger,
              .fallback = "3000",
              .unit = "ms",
              .doc = "a close that is not answered ends after this",
              .min = 10,
              .max = kHourMs},
    ConfigKey{.name = "store",
              .doc =
                  "where ranks find each other, udp://HOST:PORT or file:///PATH; empty: as their "
                  "launcher says"},
    ConfigKey{.name = "rendezvous_timeout_ms",
              .type = ConfigType::kInteger,
              .fallback = "60000",
              .unit = "ms",
              .doc = "ranks that have not all come after this do not start",
              .min = 100,
              .max = 24 * kHourMs},
};

}  // namespace

std::span<const ConfigKey> config_keys() { return kKeys; }

}  // namespace heddle
