// JobFacts: what a job's events say of each operation: which rank made, started and ended its part
// and when, how long it computed before, and when data came from which rank; and of each
// connection: losses and failures. Times are since the beginning of the job, ns.
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "events/events.h"
#include "insight/diagnosis.h"
#include "insight/diagnosis/path_outages.h"
#include "insight/diagnosis/recent_calls.h"

namespace heddle::insight {

inline constexpr int64_t kNever = -1;
inline constexpr uint32_t kNobody = UINT32_MAX;

// Of a collective `from` and `to` are kNobody; of a message between two ranks they are these.
struct OperationKey {
  uint64_t communicator = 0;
  uint64_t number = 0;
  uint32_t from = kNobody;
  uint32_t to = kNobody;
  auto operator<=>(const OperationKey&) const = default;
};

// Bounds, ns; -1: unknown.
struct Transit {
  double least_ns = -1;
  double most_ns = -1;
};

// A message as its receiver knows it; the sender's has the same channel and sequence.
struct Arrival {
  int64_t at = 0;
  int64_t posted = 0;
  uint64_t bytes = 0;
  uint32_t sequence = 0;
  uint16_t channel = 0;
};

// And as its sender does.
struct Departure {
  int64_t posted = 0;
  uint32_t to = 0;
  uint32_t sequence = 0;
  uint16_t channel = 0;
};

// Data that came to a rank from another one in an operation.
struct Inflow {
  uint32_t from = 0;
  uint32_t messages = 0;
  uint64_t bytes = 0;
  std::vector<Arrival> arrivals;  // while the operation runs, of the first kMostArrivals messages
  // Of measured messages together (transits.h): as observed, by their shares of the NICs, and since
  // the message that came before to or from one of their ranks.
  Transit transit;
  Transit alone;
  Transit in_turn;
  uint64_t measured_bytes = 0;
  uint64_t longest = 0;         // message of the measured, bytes
  double network_wait_ns = -1;  // mean of a transfer, as NCCL's proxy measured it; -1: unknown
};

// A rank's part in an operation.
struct Part {
  uint32_t process = kNobody;
  int64_t made = kNever;
  int64_t started = kNever;
  int64_t ended = kNever;
  bool failed = false;
  // From the call before: the time in which its caller did not wait, and the time in which no call
  // was in flight; -1: it is the first.
  int64_t computed_ns = -1;
  int64_t idle_ns = -1;
  uint64_t count = 0;
  std::vector<Inflow> inflows;        // by `from`
  std::vector<Departure> departures;  // while the operation runs, of the first kMostDepartures

  bool done() const { return ended != kNever && !failed; }
  Inflow& from(uint32_t rank);
  void forget_messages();
};

struct OperationFigures;

struct Operation {
  OperationKey key;
  events::Operation what = events::Operation::kAllreduce;
  events::ElementType type = events::ElementType::kUint8;
  events::Algorithm algorithm = events::Algorithm::kOther;
  uint64_t count = 0;
  uint32_t root = 0;
  uint32_t group_ranks = 0;  // of Algorithm::kTwoLevel
  bool differs = false;      // parts were called with something else
  std::vector<Part> parts;   // by rank; of a message the sender's and the receiver's
  int64_t began = kNever;    // the first part was made
  int64_t due = kNever;      // the latest was
  int64_t ended = kNever;    // the last part ended; kNever: some have not
  uint32_t missing = 0;      // parts that were not made
  uint32_t open = 0;         // parts that have not ended well
  uint32_t in_flight = 0;    // parts that were made and have not ended
  // Kept by figures_of() (operation_figures.h), and forgotten when an event changes what they say.
  mutable std::shared_ptr<const OperationFigures> figures;

  bool between_two() const { return key.from != kNobody; }
  uint32_t rank_of(size_t part) const;
  bool has_rank(uint32_t rank) const;
};

// Of the operations that are kept: which have not ended, which ranks called differently, and when
// the others ended and how long they took. A look at a job that runs would pass over all of them
// for these each time.
class OperationIndex {
 public:
  using Operations = std::map<OperationKey, const Operation*>;
  // By the time of their end; any number of a damaged recording may have the same.
  using Ended = std::map<std::pair<int64_t, OperationKey>, const Operation*>;
  using ByCommunicator = std::map<uint64_t, Ended>;  // by communicator, none of which is empty

