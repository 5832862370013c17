// Growth: see growth.h. The keys: "heddle/newcomers" counts those that came, "heddle/seated" how
// many of them ranks have counted, "heddle/beat/N" changes while newcomer N waits.
// "heddle/seat/N" says to newcomer N in which growth it is, as which rank of how many, and the
// number of the communicator that is to have it. "heddle/growth/NAME/" has the keys of that growth:
// where all are, and "result". Its name has the communicator's number, so that a rank which stopped
// for long cannot take part in a later one.
#include "collectives/growth.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/quantity.h"
#include "collectives/communicator/split.h"
#include "collectives/params.h"
#include "collectives/places.h"
#include "collectives/rendezvous/rank_text.h"

namespace heddle::collectives {
namespace {

constexpr const char* kNewcomers = "heddle/newcomers";
constexpr const char* kSeated = "heddle/seated";
constexpr const char* kResult = "result";

std::string seat_key(uint64_t newcomer) { return "heddle/seat/" + std::to_string(newcomer); }
std::string beat_key(uint64_t newcomer) { return "heddle/beat/" + std::to_string(newcomer); }
std::string prefix_of(uint64_t communicator, uint64_t first) {
  return "heddle/growth/" + std::to_string(communicator) + "-" + std::to_string(first) + "/";
}

struct Newcomers {
  uint64_t first = 0;  // the first number that was counted, also of one that is gone
  uint64_t count = 0;  // those that have a seat
};

struct Seat {
  uint64_t communicator = 0;  // that grows
  uint64_t first = 0;         // Newcomers::first
  uint64_t next = 0;          // the communicator that is to have them
  uint32_t rank = 0;          // in it, if no rank is lost meanwhile
  uint32_t size = 0;
  uint32_t former = 0;  // ranks before the newcomers
};

// What the ranks came to.
struct GrowthResult {
  bool taken = false;           // the newcomers
  uint64_t communicator = 0;    // the next one
  std::vector<uint32_t> ranks;  // former ones that are left
};

std::string text_of(const Seat& seat) {
  std::ostringstream text;
  text << version_word() << ' ' << seat.communicator << ' ' << seat.first << ' ' << seat.next << ' '
       << seat.rank << ' ' << seat.size << ' ' << seat.former;
  return text.str();
}

std::string text_of(const GrowthResult& result) {
  std::string text = version_word() + " " + std::to_string(result.taken ? 1 : 0) + " " +
                     std::to_string(result.communicator);
  for (const uint32_t rank : result.ranks) text += " " + std::to_string(rank);
  return text;
}

// Of what the ranks of the job write and a newcomer reads.
Unexpected unreadable(const std::string& key, const std::string& text) {
  const std::string what = "cannot read " + key;
  if (std::optional<Error> other = version_error(what, text, "the hosts of the job's ranks"))
    return fail(*std::move(other));
  return fail(ErrorCode::kVersion, what, "it is " + quoted(text),
              "run the same version of heddle on all ranks");
}

Result<Seat> seat_of(const std::string& key, const std::string& text) {
  std::istringstream parts(text);
  std::string version;
  Seat seat;
  parts >> version >> seat.communicator >> seat.first >> seat.next >> seat.rank >> seat.size >>
      seat.former;
  const bool sound = parts && version == version_word() && seat.former > 0 &&
                     seat.former <= seat.rank && seat.rank < seat.size && seat.size <= kMostRanks;
  if (!sound) return unreadable(key, text);
  return seat;
}

Result<GrowthResult> result_of(const std::string& text, uint32_t ranks) {
  std::istringstream parts(text);
  std::string version;
  GrowthResult result;
  parts >> version >> result.taken >> result.communicator;
  bool sound = parts && version == version_word();
  for (uint32_t rank = 0; sound && parts >> rank;) {
    sound = rank < ranks && (result.ranks.empty() || rank > result.ranks.back());
    result.ranks.push_back(rank);
  }
  if (!sound || result.ranks.empty()) return unreadable(kResult, text);
  return result;
}

// A newcomer whose key does not change within this is gone. Longer where the store is slow, as its
// user says by `find_within`.
Nanos gone_after(Nanos find_within) {
  return std::max(params::kNewcomerGoneAfter, nanos(find_within.count / 5));
}

// Which of the newcomers [first, first + count) still wait: each is awaited until its key changes,
// or is gone.
Result<std::vector<uint64_t>> waiting_of(const KeyStore& store, uint64_t first, uint64_t count,
                                         Nanos find_within) {
  struct Quiet {
    uint64_t newcomer = 0;
    std::optional<std::string> beat;
  };
  std::vector<Quiet> quiet;
  for (uint64_t each = first; each < first + count; ++each) {
    Result<std::optional<std::string>> beat = store.find(beat_key(each));
    if (!beat) return fail(beat.error());
    quiet.push_back({each, *std::move(beat)});
  }
  std::vector<uint64_t> waiting;
  const KeyWait wait(gone_after(find_within));
  while (!quiet.empty() && !wait.ended()) {
    std::this_thread::sleep_for(params::kNewcomerLook);
    std::vector<Quiet> still;
    for (Quiet& each : quiet) {
      const Result<std::optional<std::string>> beat = store.find(beat_key(each.newcomer));
      if (!beat) return fail(beat.error());
      if (*beat != each.beat) {
        waiting.push_back(each.newcomer);
      } else {
        still.push_back(std::move(each));
      }
    }
    quiet = std::move(still);
  }
  for (const Quiet& each : quiet) {
    log_warn(
        "newcomer {} is not counted, since it gave no sign for {}: it has ended, the store is "
        "slow, or its heddle is older",
        each.newcomer, duration_text(gone_after(find_within)));
  }
  std::sort(waiting.begin(), waiting.end());
  return waiting;
}

// Of rank 0: those that came since the last growth and still wait, and their seats.
Result<Newcomers> seat_newcomers(const KeyStore& store, const Members& members, Nanos find_within) {
  const Result<uint64_t> came = store.count(kNewcomers, 0);
  if (!came) return fail(came.error());
  const Result<uint64_t> seated = store.count(kSeated, 0);
  if (!seated) return fail(seated.error());
  const uint32_t ranks = members.size();
  if (*came <= *seated || ranks >= kMostRanks) return Newcomers{};
  const uint64_t count = std::min<uint64_t>(*came - *seated, kMostRanks - ranks);
  // At once, so that two that take themselves for rank 0 never seat the same newcomer.
  const Result<uint64_t> last = store.count(kSeated, static_cast<uint32_t>(count));
  if (!last) return fail(last.error());
  const uint64_t first = *last - count + 1;
  const Result<std::vector<uint64_t>> waiting = waiting_of(store, first, count, find_within);
  if (!waiting) return fail(waiting.error());
  Seat seat = {.communicator = members.communicator,
               .first = first,
               .next = number_after(members),
               .rank = ranks,
               .size = static_cast<uint32_t>(ranks + waiting->size()),
               .former = ranks};
  for (const uint64_t newcomer : *waiting) {
    const Result<void> set = store.set(seat_key(newcomer), text_of(seat));
    if (!set) return fail(set.error());
    ++seat.rank;
  }
  return Newcomers{first, waiting->size()};
}

Result<void> run(SharedCommunicator& communicator, const Call& call) {
  const Result<PendingCall> posted = communicator.post(call);
  if (!posted) return fail(posted.error());
  return posted->wait();
}

// What rank 0 counted, on all ranks, once all have come. Where it cannot, all take it that there
// are none.
Result<Newcomers> agree_on_newcomers(SharedCommunicator& communicator, const KeyStore& store,
                                     Nanos find_within) {
  std::array<uint64_t, 2> counted{};
  if (communicator.rank() == 0 && !communicator.failure()) {
    const Result<Newcomers> newcomers = seat_newcomers(store, communicator.members(), find_within);
    if (!newcomers) log_warn("no newcomer is taken in: {}", newcomers.error().message());
    if (newcomers) counted = {newcomers->first, newcomers->count};
  }
  const Call broadcast = {.collective = Collective::kBroadcast,
                          .type = DataType::kUint64,
                          .count = counted.size(),
                          .input = counted.data(),
                          .output = counted.data(),
                          .exchange = {}};
  if (Result<void> sent = run(communicator, broadcast); !sent) return fail(sent.error());
  if (counted[1] > 0) {
    // A rank that comes late is waited for here, and not left out below.
    const Result<void> all_came = run(communicator, {.collective = Collective::kBarrier});
    if (!all_came) return fail(all_came.error());
  }
  return Newcomers{counted[0], counted[1]};
}

}  // namespace

Result<std::optional<SharedCommunicator::Shrunk>> grow(SharedCommunicator& communicator,
                                                       DrivenEndpoint& endpoint,
                                                       const KeyStore& store,
                                                       const GrowOptions& options) {
  const Result<Newcomers> newcomers = agree_on_newcomers(communicator, store, options.find_within);
  if (!newcomers) return fail(newcomers.error());
  if (newcomers->count == 0) return std::optional<SharedCommunicator::Shrunk>();
  const KeyStore part =
      with_prefix(store, prefix_of(communicator.members().communicator, newcomers->first));
  const uint32_t ranks = communicator.size();
  // Where a rank was lost, the others already ask who is left.
  const KeyWait wait(options.find_within,
                     [&communicator] { return communicator.failure().has_value(); });
  const Result<Members> found = find_members(endpoint, part, communicator.rank(),
                                             static_cast<uint32_t>(ranks + newcomers->count), wait);
  ShrinkOptions shrinking = {.join_within = options.find_within + params::kJoinWithin};
  if (found) {
    shrinking.newcomers.assign(found->addresses.begin() + ranks, found->addresses.end());
  } else {
    log_warn("no newcomer is taken in: {}", found.error().message());
  }
  Result<SharedCommunicator::Shrunk> shrunk = communicator.shrink(shrinking);
  if (!shrunk) return fail(shrunk.error());
  const Members& members = shrunk->communicator->members();
  const GrowthResult result = {members.size() > shrunk->former_ranks.size(), members.communicator,
                               shrunk->former_ranks};
  // The other ranks write the same.
  const Result<void> set = part.set(kResult, text_of(result));
  if (!set && result.taken)
    log_warn("newcomers may not learn that they were taken in: {}", set.error().message());
  return std::optional(*std::move(shrunk));
}

namespace {

// Nothing: rank 0 counted this newcomer, and then was lost, or took it to be gone.
Result<std::optional<Seat>> wait_for_seat(const KeyStore& store, uint64_t number,
                                          const KeyWait& wait, Nanos find_within) {
  const std::string key = seat_key(number);
  std::optional<KeyWait> counted;
  for (uint64_t beat = 1;; ++beat) {
    // Rank 0 gives seats only to those whose keys change.
    const Result<void> set = store.set(beat_key(number), std::to_string(beat));
    if (!set) return fail(set.error());
    const Result<std::string> text = wait_for_key(store, key, KeyWait(params::kNewcomerBeats));
    if (text) {
      const Result<Seat> seat = seat_of(key, *text);
      if (!seat) return fail(seat.error());
      return std::optional(*seat);
    }
    if (text.error().code != ErrorCode::kTimeout) return fail(text.error());
    if (const auto ended = wait.ended()) {
      const bool late = *ended == ErrorCode::kTimeout;
      return fail(*ended, "cannot join the job",
                  late ? "its ranks took no newcomer in within " + duration_text(wait.timeout())
                       : "it was asked to stop",
                  late ? "see that they call grow(), and have the same store" : "");
    }
    const Result<uint64_t> seated = store.count(kSeated, 0);
    if (!seated) return fail(seated.error());
    if (*seated < number) continue;
    if (!counted) counted.emplace(find_within + gone_after(find_within));
    if (counted->ended()) return std::optional<Seat>();
  }
}

Members members_of(const GrowthResult& result, const Seat& seat, const Members& found) {
  Members members = {.communicator = result.communicator, .rank = 0, .addresses = {}};
  for (const uint32_t rank : result.ranks) members.addresses.push_back(found.addresses[rank]);
  members.rank = members.size() + seat.rank - seat.former;
  members.addresses.insert(members.addresses.end(), found.addresses.begin() + seat.former,
                           found.addresses.end());
  return members;
}

// One try. Nothing: the ranks did not take it in.
Result<std::optional<Members>> take_seat(DrivenEndpoint& endpoint, const KeyStore& store,
                                         const Seat& seat, const JoinOptions& options) {
  const KeyStore part = with_prefix(store, prefix_of(seat.communicator, seat.first));
  const Result<Members> found = find_members(endpoint, part, seat.rank, seat.size,
                                             KeyWait(options.find_within, options.stopped));
  if (!found) {
    log_info("not taken in: {}", found.error().message());
    return std::optional<Members>();
  }
  // Ranks search, settle their calls, agree and keep connections within this.
  const Nanos within = 2 * options.find_within + 2 * (params::kJoinWithin + params::kAgreeWithin);
  const Result<std::string> text = wait_for_key(part, kResult, KeyWait(within, options.stopped));
  if (!text && text.error().code == ErrorCode::kTimeout) return std::optional<Members>();
  if (!text) return fail(text.error());
  const Result<GrowthResult> result = result_of(*text, seat.former);
  if (!result) return fail(result.error());
  if (!result->taken) return std::optional<Members>();
  return std::optional(members_of(*result, seat, *found));
}

}  // namespace

Result<Members> join(DrivenEndpoint& endpoint, const KeyStore& store, const JoinOptions& options) {
  const KeyWait wait(options.timeout, options.stopped);
  while (true) {
    const Result<uint64_t> number = store.count(kNewcomers, 1);
    if (!number) return fail(number.error());
    const Result<std::optional<Seat>> seat =
        wait_for_seat(store, *number, wait, options.find_within);
    if (!seat) return fail(seat.error());
    if (!*seat) {
      log_info("newcomer {} was counted and has no seat: it takes another number", *number);
      continue;
    }
    Result<std::optional<Members>> members = take_seat(endpoint, store, **seat, options);
    if (members && *members) return **std::move(members);
    // Ranks that took it in all the same find that it is gone from there.
    endpoint.refuse((**seat).next);
    if (!members) return fail(members.error());
  }
}

}  // namespace heddle::collectives
