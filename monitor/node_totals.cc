// See node_totals.h.
#include "monitor/node_totals.h"

#include <algorithm>

#include "base/nanos.h"
#include "base/version.h"
#include "monitor/params.h"

namespace heddle::monitor {

using metrics::Family;
using metrics::Label;
using metrics::Type;

// Makes the families of what is known.
class NodeTotals::Families {
 public:
  explicit Families(const NodeTotals& totals) : totals_(totals) {}

  std::vector<Family> make() {
    add("heddle_node_build_info", "Always 1; the version of heddle that samples the machine.",
        Type::kGauge, {{"version", std::string(kVersion)}}, 1);
    add("heddle_node_kernel_log_readable",
        "1 where messages of the kernel are read, 0 where rights for that are missing.",
        Type::kGauge, {}, totals_.kernel_log_ ? 1 : 0);
    for (const auto& [name, nic] : totals_.nics_) add_nic(name, nic);
    for (const auto& [key, port] : totals_.ports_) {
      add_port({{"device", key.first}, {"port", std::to_string(key.second)}}, port);
    }
    add_stalls();
    add_messages();
    return std::move(families_);
  }

 private:
  void add(const char* name, const char* help, Type type, std::vector<Label> labels, double value) {
    const auto known = std::find_if(families_.begin(), families_.end(),
                                    [name](const Family& each) { return each.name == name; });
    Family& family =
        known == families_.end() ? families_.emplace_back(Family{name, help, type, {}}) : *known;
    labels.insert(labels.begin(), Label{"host", totals_.host_});
    family.samples.push_back({std::move(labels), value});
  }
  void count(const char* name, const char* help, const std::vector<Label>& labels, uint64_t value) {
    add(name, help, Type::kCounter, labels, static_cast<double>(value));
  }

  void add_nic(const std::string& name, const Nic& nic) {
    const std::vector<Label> labels = {{"interface", name}};
    const events::NicSampled& sum = nic.sum;
    constexpr double kMegabit = 1e6;
    add("heddle_node_interface_up", "1 while an interface has its carrier, else 0.", Type::kGauge,
        labels, sum.carrier ? 1 : 0);
    if (sum.speed_mbits_per_s > 0) {
      add("heddle_node_interface_speed_bits_per_second", "Speed of an interface's link.",
          Type::kGauge, labels, sum.speed_mbits_per_s * kMegabit);
    }
    count("heddle_node_interface_received_bytes_total", "Bytes that an interface received.", labels,
          sum.received_bytes);
    count("heddle_node_interface_sent_bytes_total", "Bytes that an interface sent.", labels,
          sum.sent_bytes);
    count("heddle_node_interface_received_packets_total", "Packets that an interface received.",
          labels, sum.received_packets);
    count("heddle_node_interface_sent_packets_total", "Packets that an interface sent.", labels,
          sum.sent_packets);
    count("heddle_node_interface_received_errors_total", "Packets received with an error.", labels,
          sum.received_errors);
    count("heddle_node_interface_sent_errors_total", "Packets that could not be sent.", labels,
          sum.sent_errors);
    count("heddle_node_interface_received_drops_total",
          "Received packets that were dropped, missed ones included.", labels, sum.received_drops);
    count("heddle_node_interface_sent_drops_total", "Packets dropped before they were sent.",
          labels, sum.sent_drops);
    count("heddle_node_interface_carrier_losses_total", "Times that an interface lost its carrier.",
          labels, nic.carrier_losses);
  }

  void add_port(const std::vector<Label>& labels, const Port& port) {
    add("heddle_node_rdma_port_active", "1 while a port of an RDMA device is active, else 0.",
        Type::kGauge, labels, port.active ? 1 : 0);
    count("heddle_node_rdma_received_bytes_total", "Bytes that a port received.", labels,
          port.received_bytes);
    count("heddle_node_rdma_sent_bytes_total", "Bytes that a port sent.", labels, port.sent_bytes);
    for (const auto& [counter, value] : port.errors) {
      std::vector<Label> more = labels;
      more.push_back({"counter", counter});
      count("heddle_node_rdma_events_total",
            "Errors, retransmissions and congestion notifications of a port, by counter.", more,
            value);
    }
  }

  void add_stalls() {
    const auto stall = [this](const char* resource, Nanos stalled) {
      add("heddle_node_stall_seconds_total", "Time in which some task waited for a resource.",
          Type::kCounter, {{"resource", resource}}, to_seconds(stalled));
    };
    stall("cpu", totals_.cpu_stall_);
    stall("memory", totals_.memory_stall_);
    stall("io", totals_.io_stall_);
  }

