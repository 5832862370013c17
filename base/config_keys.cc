// The declarations of all settings. A new setting is one entry here; every entry must be read by
// code.

#include <array>

#include "base/config.h"

namespace heddle {
namespace {

constexpr int64_t kMaxPaths = 256;
constexpr int64_t kHourMs = 3'600'000;

constexpr std::array kKeys = {
    ConfigKey{.name = "log",
              .fallback = "warn",
              .doc = "least severity of log lines on standard error",
              .choices = "debug|info|warn|error|off"},
    ConfigKey{.name = "port",
              .type = ConfigType::kInteger,
              .fallback = "18700",
              .doc = "UDP port of `heddle ping --listen` and `heddle perf --listen`",
              .min = 1,
              .max = 65535},
    ConfigKey{.name = "bind",
              .doc = "addresses, interfaces or names of this host to use, with commas between; "
                     "several NICs are used together; empty: any"},
    ConfigKey{.name = "datapath",
              .fallback = "udp",
              .doc = "what carries packets: UDP sockets; XDP sockets, which need rights and an "
                     "interface of their own; RDMA verbs for long messages beside UDP sockets; or "
                     "auto: verbs where an RDMA NIC can be used, else UDP",
              .choices = "auto|udp|xdp|verbs"},
    ConfigKey{.name = "rdma_mode",
              .fallback = "rc",
              .doc = "queue pairs of verbs: rc, the NIC writes long messages remotely and "
                     "retransmits what is lost; uc, it writes, and heddle retransmits; ud, all is "
                     "datagrams, which heddle retransmits",
              .choices = "rc|uc|ud"},
    ConfigKey{.name = "xdp_mode",
              .fallback = "auto",
              .doc = "how frames pass between the driver and XDP sockets; auto: the first of the "
                     "others that works",
              .choices = "auto|zero_copy|copy|generic"},
    ConfigKey{.name = "xdp_busy_poll_us",
              .type = ConfigType::kInteger,
              .fallback = "0",
              .unit = "us",
              .doc =
                  "XDP sockets run the driver themselves, in preference to interrupts: the value "
                  "of SO_BUSY_POLL; 0: they do not",
              .min = 0,
              .max = 10'000},
    ConfigKey{.name = "ifname",
              .doc = "interfaces that become NCCL's devices, as in NCCL_SOCKET_IFNAME: prefixes "
                     "with commas between, ^ before them excludes, = takes whole names; empty: "
                     "all but loopback, docker and virbr"},
    ConfigKey{.name = "nccl.nics",
              .doc = "file with rails, planes and speeds of NCCL's devices; empty: as the system "
                     "reports them"},
    ConfigKey{.name = "nccl.threads",
              .type = ConfigType::kInteger,
              .fallback = "0",
              .doc = "threads of a device of NCCL, each with an endpoint and a share of NCCL's "
                     "comms; 0: one endpoint, driven as `drive` says",
              .min = 0,
              .max = 16},
    ConfigKey{.name = "mtu_bytes",
              .type = ConfigType::kInteger,
              .fallback = "0",
              .unit = "bytes",
              .doc = "MTU of the local link, with the IP header; 0: as the interface has it",
              .min = 1280,
              .max = 65535,
              .or_zero = true},
    ConfigKey{.name = "dscp",
              .type = ConfigType::kInteger,
              .fallback = "0",
              .doc = "DSCP of all packets, by which switches choose a queue (RFC 2474)",
              .min = 0,
              .max = 63},
    ConfigKey{.name = "fec",
              .fallback = "off",
              .doc = "forward error correction towards peers that use it too: DATA:PARITY, any "
                     "PARITY of DATA + PARITY datagrams may be lost without a retransmission; "
                     "or off"},
    ConfigKey{.name = "receive_buffer_bytes",
              .type = ConfigType::kInteger,
              .fallback = "0",
              .unit = "bytes",
              .doc = "size of the sockets' receive buffers; 0: as large as is useful",
              .min = 0,
              .max = int64_t{1} << 30},
    ConfigKey{.name = "key_file",
              .doc = "file with the cluster's keys, which only its owner may read (0600); empty: "
                     "packets are not encrypted"},
    ConfigKey{.name = "stranger_bytes",
              .type = ConfigType::kInteger,
              .fallback = "2147483648",
              .unit = "bytes",
              .doc = "most memory of a process that peers without a cluster key can use together",
              .min = int64_t{64} << 20,
              .max = int64_t{1} << 40},
    ConfigKey{.name = "protection",
              .fallback = "auto",
              .doc = "what the keys protect, the same on both sides; headers: all but the payload "
                     "of long messages; auto: full where there is a key_file",
              .choices = "auto|none|headers|full"},
    ConfigKey{.name = "unsealed_chunks",
              .type = ConfigType::kBoolean,
              .fallback = "false",
              .doc = "with keys: allow NICs to write payload remotely, which is not encrypted"},
    ConfigKey{.name = "drive",
              .fallback = "inline",
              .doc = "what drives an endpoint: the program's own calls, or a thread",
              .choices = "inline|thread"},
    ConfigKey{.name = "engines",
              .type = ConfigType::kInteger,
              .fallback = "1",
              .doc = "engines that an endpoint's connections are split over, each with a thread; "
                     "above 1: whatever `drive` says",
              .min = 1,
              .max = 16},
    ConfigKey{.name = "spin",
              .fallback = "auto",
              .doc = "whether to busy-wait for input before sleeping; auto: where cores are free",
              .choices = "auto|never|always"},
    ConfigKey{.name = "paths",
              .type = ConfigType::kInteger,
              .fallback = "16",
              .doc = "number of paths of a connection",
              .min = 1,
              .max = kMaxPaths},
    ConfigKey{.name = "discovery",
              .fallback = "never",
              .doc = "whether a connection finds the fabric's routes by traceroute, and uses paths "
                     "on each of them",
              .choices = "auto|never"},
    ConfigKey{.name = "congestion", .fallback = "cubic", .doc = "congestion control"},
    ConfigKey{.name = "receive_rate_mbits_per_s",
              .type = ConfigType::kInteger,
              .fallback = "0",
              .unit = "mbits_per_s",
              .doc = "rate of credits to all senders together; 0: as measured",
              .min = 0,
              .max = 10'000'000},
    ConfigKey{.name = "selector", .fallback = "reps", .doc = "path selection"},
    ConfigKey{.name = "plan",
              .doc = "file of `heddle plan --addresses`: connections follow its routes where they "
                     "find them; empty: none"},
    ConfigKey{.name = "peer_dead_after_ms",
              .type = ConfigType::kInteger,
              .fallback = "5000",
              .unit = "ms",
              .doc = "a peer that answers no probe for this time is dead",
              .min = 10,
              .max = kHourMs},
    ConfigKey{.name = "handshake_timeout_ms",
              .type = ConfigType::kInteger,
              .fallback = "5000",
              .unit = "ms",
              .doc = "a connection that is not answered within this time fails",
              .min = 10,
              .max = kHourMs},
    ConfigKey{.name = "close_timeout_ms",
              .type = ConfigType::kInteger,
              .fallback = "3000",
              .unit = "ms",
              .doc = "a close that is not answered ends after this time",
              .min = 10,
              .max = kHourMs},
    ConfigKey{.name = "record", .doc = "folder in which processes record; empty: they do not"},
    ConfigKey{
        .name = "record_level",
        .fallback = "messages",
        .doc = "what is recorded; counters: bytes each second; bins: bytes each 100 us; messages "
               "and segments: these too",
        .choices = "counters|bins|messages|segments"},
    ConfigKey{.name = "record_mebibytes",
              .type = ConfigType::kInteger,
              .fallback = "64",
              .unit = "mebibytes",
              .doc = "size of a process's recording; the newest events are kept",
              .min = 1,
              .max = 65'536},
    ConfigKey{
        .name = "record_durable_seconds",
        .type = ConfigType::kInteger,
        .fallback = "0",
        .unit = "seconds",
        .doc = "interval at which recordings are written to the disk; 0: when the kernel does",
        .min = 0,
        .max = 86'400},
    ConfigKey{.name = "record_node",
              .type = ConfigType::kBoolean,
              .fallback = "true",
              .doc = "a process that records samples its machine too, one process a machine: "
                     "interfaces, RDMA ports, pressure and messages of the kernel"},
    ConfigKey{.name = "nccl.profile",
              .fallback = "proxy",
              .doc =
                  "what the NCCL plugin records of NCCL's work, in a process that records; calls: "
                  "collectives, sends and receives; proxy: and what the transfers of each wait "
                  "for; all: and each transfer, kernel and call of the host",
              .choices = "calls|proxy|all"},
    ConfigKey{.name = "nccl.trace_copies",
              .type = ConfigType::kBoolean,
              .fallback = "false",
              .doc = "libheddle-nccl-trace.so records cudaMemcpy between devices too; it takes its "
                     "settings from the environment alone"},
    ConfigKey{
        .name = "algorithm",
        .doc = "algorithms of collectives, as in allreduce:two_level/4,alltoall:bruck (two levels, "
               "in groups of 4 ranks); empty: the cheapest; rank 0's counts"},
    ConfigKey{.name = "tuning",
              .fallback = "auto",
              .doc = "costs by which algorithms are chosen: auto, the table on disk or a short "
                     "measurement; fixed, closed forms; rank 0's counts",
              .choices = "auto|fixed"},
    ConfigKey{.name = "tuning_folder",
              .doc = "where tables of measured costs are kept; empty: heddle/tuning in the user's "
                     "cache folder; none: nowhere"},
    ConfigKey{.name = "chunk_bytes",
              .type = ConfigType::kInteger,
              .fallback = "262144",
              .unit = "bytes",
              .doc =
                  "size of pieces that collectives forward and reduce; over a network rounded up "
                  "to whole bursts; rank 0's value holds",
              .min = 1024,
              .max = int64_t{1} << 24},
    ConfigKey{.name = "shared_memory",
              .fallback = "auto",
              .doc =
                  "whether ranks of one host share memory; slots: without reading each other's own "
                  "memory; never: they use the network",
              .choices = "auto|slots|never"},
    ConfigKey{.name = "rank_dead_after_ms",
              .type = ConfigType::kInteger,
              .fallback = "3000",
              .unit = "ms",
              .doc = "in place of peer_dead_after_ms between the ranks of a run",
              .min = 10,
              .max = kHourMs},
    ConfigKey{.name = "store",
              .doc = "where ranks find each other, udp://HOST:PORT or file:///PATH; empty: as the "
                     "launcher set it"},
    ConfigKey{.name = "rendezvous_timeout_ms",
              .type = ConfigType::kInteger,
              .fallback = "60000",
              .unit = "ms",
              .doc = "ranks that have not found each other within this time do not start",
              .min = 100,
              .max = 24 * kHourMs},
    ConfigKey{.name = "nccl.tuner",
              .fallback = "off",
              .doc = "whether the NCCL plugin raises NCCL's costs to those of the measured "
                     "network; the same on all ranks",
              .choices = "off|on"},
    ConfigKey{.name = "nccl.network",
              .doc = "file with the measured network, written by `heddle perf --save`; the same on "
                     "all ranks"},
    ConfigKey{.name = "nccl.net_gbps",
              .unit = "gbps",
              .doc = "goodput of a node to other nodes, over all its NICs, in place of the file's"},
    ConfigKey{.name = "nccl.channel_gbps",
              .unit = "gbps",
              .doc = "goodput of one connection, in place of the file's; unknown: NCCL chooses the "
                     "number of channels"},
    ConfigKey{.name = "nccl.net_us",
              .unit = "us",
              .doc = "one-way latency of a small message between nodes, in place of the file's"},
};

}  // namespace

std::span<const ConfigKey> config_keys() { return kKeys; }

}  // namespace heddle
