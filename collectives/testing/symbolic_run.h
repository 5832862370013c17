// SymbolicRun: executes the schedules of all ranks of a collective on numbers that stand for who
// contributed what, in an order that a seed picks from all that the scoreboard allows. It proves
// of a schedule that its result is right, that no order ends in a deadlock, that every message
// meets one of its length, and counts the bytes that each rank sends to each. Sends end only after
// they met their receive, as with a network that stores nothing.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/random.h"
#include "collectives/execution/scoreboard.h"
#include "collectives/schedule/schedule.h"

namespace heddle::collectives {

struct SymbolicOptions {
  Shape shape;  // of every rank but for its rank
  bool in_place = false;
  uint64_t seed = 1;
  uint32_t slots = 8;  // places in which data waits to be reduced, a rank
};

class SymbolicRun {
 public:
  // What the sum of everything is multiplied by when it is complete, as an average is divided.
  static constexpr uint64_t kFactor = 0x9e3779b97f4a7c15;

  explicit SymbolicRun(const SymbolicOptions& options);

  // Empty when all is right; else what is wrong.
  std::string run();

  // Bytes that `from` sent to `to`.
  uint64_t sent_bytes(uint32_t from, uint32_t to) const;
  // Steps that all ranks did.
  uint64_t steps_done() const { return steps_done_; }

 private:
  enum class Phase : uint8_t { kAdmitted, kPosted, kMet, kArrived };
  struct Active {
    Step step;
    Phase phase = Phase::kAdmitted;
    bool staged = false;
    std::vector<uint64_t> data;  // what was sent, or waits to be placed
  };
  struct Rank {
    Schedule schedule;
    uint64_t next = 0;
    uint32_t slots_used = 0;
    Scoreboard board;
    std::array<Active, Scoreboard::kWindow> active;
    std::vector<uint64_t> cells;
    uint64_t input = 0;  // the first cell of each
    uint64_t output = 0;
    uint64_t scratch = 0;
  };
  struct Queue {
    std::deque<uint32_t> sends;     // slots of the sender
    std::deque<uint32_t> receives;  // slots of the receiver
  };
  using Key = std::tuple<uint32_t, uint32_t, uint32_t>;  // from, to, channel

  void lay_out(uint32_t rank);
  uint64_t input_count() const;
  uint64_t output_count() const;
  uint64_t in_place_offset(uint32_t rank, bool& output_inside) const;
  bool has_output(uint32_t rank) const;
  uint64_t cell(const Rank& rank, const Place& place);
  bool act(uint32_t rank, bool eager);
  bool admit(uint32_t rank);
  bool advance(uint32_t rank, uint32_t slot);
  bool post(uint32_t rank, uint32_t slot);
  bool finish(uint32_t rank, uint32_t slot);
  void check_sent(const Rank& rank, const Active& send);
  void check_answered(Rank& rank, uint32_t answered);
  bool deliver(const Key& key, Queue& queue);
  void check_result(uint32_t rank);
  uint64_t expected(uint32_t rank, uint64_t element) const;
  uint64_t sum_of(uint64_t element) const;
  void complain(const std::string& text);

  SymbolicOptions options_;
  Random random_;
  std::vector<Rank> ranks_;
  std::map<Key, Queue> queues_;
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> sent_;
  std::vector<std::vector<uint64_t>> counts_;  // of an all-to-all-v: [from][to]
  std::vector<std::array<std::vector<uint64_t>, 4>> exchanges_;
  std::string complaint_;
  uint64_t steps_done_ = 0;
};

}  // namespace heddle::collectives
