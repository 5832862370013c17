// ChunkReceiver: the receiving half of the verbs datapath: makes queue pairs for peers of open
// connections that show this process's secret, reports chunks that have landed, and fences: it ends
// a queue pair, and once no write of it lands any more, answers; from then on only requests of the
// new epoch get one. A queue pair ends by the QueuePairEnder; until then its path gets no other.
//
// What strangers can do: a request without the secret, 64 random bits that only granted tokens
// carry, is dropped without an answer. One with it is refused unless it names an open connection
// and comes from the host of that connection's peer; each path of a connection has one queue pair,
// at most one new one in kNewPairEvery. Through a queue pair its peer can write to every region
// whose key it knows or guesses (32 bits): RDMA protects memory by keys, not by peer. A host that
// reads the network's packets reads both. So verbs are for networks whose hosts trust each other.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ring.h"
#include "datapath/verbs/exchange.h"
#include "datapath/verbs/queue_pair.h"
#include "datapath/verbs/queue_pair_ender.h"
#include "transport/placed.h"

namespace heddle::datapath {

class ChunkReceiver {
 public:
  struct Options {
    uint64_t secret = 0;
    uint8_t traffic_class = 0;
  };
  ChunkReceiver(VerbsDevice& device, Exchange& exchange, QueuePairEnder& ender,
                const Options& options, Ring<transport::NicEvent>& events)
      : device_(device), exchange_(exchange), ender_(ender), options_(options), events_(events) {}
  ~ChunkReceiver();
  ChunkReceiver(const ChunkReceiver&) = delete;
  ChunkReceiver& operator=(const ChunkReceiver&) = delete;

  // Until stop() and finish() of every path, requests of this peer for the connection are taken.
  void admit(const transport::WriterAdmission& peer);
  void on_request(Nanos now, const transport::Address& from, const ExchangeMessage& request);
  void on_completion(Nanos now, const Completion& completion);

  // A fence in two steps, so that the caller can take completions of writes that landed before it:
  // stop() lets no further write complete, finish() answers, at once or by a later settle().
  void stop(const transport::FenceRequest& request);
  void finish(const transport::FenceRequest& request);
  // Queue pairs may have ended: answers the fences and the requests that waited for it.
  void settle();

  size_t pairs() const { return by_id_.size(); }
  size_t paths() const { return paths_.size(); }  // of which it keeps something

 private:
  struct Path {
    uint32_t connection = 0;  // local
    uint16_t path = 0;
    uint32_t epoch = 0;
    uint32_t id = 0;
    transport::Address from;  // of the requester
    uint32_t taken = 0;       // receives to be posted again
    Nanos next_pair_at;       // earlier requests for another queue pair are dropped
    bool over = false;        // its connection has ended
    uint64_t ending = 0;      // its latest queue pair that ends, as the ender counts
    ExchangeMessage answer;
    ExchangeMessage request;  // that waits for that end, if the path is in awaited_
    std::unique_ptr<QueuePair> pair;
  };
  using Key = std::pair<uint32_t, uint16_t>;  // local connection, the peer's path
  struct Fence {
    transport::FenceRequest request;
    uint64_t after = 0;  // queue pairs up to this one may still be written through
  };

  Path& path_of(uint32_t connection, uint16_t number);
  bool may_have_pair(const transport::Address& from, const ExchangeMessage& request) const;
  void await_end(const transport::Address& from, const ExchangeMessage& request, Path& path);
  void answer(const transport::Address& from, const ExchangeMessage& request, Path& path);
  bool make(const transport::Address& from, const ExchangeMessage& request, Path& path);
  void confirm(const transport::FenceRequest& request);
  void break_pair(Path& path, const char* why);
  void drop_pair(Path& path);
  template <typename Visit>
  void for_each_path(const transport::FenceRequest& request, Visit visit);

  VerbsDevice& device_;
  Exchange& exchange_;
  QueuePairEnder& ender_;
  Options options_;
  Ring<transport::NicEvent>& events_;
  std::unordered_map<uint32_t, transport::WriterAdmission> admitted_;  // by local connection
  std::map<Key, Path> paths_;                                          // of those that were used
  std::unordered_map<uint32_t, Path*> by_id_;
  std::set<Key> awaited_;      // paths with a request that waits for the end of a queue pair
  std::vector<Fence> fences_;  // that wait for it, in order
  uint32_t last_id_ = 0;
};

}  // namespace heddle::datapath
