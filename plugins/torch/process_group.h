// ProcessGroupHeddle: torch's process group over a heddle communicator. Each method checks its
// tensors, says which memory a collective works on (Plan), and starts it; see work.h for its end.
// Collectives are called in the same order by all ranks; messages between two ranks meet by tag.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/own_mutex.h"
#include "collectives/driven_endpoint.h"
#include "collectives/growth.h"
#include "collectives/handles.h"
#include "collectives/shared_communicator.h"
#include "plugins/torch/any_source.h"
#include "plugins/torch/c10d.h"
#include "plugins/torch/elements.h"
#include "plugins/torch/module.h"
#include "plugins/torch/pairs.h"
#include "plugins/torch/work.h"

namespace heddle::pytorch {

class ProcessGroupHeddle final : public BackendBase {
 public:
  // Waits for all ranks at the store, which belongs to this group. Throws std::runtime_error.
  static c10::intrusive_ptr<ProcessGroupHeddle> create(const c10::intrusive_ptr<c10d::Store>& store,
                                                       int rank, int size,
                                                       std::chrono::milliseconds timeout);
  ProcessGroupHeddle(std::shared_ptr<collectives::DrivenEndpoint> endpoint,
                     std::shared_ptr<collectives::SharedCommunicator> communicator,
                     std::chrono::milliseconds timeout);
  // A group without members, which reconfigure() gives it (2.x).
  struct Place {
    int rank = 0;  // as the launcher says
    int size = 0;
  };
  ProcessGroupHeddle(std::shared_ptr<collectives::DrivenEndpoint> endpoint, const Place& place,
                     std::chrono::milliseconds timeout);
  ~ProcessGroupHeddle() override;

  // Says goodbye to the other ranks and waits for it; calls are refused from now on. For the end of
  // the process, which groups may outlive.
  void leave();

  // --- process_group_elastic.cc; these throw std::runtime_error ---

  // Another group in the place of this one, which is of no more use.
  struct Changed {
    c10::intrusive_ptr<ProcessGroupHeddle> group;
    std::vector<uint32_t> former_ranks;  // in this one; of newcomers none: they follow
  };
  // That of the ranks that are left. Waits for them.
  Changed reconfigure(Nanos join_within);
  // That with the processes which wait in join(); nothing: there are none. All ranks call it.
  std::optional<Changed> grow(const c10::intrusive_ptr<c10d::Store>& store, Nanos find_within);
  // Of a newcomer: the group that has taken it in. `timeout` is that of its calls.
  static c10::intrusive_ptr<ProcessGroupHeddle> join(const c10::intrusive_ptr<c10d::Store>& store,
                                                     const collectives::JoinOptions& options,
                                                     std::chrono::milliseconds timeout);
  // Ends all calls, here and on all other ranks. A group that has left or has no members has none:
  // torch aborts all groups that there are.
  void abort();
  // Why it has failed; empty: it works, has left or has no members.
  std::string error() const;
  // Throws where leave() was called.
  void check_present() const { static_cast<void>(endpoint()); }
  // Which other ranks' endpoints answer within `timeout`; they need not call anything for it.
  PeersThatAnswer peers_that_answer(Nanos timeout);
  uint64_t number() const;

  const std::string getBackendName() const override { return "heddle"; }

  // --- process_group_2x.cc: names of 2.x's Backend, see c10d.h ---

  // As leave().
  void shutdown();
  ErrorType getError();
  // Of calls that are made from now on and name none of their own.
  void setTimeout(std::chrono::milliseconds timeout);
  BackendOptions getBackendOptions();
  bool supportsSplitting() const { return true; }
  // The group of these ranks, which all call it, with a store that no other group uses; null where
  // this one is not among them.
  c10::intrusive_ptr<BackendBase> split(const c10::intrusive_ptr<c10d::Store>& store,
                                        const std::vector<int>& ranks,
                                        const BackendOptions& options);
  bool supportsShrinking() const { return true; }
  // The group without these ranks, which takes the place of this one. Those that are left call it,
  // all of them: throws where others have come. This one has left then, and there is none.
  c10::intrusive_ptr<BackendBase> shrink(const std::vector<int64_t>& excluded, int flags,
                                         const BackendOptions& options);
#ifdef C10D_BACKEND_HAS_RECONFIGURE  // a macro of torch
  bool supportsReconfigure() const override { return true; }
  c10d::ReconfigureHandle get_reconfigure_handle() const override;
  // This group gets the members of these handles, which all call it: their first call, a barrier,
  // is the answer.
  WorkPtr reconfigure(const c10d::ReconfigureOptions& options) override;
#endif

