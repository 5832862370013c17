// Growth: see growth.h. The keys: "heddle/newcomers" counts those that came, "heddle/seated" is how
// many of them ranks have counted. "heddle/seat/N" says to newcomer N in which growth it is, as
// which rank of how many. "heddle/growth/FIRST/" has the keys of that growth, named by its first
// newcomer: where all are, and "left", the result.
#include "collectives/growth.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <sstream>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/quantity.h"
#include "collectives/places.h"

namespace heddle::collectives {
namespace {

constexpr const char* kNewcomers = "heddle/newcomers";
constexpr const char* kSeated = "heddle/seated";
constexpr Nanos kLookEvery = millis(100);

std::string seat_key(uint64_t newcomer) { return "heddle/seat/" + std::to_string(newcomer); }
std::string growth_prefix(uint64_t first) { return "heddle/growth/" + std::to_string(first) + "/"; }

struct Newcomers {
  uint64_t first = 0;  // their numbers
  uint64_t count = 0;
};

struct Seat {
  uint64_t growth = 0;
  uint32_t rank = 0;  // if no rank is lost meanwhile
  uint32_t size = 0;
  uint32_t former = 0;  // ranks before the newcomers
};

// What the ranks came to.
struct Left {
  bool taken = false;  // the newcomers
  uint64_t communicator = 0;
  std::vector<uint32_t> ranks;  // former ones that are left
};

std::string text_of(const Seat& seat) {
  return "heddle1 " + std::to_string(seat.growth) + " " + std::to_string(seat.rank) + " " +
         std::to_string(seat.size) + " " + std::to_string(seat.former);
}

std::string text_of(const Left& left) {
  std::string text =
      "heddle1 " + std::to_string(left.taken ? 1 : 0) + " " + std::to_string(left.communicator);
  for (const uint32_t rank : left.ranks) text += " " + std::to_string(rank);
  return text;
}

Unexpected unreadable(const std::string& key, const std::string& text) {
  return fail(ErrorCode::kVersion, "cannot read " + key, "it is '" + text + "'",
              "run the same version of heddle on all ranks");
}

Result<Seat> seat_of(const std::string& key, const std::string& text) {
  std::istringstream parts(text);
  std::string version;
  Seat seat;
  parts >> version >> seat.growth >> seat.rank >> seat.size >> seat.former;
  const bool sound = parts && version == "heddle1" && seat.former > 0 && seat.former <= seat.rank &&
                     seat.rank < seat.size && seat.size <= kMostRanks;
  if (!sound) return unreadable(key, text);
  return seat;
}

Result<Left> left_of(const std::string& text, uint32_t ranks) {
  std::istringstream parts(text);
  std::string version;
  Left left;
  parts >> version >> left.taken >> left.communicator;
  bool sound = parts && version == "heddle1";
  for (uint32_t rank = 0; sound && parts >> rank;) {
    sound = rank < ranks && (left.ranks.empty() || rank > left.ranks.back());
    left.ranks.push_back(rank);
  }
  if (!sound || left.ranks.empty()) return unreadable("left", text);
  return left;
}

// Of rank 0: those that came since the last growth, and their seats.
Result<Newcomers> count_newcomers(const KeyStore& store, uint32_t ranks) {
  const Result<uint64_t> came = store.count(kNewcomers, 0);
  if (!came) return fail(came.error());
  const Result<std::optional<std::string>> text = store.find(kSeated);
  if (!text) return fail(text.error());
  const uint64_t seated = *text ? std::strtoull((**text).c_str(), nullptr, 10) : 0;
  if (*came <= seated || ranks >= kMostRanks) return Newcomers{};
  const Newcomers newcomers = {seated + 1, std::min<uint64_t>(*came - seated, kMostRanks - ranks)};
  const uint64_t last = seated + newcomers.count;
  if (Result<void> set = store.set(kSeated, std::to_string(last)); !set) return fail(set.error());
  const auto size = static_cast<uint32_t>(ranks + newcomers.count);
  for (uint64_t each = 0; each < newcomers.count; ++each) {
    const Seat seat = {newcomers.first, static_cast<uint32_t>(ranks + each), size, ranks};
    Result<void> set = store.set(seat_key(newcomers.first + each), text_of(seat));
    if (!set) return fail(set.error());
  }
  return newcomers;
}

// What rank 0 counted, on all ranks. Where it cannot, all take it that there are none.
Result<Newcomers> agree_on_newcomers(SharedCommunicator& communicator, const KeyStore& store) {
  std::array<uint64_t, 2> counted{};
  if (communicator.rank() == 0) {
    const Result<Newcomers> newcomers = count_newcomers(store, communicator.size());
    if (!newcomers) log_warn("no newcomer is taken in: {}", newcomers.error().message());
    if (newcomers) counted = {newcomers->first, newcomers->count};
  }
  const Call call = {.collective = Collective::kBroadcast,
                     .type = DataType::kUint64,
                     .count = counted.size(),
                     .input = counted.data(),
                     .output = counted.data(),
                     .exchange = {}};
  const Result<PendingCall> sent = communicator.post(call);
  if (!sent) return fail(sent.error());
  if (Result<void> ended = sent->wait(); !ended) return fail(ended.error());
  return Newcomers{counted[0], counted[1]};
}

}  // namespace

Result<std::optional<SharedCommunicator::Shrunk>> grow(SharedCommunicator& communicator,
                                                       DrivenEndpoint& endpoint,
                                                       const KeyStore& store,
                                                       const GrowOptions& options) {
  const Result<Newcomers> newcomers = agree_on_newcomers(communicator, store);
  if (!newcomers) return fail(newcomers.error());
  if (newcomers->count == 0) return std::optional<SharedCommunicator::Shrunk>();
  const KeyStore part = with_prefix(store, growth_prefix(newcomers->first));
  const uint32_t ranks = communicator.size();
  const Result<Members> found =
      find_members(endpoint, part, communicator.rank(),
                   static_cast<uint32_t>(ranks + newcomers->count), options.find_within);
  ShrinkOptions shrinking = {.join_within = options.find_within + params::kJoinWithin};
  if (found) {
    shrinking.newcomers.assign(found->addresses.begin() + ranks, found->addresses.end());
  } else {
    log_warn("no newcomer is taken in: {}", found.error().message());
  }
  Result<SharedCommunicator::Shrunk> shrunk = communicator.shrink(shrinking);
  if (!shrunk) return fail(shrunk.error());
  const Members& members = shrunk->communicator->members();
  const Left left = {members.size() > shrunk->former_ranks.size(), members.communicator,
                     shrunk->former_ranks};
  if (Result<void> set = part.set("left", text_of(left)); !set) return fail(set.error());
  return std::optional(*std::move(shrunk));
}

namespace {

using Clock = std::chrono::steady_clock;

// Waits for a key in short steps, since `stopped` is looked at between them.
Result<std::string> wait_for(const KeyStore& store, const std::string& key, Nanos timeout,
                             const JoinOptions& options) {
  const auto began = Clock::now();
  while (true) {
    Result<std::string> text = store.wait(key, kLookEvery);
    if (text || text.error().code != ErrorCode::kTimeout) return text;
    if (options.stopped && options.stopped()) {
      return fail(ErrorCode::kCancelled, "cannot join the job", "it was told to stop", "");
    }
    const Nanos waited = nanos((Clock::now() - began) / std::chrono::nanoseconds(1));
    if (waited < timeout) continue;
    return fail(ErrorCode::kTimeout, "cannot join the job",
                "its ranks took no newcomer in within " + duration_text(timeout),
                "see that they call grow(), and have the same store");
  }
}

Members members_of(const Left& left, const Seat& seat, const Members& found) {
  Members members = {.communicator = left.communicator, .rank = 0, .addresses = {}};
  for (const uint32_t rank : left.ranks) members.addresses.push_back(found.addresses[rank]);
  members.rank = members.size() + seat.rank - seat.former;
  members.addresses.insert(members.addresses.end(), found.addresses.begin() + seat.former,
                           found.addresses.end());
  return members;
}

// One try. Nothing: the ranks did not take it in.
Result<std::optional<Members>> take_seat(DrivenEndpoint& endpoint, const KeyStore& store,
                                         const Seat& seat, const JoinOptions& options) {
  const KeyStore part = with_prefix(store, growth_prefix(seat.growth));
  const Result<Members> found =
      find_members(endpoint, part, seat.rank, seat.size, options.find_within);
  if (!found) {
    log_info("not taken in: {}", found.error().message());
    return std::optional<Members>();
  }
  // The ranks end shrink() within this, or do not write it.
  const Nanos within = options.find_within + params::kJoinWithin + params::kAgreeWithin;
  const Result<std::string> text = wait_for(part, "left", within, options);
  if (!text && text.error().code == ErrorCode::kTimeout) return std::optional<Members>();
  if (!text) return fail(text.error());
  const Result<Left> left = left_of(*text, seat.former);
  if (!left) return fail(left.error());
  if (!left->taken) return std::optional<Members>();
  return std::optional(members_of(*left, seat, *found));
}

}  // namespace

Result<Members> join(DrivenEndpoint& endpoint, const KeyStore& store, const JoinOptions& options) {
  const auto began = Clock::now();
  while (true) {
    const Result<uint64_t> number = store.count(kNewcomers, 1);
    if (!number) return fail(number.error());
    const Nanos waited = nanos((Clock::now() - began) / std::chrono::nanoseconds(1));
    const std::string key = seat_key(*number);
    const Result<std::string> text = wait_for(store, key, options.timeout - waited, options);
    if (!text) return fail(text.error());
    const Result<Seat> seat = seat_of(key, *text);
    if (!seat) return fail(seat.error());
    Result<std::optional<Members>> members = take_seat(endpoint, store, *seat, options);
    if (!members) return fail(members.error());
    if (*members) return **std::move(members);
  }
}

}  // namespace heddle::collectives
