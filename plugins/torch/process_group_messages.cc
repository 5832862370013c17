// ProcessGroupHeddle, third part: messages between two ranks, and barriers that name who is
// missing.
#include <stdexcept>
#include <utility>

#include "plugins/torch/process_group.h"

namespace heddle::pytorch {
namespace {

using collectives::Call;
using collectives::Collective;
using collectives::PendingCall;

// Tags of torch are not negative.
constexpr int64_t kMonitorTag = -1;

Call byte_call(Collective collective, uint32_t peer, uint8_t& byte) {
  return {.collective = collective,
          .type = collectives::DataType::kUint8,
          .root = peer,
          .count = 1,
          .input = collective == Collective::kSend ? &byte : nullptr,
          .output = collective == Collective::kSend ? nullptr : &byte};
}

template <typename T>
T value_or_throw(Result<T> result, const std::string& about) {
  if (!result) throw std::runtime_error("heddle: " + about + result.error().message());
  return std::move(*result);
}

}  // namespace

WorkPtr ProcessGroupHeddle::message(Tensors& tensors, int peer, int tag, bool sends) {
  const char* const name = sends ? "send" : "recv";
  TORCH_CHECK(tensors.size() == 1, "heddle: cannot ", name, " several tensors at once");
  TORCH_CHECK(tag >= 0, "heddle: cannot ", name, " with the tag ", tag, ": tags count from 0");
  check_tensor(tensors[0], name);
  const uint32_t other = check_rank(peer, name);
  const Elements elements = elements_of(tensors[0].scalar_type());
  Plan plan = {.type = sends ? c10d::OpType::SEND : c10d::OpType::RECV,
               .title = sends ? "heddle:send" : "heddle:recv"};
  plan.source = sends ? -1 : peer;
  plan.about = std::string(name) + (sends ? " to rank " : " from rank ") + std::to_string(peer) +
               " with tag " + std::to_string(tag) + ": ";
  plan.buffers.push_back(sends ? Buffer::of_input(tensors) : Buffer::of_output(tensors));
  plan.calls.push_back({.collective = sends ? Collective::kSend : Collective::kReceive,
                        .type = elements.type,
                        .root = pairs()->rank_of(other),
                        .count = plan.buffers[0].elements() * elements.each,
                        .input = sends ? plan.buffers[0].data() : nullptr,
                        .output = sends ? nullptr : plan.buffers[0].data()});
  plan.results = plan.inputs = tensors;
  const auto pair = value_or_throw(pairs()->with(other, tag), plan.about);
  return HeddleWork::start(pair, rank_, std::move(plan), timeout_);
}

WorkPtr ProcessGroupHeddle::send(Tensors& tensors, int to, int tag) {
  return message(tensors, to, tag, true);
}

WorkPtr ProcessGroupHeddle::recv(Tensors& tensors, int from, int tag) {
  return message(tensors, from, tag, false);
}

WorkPtr ProcessGroupHeddle::recvAnysource(Tensors& tensors, int tag) {
  static_cast<void>(tensors);
  static_cast<void>(tag);
  TORCH_CHECK(false,
              "heddle: cannot receive from any source: a receive is granted to one sender "
              "(name it with src=, or use a group of the backend gloo for this)");
}

// --- monitored barrier: every rank notifies rank 0, which then releases all ---

void ProcessGroupHeddle::wait_for_all(std::chrono::milliseconds timeout, bool name_all) {
  std::vector<uint8_t> bytes(static_cast<size_t>(size_));
  std::vector<PendingCall> calls;
  for (uint32_t rank = 1; rank < static_cast<uint32_t>(size_); ++rank) {
    const auto pair = value_or_throw(pairs()->with(rank, kMonitorTag), "monitored barrier: ");
    calls.push_back(value_or_throw(pair->post(byte_call(Collective::kReceive, 1, bytes[rank])),
                                   "monitored barrier: "));
  }
  const auto until = std::chrono::steady_clock::now() + timeout;
  std::string missing;
  for (uint32_t rank = 1; rank < static_cast<uint32_t>(size_); ++rank) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        until - std::chrono::steady_clock::now());
    const bool came = calls[rank - 1].wait(millis(std::max<int64_t>(0, left.count()))).has_value();
    if (came) continue;
    missing += (missing.empty() ? "" : ", ") + std::to_string(rank);
    if (!name_all) break;
  }
  if (missing.empty()) return notify_all();
  const std::string why = "monitored barrier: after " + std::to_string(timeout.count()) +
                          " ms missing: rank " + missing;
  // The receives write into `bytes`: they have to end before it goes.
  pairs()->abort();
  for (const PendingCall& call : calls) static_cast<void>(call.wait());
  communicator()->abort(ErrorCode::kTimeout, why);
  throw std::runtime_error("heddle: " + why);
}

void ProcessGroupHeddle::notify_all() {
  uint8_t byte = 1;
  std::vector<PendingCall> calls;
  for (uint32_t rank = 1; rank < static_cast<uint32_t>(size_); ++rank) {
    const auto pair = value_or_throw(pairs()->with(rank, kMonitorTag), "monitored barrier: ");
    calls.push_back(
        value_or_throw(pair->post(byte_call(Collective::kSend, 1, byte)), "monitored barrier: "));
  }
  for (const PendingCall& call : calls) {
    const Result<void> ended = call.wait();
    if (!ended) throw std::runtime_error("heddle: monitored barrier: " + ended.error().message());
  }
}

void ProcessGroupHeddle::monitoredBarrier(const c10d::BarrierOptions& opts, bool wait_all_ranks) {
  const std::chrono::milliseconds timeout = patience(opts.timeout);
  if (rank_ == 0) return wait_for_all(timeout, wait_all_ranks);
  uint8_t byte = 1;
  const auto pair = value_or_throw(pairs()->with(0, kMonitorTag), "monitored barrier: ");
  // Rank 0 can name the missing ranks, so its timeout ends first.
  const collectives::CallOptions options = {.timeout = millis(timeout.count()) + seconds(5)};
  for (const Collective each : {Collective::kSend, Collective::kReceive}) {
    const auto call =
        value_or_throw(pair->post(byte_call(each, 0, byte), options), "monitored barrier: ");
    const Result<void> ended = call.wait();
    if (ended) continue;
    const std::optional<Error> told = communicator()->failure();
    throw std::runtime_error("heddle: monitored barrier: " +
                             (told ? *told : ended.error()).message());
  }
}

}  // namespace heddle::pytorch
