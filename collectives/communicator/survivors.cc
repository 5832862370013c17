// Survivors: see survivors.h.
#include "collectives/communicator/survivors.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/hash.h"
#include "collectives/communicator/split.h"
#include "collectives/params.h"

namespace heddle::collectives {
namespace {

// The same for the same addresses; 0: none.
uint64_t number_of(const std::vector<transport::Address>& addresses) {
  uint64_t number = addresses.size();
  for (const transport::Address& each : addresses) {
    for (const uint64_t part :
         {host_part(each, 0), host_part(each, 8), uint64_t{each.scope} << 16 | each.port}) {
      number = mix_bits(number ^ part) + 1;
    }
  }
  return number;
}

}  // namespace

Survivors::Survivors(Mesh& mesh, Links& links, const Members& members)
    : mesh_(mesh), links_(links), members_(members), expected_(members.size()) {}

void Survivors::begin(const ShrinkOptions& asked) {
  const MembershipOptions options = {.newcomers = number_of(asked.newcomers),
                                     .join_within = asked.join_within};
  newcomers_ = asked.newcomers;
  if (!agreement_) agreement_.emplace(members_.rank, members_.size(), options);
  // What came before this rank asked.
  pass_on();
  agreement_->join(links_.endpoint().now());
}

bool Survivors::advance() {
  if (asked_ && !begun()) begin(*asked_);
  if (!agreement_) return false;
  const Nanos now = links_.endpoint().now();
  bool moved = pass_on();
  agreement_->advance(now);
  if (agreement_->leads() && !agreement_->outcome()) expect_pending();
  MembershipAgreement::Sending sending;
  while (agreement_->poll_send(sending)) moved |= send(sending);
  if (abort_at_ && (now >= *abort_at_ || mesh_.all_sent())) {
    mesh_.abort();
    abort_at_.reset();
  }
  if (outcome_ || !agreement_->outcome()) return moved;
  const Result<RankSet>& agreed = *agreement_->outcome();
  if (!agreed) {
    end(agreed.error());
    return true;
  }
  if (!decided_at_) decided_at_ = now;
  if (!connections_ready(*agreed) && now - *decided_at_ < params::kKeepWithin) return moved;
  conclude(*agreed);
  return true;
}

Nanos Survivors::due_at() const {
  if (!agreement_) return Nanos::never();
  if (abort_at_) return *abort_at_;
  if (decided_at_ && !outcome_) return *decided_at_ + params::kKeepWithin;
  return agreement_->due_at();
}

std::optional<Result<Survivors::Left>> Survivors::take() {
  if (!asked_ || !begun() || !outcome_) return std::nullopt;
  if (taken_) return fail(ErrorCode::kInvalid, "cannot shrink", "it was shrunk before");
  taken_ = true;
  return *outcome_;
}

void Survivors::leave() {
  if (asked_ && begun() && !taken_) links_.refuse(number_after(members_));
}

bool Survivors::pass_on() {
  bool moved = false;
  uint32_t rank = 0;
  while (mesh_.poll_gone(rank)) {
    agreement_->note_gone(rank);
    moved = true;
  }
  MembershipMessage message;
  while (mesh_.membership().take(rank, message)) {
    agreement_->handle(rank, message);
    moved = true;
  }
  return moved;
}

bool Survivors::send(const MembershipAgreement::Sending& sending) {
  if (sending.connects) mesh_.expect(sending.to);
  if (mesh_.send_membership(sending.to, sending.message)) return true;
  std::array<std::byte, kControlBytes> bytes{};
  if (write_membership(members_.communicator, sending.message, bytes.data()) == 0) {
    end({ErrorCode::kExhausted, "the ranks that are left cannot be agreed on",
         "they are too scattered among " + std::to_string(members_.size()) +
             " ranks for one message",
         "start the job again from its last checkpoint"});
  } else if (sending.connects) {
    mesh_.drop(sending.to);
  }
  return true;
}

void Survivors::expect_pending() {
  for (const uint32_t rank : agreement_->pending().ranks()) {
    if (expected_.contains(rank)) continue;
    expected_.insert(rank);
    mesh_.expect(rank);
  }
}

// A rank whose calls have not ended yet is about to say that they have.
bool Survivors::connections_ready(const RankSet& ranks) {
  const std::vector<uint32_t> all = ranks.ranks();
  return std::all_of(all.begin(), all.end(), [this](uint32_t rank) {
    return !mesh_.connected(rank) || mesh_.gone(rank) || mesh_.kept(rank);
  });
}

void Survivors::conclude(const RankSet& ranks) {
  Left left = {survivors_of(members_, ranks), ranks.ranks()};
  if (agreement_->newcomers() != 0) {
    left.members.addresses.insert(left.members.addresses.end(), newcomers_.begin(),
                                  newcomers_.end());
  }
  for (const uint32_t rank : left.ranks) {
    if (mesh_.kept(rank)) {
      mesh_.release(rank);
    } else if (mesh_.connected(rank)) {
      // The other side would use it, once it is ready, and wait for an answer for ever.
      mesh_.drop(rank);
    }
  }
  outcome_ = std::move(left);
}

// The others see that this rank does not go on: by its connections, and when they want new ones.
void Survivors::end(const Error& error) {
  if (outcome_) return;
  outcome_ = fail(error);
  links_.refuse(number_after(members_));
  abort_at_ = links_.endpoint().now() + params::kFailureNoticeTime;
}

}  // namespace heddle::collectives
