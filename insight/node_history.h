// NodeHistory: what the machines of a job reported themselves, by host and on the job's clock: the
// part that can explain a fault. Its size is bounded, so a job may be watched for weeks.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "events/events.h"

namespace heddle::insight {

// What a machine counts, and should not, or not much.
enum class NodeCounter : uint8_t {
  kReceivedDrops,
  kSentDrops,
  kReceivedErrors,
  kSentErrors,
  kOutOfSequence,
  kSequenceErrors,
  kAckTimeouts,
  kReceiverNotReady,
  kOutOfBuffer,
  kCongestionSent,
  kCongestionHandled,
  kOtherErrors,
  kCpuStall,  // stalls: ns
  kMemoryStall,
  kIoStall,
};
// With "{}" for the number: "dropped {} received packets"; of stalls the share of the time.
const char* text_of(NodeCounter counter);
constexpr bool is_stall(NodeCounter counter) { return counter >= NodeCounter::kCpuStall; }

// Which machine reports what.
struct NodePlace {
  std::string host;     // of the job's processes that run on it
  uint32_t file = 0;    // a number of the recording
  std::string machine;  // its own name, where that is another: a pod has its own; else empty
};

struct NodeMessage {
  int64_t at_ns = 0;  // since the job's beginning
  uint32_t file = 0;
  events::KernelMessage message;
};

struct NodeLinkChange {
  int64_t at_ns = 0;
  uint32_t file = 0;
  std::string interface;
  bool up = false;
};

struct NodeSpan {
  int64_t from_ns = 0;
  int64_t to_ns = 0;
};

struct NodeCount {
  NodeSpan span;
  uint64_t value = 0;
};

struct NodeCounts {
  std::deque<NodeCount> kept;
  int64_t whole_from_ns = INT64_MIN;  // none is missing from here on
};

struct NodeFile {
  std::string machine;
  std::deque<NodeSpan> sampled;  // times in which counters were read
};

struct NodeFacts {
  std::map<events::KernelMessageClass, std::deque<NodeMessage>> messages;
  std::deque<NodeLinkChange> links;
  // By device, counter and file: a machine may be sampled twice, into two files.
  std::map<std::tuple<std::string, NodeCounter, uint32_t>, NodeCounts> counts;
  std::map<uint32_t, NodeFile> files;
};

class NodeHistory {
 public:
  // Events of other kinds are ignored.
  void add(const NodePlace& place, const events::AnyEvent& event, int64_t at_ns);
  // Null: nothing of it was recorded.
  const NodeFacts* of(const std::string& host) const;
  bool empty() const { return hosts_.empty(); }

 private:
  std::map<std::string, NodeFacts> hosts_;
};

}  // namespace heddle::insight
