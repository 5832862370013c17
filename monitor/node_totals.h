// NodeTotals: sums of a machine's events, as metrics for Prometheus.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "events/events.h"
#include "metrics/exposition.h"

namespace heddle::monitor {

class NodeTotals : public events::Sink {
 public:
  using Sink::on;
  // Whether an interface is there and has hardware; those of pods come and go without end.
  using HasHardware = std::function<bool(const std::string& interface)>;
  // `host`: this machine's name. `kernel_log`: whether its messages can be read.
  NodeTotals(std::string host, bool kernel_log, HasHardware has_hardware)
      : host_(std::move(host)), has_hardware_(std::move(has_hardware)), kernel_log_(kernel_log) {}

  void on(const events::NodeSampled& event) override;
  void on(const events::NicSampled& event) override;
  void on(const events::NicLinkChanged& event) override;
  void on(const events::RdmaPortSampled& event) override;
  void on(const events::KernelMessage& event) override;

  void set_kernel_log(bool is_read);
  // By any thread.
  std::vector<metrics::Family> families() const;

 private:
  struct Nic {
    events::NicSampled sum;
    uint64_t carrier_losses = 0;
  };
  struct Port {
    std::map<std::string, uint64_t> errors;  // by counter
    uint64_t received_bytes = 0;
    uint64_t sent_bytes = 0;
    bool active = false;
  };
  class Families;
  // Null: it is none of hardware, or there are too many.
  Nic* nic_of(const std::string& interface);

  const std::string host_;
  const HasHardware has_hardware_;
  mutable std::mutex mutex_;
  bool kernel_log_;
  std::map<std::string, Nic> nics_;
  std::map<std::pair<std::string, uint16_t>, Port> ports_;
  std::map<events::KernelMessageClass, uint64_t> messages_;
  std::map<std::pair<std::string, uint32_t>, uint64_t> xids_;  // by GPU and number
  uint64_t messages_lost_ = 0;
  Nanos cpu_stall_;
  Nanos memory_stall_;
  Nanos io_stall_;
};

}  // namespace heddle::monitor
