// The actions of a program: see program.h.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "datapath/regions.h"
#include "tests/vopr/program.h"
#include "transport/wire/packet.h"

namespace heddle::vopr {

using transport::ChannelId;
using transport::Direction;
using transport::Payload;

void Program::act_at_random() {
  for (const uint32_t peer : std::exchange(wanted_, {})) connect(peer);
  if (sides_.empty()) return;
  const uint64_t actions = random_.between(1, 3);
  for (uint64_t i = 0; i < actions; ++i) act_on(*sides_[random_.below(sides_.size())]);
}

void Program::act_on(Side& side) {
  const WorkloadOptions& workload = stage_.options.workload;
  if (per_thousand(workload.close_per_thousand)) return close(side);
  if (per_thousand(workload.abort_per_thousand)) {
    side.abort_called = true;
    machine_.endpoint().post_abort(machine_.now(), side.id);
    return;
  }
  if (per_thousand(workload.cancel_per_thousand)) return cancel_one(side);
  if (per_thousand(workload.misuse_per_thousand)) return misuse(side);
  if (random_.below(100) < workload.receive_eagerness) {
    receive_at_random(side);
  } else {
    send_at_random(side);
  }
}

void Program::close(Side& side) {
  if (side.close_called) return;
  side.close_called = true;
  machine_.endpoint().post_close(machine_.now(), side.id);
}

// Lengths near limits where behavior changes, and some between.
uint64_t Program::draw_length() {
  const WorkloadOptions& workload = stage_.options.workload;
  const uint64_t eager = machine_.host_options().endpoint.eager_block_bytes;
  const uint64_t datagram = std::min(machine_.datapath().capabilities().max_datagram_bytes, 9216u);
  const uint64_t around[] = {1200 - transport::kDataHeaderBytes,
                             datagram - transport::kDataHeaderBytes, eager,
                             transport::kMaxBurstBytes};
  uint64_t length = 0;
  switch (random_.below(6)) {
    case 0:
      length = random_.below(3);
      break;
    case 1:
      length = random_.below(200);
      break;
    case 2:
      length = around[random_.below(4)] * random_.between(1, 3) + random_.between(0, 2) - 1;
      break;
    case 3:
      length = random_.below(workload.message_most + 1);
      break;
    case 4:
      length = random_.below(workload.message_most / 8 + 1);
      break;
    default:
      length = workload.message_most;
      break;
  }
  const uint64_t left = workload.bytes_most - std::min(workload.bytes_most, stage_.bytes_posted);
  return std::min({length, workload.message_most, left});
}

void Program::send_at_random(Side& side) {
  const WorkloadOptions& workload = stage_.options.workload;
  const auto channel = static_cast<ChannelId>(random_.below(workload.channels));
  const PostedOperations& posted = side.posted(Direction::kSend, channel);
  if (side.close_called || side.abort_called || posted.outstanding() >= workload.sends_ahead)
    return;
  if (posted.operations.size() >= workload.messages) return;
  uint64_t length = draw_length();
  const Operation* receive =
      stage_.ledger.match_of(side, Direction::kSend, channel, posted.operations.size());
  if (receive != nullptr && !per_thousand(workload.truncate_per_thousand)) {
    length = std::min(length, receive->length());
  }
  post_send(side, channel, length);
}

void Program::receive_at_random(Side& side) {
  const WorkloadOptions& workload = stage_.options.workload;
  const auto channel = static_cast<ChannelId>(random_.below(workload.channels));
  const PostedOperations& posted = side.posted(Direction::kReceive, channel);
  if (side.abort_called || posted.outstanding() >= workload.receives_ahead) return;
  if (posted.operations.size() >= workload.messages) return;
  uint64_t capacity = draw_length();
  const Operation* send =
      stage_.ledger.match_of(side, Direction::kReceive, channel, posted.operations.size());
  if (send != nullptr && !per_thousand(workload.truncate_per_thousand)) {
    capacity = std::max(random_.below(2) == 0 ? capacity : 0, send->length());
  }
  post_receive(side, channel, capacity);
}

// Memory for a send, filled with the pattern; nothing if there is none free.
std::optional<Payload> Program::make_payload(uint64_t length, uint64_t pattern) {
  if (length == 0) return Payload{machine_.sends().region(), 0, 0};
  if (stage_.options.workload.virtual_memory) {
    return Payload{machine_.datapath().register_virtual(pattern, length), 0, length};
  }
  const std::optional<Payload> payload = machine_.sends().take(length);
  if (payload) datapath::fill_pattern(pattern, 0, {machine_.host_memory(*payload), length});
  return payload;
}

void Program::post_send(Side& side, ChannelId channel, uint64_t length) {
  const uint64_t pattern = random_.next();
  const std::optional<Payload> payload = make_payload(length, pattern);
  if (!payload) return;
  const transport::OperationId id = stage_.ledger.next_id();
  const Result<void> posted = machine_.endpoint().post_send(
      machine_.now(), {side.id, channel}, *payload, id,
      pattern % 3 == 0 ? transport::AckPolicy::kDeferred : transport::AckPolicy::kPrompt);
  if (!posted) {
    check_refused(side, Direction::kSend, channel, posted.error());
    if (length > 0 && !stage_.options.workload.virtual_memory) machine_.sends().give_back(*payload);
    return;
  }
  stage_.ledger.on_post(side, Direction::kSend, channel, *payload, network_.now()).pattern =
      pattern;
  stage_.bytes_posted += length;
}

void Program::post_receive(Side& side, ChannelId channel, uint64_t capacity) {
  const std::optional<Payload> buffer = machine_.receives().take(capacity);
  if (!buffer) return;
  const transport::OperationId id = stage_.ledger.next_id();
  machine_.memory().post(*buffer);
  const Result<void> posted =
      machine_.endpoint().post_receive(machine_.now(), {side.id, channel}, *buffer, id);
  if (!posted) {
    check_refused(side, Direction::kReceive, channel, posted.error());
    machine_.memory().fail(*buffer);
    machine_.memory().release(*buffer);
    machine_.receives().give_back(*buffer);
    return;
  }
  stage_.ledger.on_post(side, Direction::kReceive, channel, *buffer, network_.now());
}

// Checks that the refusal of a request is explained.
void Program::check_refused(Side& side, Direction direction, ChannelId channel,
                            const Error& error) {
  stage_.reached.add(error.code);
  if (error.code == ErrorCode::kExhausted && stage_.phase == Phase::kSettle) {
    withdraw_unmatched(side, direction);
  }
  if (stage_.ledger.is_with_byzantine(side)) return;
  const transport::EndpointOptions& own = machine_.host_options().endpoint;
  const std::vector<HostOptions>& hosts = stage_.options.hosts;
  const transport::EndpointOptions& other =
      side.peer_host < hosts.size() ? hosts[side.peer_host].endpoint : own;
  const bool sends = direction == Direction::kSend;
  bool explained = false;
  switch (error.code) {
    case ErrorCode::kInvalid:
      explained = channel >= (sends ? other.max_channels : own.max_channels);
      break;
    case ErrorCode::kExhausted:
      // Cancelled operations that the peer has not matched yet count as well.
      explained = side.outstanding(direction) + side.withdrawn(direction) >= own.max_posted;
      break;
    case ErrorCode::kClosed:
      // If the peer's NIC writes, the end is notified only after the fence.
      explained = side.abort_called || side.close_called || stage_.options.chunks.placed();
      break;
    default:
      break;
  }
  if (explained) return;
  stage_.report.fail(describe(side) +
                     ": a request was refused, which nothing explains: " + error.message());
}

// Cancels an operation that waits for one that the peer cannot post.
void Program::withdraw_unmatched(Side& side, Direction direction) {
  for (PostedOperations& posted : direction == Direction::kSend ? side.sends : side.receives) {
    for (size_t i = posted.done; i < posted.operations.size(); ++i) {
      Operation& operation = *posted.operations[i];
      if (operation.cancelled || stage_.ledger.match_of(operation) != nullptr) continue;
      cancel(operation);
      return;
    }
  }
}

void Program::cancel(Operation& operation) {
  operation.cancelled = machine_.endpoint().post_cancel(
      machine_.now(), operation.side->id, operation.channel, operation.direction, operation.id);
}

void Program::cancel_one(Side& side) {
  const Direction direction = random_.below(2) == 0 ? Direction::kSend : Direction::kReceive;
  const auto channel = static_cast<ChannelId>(random_.below(stage_.options.workload.channels));
  const PostedOperations& posted = side.posted(direction, channel);
  if (posted.outstanding() == 0) return;
  Operation& operation = *posted.operations[posted.done + random_.below(posted.outstanding())];
  if (operation.cancelled) return;
  cancel(operation);
}

// Invalid requests must be refused without effect.
void Program::misuse(Side& side) {
  transport::Endpoint& endpoint = machine_.endpoint();
  const Payload nothing{machine_.sends().region(), 0, 0};
  const auto expect = [this](const Result<void>& result, const char* what) {
    if (result) {
      stage_.report.fail(std::string(what) + " was accepted");
    } else {
      stage_.reached.add(result.error().code);
    }
  };
  const transport::ConnectionId stranger = side.id ^ 0x8000;
  switch (random_.below(5)) {
    case 0:
      expect(endpoint.post_receive(machine_.now(), {side.id, 4096}, nothing, 0),
             "a receive on a channel that does not exist");
      break;
    case 1:
      expect(endpoint.post_send(machine_.now(), {stranger, 0}, nothing, 0), "a send to nobody");
      break;
    case 2: {
      const Payload huge{nothing.region, 0, transport::kMaxMessageBytes + 1};
      expect(endpoint.post_send(machine_.now(), {side.id, 0}, huge, 0), "a message above 1 GiB");
      break;
    }
    case 3:
      if (endpoint.post_cancel(machine_.now(), side.id, 0, Direction::kSend, UINT64_MAX)) {
        stage_.report.fail("a cancel of what was never posted was accepted");
      }
      break;
    default: {
      transport::ConnectionOptions options;
      options.congestion = "no_such";
      const auto id = endpoint.post_connect(machine_.now(), machine_.address(), options);
      if (id) stage_.report.fail("a connection with an unknown congestion control was accepted");
      break;
    }
  }
}

// Posts the operations for which the peer's operations wait.
void Program::post_missing(Side& side) {
  if (!side.open || side.abort_called) return;
  const Side* peer = stage_.ledger.peer_of(side);
  if (peer == nullptr || peer->ended()) return;
  for (ChannelId channel = 0; channel < stage_.options.workload.channels; ++channel) {
    const PostedOperations& sends = side.posted(Direction::kSend, channel);
    while (!side.close_called) {
      const size_t before = sends.operations.size();
      const Operation* receive = stage_.ledger.match_of(side, Direction::kSend, channel, before);
      if (receive == nullptr) break;
      post_send(side, channel, std::min<uint64_t>(receive->length(), 1000));
      if (sends.operations.size() == before) break;
    }
    const PostedOperations& receives = side.posted(Direction::kReceive, channel);
    while (true) {
      const size_t before = receives.operations.size();
      const Operation* send = stage_.ledger.match_of(side, Direction::kReceive, channel, before);
      if (send == nullptr) break;
      post_receive(side, channel, send->length());
      if (receives.operations.size() == before) break;
    }
  }
}

}  // namespace heddle::vopr
