// UdReceiver: the receiving queue pair of UD: slots in which the NIC puts datagrams, and runs made
// of them. A slot belongs to the NIC, to a batch that is lent, or waits between the two. What is no
// datagram for this endpoint goes back at once. UdDatapath drives it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/nanos.h"
#include "base/ring.h"
#include "datapath/datapath.h"
#include "datapath/ud/greeting.h"
#include "datapath/ud/packet.h"
#include "datapath/ud/slots.h"
#include "datapath/verbs/queue_pair.h"
#include "datapath/verbs/queue_pair_ender.h"

struct ibv_wc;

namespace heddle::datapath {

class UdReceiver {
 public:
  struct Options {
    transport::Address local;
    uint32_t key = 0;
    uint32_t slots = 0;  // at most; half as many where memory cannot be locked
    uint32_t max_datagram_bytes = 0;
  };

  // All must outlive it.
  UdReceiver(VerbsDevice& device, QueuePairEnder& ender, const Options& options,
             DatapathStatistics& statistics)
      : device_(device), ender_(ender), options_(options), statistics_(statistics) {}
  ~UdReceiver();
  UdReceiver(const UdReceiver&) = delete;
  UdReceiver& operator=(const UdReceiver&) = delete;

  Result<void> open();
  // Of the queue pair; 0: there is none now.
  uint32_t number() const { return pair_ ? pair_->number() : 0; }
  uint32_t slots() const { return slots_->count(); }

  // Of a request of its queue pair.
  void on_completion(Nanos now, const ibv_wc& done);
  // True: a new queue pair took the place of one that had failed.
  bool settle(Nanos now);
  bool has_input() const { return !arrived_.empty() || !greetings_.empty(); }

  // A greeting that came by the queue pair, and from which host.
  struct Greeted {
    transport::Address from;
    Greeting greeting;
  };
  Ring<Greeted>& greetings() { return greetings_; }

  // Slots that were given back, where there are enough for a call.
  void post_free(Nanos now);
  // See Datapath::receive; `batch` is empty.
  size_t receive(Nanos now, RxBatch& batch);
  void release();

  // Datagrams that were none for this endpoint.
  uint64_t refused() const { return refused_; }
  uint64_t failed_pairs() const { return failed_; }

 private:
  struct Arrived {
    uint32_t slot = 0;
    UdArrival arrival;
  };

  Result<void> make();
  bool post(const std::vector<uint32_t>& slots);
  void add(uint32_t slot, const UdArrival& arrival);
  static bool join(transport::RxRun& run, const Arrived& next, const std::byte* at, size_t step);
  void give_back(uint32_t slot);
  void fail_pair(Nanos now, const char* why);
  const std::byte* datagram_at(uint32_t slot) const;

  VerbsDevice& device_;
  QueuePairEnder& ender_;
  Options options_;
  DatapathStatistics& statistics_;
  std::shared_ptr<UdSlots> slots_;
  std::unique_ptr<QueuePair> pair_;
  uint32_t serial_ = 0;         // of pair_
  uint64_t ending_ = 0;         // the latest that failed, as the ender counts
  Nanos again_at_;              // not before
  std::vector<bool> with_nic_;  // by slot
  std::vector<uint32_t> free_;  // slots to be posted, in order
  std::vector<uint32_t> lent_;
  Ring<Arrived> arrived_;
  Ring<Greeted> greetings_;
  uint64_t refused_ = 0;
  uint64_t failed_ = 0;
};

}  // namespace heddle::datapath
