// ProcessGroupHeddle, seventh part: what PyTorch 2.x calls by names of its own. All but
// reconfigure() is compiled for every version, and called by those that have the name.
#include <algorithm>
#include <set>
#include <string>
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

void check_timeout(std::chrono::milliseconds timeout) {
  TORCH_CHECK(timeout.count() > 0, "heddle: cannot have a timeout of ", timeout.count(),
              " ms: give one above 0");
}

std::chrono::milliseconds timeout_of(const BackendOptions& options,
                                     std::chrono::milliseconds otherwise) {
  if (!options) return otherwise;
  check_timeout(options->timeout);
  return options->timeout;
}

template <typename Rank>
bool contains(const std::vector<Rank>& ranks, int64_t rank) {
  return std::ranges::any_of(ranks, [rank](const Rank& each) { return int64_t{each} == rank; });
}

std::string text_of(const std::vector<int64_t>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t each = 0; each < ranks.size(); ++each) {
    text += (each == 0 ? "" : ", ") + std::to_string(ranks[each]);
  }
  return text;
}

// Torch numbers the ranks that are left by the list of the others alone, so all of them must have
// come, and no other.
void check_left(const std::vector<uint32_t>& came, const std::vector<int64_t>& excluded, int size) {
  constexpr const char* kEnded =
      ". This group has left, and what is left of it ends, too: make another";
  std::vector<int64_t> missing;
  std::vector<int64_t> others;
  for (int64_t rank = 0; rank < size; ++rank) {
    const bool has_come = contains(came, rank);
    if (has_come == !contains(excluded, rank)) continue;
    (has_come ? others : missing).push_back(rank);
  }
  TORCH_CHECK(others.empty(), "heddle: cannot shrink: ", text_of(others),
              " should be left out, but called it", kEnded);
  TORCH_CHECK(missing.empty(), "heddle: cannot shrink: ", text_of(missing),
              " should stay, but did not call it in time", kEnded);
  TORCH_CHECK(std::ranges::is_sorted(came), "heddle: cannot shrink: ranks lost their order",
              kEnded);
}

// Member functions that differ in nothing but their class.
template <typename One, typename Other>
inline constexpr bool kAlike = false;
template <typename Type, typename One, typename Other>
inline constexpr bool kAlike<Type One::*, Type Other::*> = true;

// Ours have no `override` (c10d.h); one that had a virtual function's name and not its parameters
// would never be called. Versions without the function have nothing to compare.
template <typename Base, typename Ours>
consteval bool take_their_place() {
  if constexpr (requires { &Base::abort; }) {
    static_assert(kAlike<decltype(&Base::abort), decltype(&Ours::abort)>);
  }
  if constexpr (requires { &Base::shutdown; }) {
    static_assert(kAlike<decltype(&Base::shutdown), decltype(&Ours::shutdown)>);
  }
  if constexpr (requires { &Base::getError; }) {
    static_assert(kAlike<decltype(&Base::getError), decltype(&Ours::getError)>);
  }
  if constexpr (requires { &Base::setTimeout; }) {
    static_assert(kAlike<decltype(&Base::setTimeout), decltype(&Ours::setTimeout)>);
  }
  if constexpr (requires { &Base::getBackendOptions; }) {
    static_assert(kAlike<decltype(&Base::getBackendOptions), decltype(&Ours::getBackendOptions)>);
  }
  if constexpr (requires { &Base::supportsSplitting; }) {
    static_assert(kAlike<decltype(&Base::supportsSplitting), decltype(&Ours::supportsSplitting)>);
  }
  if constexpr (requires { &Base::split; }) {
    static_assert(kAlike<decltype(&Base::split), decltype(&Ours::split)>);
  }
  if constexpr (requires { &Base::supportsShrinking; }) {
    static_assert(kAlike<decltype(&Base::supportsShrinking), decltype(&Ours::supportsShrinking)>);
  }
  if constexpr (requires { &Base::shrink; }) {
    static_assert(kAlike<decltype(&Base::shrink), decltype(&Ours::shrink)>);
  }
  if constexpr (requires { &Base::allreduce_sparse; }) {
    static_assert(kAlike<decltype(&Base::allreduce_sparse), decltype(&Ours::allreduce_sparse)>);
  }
  if constexpr (requires { &Base::allgather_into_tensor_coalesced; }) {
    static_assert(kAlike<decltype(&Base::allgather_into_tensor_coalesced),
                         decltype(&Ours::allgather_into_tensor_coalesced)>);
  }
  if constexpr (requires { &Base::reduce_scatter_tensor_coalesced; }) {
    static_assert(kAlike<decltype(&Base::reduce_scatter_tensor_coalesced),
                         decltype(&Ours::reduce_scatter_tensor_coalesced)>);
  }
  return true;
}
static_assert(take_their_place<BackendBase, ProcessGroupHeddle>());

}  // namespace

