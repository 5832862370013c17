// See live_families.h. Rates are in bytes per second: Prometheus' base unit of data is the byte.
#include "acceptance/live_families.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/version.h"

namespace heddle::acceptance {
namespace {

using metrics::Family;
using metrics::Label;
using metrics::Type;

// Families of one fabric: each sample has its label.
class Families {
 public:
  explicit Families(const LiveSnapshot& snapshot) : snapshot_(snapshot) {}

  std::vector<Family> make() {
    gauge("build_info", "Always 1; the version of heddle that runs the test.");
    add({{"version", std::string(kVersion)}}, 1);
    add_stages();
    add_links();
    add_nics();
    add_pairs();
    add_paths();
    add_all_reduces();
    add_bystanders();
    gauge("processors_others_ratio",
          "Share of the testing machine's processor time that other programs have used since the "
          "stage began.");
    add({}, snapshot_.others_busy_share);
    return std::move(families_);
  }

 private:
  void begin(const char* name, const char* help, Type type) {
    families_.push_back({std::string("heddle_verify_") + name, help, type, {}});
  }
  void gauge(const char* name, const char* help) { begin(name, help, Type::kGauge); }
  void counter(const char* name, const char* help) { begin(name, help, Type::kCounter); }

  // To the family that was begun last.
  void add(std::vector<Label> labels, double value) {
    labels.insert(labels.begin(), {"fabric", snapshot_.fabric});
    families_.back().samples.push_back({std::move(labels), value});
  }

  static const char* state_of(const LiveStage& stage) {
    if (stage.running) return "running";
    switch (stage.outcome) {
      case StageOutcome::kPassed:
        return "passed";
      case StageOutcome::kFailed:
        return "failed";
      case StageOutcome::kBroken:
        return "broken";
      case StageOutcome::kInterrupted:
        return "interrupted";
      case StageOutcome::kNotRun:
        break;
    }
    return "not_run";
  }

  void add_stages() {
    gauge("stage_state",
          "1 for the state of a stage, 0 for the others; broken: it could not measure.");
    for (const LiveStage& stage : snapshot_.stages) {
      for (const std::string state :
           {"not_run", "running", "passed", "failed", "broken", "interrupted"}) {
        add({{"stage", stage.name}, {"state", state}}, state == state_of(stage) ? 1 : 0);
      }
    }
    gauge("stage_duration_seconds", "How long a stage took, or has run so far.");
    for (const LiveStage& stage : snapshot_.stages) add({{"stage", stage.name}}, stage.seconds);
    gauge("checks", "Checks of a stage that has ended, by grade.");
    for (const LiveStage& stage : snapshot_.stages) {
      if (!stage.grade) continue;
      for (const auto& [grade, name] : kGrades) {
        const auto found = stage.checks.find(grade);
        const size_t count = found == stage.checks.end() ? 0 : found->second;
        add({{"stage", stage.name}, {"grade", name}}, static_cast<double>(count));
      }
    }
    add_verdict();
  }

  void add_verdict() {
    std::optional<Grade> worst;
    for (const LiveStage& stage : snapshot_.stages) {
      if (stage.grade) worst = std::max(worst.value_or(Grade::kOk), *stage.grade);
    }
    gauge("verdict", "1 for the verdict on the stages that have ended, 0 for the others.");
    for (const auto& [grade, name] : kGrades) add({{"verdict", name}}, worst == grade ? 1 : 0);
  }

  template <typename Value>
  void add_each_link(const Value& value) {
    for (const LiveLink& link : snapshot_.links) {
      if (!link.counted) continue;
      add({{"link", link.label}, {"from", link.from}, {"to", link.to}}, value(link));
    }
  }

  void add_links() {
    gauge("link_rate_bytes_per_second", "The rate of a link, as planned or as its port has it.");
    for (const LiveLink& link : snapshot_.links) {
      if (link.rate_bits_per_s == 0) continue;
      add({{"link", link.label}, {"from", link.from}, {"to", link.to}}, link.rate_bits_per_s / 8);
    }
    gauge("link_expected_bytes_per_second",
          "The rate of a link, or what the stage pairs can bring to it where that is less.");
    for (const LiveLink& link : snapshot_.links) {
      const double expected = std::min(link.rate_bits_per_s, link.offered_bits_per_s);
      if (expected == 0) continue;
      add({{"link", link.label}, {"from", link.from}, {"to", link.to}}, expected / 8);
    }
    gauge("link_peak_bytes_per_second",
          "The highest rate of one direction of a link over 200 ms so far.");
    add_each_link([](const LiveLink& link) { return link.load.peak_bits_per_s / 8; });
    counter("link_transmitted_bytes_total",
            "Bytes that one direction of a link carried, with Ethernet headers.");
    add_each_link([](const LiveLink& link) { return static_cast<double>(link.load.bytes); });
    counter("link_dropped_packets_total", "Packets that a full queue before a link dropped.");
    add_each_link([](const LiveLink& link) { return static_cast<double>(link.load.dropped); });
    counter("link_errors_total", "Packets lost or damaged on a link.");
    add_each_link([](const LiveLink& link) { return static_cast<double>(link.load.errors); });
  }

