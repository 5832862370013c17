// See node_history.h.
#include "insight/node_history.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "insight/diagnosis/params.h"

namespace heddle::insight {
namespace {

// The times of a damaged recording may be any.
int64_t before(int64_t at_ns, Nanos span) { return saturating_difference({at_ns}, span).count; }

class Adding {
 public:
  Adding(NodeFacts& facts, uint32_t file, int64_t at_ns)
      : facts_(facts), file_(file), at_ns_(at_ns) {}

  // A class that floods the log takes no other's place.
  void operator()(const events::KernelMessage& event) {
    std::deque<NodeMessage>& messages = facts_.messages[event.what];
    const auto is_same = [&](const NodeMessage& each) {
      if (!is_of_another_sampler(each.at_ns, each.file)) return false;
      events::KernelMessage of_other = each.message;
      of_other.time = event.time;
      return of_other == event;
    };
    if (std::any_of(messages.rbegin(), messages.rend(), is_same)) return;
    keep(messages, NodeMessage{at_ns_, file_, event});
  }
  void operator()(const events::NicLinkChanged& event) {
    const std::string interface(event.interface.view());
    const auto is_same = [&](const NodeLinkChange& each) {
      return each.interface == interface && each.up == event.up &&
             is_of_another_sampler(each.at_ns, each.file);
    };
    if (std::any_of(facts_.links.rbegin(), facts_.links.rend(), is_same)) return;
    keep(facts_.links, NodeLinkChange{at_ns_, file_, interface, event.up});
  }
  void operator()(const events::NicSampled& event) {
    const std::string nic(event.interface.view());
    count(nic, NodeCounter::kReceivedDrops, event.received_drops, event.span);
    count(nic, NodeCounter::kSentDrops, event.sent_drops, event.span);
    count(nic, NodeCounter::kReceivedErrors, event.received_errors, event.span);
    count(nic, NodeCounter::kSentErrors, event.sent_errors, event.span);
  }
  void operator()(const events::RdmaPortSampled& event) {
    const std::string port =
        std::string(event.device.view()) + " port " + std::to_string(event.port);
    count(port, NodeCounter::kOutOfSequence, event.out_of_sequence, event.span);
    count(port, NodeCounter::kSequenceErrors, event.packet_seq_err, event.span);
    count(port, NodeCounter::kAckTimeouts, event.local_ack_timeout_err, event.span);
    count(port, NodeCounter::kReceiverNotReady, event.rnr_nak_retry_err, event.span);
    count(port, NodeCounter::kOutOfBuffer, event.out_of_buffer, event.span);
    count(port, NodeCounter::kCongestionSent, event.np_cnp_sent, event.span);
    count(port, NodeCounter::kCongestionHandled, event.rp_cnp_handled, event.span);
    count(port, NodeCounter::kOtherErrors, event.other_errors, event.span);
  }
  void operator()(const events::NodeSampled& event) {
    add_sampled({before(at_ns_, event.span), at_ns_});
    stall(NodeCounter::kCpuStall, event.cpu_stall, event.span);
    stall(NodeCounter::kMemoryStall, event.memory_stall, event.span);
    stall(NodeCounter::kIoStall, event.io_stall, event.span);
  }
  template <typename Event>
  void operator()(const Event& /*other*/) {}

 private:
  // Whether what was read at `at_ns` into `file` may be what another sampler reads now, one of
  // which may have read it later. A sampler reads nothing twice.
  bool is_of_another_sampler(int64_t at_ns, uint32_t file) const {
    const int64_t apart = before(std::max(at_ns, at_ns_), {std::min(at_ns, at_ns_)});
    return file != file_ && apart <= params::kSameMessageNs;
  }
  void add_sampled(const NodeSpan& span) {
    std::deque<NodeSpan>& sampled = facts_.files[file_].sampled;
    const bool goes_on = !sampled.empty() && span.to_ns >= sampled.back().to_ns &&
                         before(span.from_ns, {sampled.back().to_ns}) <= params::kSampleJitterNs;
    if (goes_on) {
      sampled.back().to_ns = span.to_ns;
    } else {
      keep(sampled, span);
    }
  }
  template <typename Kept, typename Value>
  static void keep(Kept& kept, Value value) {
    if (kept.size() >= params::kMostNodeEvents) kept.pop_front();
    kept.push_back(std::move(value));
  }
  void count(const std::string& device, NodeCounter counter, uint64_t value, Nanos span) {
    if (value == 0) return;
    NodeCounts& counts = facts_.counts[{device, counter, file_}];
    if (counts.kept.size() >= params::kMostNodeEvents) {
      counts.whole_from_ns = std::max(counts.whole_from_ns, counts.kept.front().span.to_ns);
    }
    keep(counts.kept, NodeCount{{before(at_ns_, span), at_ns_}, value});
  }
  // Those of a healthy machine would fill the memory.
  void stall(NodeCounter counter, Nanos stalled, Nanos span) {
    const auto share = static_cast<double>(stalled.count) / static_cast<double>(span.count);
    if (span <= Nanos{} || share < params::kLeastStallKept) return;
    count("", counter, static_cast<uint64_t>(stalled.count), span);
  }

  NodeFacts& facts_;
  const uint32_t file_;
  const int64_t at_ns_;
};

bool is_of_a_node(const events::AnyEvent& event) {
  return std::holds_alternative<events::KernelMessage>(event) ||
         std::holds_alternative<events::NicLinkChanged>(event) ||
         std::holds_alternative<events::NicSampled>(event) ||
         std::holds_alternative<events::RdmaPortSampled>(event) ||
         std::holds_alternative<events::NodeSampled>(event);
}

}  // namespace

const char* text_of(NodeCounter counter) {
  switch (counter) {
    case NodeCounter::kReceivedDrops:
      return "dropped {} received packets";
    case NodeCounter::kSentDrops:
      return "dropped {} packets that were to be sent";
    case NodeCounter::kReceivedErrors:
      return "received {} packets with errors";
    case NodeCounter::kSentErrors:
      return "could not send {} packets";
    case NodeCounter::kOutOfSequence:
      return "received {} packets out of sequence";
    case NodeCounter::kSequenceErrors:
      return "got {} negative acknowledgements for missing packets";
    case NodeCounter::kAckTimeouts:
      return "had {} timeouts of acknowledgements";
    case NodeCounter::kReceiverNotReady:
      return "was refused {} times by receivers that had no receive posted";
    case NodeCounter::kOutOfBuffer:
      return "had no receive posted for {} packets";
    case NodeCounter::kCongestionSent:
      return "sent {} congestion notifications";
    case NodeCounter::kCongestionHandled:
      return "was slowed by {} congestion notifications";
    case NodeCounter::kOtherErrors:
      return "counted {} other errors";
    case NodeCounter::kCpuStall:
      return "tasks waited for a processor";
    case NodeCounter::kMemoryStall:
      return "tasks waited for memory";
    case NodeCounter::kIoStall:
      return "tasks waited for disks";
  }
  return "counted {}";
}

void NodeHistory::add(const NodePlace& place, const events::AnyEvent& event, int64_t at_ns) {
  if (!is_of_a_node(event)) return;
  NodeFacts& facts = hosts_[place.host];
  facts.files[place.file].machine = place.machine.empty() ? place.host : place.machine;
  std::visit(Adding(facts, place.file, at_ns), event);
}

const NodeFacts* NodeHistory::of(const std::string& host) const {
  const auto found = hosts_.find(host);
  return found == hosts_.end() ? nullptr : &found->second;
}

}  // namespace heddle::insight
