// ProcessGroupHeddle, seventh part: what PyTorch 2.x calls by names of its own. All but
// reconfigure() is compiled for every version, and called by those that have the name.
#include <algorithm>
#include <utility>
#include <variant>

#include "collectives/handles.h"
#include "collectives/params.h"
#include "plugins/torch/errors.h"
#include "plugins/torch/interpreter_lock.h"
#include "plugins/torch/process_group.h"

namespace heddle::pytorch {
namespace {

using collectives::DrivenEndpoint;
using collectives::SharedCommunicator;

std::chrono::milliseconds timeout_of(const BackendOptions& options,
                                     std::chrono::milliseconds otherwise) {
  return options ? options->timeout : otherwise;
}

bool contains(const std::vector<int64_t>& ranks, int64_t rank) {
  return std::ranges::find(ranks, rank) != ranks.end();
}

}  // namespace

void ProcessGroupHeddle::shutdown() { leave(); }

ErrorType ProcessGroupHeddle::getError() {
  Communicator communicator;
  if (const OwnMutex::Lock lock = mutex_.enter(); lock) communicator = communicator_;
  const std::optional<Error> failed = communicator ? communicator->failure() : std::nullopt;
  if (!failed) return kNoError;
  if (failed->code == ErrorCode::kTimeout) return kTimeoutError;
  return failed->code == ErrorCode::kPeerDead ? kRemoteError : kCommunicationError;
}

BackendOptions ProcessGroupHeddle::getBackendOptions() {
  return c10::make_intrusive<BackendBase::Options>("heddle", timeout_.load());
}

c10::intrusive_ptr<BackendBase> ProcessGroupHeddle::split(
    const c10::intrusive_ptr<c10d::Store>& store, const std::vector<int>& ranks,
    const BackendOptions& options) {
  for (const int each : ranks) check_rank(each, "split");
  const auto own = std::ranges::find(ranks, rank_);
  if (own == ranks.end()) return {};
  return create(store, static_cast<int>(own - ranks.begin()), static_cast<int>(ranks.size()),
                timeout_of(options, timeout_));
}

c10::intrusive_ptr<BackendBase> ProcessGroupHeddle::shrink(const std::vector<int64_t>& excluded,
                                                           int /*flags*/,
                                                           const BackendOptions& options) {
  for (const int64_t each : excluded) check_rank(each, "shrink");
  TORCH_CHECK(!contains(excluded, rank_), "heddle: cannot shrink: rank ", rank_,
              " is to be left out, and must not call it");
  auto [group, former] = reconfigure(collectives::params::kJoinWithin);
  for (const uint32_t each : former) {
    TORCH_CHECK(!contains(excluded, each), "heddle: cannot shrink: rank ", each,
                " is to be left out, but has called it");
  }
  group->setTimeout(timeout_of(options, timeout_));
  return group;
}

#ifdef C10D_BACKEND_HAS_RECONFIGURE

void ProcessGroupHeddle::take(const collectives::Members& members) {
  const std::shared_ptr<DrivenEndpoint> endpoint = this->endpoint();
  Communicator communicator = value_or_throw(SharedCommunicator::create(
      DrivenEndpoint::thread_of(endpoint), members, endpoint->communicator_options()));
  auto pairs = std::make_shared<Pairs>(DrivenEndpoint::thread_of(endpoint), members,
                                       endpoint->communicator_options());
  auto any_source = std::make_shared<AnySource>(pairs, members.rank, members.size());
  {
    const OwnMutex::Lock lock = mutex_.enter();
    TORCH_CHECK(lock, kForked);
    std::swap(communicator, communicator_);
    std::swap(pairs, pairs_);
    std::swap(any_source, any_source_);
    rank_ = static_cast<int>(members.rank);
    size_ = static_cast<int>(members.size());
  }
  if (pairs) pairs->abort();
  if (communicator) communicator->revoke();
  const WithoutInterpreterLock unlocked;  // as in leave()
  communicator.reset();
  pairs.reset();
  any_source.reset();
}

c10d::ReconfigureHandle ProcessGroupHeddle::get_reconfigure_handle() const {
  return collectives::handle_of(*endpoint(),
                                {.number = number_, .rank = static_cast<uint32_t>(rank_)});
}

WorkPtr ProcessGroupHeddle::reconfigure(const c10d::ReconfigureOptions& options) {
  TORCH_CHECK(options.hints.empty(), "heddle: cannot reconfigure: it knows no hint named ",
              options.hints.empty() ? "" : options.hints.begin()->first);
  TORCH_CHECK(!uuids_.contains(options.uuid), "heddle: cannot reconfigure: the uuid ", options.uuid,
              " was used before by this group: take a new one each time, the same on all ranks");
  collectives::HandleList list = {.uuid = static_cast<uint64_t>(options.uuid)};
  list.ordered = options.handles.index() == 1;
  std::visit([&](const auto& handles) { list.texts.assign(handles.begin(), handles.end()); },
             options.handles);
  take(value_or_throw(
      collectives::members_of(list, {.number = number_, .rank = static_cast<uint32_t>(rank_)})));
  uuids_.insert(options.uuid);
  return barrier({.timeout = options.timeout.value_or(c10d::kUnsetTimeout)});
}

#endif

}  // namespace heddle::pytorch
