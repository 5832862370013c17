// See kernel_messages.h. The patterns are those of Linux 5.10 to 6.12 and of NVIDIA's drivers;
// testing/kernel_lines.txt has a line for each, and for lines that are of no class.
#include "nodes/kernel_messages.h"

#include <array>
#include <charconv>

#include "nodes/text_pattern.h"

namespace heddle::nodes {
namespace {

using What = events::KernelMessageClass;

struct Row {
  What what;
  std::string_view pattern;
};

// The first that matches counts.
constexpr std::array kRows = {
    Row{What::kGpuXid, "NVRM: Xid (PCI:{device}): {code}, {detail}"},
    Row{What::kGpuXid, "NVRM: Xid (PCI:{device} GPU-I:*): {code}, {detail}"},  // a part by MIG
    Row{What::kGpuXid, "NVRM: Xid ({device}): {code}, {detail}"},
    Row{What::kNvswitchSxid, "nvidia-nvswitch*: SXid (PCI:{device}): {code}, {detail}"},
    // Links: a driver's own line, and that of a bond.
    Row{What::kNicLinkDown, "*{device}: NIC Link is Down*"},
    Row{What::kNicLinkDown, "*{device} NIC Link is Down*"},
    Row{What::kNicLinkDown, "*{device}: Link is Down*"},
    Row{What::kNicLinkDown, "*{device}: Link is down*"},
    Row{What::kNicLinkDown, "*{device}: Link down*"},
    Row{What::kNicLinkDown, "*(slave {device}): link status definitely down*"},
    Row{What::kNicLinkUp, "*{device}: NIC Link is Up*"},
    Row{What::kNicLinkUp, "*{device}: NIC Link is up*"},
    Row{What::kNicLinkUp, "*{device} NIC Link is Up*"},
    Row{What::kNicLinkUp, "*{device}: Link is Up*"},
    Row{What::kNicLinkUp, "*{device}: Link is up*"},
    Row{What::kNicLinkUp, "*{device}: Link up*"},
    Row{What::kNicLinkUp, "*(slave {device}): link status definitely up*"},
    Row{What::kNicTimeout,
        "NETDEV WATCHDOG: {device} ({detail}): transmit queue {code} timed out*"},
    Row{What::kNicTimeout,
        "*{device}: NETDEV WATCHDOG: CPU: *: transmit queue {code} timed out{detail}"},
    Row{What::kNicTimeout, "*{device}: TX timeout detected*"},
    Row{What::kNicTimeout, "*{device}: Detected Hardware Unit Hang*"},
    Row{What::kNicReset, "mlx5_core {device}: {detail}health compromised - reached miss count*"},
    Row{What::kNicReset, "mlx5_core {device}: {detail}: Fatal error detected*"},
    Row{What::kNicReset, "mlx5_core {device}: {detail}handling bad device here*"},
    Row{What::kNicReset, "bnxt_en {device} {detail}: Firmware reset*"},
    Row{What::kNicReset, "ixgbe {device} {detail}: Reset adapter*"},
    Row{What::kNicReset, "ice {device}: {detail}Reset*"},
    Row{What::kPcieError, "pcieport *: AER: {detail} error received: {device}"},
    Row{What::kPcieError, "pcieport *: AER: {detail} error message received from {device}"},
    Row{What::kPcieError, "*{device}: PCIe Bus Error: severity={detail}, type=*"},
    Row{What::kPcieError, "pcieport {device}: DPC: {detail}"},
    Row{What::kPcieError, "pcieport {device}: pciehp: Slot({detail}): Link Down*"},
    Row{What::kMachineCheck, "*[Hardware Error]: CPU {code}: Machine Check{detail}"},
    Row{What::kMachineCheck, "*[Hardware Error]: Machine check events logged*"},
    Row{What::kMemoryError, "EDAC {device}: {code} {detail} on *"},
    Row{What::kMemoryError, "Memory failure: {device}: {detail}"},
    Row{What::kMemoryError, "*[Hardware Error]: Corrected error, no action required*"},
    Row{What::kOutOfMemory, "*ut of memory: Killed process {code} ({detail})*"},
    Row{What::kHungTask, "INFO: task {detail} blocked for more than {code} seconds*"},
    Row{What::kSoftLockup, "*BUG: soft lockup - CPU#{code} stuck for {detail}"},
    Row{What::kSoftLockup, "*Watchdog detected hard LOCKUP on cpu {code}*"},
    Row{What::kSoftLockup, "rcu: INFO: {detail} self-detected stall on CPU*"},
    Row{What::kSoftLockup, "rcu: INFO: {detail} detected stalls on CPUs/tasks*"},
    Row{What::kThermal, "*CPU{code}: {detail} temperature above threshold*"},
    Row{What::kThermal, "*CPU{code}: {detail} temperature/speed above threshold*"},
    Row{What::kIoError, "nvme {device}: I/O * timeout, {detail}"},
    Row{What::kIoError, "nvme {device}: controller is down{detail}"},
    Row{What::kIoError, "Buffer I/O error on dev {device}, {detail}"},
    Row{What::kIoError, "*I/O error, dev {device}, {detail}"},
    Row{What::kIoError, "EXT4-fs error (device {device}): {detail}"},
    Row{What::kIoError, "BTRFS error (device {device}{detail}): *"},
    Row{What::kIoError, "XFS ({device}): {detail} I/O error*"},
    Row{What::kIoError, "nfs: server {device} not responding{detail}"},
};

template <typename Number>
bool take_number(std::string_view& text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

bool take_comma(std::string_view& text) {
  if (!text.starts_with(',')) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

std::optional<KernelRecord> parse_kernel_record(std::string_view record) {
  constexpr uint32_t kSeverities = 8;
  constexpr uint64_t kMostMicros = INT64_MAX / 1000;
  KernelRecord made;
  uint32_t priority = 0;
  uint64_t micros = 0;
  const bool head = take_number(record, priority) && take_comma(record) &&
                    take_number(record, made.sequence) && take_comma(record) &&
                    take_number(record, micros) && micros <= kMostMicros;
  const size_t text = record.find(';');
  if (!head || text == std::string_view::npos) return std::nullopt;
  made.severity = static_cast<uint8_t>(priority % kSeverities);
  made.facility = priority / kSeverities;
  made.stamp = heddle::micros(static_cast<int64_t>(micros));
  record.remove_prefix(text + 1);
  made.text = record.substr(0, record.find('\n'));
  return made;
}

std::optional<events::KernelMessage> classify_kernel_message(std::string_view text) {
  for (const Row& row : kRows) {
    const std::optional<PatternMatch> match = match_pattern(row.pattern, text);
    if (!match) continue;
    events::KernelMessage message;
    message.what = row.what;
    message.code = match->code;
    message.device = events::Text(match->device);
    message.detail = events::Text(match->detail);
    return message;
  }
  return std::nullopt;
}

}  // namespace heddle::nodes
