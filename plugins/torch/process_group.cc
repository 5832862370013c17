// ProcessGroupHeddle: see process_group.h. Here are its life and the calls on whole tensors; the
// others are in process_group_*.cc.
#include "plugins/torch/process_group.h"

#include <set>
#include <utility>

#include "base/per_process.h"
#include "collectives/places.h"
#include "engine/seed.h"
#include "plugins/torch/errors.h"
#include "plugins/torch/interpreter_lock.h"
#include "plugins/torch/key_store.h"
#include "plugins/torch/module.h"
#include "plugins/torch/process.h"
#include "plugins/torch/side_threads.h"

namespace heddle::pytorch {
namespace {

using collectives::Call;
using collectives::Collective;

// All of this process; those of a parent are not a child's. Never freed: groups may go after the
// statics do.
struct Groups {
  OwnMutex mutex;
  std::set<ProcessGroupHeddle*> living;
};

Groups& groups() {
  static constinit PerProcess<Groups> all;
  return all.get();
}

Call call_of(Collective collective, const Buffer& buffer, const Elements& elements) {
  return {.collective = collective,
          .type = elements.type,
          .count = buffer.elements() * elements.each,
          .input = buffer.data(),
          .output = buffer.data()};
}

void check_one(const Tensors& tensors, const char* call) {
  TORCH_CHECK(tensors.size() == 1, "heddle: cannot ", call, " ", tensors.size(),
              " tensors at once: a process is one rank, give one");
  check_tensor(tensors[0], call);
}

}  // namespace

c10::intrusive_ptr<ProcessGroupHeddle> ProcessGroupHeddle::create(
    const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
    std::chrono::milliseconds timeout) {
  TORCH_CHECK(size > 0 && rank >= 0 && rank < size, "heddle: cannot make a process group: rank ",
              rank, " of ", size);
  value_or_throw(prepare_side_threads());
  auto endpoint = value_or_throw(shared_endpoint());
  const auto members = value_or_throw(collectives::find_members(
      *endpoint, key_store(store), static_cast<uint32_t>(rank), static_cast<uint32_t>(size),
      collectives::KeyWait(millis(timeout.count()))));
  std::shared_ptr<collectives::SharedCommunicator> communicator = value_or_throw(
      collectives::SharedCommunicator::create(collectives::DrivenEndpoint::thread_of(endpoint),
                                              members, endpoint->communicator_options()));
  return c10::make_intrusive<ProcessGroupHeddle>(std::move(endpoint), std::move(communicator),
                                                 timeout);
}

c10::intrusive_ptr<BackendBase> create_group(const c10::intrusive_ptr<c10d::Store>& store, int rank,
                                             int size, double timeout_seconds) {
  const std::chrono::milliseconds timeout(static_cast<int64_t>(timeout_seconds * 1000));
  return ProcessGroupHeddle::create(store, rank, size, timeout);
}

c10::intrusive_ptr<BackendBase> create_group_without_members(int rank, int size,
                                                             double timeout_seconds) {
  value_or_throw(prepare_side_threads());
  const std::chrono::milliseconds timeout(static_cast<int64_t>(timeout_seconds * 1000));
  return c10::make_intrusive<ProcessGroupHeddle>(
      value_or_throw(shared_endpoint()), ProcessGroupHeddle::Place{.rank = rank, .size = size},
      timeout);
}

ProcessGroupHeddle::ProcessGroupHeddle(
    std::shared_ptr<collectives::DrivenEndpoint> endpoint,
    std::shared_ptr<collectives::SharedCommunicator> communicator,
    std::chrono::milliseconds timeout)
    : BackendBase(static_cast<int>(communicator->rank()), static_cast<int>(communicator->size())),
      endpoint_(std::move(endpoint)),
      communicator_(std::move(communicator)),
      pairs_(std::make_shared<Pairs>(collectives::DrivenEndpoint::thread_of(endpoint_),
                                     communicator_->members(), endpoint_->communicator_options())),
      any_source_(
          std::make_shared<AnySource>(pairs_, communicator_->rank(), communicator_->size())),
      number_(engine::system_seed()),
      timeout_(timeout) {
  const OwnMutex::Lock lock = groups().mutex.lock();
  groups().living.insert(this);
}

ProcessGroupHeddle::ProcessGroupHeddle(std::shared_ptr<collectives::DrivenEndpoint> endpoint,
                                       const Place& place, std::chrono::milliseconds timeout)
    : BackendBase(place.rank, place.size),
      endpoint_(std::move(endpoint)),
      number_(engine::system_seed()),
      timeout_(timeout) {
  const OwnMutex::Lock lock = groups().mutex.lock();
  groups().living.insert(this);
}

ProcessGroupHeddle::~ProcessGroupHeddle() {
  {
    const OwnMutex::Lock lock = groups().mutex.lock();
    groups().living.erase(this);
  }
  leave();
}

void ProcessGroupHeddle::leave() {
  // The last of the process waits for its threads, and these may let go of Python's objects.
  const WithoutInterpreterLock unlocked;
  std::shared_ptr<collectives::DrivenEndpoint> endpoint;
  Communicator communicator;
  std::shared_ptr<Pairs> pairs;
  const OwnMutex::Lock lock = mutex_.enter();
  if (!lock) return;  // the group is the parent's
  std::swap(endpoint, endpoint_);
  std::swap(communicator, communicator_);
  std::swap(pairs, pairs_);
}

void leave_all_groups() {
  {
    const OwnMutex::Lock lock = groups().mutex.lock();
    for (ProcessGroupHeddle* const each : groups().living) each->leave();
  }
  end_side_threads(seconds(5));
}

ProcessGroupHeddle::Communicator ProcessGroupHeddle::communicator() const {
  const OwnMutex::Lock lock = mutex_.enter();
  TORCH_CHECK(lock, kForked);
  TORCH_CHECK(communicator_, endpoint_ ? kNoMembers : kLeft);
  return communicator_;
}

std::shared_ptr<Pairs> ProcessGroupHeddle::pairs() const {
  const OwnMutex::Lock lock = mutex_.enter();
  TORCH_CHECK(lock, kForked);
  TORCH_CHECK(pairs_, endpoint_ ? kNoMembers : kLeft);
  return pairs_;
}

// In a child of fork() it names nothing: the call is refused where it would need it.
ProcessGroupHeddle::Seat ProcessGroupHeddle::own_seat() const {
  const OwnMutex::Lock lock = mutex_.enter();
  if (!lock)
    return {.communicator = {}, .pairs = {}, .any_source = {}, .rank = rank_, .size = size_};
  return {.communicator = communicator_,
          .pairs = pairs_,
          .any_source = any_source_,
          .rank = rank_,
          .size = size_};
}

ProcessGroupHeddle::Communicator ProcessGroupHeddle::communicator_of(const Seat& seat) const {
  Communicator held = seat.communicator.lock();
  if (!held) {
    static_cast<void>(communicator());  // says why, unless there is another one
    TORCH_CHECK(false, kChanged);
  }
  return held;
}

std::shared_ptr<Pairs> ProcessGroupHeddle::pairs_of(const Seat& seat) const {
  std::shared_ptr<Pairs> held = seat.pairs.lock();
  if (!held) {
    static_cast<void>(pairs());
    TORCH_CHECK(false, kChanged);
  }
  return held;
}

std::chrono::milliseconds ProcessGroupHeddle::patience(std::chrono::milliseconds asked) const {
  return asked.count() > 0 ? asked : timeout_.load();
}

uint32_t ProcessGroupHeddle::check_rank(const Seat& seat, int64_t rank, const char* call) {
  TORCH_CHECK(rank >= 0 && rank < seat.size, "heddle: cannot ", call, ": there is no rank ", rank,
              " in this group of ", seat.size);
  return static_cast<uint32_t>(rank);
}

WorkPtr ProcessGroupHeddle::start(const Seat& seat, Plan plan, std::chrono::milliseconds timeout) {
  ++calls_;
  return HeddleWork::start(communicator_of(seat), seat.rank, std::move(plan), patience(timeout));
}

// --- calls on whole tensors ---

WorkPtr ProcessGroupHeddle::broadcast(Tensors& tensors, const c10d::BroadcastOptions& opts) {
  const Seat seat = own_seat();
  check_one(tensors, "broadcast");
  const uint32_t root = check_rank(seat, opts.rootRank, "broadcast");
  Plan plan = {.type = c10d::OpType::BROADCAST, .title = "heddle:broadcast"};
  const bool sends = root == static_cast<uint32_t>(seat.rank);
  plan.buffers.push_back(sends ? Buffer::of_input(tensors) : Buffer::of_output(tensors));
  Call call =
      call_of(Collective::kBroadcast, plan.buffers[0], elements_of(tensors[0].scalar_type()));
  call.root = root;
  plan.calls.push_back(call);
  plan.results = plan.inputs = tensors;
  return start(seat, std::move(plan), opts.timeout);
}

// All begin together, each where it lies.
WorkPtr ProcessGroupHeddle::reduce_each(Plan plan, const Tensors& tensors,
                                        const c10d::AllreduceOptions& opts) {
  const Seat seat = own_seat();
  for (const at::Tensor& tensor : tensors) {
    check_tensor(tensor, "allreduce");
    const Reduction reduction = reduction_of(tensor.scalar_type(), opts.reduceOp);
    plan.buffers.push_back(Buffer::of_both({tensor}));
    Call call = call_of(Collective::kAllReduce, plan.buffers.back(), reduction.elements);
    call.op = reduction.op;
    plan.calls.push_back(call);
  }
  plan.results = plan.inputs = tensors;
  return start(seat, std::move(plan), opts.timeout);
}

WorkPtr ProcessGroupHeddle::allreduce(Tensors& tensors, const c10d::AllreduceOptions& opts) {
  if (tensors.size() == 1 && tensors[0].layout() == at::kSparse) {
    return reduce_sparse(tensors[0], opts);
  }
  check_one(tensors, "allreduce");
  return reduce_each({.type = c10d::OpType::ALLREDUCE, .title = "heddle:all_reduce"}, tensors,
                     opts);
}

WorkPtr ProcessGroupHeddle::allreduce_sparse(Tensors& tensors, const c10d::AllreduceOptions& opts) {
  TORCH_CHECK(tensors.size() == 1, "heddle: cannot allreduce ", tensors.size(),
              " sparse tensors at once: a process is one rank, give one");
  return reduce_sparse(tensors[0], opts);
}

WorkPtr ProcessGroupHeddle::allreduce_coalesced(Tensors& tensors,
                                                const c10d::AllreduceCoalescedOptions& opts) {
  return reduce_each({.type = c10d::OpType::ALLREDUCE_COALESCED, .title = "heddle:all_reduce"},
                     tensors, opts);
}

WorkPtr ProcessGroupHeddle::reduce(Tensors& tensors, const c10d::ReduceOptions& opts) {
  const Seat seat = own_seat();
  check_one(tensors, "reduce");
  const uint32_t root = check_rank(seat, opts.rootRank, "reduce");
  const Reduction reduction = reduction_of(tensors[0].scalar_type(), opts.reduceOp);
  Plan plan = {.type = c10d::OpType::REDUCE, .title = "heddle:reduce"};
  const bool receives = root == static_cast<uint32_t>(seat.rank);
  plan.buffers.push_back(receives ? Buffer::of_both(tensors) : Buffer::of_input(tensors));
  Call call = call_of(Collective::kReduce, plan.buffers[0], reduction.elements);
  call.op = reduction.op;
  call.root = root;
  if (!receives) call.output = nullptr;
  plan.calls.push_back(call);
  plan.results = plan.inputs = tensors;
  return start(seat, std::move(plan), opts.timeout);
}

WorkPtr ProcessGroupHeddle::barrier(const c10d::BarrierOptions& opts) {
  const Seat seat = own_seat();
  Plan plan = {.type = c10d::OpType::BARRIER, .title = "heddle:barrier"};
  plan.calls.push_back({.collective = Collective::kBarrier});
  return start(seat, std::move(plan), opts.timeout);
}

}  // namespace heddle::pytorch
