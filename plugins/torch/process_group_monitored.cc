// ProcessGroupHeddle, seventh part: barriers that name the missing ranks. Every rank notifies rank
// 0, which then releases all. PyTorch's programs recognize the errors by Gloo's words.
#include <algorithm>
#include <chrono>
#include <map>
#include <stdexcept>
#include <utility>

#include "plugins/torch/errors.h"
#include "plugins/torch/process_group.h"

namespace heddle::pytorch {
namespace {

using collectives::Call;
using collectives::Collective;
using collectives::PendingCall;
using Milliseconds = std::chrono::milliseconds;

// Tags of torch are not negative.
constexpr int64_t kMonitorTag = -1;
constexpr const char* kAbout = "monitored barrier: ";

Call byte_call(Collective collective, uint32_t peer, uint8_t& byte) {
  return {.collective = collective,
          .type = collectives::DataType::kUint8,
          .root = peer,
          .count = 1,
          .input = collective == Collective::kSend ? &byte : nullptr,
          .output = collective == Collective::kSend ? nullptr : &byte};
}

template <typename T>
T checked(Result<T> result) {
  if (!result) throw std::runtime_error("heddle: " + (kAbout + text_of(result.error())));
  return std::move(*result);
}

using Missing = std::map<uint32_t, Error>;  // why, by rank

std::string ranks_of(const Missing& missing) {
  std::string text;
  for (const auto& [rank, why] : missing) text += (text.empty() ? "" : ", ") + std::to_string(rank);
  return text;
}

// Of those that will never come.
std::string causes_of(const Missing& missing) {
  std::string text;
  for (const auto& [rank, why] : missing) {
    if (why.code != ErrorCode::kTimeout) {
      text += ". Rank " + std::to_string(rank) + ": " + why.message();
    }
  }
  return text;
}

std::string in(Milliseconds timeout) { return std::to_string(timeout.count()) + " ms"; }

Milliseconds left_until(std::chrono::steady_clock::time_point until) {
  const auto left =
      std::chrono::duration_cast<Milliseconds>(until - std::chrono::steady_clock::now());
  return std::max(left, Milliseconds(0));
}

// The ranks that did not notify in time, or the first of them.
Missing missing_of(const std::vector<Result<PendingCall>>& notices, Milliseconds timeout,
                   bool name_all) {
  const auto until = std::chrono::steady_clock::now() + timeout;
  Missing missing;
  for (uint32_t rank = 1; rank <= notices.size(); ++rank) {
    const Result<PendingCall>& notice = notices[rank - 1];
    const Result<void> came = notice ? notice->wait(millis(left_until(until).count()))
                                     : Result<void>(fail(notice.error()));
    if (came) continue;
    missing.emplace(rank, came.error());
    if (!name_all) break;
  }
  return missing;
}

}  // namespace

void ProcessGroupHeddle::wait_for_all(const Seat& seat, Milliseconds timeout, bool name_all) {
  std::vector<uint8_t> bytes(static_cast<size_t>(seat.size));
  std::vector<Result<PendingCall>> notices;  // not posted: of ranks that were lost before
  const auto all = pairs_of(seat);
  for (uint32_t rank = 1; rank < static_cast<uint32_t>(seat.size); ++rank) {
    const auto pair = all->with(rank, kMonitorTag);
    notices.push_back(pair ? (*pair)->post(byte_call(Collective::kReceive, 1, bytes[rank]))
                           : Result<PendingCall>(fail(pair.error())));
  }
  const Missing missing = missing_of(notices, timeout, name_all);
  if (missing.empty()) return notify_all(seat);
  std::string why = "[Rank 0]: ";
  if (timeout.count() == 0) {
    why += "Rank 0 timed out in monitoredBarrier after 0 ms, waiting for rank " + ranks_of(missing);
  } else {
    why += (name_all ? "Ranks " : "Rank ") + ranks_of(missing) +
           " failed to pass monitoredBarrier in " + in(timeout);
  }
  why += causes_of(missing);
  // The receives write into `bytes`: they have to end before it goes.
  all->abort();
  for (const Result<PendingCall>& notice : notices) {
    if (notice) static_cast<void>(notice->wait());
  }
  communicator_of(seat)->abort(ErrorCode::kTimeout, why);
  throw std::runtime_error("heddle: " + why);
}

void ProcessGroupHeddle::notify_all(const Seat& seat) {
  uint8_t byte = 1;
  std::vector<PendingCall> calls;
  for (uint32_t rank = 1; rank < static_cast<uint32_t>(seat.size); ++rank) {
    const auto pair = checked(pairs_of(seat)->with(rank, kMonitorTag));
    calls.push_back(checked(pair->post(byte_call(Collective::kSend, 1, byte))));
  }
  for (const PendingCall& call : calls) {
    const Result<void> ended = call.wait();
    if (!ended) throw std::runtime_error("heddle: " + (kAbout + text_of(ended.error())));
  }
}

void ProcessGroupHeddle::monitoredBarrier(const c10d::BarrierOptions& opts, bool wait_all_ranks) {
  // 0 is a time that is over, unlike in other calls.
  const Milliseconds timeout = opts.timeout == c10d::kUnsetTimeout ? timeout_.load() : opts.timeout;
  const Seat seat = own_seat();
  if (seat.rank == 0) return wait_for_all(seat, timeout, wait_all_ranks);
  uint8_t byte = 1;
  const auto pair = checked(pairs_of(seat)->with(0, kMonitorTag));
  // As with Gloo, rank 0's time begins when it comes. It names the missing ranks, so its ends
  // first.
  const Milliseconds longer = std::max(timeout, timeout_.load());
  const collectives::CallOptions options = {.timeout = millis(longer.count()) + seconds(5)};
  for (const Collective each : {Collective::kSend, Collective::kReceive}) {
    const auto call = checked(pair->post(byte_call(each, 0, byte), options));
    const Result<void> ended = call.wait();
    if (ended) continue;
    const std::optional<Error> failed = communicator_of(seat)->failure();
    throw std::runtime_error("heddle: Rank " + std::to_string(seat.rank) +
                             " successfully reached monitoredBarrier, but received errors while "
                             "waiting for send/recv from rank 0: " +
                             text_of(failed ? *failed : ended.error()));
  }
}

}  // namespace heddle::pytorch