  void add(const Operation& operation);     // that begins
  void differ(const Operation& operation);  // once or more
  void end(const Operation& operation);     // all of its parts have ended well
  void forget(const Operation& operation);  // that is kept no longer

  const Operations& unfinished() const { return unfinished_; }
  const Operations& different() const { return different_; }
  // That ended, of at least two ranks which called the same.
  const ByCommunicator& collectives() const { return collectives_; }
  // The first of these that ended at this time, ns, or later.
  static Ended::const_iterator since(const Ended& ended, int64_t ns) {
    return ended.lower_bound({ns, {.communicator = 0, .number = 0, .from = 0, .to = 0}});
  }
  // All that ended.
  size_t ended() const { return spans_ns_.size(); }
  // From the first call to the end, of those that ended; 0: none has.
  int64_t longest_ns() const { return spans_ns_.empty() ? 0 : *spans_ns_.rbegin(); }

 private:
  Operations unfinished_;
  Operations different_;
  ByCommunicator collectives_;
  std::multiset<int64_t> spans_ns_;
};

struct Trouble {
  int64_t at = 0;
  uint16_t path = 0;
  enum class Kind : uint8_t { kLost, kTimeout, kSetAside, kReturned, kPeerProbe, kPeerDead } kind;
  uint32_t segments = 0;  // of kLost
};

struct ConnectionFacts {
  uint64_t communicator = 0;
  uint32_t peer = kNobody;  // rank in the communicator
  uint64_t packets = 0;     // sent
  uint64_t lost = 0;        // segments
  std::vector<Trouble> troubles;
  PathOutages paths;
  bool peer_died = false;
};

struct Member {
  uint32_t rank = 0;
  uint32_t size = 0;
  int64_t left = kNever;
  uint64_t calls = 0;
};

struct ProcessFacts {
  Party party;
  FileEnd end;
  bool of_heddle = true;  // false: imported, so calls only are known
  bool has_waits = false;
  int64_t first = kNever;
  int64_t last = kNever;  // newest event
  uint32_t waits = 0;     // in which it is now
  std::map<uint64_t, Member> communicators;
  std::unordered_map<uint32_t, ConnectionFacts> connections;
};

// Whether both ranks of an operation are known to be on one host.
bool within_host(const std::vector<ProcessFacts>& processes, const Operation& operation,
                 uint32_t one, uint32_t other);

class JobFacts {
 public:
  // At most as many parts, or as many for each process, whichever is more.
  explicit JobFacts(size_t most_parts, size_t parts_a_process = 0)
      : most_parts_(most_parts), parts_a_process_(parts_a_process) {}

  uint32_t add_process(const Identity& identity, const FileEnd& end);
  void add(uint32_t process, const events::AnyEvent& event, int64_t at_ns);
  void set_end(uint32_t process, const FileEnd& end) { processes_[process].end = end; }
  // Forgets operations that began before and have not ended, and takes no more parts of them.
  void set_whole_from(int64_t at_ns);

  const std::vector<ProcessFacts>& processes() const { return processes_; }
  const std::map<OperationKey, Operation>& operations() const { return operations_; }
  const OperationIndex& index() const { return index_; }
  uint64_t operations_dropped() const { return dropped_; }
  // Communicators of whose ranks so few were recorded that their operations are not kept.
  const std::set<uint64_t>& sparse() const { return sparse_; }
  int64_t last() const { return last_; }
  // Connections, as process and id, with a path that failed or a peer that was declared dead.
  const std::set<std::pair<uint32_t, uint32_t>>& troubled() const { return troubled_; }
  // One of these, or another that is known.
  const ConnectionFacts& connection(uint32_t process, uint32_t id) const {
    return processes_[process].connections.find(id)->second;
  }
  // Processes whose waits were recorded. While it stays the same, so does ProcessFacts::has_waits.
  size_t waiting() const { return waiting_; }
  // The process that is this rank of a communicator; kNobody: it was not recorded.
  uint32_t process_of(uint64_t communicator, uint32_t rank) const;
  uint32_t size_of(uint64_t communicator) const;

