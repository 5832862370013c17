// Plan of a drive: see plan.h.
#include "nccl/drive/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "nccl/params.h"

namespace heddle::nccl {
namespace {

uint64_t divided_up(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

// The options of one message after defaults.
uint64_t message_bytes_of(const DriveOptions& options) {
  return options.message_bytes == 0 ? most_message_bytes(options) : options.message_bytes;
}

class Planner {
 public:
  explicit Planner(const DriveOptions& options) : options_(options) {
    plan_.in_flight = messages_in_flight(options);
    plan_.optional_receive = options.protocol != WireProtocol::kSimple;
  }

  Plan make() {
    for (int channel = 0; channel < options_.channels; ++channel) {
      if (options_.pattern == TrafficPattern::kTree) {
        add_tree(channel);
      } else if (options_.pattern == TrafficPattern::kP2p) {
        add_p2p(channel);
      } else {
        add_ring(channel);
      }
    }
    for (const auto* comms : {&plan_.sends, &plan_.receives}) {
      for (const CommPlan& each : *comms) {
        plan_.slot_bytes = std::max(plan_.slot_bytes, each.message_bytes);
      }
    }
    return std::move(plan_);
  }

 private:
  // A comm from one rank to another that moves `step_bytes` in each of `steps`.
  CommPlan comm(int from, int to, int channel, uint64_t step_bytes, uint64_t steps) const {
    CommPlan made;
    made.peer = from == options_.rank ? to : from;
    made.key = fmt::format("comm.{}.{}.{}", from, to, channel);
    const uint64_t most = message_bytes_of(options_);
    made.message_bytes = std::min(most, std::max<uint64_t>(step_bytes, 1));
    made.per_step = std::max<uint64_t>(divided_up(step_bytes, most), 1);
    made.tail_bytes = step_bytes - (made.per_step - 1) * made.message_bytes;
    made.messages = made.per_step * steps;
    made.zero_every = options_.zero_every;
    return made;
  }

  void add_ring(int channel) {
    const int rank = options_.rank;
    const int size = options_.size;
    const auto ranks = static_cast<uint64_t>(size);
    const uint64_t bytes =
        divided_up(options_.bytes, static_cast<uint64_t>(options_.channels) * ranks);
    const uint64_t steps = 2 * (ranks - 1);
    CommPlan send = comm(rank, (rank + 1) % size, channel, bytes, steps);
    send.after.push_back({plan_.receives.size(), send.per_step});
    plan_.sends.push_back(std::move(send));
    plan_.receives.push_back(comm((rank + size - 1) % size, rank, channel, bytes, steps));
  }

  void add_tree(int channel) {
    const int rank = options_.rank;
    const uint64_t bytes = divided_up(options_.bytes, static_cast<uint64_t>(options_.channels));
    const int parent = (rank - 1) / 2;
    std::vector<int> children;
    for (const int child : {2 * rank + 1, 2 * rank + 2}) {
      if (child < options_.size) children.push_back(child);
    }
    std::vector<Dependency> from_children;
    for (const int child : children) {
      from_children.push_back({plan_.receives.size(), 0});
      plan_.receives.push_back(comm(child, rank, channel, bytes, 1));
    }
    std::vector<Dependency> before_down = from_children;
    if (rank > 0) {
      CommPlan up = comm(rank, parent, channel, bytes, 1);
      up.after = from_children;
      plan_.sends.push_back(std::move(up));
      before_down = {{plan_.receives.size(), 0}};
      plan_.receives.push_back(comm(parent, rank, channel, bytes, 1));
    }
    for (const int child : children) {
      CommPlan down = comm(rank, child, channel, bytes, 1);
      down.after = before_down;
      plan_.sends.push_back(std::move(down));
    }
  }

  void add_p2p(int channel) {
    const auto peers = static_cast<uint64_t>(options_.size - 1);
    const uint64_t bytes =
        divided_up(options_.bytes, static_cast<uint64_t>(options_.channels) * peers);
    for (int distance = 1; distance < options_.size; ++distance) {
      const int next = (options_.rank + distance) % options_.size;
      const int before = (options_.rank + options_.size - distance) % options_.size;
      plan_.sends.push_back(comm(options_.rank, next, channel, bytes, 1));
      plan_.receives.push_back(comm(before, options_.rank, channel, bytes, 1));
    }
  }

  const DriveOptions& options_;
  Plan plan_;
};

}  // namespace

Result<void> check_options(const DriveOptions& options) {
  const auto refuse = [](std::string why, std::string todo) {
    return fail(ErrorCode::kInvalid, "cannot drive the plugin", std::move(why), std::move(todo));
  };
  if (options.size < 2 || options.size > params::drive::kMostRanks) {
    return refuse(fmt::format("there are {} ranks", options.size),
                  fmt::format("choose 2 to {} ranks", params::drive::kMostRanks));
  }
  if (options.rank < 0 || options.rank >= options.size) {
    return refuse(fmt::format("rank {} is not one of {} ranks", options.rank, options.size),
                  fmt::format("ranks are 0 to {}", options.size - 1));
  }
  if (options.channels < 1 || options.channels > params::drive::kMostChannels) {
    return refuse(fmt::format("{} channels", options.channels),
                  fmt::format("choose 1 to {} channels", params::drive::kMostChannels));
  }
  if (options.bytes == 0) return refuse("an iteration of 0 bytes", "give at least 1 byte");
  const uint64_t most = most_message_bytes(options);
  if (options.message_bytes > most) {
    return refuse(fmt::format("a message of {} bytes; NCCL sends {} at most as {} with {}",
                              options.message_bytes, most, name_of(options.pattern),
                              name_of(options.protocol)),
                  "choose smaller messages, or the pattern registered");
  }
  return {};
}

uint64_t CommPlan::bytes_of(uint64_t index) const {
  if (zero_every > 0 && (index + 1) % zero_every == 0) return 0;
  return (index + 1) % per_step == 0 ? tail_bytes : message_bytes;
}

Result<Plan> make_plan(const DriveOptions& options) {
  const Result<void> valid = check_options(options);
  if (!valid) return fail(valid.error());
  return Planner(options).make();
}

// What arrives at a plugin's isend under NCCL 2.28: slices of its buffers (chunk and slice steps of
// NCCL's algorithms), with as many in flight as its proxy has steps.
uint64_t most_message_bytes(const DriveOptions& options) {
  if (options.pattern == TrafficPattern::kRegistered) return uint64_t{1} << 30;
  if (options.protocol == WireProtocol::kLl) return uint64_t{64} << 10;
  if (options.protocol == WireProtocol::kLl128) return uint64_t{600} << 10;
  switch (options.pattern) {
    case TrafficPattern::kTree:
      return uint64_t{512} << 10;
    case TrafficPattern::kP2p:
      return uint64_t{128} << 10;
    default:
      return uint64_t{1} << 20;
  }
}

int messages_in_flight(const DriveOptions& options) {
  if (options.pattern == TrafficPattern::kRegistered) return 2;
  if (options.protocol != WireProtocol::kSimple) return 8;
  return options.pattern == TrafficPattern::kRing ? 4 : 8;
}

const char* name_of(TrafficPattern pattern) {
  switch (pattern) {
    case TrafficPattern::kRing:
      return "ring";
    case TrafficPattern::kTree:
      return "tree";
    case TrafficPattern::kP2p:
      return "p2p";
    case TrafficPattern::kRegistered:
      return "registered";
  }
  return "";
}

const char* name_of(WireProtocol protocol) {
  switch (protocol) {
    case WireProtocol::kSimple:
      return "simple";
    case WireProtocol::kLl:
      return "ll";
    case WireProtocol::kLl128:
      return "ll128";
  }
  return "";
}

}  // namespace heddle::nccl
