// ProcessGroupHeddle, fourth part: groups whose ranks change. Ranks are lost, and the others go on;
// processes join a running job.
#include <utility>

#include "collectives/growth.h"
#include "plugins/torch/errors.h"
#include "plugins/torch/key_store.h"
#include "plugins/torch/module.h"
#include "plugins/torch/process.h"
#include "plugins/torch/process_group.h"
#include "plugins/torch/side_threads.h"

namespace heddle::pytorch {
namespace {

using collectives::DrivenEndpoint;
using collectives::SharedCommunicator;

Nanos nanos_of(double seconds) { return nanos(static_cast<int64_t>(seconds * 1e9)); }

ProcessGroupHeddle& heddle_of(const c10::intrusive_ptr<BackendBase>& group) {
  auto* const ours = dynamic_cast<ProcessGroupHeddle*>(group.get());
  TORCH_CHECK(ours != nullptr, "heddle: the process group is of another backend: it has no ",
              "reconfigure(), grow(), abort(), get_error() and check_health()");
  return *ours;
}

}  // namespace

std::shared_ptr<DrivenEndpoint> ProcessGroupHeddle::endpoint() const {
  const OwnMutex::Lock lock = mutex_.enter();
  TORCH_CHECK(lock, kForked);
  TORCH_CHECK(endpoint_, kLeft);
  return endpoint_;
}

ProcessGroupHeddle::Changed ProcessGroupHeddle::change_to(SharedCommunicator::Shrunk shrunk) {
  std::shared_ptr<DrivenEndpoint> kept = endpoint();
  leave();
  return {c10::make_intrusive<ProcessGroupHeddle>(std::move(kept), std::move(shrunk.communicator),
                                                  timeout_.load()),
          std::move(shrunk.former_ranks)};
}

ProcessGroupHeddle::Changed ProcessGroupHeddle::reconfigure(Nanos join_within) {
  const Seat seat = own_seat();
  pairs_of(seat)->abort();
  return change_to(value_or_throw(communicator_of(seat)->shrink({.join_within = join_within})));
}

std::optional<ProcessGroupHeddle::Changed> ProcessGroupHeddle::grow(
    const c10::intrusive_ptr<c10d::Store>& store, Nanos find_within) {
  const Seat seat = own_seat();
  std::optional<SharedCommunicator::Shrunk> grown = value_or_throw(collectives::grow(
      *communicator_of(seat), *endpoint(), key_store(store), {.find_within = find_within}));
  if (!grown) return std::nullopt;
  pairs_of(seat)->abort();
  return change_to(*std::move(grown));
}

c10::intrusive_ptr<ProcessGroupHeddle> ProcessGroupHeddle::join(
    const c10::intrusive_ptr<c10d::Store>& store, const collectives::JoinOptions& options,
    std::chrono::milliseconds timeout) {
  value_or_throw(prepare_side_threads());
  auto endpoint = value_or_throw(shared_endpoint());
  const auto members = value_or_throw(collectives::join(*endpoint, key_store(store), options));
  std::shared_ptr<SharedCommunicator> communicator = value_or_throw(SharedCommunicator::create(
      DrivenEndpoint::thread_of(endpoint), members, endpoint->communicator_options()));
  return c10::make_intrusive<ProcessGroupHeddle>(std::move(endpoint), std::move(communicator),
                                                 timeout);
}

void ProcessGroupHeddle::abort() {
  const Seat seat = own_seat();
  if (const auto pairs = seat.pairs.lock()) pairs->abort();
  if (const Communicator communicator = seat.communicator.lock()) communicator->revoke();
}

std::string ProcessGroupHeddle::error() const {
  const Communicator communicator = own_seat().communicator.lock();
  const std::optional<Error> failed = communicator ? communicator->failure() : std::nullopt;
  return failed ? text_of(*failed) : "";
}

uint64_t ProcessGroupHeddle::number() const { return communicator()->members().communicator; }

// --- what the Python module calls ---

ChangedGroup reconfigure_group(const c10::intrusive_ptr<BackendBase>& group, double join_within) {
  auto [made, former] = heddle_of(group).reconfigure(nanos_of(join_within));
  return {std::move(made), std::move(former)};
}

ChangedGroup grow_group(const c10::intrusive_ptr<BackendBase>& group,
                        const c10::intrusive_ptr<c10d::Store>& store, double find_within) {
  auto grown = heddle_of(group).grow(store, nanos_of(find_within));
  if (!grown) return {group, {}};
  return {std::move(grown->group), std::move(grown->former_ranks)};
}

c10::intrusive_ptr<BackendBase> join_group(const c10::intrusive_ptr<c10d::Store>& store,
                                           const JoinTimes& times,
                                           const std::function<bool()>& stopped) {
  const std::chrono::milliseconds calls(static_cast<int64_t>(times.calls * 1000));
  return ProcessGroupHeddle::join(
      store,
      {.timeout = nanos_of(times.join), .find_within = nanos_of(times.find), .stopped = stopped},
      calls);
}

void abort_group(const c10::intrusive_ptr<BackendBase>& group) {
  heddle_of(group).check_present();
  heddle_of(group).abort();
}

PeersThatAnswer peers_that_answer(const c10::intrusive_ptr<BackendBase>& group,
                                  double timeout_seconds) {
  return heddle_of(group).peers_that_answer(nanos_of(timeout_seconds));
}

uint64_t communicator_of_group(const c10::intrusive_ptr<BackendBase>& group) {
  return heddle_of(group).number();
}

std::string error_of_group(const c10::intrusive_ptr<BackendBase>& group) {
  heddle_of(group).check_present();
  return heddle_of(group).error();
}

}  // namespace heddle::pytorch