 private:
  struct Live {
    uint16_t channels = 0;
    OperationKey key;
    uint32_t part = 0;
  };
  using CallId = std::pair<uint64_t, uint32_t>;  // communicator and call
  struct Course {
    RecentCalls calls;
    // The latest call on each first channel of a communicator.
    std::map<std::pair<uint64_t, uint16_t>, Live> live;
    int64_t waited_since = 0;
    int64_t waited_ns = 0;
    int64_t last_made_own = kNever;  // on its clock without waits
    int64_t last_ended = kNever;
  };

  template <typename Event>
  void on(uint32_t /*process*/, const Event& /*event*/, int64_t /*at*/) {}
  void on(uint32_t process, const events::CommunicatorMade& event, int64_t at);
  void on(uint32_t process, const events::CommunicatorLinked& event, int64_t at);
  void on(uint32_t process, const events::CommunicatorEnded& event, int64_t at);
  void on(uint32_t process, const events::CallMade& event, int64_t at);
  void on(uint32_t process, const events::CallStarted& event, int64_t at);
  void on(uint32_t process, const events::CallEnded& event, int64_t at);
  void on(uint32_t process, const events::WaitBegun& event, int64_t at);
  void on(uint32_t process, const events::WaitEnded& event, int64_t at);
  void on(uint32_t process, const events::MessageCompleted& event, int64_t at);
  void on(uint32_t process, const events::SharedMessageCompleted& event, int64_t at);
  void on(uint32_t process, const events::BurstLost& event, int64_t at);
  void on(uint32_t process, const events::Recovery& event, int64_t at);
  void on(uint32_t process, const events::ConnectionClosed& event, int64_t at);
  void on(uint32_t process, const events::PathTraced& event, int64_t at);
  void on(uint32_t process, const events::WireBin& event, int64_t at);
  void on(uint32_t process, const events::ProxyOp& event, int64_t at);

  void forget_messages(const RecentCalls::Forgotten& call);
  Operation& operation(const OperationKey& key, const events::CallMade& event);
  // Null: it is not kept.
  Operation* find(const OperationKey& key);
  // Null: the call is not known.
  Operation* find(uint32_t process, CallId call, uint32_t& part);
  // A message of the call that its channel is busy with.
  struct Message {
    uint32_t connection = 0;
    uint16_t channel = 0;
    uint32_t sequence = 0;
    uint64_t bytes = 0;
    int64_t posted = 0;
  };
  // Null: it is of no operation that is known.
  Part* part_of(uint32_t process, const Message& message, uint32_t& peer);
  void arrived(uint32_t process, const Message& message, int64_t at);
  void departed(uint32_t process, const Message& message);
  void trouble(uint32_t process, uint32_t connection, const Trouble& trouble);
  void forget_old();
  // A part that was called before whole_from_: then its operation is not kept.
  bool is_of_the_past(const OperationKey& key, int64_t at);

  const size_t most_parts_;
  const size_t parts_a_process_;
  std::vector<ProcessFacts> processes_;
  std::vector<Course> courses_;
  std::map<OperationKey, Operation> operations_;
  struct KeyHash {
    size_t operator()(const OperationKey& key) const;
  };
  std::unordered_map<OperationKey, Operation*, KeyHash> by_key_;  // the same, to be found fast
  OperationIndex index_;
  std::deque<OperationKey> order_;
  std::map<std::pair<uint64_t, uint32_t>, uint32_t> members_;
  std::map<uint64_t, uint32_t> sizes_;
  std::set<uint64_t> sparse_;
  size_t parts_ = 0;
  uint64_t dropped_ = 0;
  int64_t whole_from_ = kNever;
  // The highest number of an operation of the past, by its key without the number.
  std::map<OperationKey, uint64_t> past_;
  int64_t last_ = 0;
  size_t waiting_ = 0;
  std::set<std::pair<uint32_t, uint32_t>> troubled_;
};

}  // namespace heddle::insight
