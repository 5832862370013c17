// A host with the production transport: see transport_host.h.
#include "simulator/transport_host.h"

#include <algorithm>

#include "base/check.h"

namespace heddle::simulator {

using transport::Completion;
using transport::Direction;
using transport::Notice;
using transport::NoticeKind;

TransportHost::TransportHost(FlowRun& run, uint32_t host, TransportProcess& process)
    : FlowHost(run, host), process_(process) {
  process.set_program(this);
}

TransportHost::~TransportHost() {
  if (process_.running()) process_.driver().end_count();
}

// All hosts of a run are of one kind.
void TransportHost::connect(uint32_t to, FlowHost& other) {
  const transport::Address address = static_cast<TransportHost&>(other).process_.address();
  Peer& peer = sends_.at(to);
  const auto made = process_.endpoint().post_connect(process_.now(), address, {});
  CHECK(made.has_value());
  peer.connection = *made;
  sends_to_[peer.connection] = to;
  process_.poke();
}

// Calls `post(payload)` for each message of a flow until it returns false.
template <typename Post>
bool TransportHost::for_each_message(transport::RegionId region, uint32_t flow, Post post) {
  const uint64_t bytes = workload().flows[flow].bytes.count;
  for (uint64_t at = 0; at < bytes; at += topology::kMaxMessageBytes) {
    if (!post({region, at, std::min(bytes - at, topology::kMaxMessageBytes)})) return false;
  }
  const uint32_t messages = topology::messages_of({bytes});
  if (messages > 1) messages_left_[flow] = messages;
  return true;
}

bool TransportHost::start(uint32_t flow, uint16_t channel) {
  const Peer& peer = sends_.at(workload().flows[flow].to);
  if (!peer.open) return false;
  const bool posted =
      for_each_message(region_sent(flow), flow, [&](const transport::Payload& payload) {
        return process_.endpoint()
            .post_send(process_.now(), {peer.connection, channel}, payload, flow)
            .has_value();
      });
  if (posted) process_.poke();
  return posted;
}

bool TransportHost::handle_turn(TransportProcess& process) {
  Notice notice;
  while (process.endpoint().poll_notice(notice)) take(notice);
  Completion completion;
  while (process.endpoint().poll_completion(completion)) take(completion);
  return false;  // posting has already requested a turn
}

void TransportHost::take(const Notice& notice) {
  const auto sends_to = sends_to_.find(notice.connection);
  if (notice.kind == NoticeKind::kAccepted) {
    const uint32_t from = process_.network().topology().nics[nic_of(notice.peer)].host;
    Peer& peer = receives_.at(from);
    peer.connection = notice.connection;
    peer.open = true;
    post_receives(peer);
  } else if (sends_to != sends_to_.end()) {
    Peer& peer = sends_.at(sends_to->second);
    const bool was_open = peer.open;
    peer.open = notice.kind == NoticeKind::kOpened;
    if (peer.open && !planned_shares(sends_to->second).empty()) follow_plan(sends_to->second);
    if (peer.open) report_opened(sends_to->second);
    if (!peer.open && !was_open) report_refused(sends_to->second, notice.error.code);
    if (!peer.open && was_open) report_lost(sends_to->second, notice.error.code);
  }
}

void TransportHost::follow_plan(uint32_t to) {
  const Peer& peer = sends_.at(to);
  if (!peer.open) return;
  // One that has just ended needs none.
  const Result<void> posted =
      process_.endpoint().post_plan(process_.now(), peer.connection, planned_shares(to));
  CHECK(posted || posted.error().code == ErrorCode::kClosed);
  process_.poke();
}

void TransportHost::post_receives(Peer& peer) {
  for (size_t i = 0; i < peer.flows.size(); ++i) {
    const uint32_t flow = peer.flows[i];
    const auto channel = static_cast<transport::ChannelId>(i);
    const bool posted =
        for_each_message(region_received(flow), flow, [&](const transport::Payload& buffer) {
          return process_.endpoint()
              .post_receive(process_.now(), {peer.connection, channel}, buffer, flow)
              .has_value();
        });
    CHECK(posted);
  }
  process_.poke();
}

void TransportHost::take(const Completion& completion) {
  const auto flow = static_cast<uint32_t>(completion.operation);
  if (completion.ok && !ended(flow)) return;
  if (completion.direction == Direction::kSend) {
    report_sent(flow, completion.ok, completion.error);
  } else {
    report_received(flow, completion.ok, completion.error);
  }
}

// A message of the flow has ended; true: it was the last.
bool TransportHost::ended(uint32_t flow) {
  const auto left = messages_left_.find(flow);
  if (left == messages_left_.end()) return true;
  if (--left->second > 0) return false;
  messages_left_.erase(left);
  return true;
}

void TransportHost::add_statistics(transport::ConnectionStatistics& sum) const {
  for (const auto& [to, peer] : sends_) {
    const transport::ConnectionStatistics* of = process_.endpoint().statistics(peer.connection);
    if (of == nullptr) continue;
    sum.payload_bytes_sent += of->payload_bytes_sent;
    sum.payload_bytes_retransmitted += of->payload_bytes_retransmitted;
    sum.payload_bytes_acked += of->payload_bytes_acked;
    sum.segments_sent += of->segments_sent;
    sum.segments_retransmitted += of->segments_retransmitted;
    sum.segments_retransmitted_spuriously += of->segments_retransmitted_spuriously;
    sum.acks_received += of->acks_received;
    sum.congestion_marks += of->congestion_marks;
    sum.segment_bytes = std::max(sum.segment_bytes, of->segment_bytes);
  }
}

std::vector<uint64_t> TransportHost::payload_by_path(uint32_t to) const {
  std::vector<uint64_t> bytes;
  for (const transport::PathStatistics& path :
       process_.endpoint().path_statistics(sends_.at(to).connection)) {
    bytes.push_back(path.payload_bytes_sent);
  }
  return bytes;
}

}  // namespace heddle::simulator
