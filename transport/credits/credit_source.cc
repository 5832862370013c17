// Who is given credit, when, and how much: see credit_source.h.
#include "transport/credits/credit_source.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "transport/credits/params.h"

namespace heddle::transport {
namespace {

using namespace params::credits;

constexpr int32_t kWhole = 1024;  // of a part

}  // namespace

// What the link and the way to it hold, and somewhat more, so that those who answer late leave no
// gap, and a turn, of which the last was given when the first may leave. What is added is the same
// for every receiver: where two meet in the fabric, the one with less gains on the other.
uint64_t CreditSource::target() const {
  const uint64_t bdp = bytes_within(round_trips_.average(), rate()).count;
  const uint64_t enough = bdp + bdp / 2 + kSlack;
  return std::max(kLeastCap, enough + enough / kQuantumPart) * stretch_ / kUnstretched;
}

uint64_t CreditSource::cap() const {
  const uint64_t most = options_.receive_capacity.count / 4 * 3;
  return std::max(std::min({target(), ceiling_, most}),
                  2 * credit_cost(options_.datagram_bytes, 1));
}

uint32_t CreditSource::allowance_of(size_t members) const {
  const uint64_t each = members <= 1 ? cap() : cap() / 2 / std::bit_ceil(members);
  return static_cast<uint32_t>(std::clamp<uint64_t>(each, kLeastAllowance, kLargestQuantum));
}

// At least the largest datagram of any sender, so equal turns give equal shares by bytes.
uint64_t CreditSource::quantum() const {
  return std::clamp(cap() / kQuantumPart, credit_cost(options_.datagram_bytes, 1), kLargestQuantum);
}

void CreditSource::join(CreditAccount& account, uint32_t connection, uint32_t first_credit) {
  account = CreditAccount{};
  account.connection = connection;
  account.limit = account.advertised_allowance = first_credit;
  account.segment = credit_cost(std::min(options_.datagram_bytes, kSmallestSegment), 1);
  account.member = static_cast<uint32_t>(members_.size());
  members_.push_back(&account);
  active_.reserve(members_.capacity());
  due_.reserve(2 * members_.capacity());
  announces_ |= allowance_of(members_.size() - 1) > allowance();
}

void CreditSource::leave(CreditAccount& account) {
  if (account.connection == 0) return;
  queue_.remove(account);
  account.connection = 0;
  account.wanted = account.received;
  settle(account);
  members_[account.member] = members_.back();
  members_[account.member]->member = account.member;
  members_.pop_back();
}

// What is outstanding of it. What is left of its credit and too little for a segment does not leave
// and is not: a hundred of these would take everything.
void CreditSource::recount(CreditAccount& account) {
  const uint64_t to = std::max(std::min(account.limit, account.wanted), account.received);
  const uint64_t missing = to - account.received;
  const bool scrap = account.limit < account.wanted && missing < account.segment;
  const uint64_t counted = scrap ? 0 : missing - std::min(missing, account.written_off);
  outstanding_ += counted - account.counted;
  account.counted = counted;
}

void CreditSource::settle(CreditAccount& account) {
  recount(account);
  const bool wants = account.wanted > account.received;
  const bool active = account.active != UINT32_MAX;
  if (wants && !active) {
    account.active = static_cast<uint32_t>(active_.size());
    active_.push_back(&account);
    if (options_.budget != nullptr) options_.budget->add_sender();
  } else if (!wants && active) {
    active_[account.active] = active_.back();
    active_[account.active]->active = account.active;
    active_.pop_back();
    account.active = UINT32_MAX;
    if (options_.budget != nullptr) options_.budget->remove_sender();
  }
  enqueue(account);
}

// How much it may be given: what it wants, and what it keeps while it is silent.
uint64_t CreditSource::claim_of(const CreditAccount& account) const {
  const uint64_t to = std::max(account.wanted, account.received) + allowance();
  return to > account.limit ? to - account.limit : 0;
}

// A slow sender must not come to hold everything. One that was given credit in vain gets one
// datagram's at a time, and has no hoard of it.
bool CreditSource::may_have_more(const CreditAccount& account) const {
  if (account.unanswered > 0) {
    return account.counted == 0 && account.limit - account.received < 2 * cap();
  }
  return active_.size() <= 1 || account.counted < cap() / active_.size() + quantum();
}

void CreditSource::enqueue(CreditAccount& account) {
  if (account.queued || account.connection == 0 || !may_have_more(account)) return;
  const bool wants = account.wanted > account.limit;
  if (!wants && claim_of(account) <= allowance() / 2) return;
  queue_.push(account);
}

bool CreditSource::on_demand(Nanos now, CreditAccount& account, const DemandFrame& demand) {
  CHECK(account.connection != 0);
  const std::optional<int32_t> newer = account.serial.steps_to(demand.serial);
  if (!newer) return false;
  if (*newer <= 0) return true;
  account.serial = demand.serial;
  // What it says of itself cannot make more of its credit than there is.
  account.received = std::max(account.received, std::min(demand.settled, account.limit));
  account.wanted = std::min(demand.wanted, account.limit + kMostWanted);
  if (account.counted == 0) wait_for(now, account);
  settle(account);
  if (round_trips_.is_average_of_few(active_.size())) round_trips_.take_average(now, active_);
  // The frame with its current credit may be lost.
  if (account.unanswered > 0 || account.wanted <= account.limit) account.frame_due = true;
  return true;
}

void CreditSource::on_arrival(Nanos now, CreditAccount& account, const CreditArrival& arrival) {
  if (account.connection == 0) return;
  account.received += arrival.cost;
  account.limit = std::max(account.limit, account.received);
  account.segment = std::max(account.segment, arrival.cost / arrival.datagrams);
  account.written_off -= std::min(account.written_off, arrival.cost);
  arrived_at_ = now;
  account.unanswered = 0;
  wait_for(now, account);
  if (account.mark != 0 && account.received >= account.mark) {
    round_trips_.measure(now, account, rate());
  }
  // A pause without demand before this arrival does not count for the rate.
  if (active_.empty() || arrivals_.began_at() == Nanos{}) begin_round(now);
  arrivals_.add(arrival.cost);
  round_bytes_ += arrival.cost;
  if (arrival.repeated) round_repeated_ += arrival.cost;
  settle(account);
  const Nanos lasts = std::max(kRoundTrips * round_trips_.average(), kShortestRound);
  if (now - arrivals_.began_at() >= lasts && round_bytes_ >= kRoundCaps * cap()) end_round(now);
  if (now - round_trips_.averaged_at() >= lasts) round_trips_.take_average(now, active_);
}

// Counts where no payload arrived meanwhile: then no queue that this source made was before it.
void CreditSource::on_round_trip(Nanos now, CreditAccount& account, Nanos rtt) {
  if (now - arrived_at_ >= rtt) round_trips_.note_clear(now, account, rtt);
}

void CreditSource::begin_round(Nanos now) {
  arrivals_.begin_round(now);
  credit_was_short_ = !queue_.empty();
  round_bytes_ = round_repeated_ = 0;
}

void CreditSource::end_round(Nanos now) {
  const bool short_of_credit = credit_was_short_ && !queue_.empty();
  const BitsPerSec arrived = arrivals_.end_round(now, short_of_credit);
  starved_ = short_of_credit && arrived.count < rate().count / 2;
  stretch(arrived, short_of_credit);
  adapt_ceiling();
  begin_round(now);
}

// The round-trip time of distant senders may be unknown, since the queue at this host hides it; the
// estimate then comes from nearby senders and the cap is too small. If the cap is used up, a sender
// waits for credit and the link is not full, the cap grows by the missing part of the rate.
void CreditSource::stretch(BitsPerSec arrived, bool short_of_credit) {
  if (options_.rate.count == 0) return;  // what arrives is all that is known of the rate
  if (short_of_credit && arrived.count < rate().count / 16 * 15) {
    const uint64_t all = stretch_ * rate().count / std::max<uint64_t>(arrived.count, 1) + 1;
    stretch_ = static_cast<uint32_t>(
        std::min<uint64_t>({all, stretch_ + stretch_ / 2, uint64_t{kMostStretched}}));
  } else if (!short_of_credit && stretch_ > kUnstretched) {
    --stretch_;
  }
}

// Retransmissions show that the queue cannot hold all outstanding bytes. The ceiling reacts as
// DCTCP's window does to marks (RFC 8257): it shrinks by half of the retransmitted fraction, then
// grows by one datagram per round trip. Senders react to marks themselves.
void CreditSource::adapt_ceiling() {
  const auto repeated = static_cast<int32_t>(round_repeated_ * kWhole / round_bytes_);
  repeated_part_ += (repeated - repeated_part_) / 8;
  if (repeated > 0) {
    const uint64_t now = cap();
    const auto part = static_cast<uint32_t>(repeated_part_);
    ceiling_ = std::max(now - now * part / kWhole / 2, kLeastCeiling);
  } else if (ceiling_ != UINT64_MAX) {
    ceiling_ += kRoundTrips * credit_cost(options_.datagram_bytes, 1);
    if (ceiling_ > target()) ceiling_ = UINT64_MAX;
  }
}

// A measured rate may be too low: then it must be able to grow. Were there no pace, who comes first
// would take everything.
BitsPerSec CreditSource::pace() const {
  return options_.rate.count != 0 ? own_rate() : BitsPerSec{2 * arrivals_.estimate().count};
}

bool CreditSource::has_room(const CreditAccount& account, uint64_t bytes) const {
  const bool wants = account.wanted > account.limit;
  return !wants || outstanding_ == 0 || outstanding_ + bytes <= cap();
}

void CreditSource::give(Nanos now, CreditAccount& account, uint64_t bytes) {
  if (account.counted == 0) wait_for(now, account);
  account.limit += bytes;
  account.frame_due = true;
  if (account.mark == 0 && account.wanted >= account.limit) {
    if (outstanding_ == 0) round_trips_.measure_anew(now, account);
    account.marked_behind = outstanding_ + cap() / 2;
    // The rest may be too little for a datagram and wait for the next turn.
    account.mark = account.limit - credit_cost(options_.datagram_bytes, 1) + 1;
    account.marked_at = now;
  }
  pacer_.note_given(now, transmit_time({bytes}, pace()));
  recount(account);
}

std::span<const uint32_t> CreditSource::poll(Nanos now) {
  due_.clear();
  pacer_.begin_poll(outstanding_ == 0);
  if (look_at_ <= now) look_for_late(now);
  while (!queue_.empty()) {
    CreditAccount& account = queue_.front();
    const uint64_t most =
        account.unanswered == 0 ? quantum() : credit_cost(options_.datagram_bytes, 1);
    const uint64_t bytes = std::min(claim_of(account), most);
    if (bytes > 0 && !has_room(account, bytes)) break;
    if (bytes > 0 && pacer_.holds_back(now)) break;
    queue_.remove(account);
    if (bytes == 0) continue;
    give(now, account, bytes);
    enqueue(account);
    due_.push_back(account.connection);
  }
  if (announces_) {
    for (CreditAccount* account : members_) {
      account->frame_due = true;
      due_.push_back(account->connection);
    }
    announces_ = false;
  }
  return due_;
}

CreditFrame CreditSource::take_frame(CreditAccount& account) {
  account.frame_due = false;
  account.advertised_allowance = allowance();
  return {account.limit, account.advertised_allowance};
}

void CreditSource::wait_for(Nanos now, CreditAccount& account) {
  account.send_at = now + round_trips_.patience_after(account.unanswered);
  look_at_ = std::min(look_at_, account.send_at);
}

// Advertises the credit again to senders that did not use it in time: the frame or their data may
// be lost. A sender may also be gone: if the link has room, others get its outstanding credit.
void CreditSource::look_for_late(Nanos now) {
  look_at_ = Nanos::never();
  const bool starved = starved_ || now - arrived_at_ > round_trips_.patience();
  for (CreditAccount* account : active_) {
    if (account->counted > 0 && account->send_at <= now) {
      if (account->unanswered < kMostBackoff) ++account->unanswered;
      account->frame_due = true;
      due_.push_back(account->connection);
      if (starved) account->written_off += account->counted;
      recount(*account);
      enqueue(*account);
      wait_for(now, *account);
    }
    if (account->counted > 0) look_at_ = std::min(look_at_, account->send_at);
  }
}

}  // namespace heddle::transport
