// See chunk_receiver.h.
#include "datapath/verbs/chunk_receiver.h"

#include <algorithm>

#include "base/log.h"
#include "datapath/verbs/params.h"

namespace heddle::datapath {

using transport::FenceRequest;
using transport::NicEvent;
using transport::NicEventKind;

ChunkReceiver::~ChunkReceiver() {
  for (auto& [key, path] : paths_) drop_pair(path);
}

void ChunkReceiver::admit(const transport::WriterAdmission& peer) {
  admitted_[peer.connection] = peer;
}

ChunkReceiver::Path& ChunkReceiver::path_of(uint32_t connection, uint16_t number) {
  Path& path = paths_[{connection, number}];
  path.connection = connection;
  path.path = number;
  return path;
}

bool ChunkReceiver::may_have_pair(const transport::Address& from,
                                  const ExchangeMessage& request) const {
  const auto found = admitted_.find(request.to_connection);
  return found != admitted_.end() && request.path < found->second.paths &&
         from.host == found->second.peer.host;
}

void ChunkReceiver::on_request(Nanos now, const transport::Address& from,
                               const ExchangeMessage& request) {
  if (request.secret != options_.secret) return;
  ExchangeMessage refusal = request;
  refusal.kind = ExchangeKind::kRefusal;
  refusal.secret = 0;
  if (!may_have_pair(from, request)) {
    exchange_.send(from, refusal);
    return;
  }
  Path& path = path_of(request.to_connection, request.path);
  if (path.pair && path.answer.nonce == request.nonce) {
    exchange_.send(from, path.answer);  // the first answer was lost
    return;
  }
  const bool awaited = awaited_.count({path.connection, path.path}) > 0;
  const ExchangeMessage& earlier = awaited ? path.request : path.answer;
  if (awaited && earlier.nonce == request.nonce) return;
  // A queue pair belongs to its first requester until it is fenced; that one may replace it, and
  // an earlier request that comes late changes nothing.
  const bool replaces = path.pair != nullptr || awaited;
  const bool same = earlier.from_connection == request.from_connection;
  if (replaces && same && request.attempt < earlier.attempt) return;
  if (now < path.next_pair_at && request.epoch == path.epoch) return;  // it is repeated
  const bool room =
      replaces || pairs() + awaited_.size() + ender_.waiting() < verbs_params::kMaxReceivingPairs;
  const bool wanted = room && request.epoch == path.epoch && (!replaces || same);
  if (!wanted) {
    exchange_.send(from, refusal);
    return;
  }
  path.next_pair_at = now + verbs_params::kNewPairEvery;
  drop_pair(path);
  if (path.ending > ender_.ended()) {
    await_end(from, request, path);
  } else {
    awaited_.erase({path.connection, path.path});
    answer(from, request, path);
  }
}

// The old queue pair ends first, so that no write of it lands after one of the new. A later request
// takes the place of one that waits.
void ChunkReceiver::await_end(const transport::Address& from, const ExchangeMessage& request,
                              Path& path) {
  path.from = from;
  path.request = request;
  awaited_.insert({path.connection, path.path});
}

void ChunkReceiver::answer(const transport::Address& from, const ExchangeMessage& request,
                           Path& path) {
  if (make(from, request, path)) {
    exchange_.send(from, path.answer);
    return;
  }
  ExchangeMessage refusal = request;
  refusal.kind = ExchangeKind::kRefusal;
  refusal.secret = 0;
  exchange_.send(from, refusal);
}

bool ChunkReceiver::make(const transport::Address& from, const ExchangeMessage& request,
                         Path& path) {
  CHECK(!path.pair);
  const uint32_t id = ++last_id_;
  Result<std::unique_ptr<QueuePair>> made =
      QueuePair::create(device_, {.mode = request.mode,
                                  .receives = true,
                                  .id = uint64_t{id} << 1 | 1,
                                  .traffic_class = options_.traffic_class});
  if (!made) {
    log_warn("RDMA: {}", made.error().message());
    return false;
  }
  path.answer = request;
  path.answer.kind = ExchangeKind::kAnswer;
  path.answer.secret = 0;
  path.answer.mtu = std::min(request.mtu, device_.mtu());
  path.answer.queue_pair = (*made)->number();
  const Result<void> connected = (*made)->connect({.address = from,
                                                   .queue_pair = request.queue_pair,
                                                   .first_number = request.first_number,
                                                   .mtu = path.answer.mtu},
                                                  0);
  if (!connected || !(*made)->post_receives(verbs_params::kReceiveDepth)) {
    log_warn("RDMA: a queue pair for {} cannot be connected{}", path.connection,
             connected ? "" : ": " + connected.error().message());
    return false;
  }
  path.id = id;
  path.from = from;
  path.taken = 0;
  path.pair = std::move(*made);
  by_id_[path.id] = &path;
  return true;
}

void ChunkReceiver::on_completion(Nanos now, const Completion& completion) {
  const auto found = by_id_.find(static_cast<uint32_t>(completion.id >> 1));
  if (found == by_id_.end()) return;  // of a queue pair that has ended
  Path& path = *found->second;
  if (!completion.ok && path.over) return;  // stop() has ended its receives
  if (!completion.ok) {
    break_pair(path, completion.error);
    return;
  }
  NicEvent event;
  event.kind = NicEventKind::kArrived;
  event.connection = path.connection;
  event.path = path.path;
  event.immediate = completion.immediate;
  event.bytes = completion.bytes;
  event.from = path.from;
  event.at = now;
  events_.push_back(event);
  if (++path.taken < verbs_params::kReceiveRow) return;
  if (!path.pair->post_receives(std::exchange(path.taken, 0)) && !path.over) {
    break_pair(path, "its queue takes no receive");
  }
}

void ChunkReceiver::break_pair(Path& path, const char* why) {
  log_info("RDMA: receiving queue pair of connection {:08x}, path {}: {}", path.connection,
           path.path, why);
  ExchangeMessage broken = path.answer;
  broken.kind = ExchangeKind::kBroken;
  exchange_.send(path.from, broken);
  drop_pair(path);
}

template <typename Visit>
void ChunkReceiver::for_each_path(const FenceRequest& request, Visit visit) {
  const bool every = request.path == FenceRequest::kEveryPath;
  for (auto entry = paths_.lower_bound({request.connection, every ? uint16_t{0} : request.path});
       entry != paths_.end() && entry->first.first == request.connection &&
       (every || entry->first.second == request.path);
       ++entry) {
    visit(entry->second);
  }
}

void ChunkReceiver::stop(const FenceRequest& request) {
  const bool over = request.path == FenceRequest::kEveryPath;
  for_each_path(request, [over](Path& path) {
    path.over = over;
    if (path.pair) path.pair->break_off();
  });
}

void ChunkReceiver::finish(const FenceRequest& request) {
  uint64_t after = 0;
  for_each_path(request, [this, &after](Path& path) {
    drop_pair(path);
    awaited_.erase({path.connection, path.path});  // a request of the old epoch
    after = std::max(after, path.ending);
  });
  const auto peer = admitted_.find(request.connection);
  if (request.path == FenceRequest::kEveryPath) {
    paths_.erase(paths_.lower_bound({request.connection, 0}),
                 paths_.upper_bound({request.connection, UINT16_MAX}));
    admitted_.erase(request.connection);
  } else if (peer != admitted_.end() && request.path < peer->second.paths) {
    path_of(request.connection, request.path).epoch = request.epoch;
  }
  if (after > ender_.ended()) {
    fences_.push_back({request, after});
  } else {
    confirm(request);
  }
}

void ChunkReceiver::settle() {
  if (fences_.empty() && awaited_.empty()) return;
  const uint64_t ended = ender_.ended();
  std::erase_if(fences_, [this, ended](const Fence& fence) {
    if (fence.after > ended) return false;
    confirm(fence.request);
    return true;
  });
  for (auto key = awaited_.begin(); key != awaited_.end();) {
    Path& path = paths_.at(*key);
    if (path.ending > ended) {
      ++key;
      continue;
    }
    key = awaited_.erase(key);
    answer(path.from, path.request, path);
  }
}

void ChunkReceiver::confirm(const FenceRequest& request) {
  NicEvent event;
  event.kind = NicEventKind::kFenced;
  event.connection = request.connection;
  event.path = request.path;
  event.epoch = request.epoch;
  events_.push_back(event);
}

void ChunkReceiver::drop_pair(Path& path) {
  if (!path.pair) return;
  by_id_.erase(path.id);
  path.ending = ender_.end(std::move(path.pair));
}

}  // namespace heddle::datapath