  // Of every class, so that a rule on their increase sees the first one.
  void add_messages() {
    for (size_t i = 0; i < events::kKernelMessageClassCount; ++i) {
      const auto what = static_cast<events::KernelMessageClass>(i);
      const auto found = totals_.messages_.find(what);
      count("heddle_node_kernel_messages_total", "Messages of the kernel, by class.",
            {{"class", std::string(name_of(what))}},
            found == totals_.messages_.end() ? 0 : found->second);
    }
    for (const auto& [key, value] : totals_.xids_) {
      count("heddle_node_gpu_xids_total", "Errors that NVIDIA's driver logged, by GPU and Xid.",
            {{"gpu", key.first}, {"xid", std::to_string(key.second)}}, value);
    }
    count("heddle_node_kernel_messages_lost_total",
          "Messages of the kernel that came too fast to be read or recorded.", {},
          totals_.messages_lost_);
  }

  const NodeTotals& totals_;
  std::vector<Family> families_;
};

NodeTotals::Nic* NodeTotals::nic_of(const std::string& interface) {
  const auto known = nics_.find(interface);
  if (known != nics_.end()) return &known->second;
  if (nics_.size() >= params::kMostNicsInMetrics || !has_hardware_(interface)) return nullptr;
  return &nics_[interface];
}

void NodeTotals::on(const events::NodeSampled& event) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(nics_, [this](const auto& each) { return !has_hardware_(each.first); });
  cpu_stall_ += event.cpu_stall;
  memory_stall_ += event.memory_stall;
  io_stall_ += event.io_stall;
  messages_lost_ += event.kernel_messages_lost;
}

void NodeTotals::on(const events::NicSampled& event) {
  const std::scoped_lock lock(mutex_);
  Nic* const nic = nic_of(std::string(event.interface.view()));
  if (nic == nullptr) return;
  events::NicSampled& sum = nic->sum;
  sum.carrier = event.carrier;
  sum.speed_mbits_per_s = event.speed_mbits_per_s;
  sum.received_bytes += event.received_bytes;
  sum.sent_bytes += event.sent_bytes;
  sum.received_packets += event.received_packets;
  sum.sent_packets += event.sent_packets;
  sum.received_errors += event.received_errors;
  sum.sent_errors += event.sent_errors;
  sum.received_drops += event.received_drops;
  sum.sent_drops += event.sent_drops;
  nic->carrier_losses += event.carrier_losses;
}

void NodeTotals::on(const events::NicLinkChanged& event) {
  const std::scoped_lock lock(mutex_);
  if (Nic* const nic = nic_of(std::string(event.interface.view()))) nic->sum.carrier = event.up;
}

void NodeTotals::on(const events::RdmaPortSampled& event) {
  const std::scoped_lock lock(mutex_);
  Port& port = ports_[{std::string(event.device.view()), event.port}];
  port.active = event.active;
  port.received_bytes += event.received_bytes;
  port.sent_bytes += event.sent_bytes;
  port.errors["out_of_sequence"] += event.out_of_sequence;
  port.errors["packet_seq_err"] += event.packet_seq_err;
  port.errors["local_ack_timeout_err"] += event.local_ack_timeout_err;
  port.errors["rnr_nak_retry_err"] += event.rnr_nak_retry_err;
  port.errors["out_of_buffer"] += event.out_of_buffer;
  port.errors["np_cnp_sent"] += event.np_cnp_sent;
  port.errors["rp_cnp_handled"] += event.rp_cnp_handled;
  port.errors["link_downed"] += event.link_downed;
  port.errors["other"] += event.other_errors;
}

void NodeTotals::on(const events::KernelMessage& event) {
  const std::scoped_lock lock(mutex_);
  ++messages_[event.what];
  if (event.what != events::KernelMessageClass::kGpuXid) return;
  const std::pair key(std::string(event.device.view()), event.code);
  if (xids_.contains(key) || xids_.size() < params::kMostXidsInMetrics) ++xids_[key];
}

void NodeTotals::set_kernel_log(bool is_read) {
  const std::scoped_lock lock(mutex_);
  kernel_log_ = is_read;
}

std::vector<Family> NodeTotals::families() const {
  const std::scoped_lock lock(mutex_);
  return Families(*this).make();
}

}  // namespace heddle::monitor
