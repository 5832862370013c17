// ChunkSender: the sending half of the verbs datapath: one queue pair a connection and chunk path,
// asked for when the path is first used. Chunks wait for it in user memory. A reliable queue pair
// that fails stays failed until the path has a new epoch, and all its chunks are reported as
// failed; an unreliable one is made anew. A queue pair that has failed or was recalled is broken
// off and handed to the QueuePairEnder; each of its writes is reported once the NIC is done with
// it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ring.h"
#include "datapath/verbs/exchange.h"
#include "datapath/verbs/queue_pair.h"
#include "datapath/verbs/queue_pair_ender.h"
#include "transport/tx_batch.h"

namespace heddle::datapath {

class ChunkSender {
 public:
  struct Options {
    RdmaMode mode = RdmaMode::kReliable;
    uint8_t traffic_class = 0;
  };
  // Events of writes that ended go to `events`.
  ChunkSender(VerbsDevice& device, Exchange& exchange, QueuePairEnder& ender,
              const Options& options, Ring<transport::NicEvent>& events);
  ~ChunkSender();
  ChunkSender(const ChunkSender&) = delete;
  ChunkSender& operator=(const ChunkSender&) = delete;

  // Takes a chunk whose payload is at `from`; it leaves with the next flush(), or once its queue
  // pair is connected. `local_key` is not used where the chunk is empty.
  void send(Nanos now, const transport::TxBurst& burst, const std::byte* from, uint32_t local_key);
  // A chunk whose memory the NIC cannot read.
  void refuse(const transport::TxBurst& burst);
  // Posts what send() has taken: one call a queue pair.
  void flush();

  // A request of one of its queue pairs has ended.
  void on_completion(const Completion& completion);
  void on_message(const transport::Address& from, const ExchangeMessage& message);
  void on_silence(uint64_t nonce);
  // The connection is over: its queue pairs end.
  void close(uint32_t connection);
  // See Datapath::recall(). A queue pair that the peer has not answered for stays asked for. Its
  // writes may be read until reads() says otherwise.
  void recall(const transport::RecallRequest& request);
  // 0: no write that the request covers reads memory any more. Else the number of a queue pair at
  // whose end, or on whose completions before it, that is so.
  uint64_t reads(const transport::RecallRequest& request) const;
  // Queue pairs may have ended: reports their writes.
  void settle();
  // The region's memory ends: no chunk of it is posted any more. The NIC fails those that it has.
  void drop_waiting(transport::RegionId region);
  // The device has failed: every chunk, now and later, is one that did not arrive.
  void give_up();

  // Queue pairs that are connected.
  size_t connected() const { return by_id_.size(); }

 private:
  enum class State : uint8_t { kIdle, kAsking, kConnected, kFailed };
  struct Waiting {
    uint64_t number = 0;
    transport::RegionId region = transport::kNoRegion;
    RemoteWriteRequest write;
  };
  struct Posted {
    uint64_t number = 0;
    bool reads = false;  // it has payload
  };
  struct Path {
    uint32_t connection = 0;
    uint16_t path = 0;
    State state = State::kIdle;
    uint32_t epoch = 0;
    uint32_t id = 0;  // of its queue pair's completions
    uint64_t nonce = 0;
    uint32_t first_number = 0;
    std::unique_ptr<QueuePair> pair;
    Ring<Waiting> waiting;
    Ring<Posted> posted;  // in order
    bool dirty = false;   // part of dirty_
  };
  // Writes of a queue pair that was broken off, and that the NIC may not be done with.
  struct Ending {
    uint32_t connection = 0;
    uint16_t path = 0;
    uint32_t epoch = 0;
    uint64_t number = 0;  // of its queue pair, as the ender counts
    Ring<Posted> posted;
  };
  using Key = std::pair<uint32_t, uint16_t>;  // local connection, path

  void ask(Nanos now, Path& path, const transport::TxBurst& burst);
  void connect(Path& path, const transport::Address& peer, const ExchangeMessage& answer);
  void post(Path& path);
  // Ends the queue pair; reliable: its chunks are reported.
  void break_path(Path& path, const char* why);
  void drop_pair(Path& path);
  void recall(Path& path);
  void on_flushed(uint32_t id, bool ok);
  // `from`: a Path or what is Ending.
  template <typename From>
  void report(const From& from, uint64_t number, bool ok);

  VerbsDevice& device_;
  Exchange& exchange_;
  QueuePairEnder& ender_;
  Options options_;
  Ring<transport::NicEvent>& events_;
  std::map<Key, Path> paths_;
  std::map<uint32_t, Ending> ending_;             // by id of completions
  std::unordered_map<uint32_t, Path*> by_id_;     // connected ones
  std::unordered_map<uint64_t, Path*> by_nonce_;  // those that ask or are connected
  std::map<uint32_t, VerbsToken> tokens_;         // the latest of each connection, for probes
  std::vector<Path*> dirty_;
  uint32_t last_id_ = 0;
  uint32_t attempts_ = 0;
  bool given_up_ = false;
};

}  // namespace heddle::datapath
