// NodeSampler: what this machine itself has to say, as events: its interfaces, its RDMA ports, how
// long its tasks are stalled, and messages of its kernel. What cannot be read is a complaint, and
// the rest is sampled.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/nanos.h"
#include "events/events.h"
#include "nodes/kernel_log.h"
#include "nodes/link_deltas.h"
#include "nodes/link_reader.h"
#include "nodes/rdma_sampler.h"

namespace heddle::nodes {

struct SamplerSources {
  std::filesystem::path sys = "/sys";
  std::filesystem::path proc = "/proc";
  std::string kernel_log = "/dev/kmsg";
};

class NodeSampler {
 public:
  using Clock = Nanos (*)();
  // Counts from now on. `clock`: of the events' times.
  NodeSampler(const SamplerSources& sources, Clock clock);
  // With this log in place of the sources'.
  NodeSampler(const SamplerSources& sources, Clock clock, KernelLog log);

  // Why something is not sampled, a sentence each.
  std::vector<std::string> complaints() const;

  bool reads_kernel_log() const { return log_.complaint().empty(); }

  // Samples all counters.
  void sample(events::Sink& sink);
  // Waits for this long, or until `stop` is readable, and takes what was notified until then.
  // False: `stop` is readable.
  bool wait(Nanos span, int stop, events::Sink& sink);

 private:
  struct Pressure {
    std::string path;
    std::optional<uint64_t> micros;  // as it was read last; nothing: never
  };
  Nanos stalled(Pressure& pressure) const;
  void take_messages(events::Sink& sink);
  void take_links(events::Sink& sink);
  void sample_links(Nanos now, events::Sink& sink);

  const Clock clock_;
  KernelLog log_;
  std::optional<LinkReader> links_;
  std::string links_complaint_;
  std::string stalls_complaint_;
  LinkDeltas deltas_;
  RdmaSampler rdma_;
  Pressure cpu_;
  Pressure memory_;
  Pressure io_;
  Nanos sampled_at_;
};

}  // namespace heddle::nodes
