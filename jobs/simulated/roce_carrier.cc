// Messages of ranks over RoCE NICs: see roce_carrier.h.
#include "jobs/simulated/roce_carrier.h"

#include <algorithm>
#include <cstring>

#include "jobs/params.h"

namespace heddle::jobs {
namespace {

uint64_t ticket_of(uint32_t number, bool sends) {
  return 2 * (uint64_t{number} + 1) + (sends ? 1 : 0);
}
uint32_t number_of(uint64_t ticket) { return static_cast<uint32_t>(ticket / 2 - 1); }
bool is_send(uint64_t ticket) { return ticket % 2 == 1; }

}  // namespace

void RoceCarrier::add(uint32_t host, simulator::EngineProcess& process) {
  simulator::RoceHost& nics = run_.roce_host(host);
  nics.set_message_user(this);
  ranks_[process.address()] = {&nics, &process};
}

uint64_t RoceCarrier::send(const Stream& stream, uint64_t bytes, std::span<const std::byte> head) {
  const uint32_t number = meet(stream, true);
  messages_[number].bytes = bytes;
  messages_[number].head.assign(head.begin(), head.end());
  start_if_ready(number);
  return ticket_of(number, true);
}

uint64_t RoceCarrier::receive(const Stream& stream) {
  const uint32_t number = meet(stream, false);
  hand_over(number, true);
  return ticket_of(number, false);
}

// The message that the other side has posted, or a new one.
uint32_t RoceCarrier::meet(const Stream& stream, bool sends) {
  Rank& from = ranks_.at(stream.from);
  Rank& to = ranks_.at(stream.to);
  Halves& halves = streams_[{stream.communicator, &from, &to, stream.channel}];
  Ring<uint32_t>& theirs = sends ? halves.received : halves.sent;
  uint32_t number = 0;
  if (theirs.empty()) {
    number = messages_.lend();
    CHECK(number != kNoIndex);
    Message& made = messages_[number];
    made.sender.rank = &from;
    made.receiver.rank = &to;
    (sends ? halves.sent : halves.received).push_back(number);
  } else {
    number = theirs.pop_front();
  }
  Message& message = messages_[number];
  (sends ? message.sender : message.receiver).posted = true;
  return number;
}

void RoceCarrier::start_if_ready(uint32_t number) {
  const Message& message = messages_[number];
  if (message.sender.posted && message.announced) hand_over(number, false);
}

void RoceCarrier::hand_over(uint32_t number, bool announcement) {
  Message& message = messages_[number];
  Side& from = announcement ? message.receiver : message.sender;
  const Side& to = announcement ? message.sender : message.receiver;
  const uint64_t bytes = announcement ? params::kAnnouncementBytes : message.bytes;
  ++message.in_progress;
  if (from.rank->nics->send_message(*to.rank->nics, 2 * number + (announcement ? 1 : 0), bytes)) {
    return;
  }
  handle_message_failed(2 * number + (announcement ? 1 : 0));
}

void RoceCarrier::end(Side& side, State state) {
  if (side.state != State::kWaiting) return;
  side.state = state;
  if (!side.posted || !side.watched || !side.rank->process->running()) return;
  side.rank->process->endpoint().interrupt();
  side.rank->process->poke();
}

void RoceCarrier::handle_message_arrived(uint32_t message) {
  const uint32_t number = message / 2;
  if (message % 2 == 0) return end(messages_[number].receiver, State::kDone);
  messages_[number].announced = true;
  start_if_ready(number);
}

void RoceCarrier::handle_message_acked(uint32_t message) {
  Message& of = messages_[message / 2];
  --of.in_progress;
  if (message % 2 == 0) end(of.sender, State::kDone);
  free_if_over(message / 2);
}

// Neither side can go on: without its announcement, data is not sent.
void RoceCarrier::handle_message_failed(uint32_t message) {
  Message& of = messages_[message / 2];
  --of.in_progress;
  end(of.sender, State::kFailed);
  end(of.receiver, State::kFailed);
  free_if_over(message / 2);
}

RoceCarrier::Side& RoceCarrier::side_of(uint64_t ticket) {
  Message& message = messages_[number_of(ticket)];
  return is_send(ticket) ? message.sender : message.receiver;
}

collectives::MessageCarrier::State RoceCarrier::look(uint64_t ticket, std::span<std::byte> head) {
  Side& side = side_of(ticket);
  const State state = side.state;
  if (state == State::kWaiting) return state;
  const std::vector<std::byte>& carried = messages_[number_of(ticket)].head;
  const size_t bytes = std::min(head.size(), carried.size());
  if (bytes > 0) std::memcpy(head.data(), carried.data(), bytes);
  forget(ticket);
  return state;
}

void RoceCarrier::forget(uint64_t ticket) {
  side_of(ticket).watched = false;
  free_if_over(number_of(ticket));
}

// A side that has not posted will: its stream still names the message.
void RoceCarrier::free_if_over(uint32_t number) {
  Message& message = messages_[number];
  if (!message.sender.posted || !message.receiver.posted) return;
  if (message.sender.watched || message.receiver.watched || message.in_progress > 0) return;
  const bool ended =
      message.sender.state != State::kWaiting && message.receiver.state != State::kWaiting;
  if (!ended) return;
  message = {};
  messages_.give_back(number);
}

}  // namespace heddle::jobs