  WorkPtr broadcast(Tensors& tensors, const c10d::BroadcastOptions& opts) override;
  WorkPtr allreduce(Tensors& tensors, const c10d::AllreduceOptions& opts) override;
  // One sparse tensor. Torch 1.13 gives it to allreduce().
  WorkPtr allreduce_sparse(Tensors& tensors, const c10d::AllreduceOptions& opts);
  WorkPtr allreduce_coalesced(Tensors& tensors,
                              const c10d::AllreduceCoalescedOptions& opts) override;
  WorkPtr reduce(Tensors& tensors, const c10d::ReduceOptions& opts) override;
  WorkPtr allgather(std::vector<Tensors>& outputs, Tensors& inputs,
                    const c10d::AllgatherOptions& opts) override;
  WorkPtr _allgather_base(at::Tensor& output, at::Tensor& input,
                          const c10d::AllgatherOptions& opts) override;
  WorkPtr allgather_coalesced(std::vector<Tensors>& output_lists, Tensors& inputs,
                              const c10d::AllgatherOptions& opts) override;
  // Each as _allgather_base(), all begin together; since 2.1.
  WorkPtr allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                          const c10d::AllgatherOptions& opts);
  WorkPtr gather(std::vector<Tensors>& outputs, Tensors& inputs,
                 const c10d::GatherOptions& opts) override;
  WorkPtr scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                  const c10d::ScatterOptions& opts) override;
  WorkPtr reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                         const c10d::ReduceScatterOptions& opts) override;
  WorkPtr _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                               const c10d::ReduceScatterOptions& opts) override;
  // Each as _reduce_scatter_base(), all begin together; since 2.1.
  WorkPtr reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                          const c10d::ReduceScatterOptions& opts);
  WorkPtr alltoall_base(at::Tensor& output, at::Tensor& input, std::vector<int64_t>& output_splits,
                        std::vector<int64_t>& input_splits,
                        const c10d::AllToAllOptions& opts) override;
  WorkPtr alltoall(Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions& opts) override;
  WorkPtr send(Tensors& tensors, int to, int tag) override;
  WorkPtr recv(Tensors& tensors, int from, int tag) override;
  WorkPtr recvAnysource(Tensors& tensors, int tag) override;
  WorkPtr barrier(const c10d::BarrierOptions& opts) override;
  void monitoredBarrier(const c10d::BarrierOptions& opts, bool wait_all_ranks) override;
  void setSequenceNumberForGroup() override {}
  uint64_t getSequenceNumberForGroup() override { return calls_; }

 private:
  using Communicator = std::shared_ptr<collectives::SharedCommunicator>;

  // What a call is made for, as it begins: its tensors are checked against this size, and posted on
  // no other communicator, whatever becomes of the group between.
  struct Seat {
    std::weak_ptr<collectives::SharedCommunicator> communicator;
    std::weak_ptr<Pairs> pairs;
    std::shared_ptr<AnySource> any_source;
    int rank = 0;
    int size = 0;
  };
  Seat own_seat() const;
  // Throw where the group has left it, or has got another.
  Communicator communicator_of(const Seat& seat) const;
  std::shared_ptr<Pairs> pairs_of(const Seat& seat) const;

  // A block of `input` for each rank becomes one of `output`; see process_group_blocks.cc.
  struct Blocks {
    collectives::Collective collective;
    Tensors input;
    Tensors output;
    uint64_t block = 0;  // torch's elements in one
    uint32_t root = 0;
  };
  Plan plan_of(const Blocks& blocks, const Elements& elements) const;
  collectives::Call exchange_of(const Buffer& output, const Buffer& input,
                                const std::vector<uint64_t>& output_counts,
                                const std::vector<uint64_t>& input_counts) const;
  // What leave() takes away, or throws.
  Communicator communicator() const;
  std::shared_ptr<collectives::DrivenEndpoint> endpoint() const;
  Changed change_to(collectives::SharedCommunicator::Shrunk shrunk);
  std::shared_ptr<Pairs> pairs() const;
  // Those of its communicator end, with an error, and it has these members.
  void take(const collectives::Members& members);
  collectives::OwnHandle own_handle(const collectives::DrivenEndpoint& endpoint) const;
  WorkPtr start(const Seat& seat, Plan plan, std::chrono::milliseconds timeout);
  WorkPtr reduce_sparse(at::Tensor& tensor, const c10d::AllreduceOptions& opts);
  WorkPtr reduce_each(Plan plan, const Tensors& tensors, const c10d::AllreduceOptions& opts);
  WorkPtr message(Tensors& tensors, int peer, int tag, bool sends);
  WorkPtr receive_any(const Seat& seat, Plan plan, std::optional<uint32_t> source, int tag);
  void wait_for_all(const Seat& seat, std::chrono::milliseconds timeout, bool name_all);
  void notify_all(const Seat& seat);
  static uint32_t check_rank(const Seat& seat, int64_t rank, const char* call);
  std::chrono::milliseconds patience(std::chrono::milliseconds asked) const;

  mutable OwnMutex mutex_;
  std::shared_ptr<collectives::DrivenEndpoint> endpoint_;  // under mutex_
  Communicator communicator_;                              // under mutex_
  std::shared_ptr<Pairs> pairs_;                           // under mutex_
  std::shared_ptr<AnySource> any_source_;                  // under mutex_
  const uint64_t number_;    // of this process in this group's handles
  OwnMutex change_mutex_;    // one reconfigure() by handles at a time
  std::set<int64_t> uuids_;  // that it was reconfigured by; under change_mutex_
  std::atomic<std::chrono::milliseconds> timeout_;
  std::atomic<uint64_t> calls_ = 0;
};

}  // namespace heddle::pytorch