void ProcessGroupHeddle::shutdown() { leave(); }

void ProcessGroupHeddle::setTimeout(std::chrono::milliseconds timeout) {
  check_timeout(timeout);
  timeout_ = timeout;
}

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
  const Seat seat = own_seat();
  std::set<int> distinct;
  for (const int each : ranks) {
    check_rank(seat, each, "split");
    TORCH_CHECK(distinct.insert(each).second, "heddle: cannot split: rank ", each,
                " is named twice");
  }
  const std::chrono::milliseconds timeout = timeout_of(options, timeout_);
  const auto own = std::ranges::find(ranks, seat.rank);
  if (own == ranks.end()) return {};
  return create(store, static_cast<int>(own - ranks.begin()), static_cast<int>(ranks.size()),
                timeout);
}

c10::intrusive_ptr<BackendBase> ProcessGroupHeddle::shrink(const std::vector<int64_t>& excluded,
                                                           int /*flags*/,
                                                           const BackendOptions& options) {
  const Seat seat = own_seat();
  for (const int64_t each : excluded) check_rank(seat, each, "shrink");
  TORCH_CHECK(!contains(excluded, seat.rank), "heddle: cannot shrink: rank ", seat.rank,
              " is to be left out, and must not call it");
  const std::chrono::milliseconds timeout = timeout_of(options, timeout_);
  auto [group, former] = reconfigure(collectives::params::kJoinWithin);
  check_left(former, excluded, seat.size);
  group->setTimeout(timeout);
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
  bool stays = false;  // it may have left since
  {
    const OwnMutex::Lock lock = mutex_.enter();
    TORCH_CHECK(lock, kForked);
    stays = endpoint_ == endpoint;
    if (stays) {
      std::swap(communicator, communicator_);
      std::swap(pairs, pairs_);
      std::swap(any_source, any_source_);
      rank_ = static_cast<int>(members.rank);
      size_ = static_cast<int>(members.size());
    }
  }
  if (pairs) pairs->abort();
  if (communicator) communicator->revoke();
  const WithoutInterpreterLock unlocked;  // as in leave()
  communicator.reset();
  pairs.reset();
  any_source.reset();
  TORCH_CHECK(stays, kLeft);
}

collectives::OwnHandle ProcessGroupHeddle::own_handle(const DrivenEndpoint& endpoint) const {
  return {.number = number_,
          .rank = static_cast<uint32_t>(own_seat().rank),
          .port = endpoint.address().port};
}

c10d::ReconfigureHandle ProcessGroupHeddle::get_reconfigure_handle() const {
  const std::shared_ptr<DrivenEndpoint> held = endpoint();
  return collectives::handle_of(*held, own_handle(*held));
}

WorkPtr ProcessGroupHeddle::reconfigure(const c10d::ReconfigureOptions& options) {
  TORCH_CHECK(options.hints.empty(), "heddle: cannot reconfigure: it knows no hint named ",
              options.hints.empty() ? "" : options.hints.begin()->first);
  const WithoutInterpreterLock unlocked;  // who holds the mutex may need Python's
  const OwnMutex::Lock lock = change_mutex_.enter();
  TORCH_CHECK(lock, kForked);
  TORCH_CHECK(!uuids_.contains(options.uuid), "heddle: cannot reconfigure: the uuid ", options.uuid,
              " was used before by this group: take a new one each time, the same on all ranks");
  collectives::HandleList list = {.uuid = static_cast<uint64_t>(options.uuid)};
  list.ordered = options.handles.index() == 1;
  std::visit([&](const auto& handles) { list.texts.assign(handles.begin(), handles.end()); },
             options.handles);
  take(value_or_throw(collectives::members_of(list, own_handle(*endpoint()))));
  uuids_.insert(options.uuid);
  return barrier({.timeout = options.timeout.value_or(c10d::kUnsetTimeout)});
}

#endif

}  // namespace heddle::pytorch