  void add_pairs() {
    const auto labels = [](const FromTo& pair) {
      return std::vector<Label>{{"from", pair.first}, {"to", pair.second}};
    };
    gauge("pair_goodput_bytes_per_second", "Payload that a pair of hosts moved.");
    for (const auto& [name, pair] : snapshot_.pairs) {
      add(labels(name), pair.goodput_bits_per_s / 8);
    }
    gauge("pair_allowed_bytes_per_second",
          "Payload that the links of a pair can carry beside the other pairs of its round.");
    for (const auto& [name, pair] : snapshot_.pairs) {
      if (pair.allowed_bits_per_s > 0) add(labels(name), pair.allowed_bits_per_s / 8);
    }
    gauge("pair_retransmitted_ratio", "Segments of a pair that were retransmitted.");
    for (const auto& [name, pair] : snapshot_.pairs) add(labels(name), pair.retransmitted_share);
    std::map<FromTo, LiveLatency> latencies;
    for (const auto& [name, pair] : snapshot_.pairs) latencies[name] = pair.latency;
    add_latencies({"pair_latency_p50_seconds",
                   "Median one-way latency (RTT/2) of a pair on the idle fabric."},
                  {"pair_latency_p99_seconds",
                   "99th percentile of the one-way latency (RTT/2) of a pair on the idle fabric."},
                  latencies);
  }

  struct NameAndHelp {
    const char* name;
    const char* help;
  };
  void add_latencies(const NameAndHelp& p50, const NameAndHelp& p99,
                     const std::map<FromTo, LiveLatency>& latencies) {
    for (const auto& [family, member] :
         {std::pair(p50, &LiveLatency::us_p50), std::pair(p99, &LiveLatency::us_p99)}) {
      gauge(family.name, family.help);
      for (const auto& [name, latency] : latencies) {
        if (latency.*member <= 0) continue;
        add({{"from", name.first}, {"to", name.second}}, latency.*member * 1e-6);
      }
    }
  }

  void add_paths() {
    const auto add_each = [&](double LivePath::*figure, double factor) {
      for (const auto& [key, path] : snapshot_.paths) {
        if (figure == &LivePath::rtt_us && path.rtt_us <= 0) continue;
        add({{"from", key.first.first},
             {"to", key.first.second},
             {"path", std::to_string(key.second)}},
            path.*figure * factor);
      }
    };
    gauge("path_goodput_bytes_per_second", "Payload that a path of a pair of hosts carried.");
    add_each(&LivePath::goodput_bits_per_s, 1.0 / 8);
    gauge("path_rtt_seconds", "Smoothed round-trip time of a path of a pair under its load.");
    add_each(&LivePath::rtt_us, 1e-6);
    gauge("path_lost_segments", "Segments of a path of a pair that were declared lost.");
    add_each(&LivePath::lost_segments, 1);
  }

  // Of NICs whose kernel has the counter.
  void add_nic_counter(const std::string& counter, std::vector<Label> more) {
    for (const auto& [key, nic] : snapshot_.nics) {
      const auto found = nic.counts.find(counter);
      if (nic.is_rdma || found == nic.counts.end()) continue;
      std::vector<Label> labels = {{"host", key.first}, {"device", key.second}};
      labels.insert(labels.end(), more.begin(), more.end());
      add(std::move(labels), static_cast<double>(found->second));
    }
  }

  void add_nics() {
    struct Both {
      const char* name;
      const char* help;
      const char* counter;
    };
    for (const Both& each :
         {Both{"nic_bytes_total", "Bytes that a NIC of a host received or sent.", "bytes"},
          Both{"nic_dropped_packets_total",
               "Packets that a full queue of a NIC or of the kernel lost.", "dropped"},
          Both{"nic_errors_total", "Packets that a NIC of a host counted as damaged.", "errors"}}) {
      counter(each.name, each.help);
      add_nic_counter(std::string("rx_") + each.counter, {{"direction", "received"}});
      add_nic_counter(std::string("tx_") + each.counter, {{"direction", "sent"}});
    }
    counter("nic_carrier_changes_total", "How often a NIC of a host lost or found its link.");
    add_nic_counter("carrier_changes", {});
    gauge("nic_carrier", "1: a NIC of a host has a link; 0: it has none.");
    for (const auto& [key, nic] : snapshot_.nics) {
      if (nic.carrier) add({{"host", key.first}, {"device", key.second}}, *nic.carrier ? 1 : 0);
    }
    counter("rdma_port_events_total",
            "A counter of an RDMA port, of the folders counters and hw_counters.");
    for (const auto& [key, nic] : snapshot_.nics) {
      if (!nic.is_rdma) continue;
      for (const auto& [name, count] : nic.counts) {
        add({{"host", key.first}, {"device", key.second}, {"counter", name}},
            static_cast<double>(count));
      }
    }
  }

  void add_all_reduces() {
    const auto labels = [](uint64_t bytes) {
      return std::vector<Label>{{"size_bytes", std::to_string(bytes)}};
    };
    gauge("all_reduce_bus_bytes_per_second", "Bus bandwidth of all-reduces of one size.");
    for (const auto& [bytes, each] : snapshot_.all_reduces) {
      add(labels(bytes), each.bus_bits_per_s / 8);
    }
    gauge("all_reduce_bound_bytes_per_second", "Bus bandwidth that the links allow a ring.");
    for (const auto& [bytes, each] : snapshot_.all_reduces) {
      if (each.bound_bits_per_s > 0) add(labels(bytes), each.bound_bits_per_s / 8);
    }
  }

  void add_bystanders() {
    add_latencies({"bystander_latency_p50_seconds",
                   "Median one-way latency (RTT/2) of two hosts beside an incast."},
                  {"bystander_latency_p99_seconds",
                   "99th percentile of the one-way latency (RTT/2) of two hosts beside an incast."},
                  snapshot_.bystanders);
  }

  static constexpr std::array<std::pair<Grade, const char*>, 3> kGrades = {
      {{Grade::kOk, "pass"}, {Grade::kWarn, "warn"}, {Grade::kFail, "fail"}}};

  const LiveSnapshot& snapshot_;
  std::vector<Family> families_;
};

}  // namespace

std::vector<metrics::Family> families_of(const LiveSnapshot& snapshot) {
  return Families(snapshot).make();
}

}  // namespace heddle::acceptance
