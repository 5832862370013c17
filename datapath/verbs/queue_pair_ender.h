// QueuePairEnder: ends queue pairs on a thread of its own, since a call that destroys one may block
// for a second and more: soft-RoCE waits for each packet that it has sent on it. They end in the
// order in which they came, so one number says which have. The thread that drives the datapath
// makes all calls.
#pragma once

#include <cstdint>
#include <memory>

#include "base/nanos.h"
#include "base/thread.h"
#include "datapath/verbs/params.h"
#include "datapath/verbs/queue_pair.h"

namespace heddle::datapath {

class QueuePairEnder {
 public:
  // `device`: of all its queue pairs.
  explicit QueuePairEnder(std::shared_ptr<VerbsDevice> device,
                          Nanos ends_within = verbs_params::kEndsWithin);
  // Waits until all have ended, at most `ends_within`. Then its thread ends the others, and what
  // was kept and the device after them.
  ~QueuePairEnder();
  QueuePairEnder(const QueuePairEnder&) = delete;
  QueuePairEnder& operator=(const QueuePairEnder&) = delete;

  // Breaks the queue pair off and has it destroyed soon; returns its number. It waits for nothing,
  // except where the system allows no thread, or libmlx5 no second one: there it has ended on
  // return.
  uint64_t end(std::unique_ptr<QueuePair> pair);
  // Those up to this number have ended: nothing of them lands, or is read, any more.
  uint64_t ended();
  // Whether one has ended since the last call of ended().
  bool has_ended() const;
  // The number of the latest one.
  uint64_t latest() const;
  // Those that have not ended.
  uint64_t waiting() const;
  // Memory that they may use until all have ended.
  void keep(std::shared_ptr<void> memory);
  // Waits until ended() is `number` or more.
  void wait_for(uint64_t number);

  // Readable when one has ended, until take_notification(); -1: the system has no more descriptors.
  int descriptor() const;
  void take_notification();

 private:
  class Body;
  static bool may_have_a_thread();

  std::shared_ptr<Body> body_;
  Thread thread_;
  Nanos ends_within_;
};

}  // namespace heddle::datapath
