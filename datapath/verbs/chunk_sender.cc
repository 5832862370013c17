// See chunk_sender.h.
#include "datapath/verbs/chunk_sender.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "datapath/verbs/params.h"

namespace heddle::datapath {

using transport::NicEvent;
using transport::NicEventKind;
using transport::TxBurst;

namespace {

// A nonce must not be guessed from earlier ones.
uint64_t system_random() {
  uint64_t number = 0;
  CHECK(getrandom(&number, sizeof number, 0) == sizeof number);
  return number;
}

}  // namespace

ChunkSender::ChunkSender(VerbsDevice& device, Exchange& exchange, QueuePairEnder& ender,
                         const Options& options, Ring<NicEvent>& events)
    : device_(device), exchange_(exchange), ender_(ender), options_(options), events_(events) {}

ChunkSender::~ChunkSender() {
  for (auto& [key, path] : paths_) drop_pair(path);
}

void ChunkSender::send(Nanos now, const TxBurst& burst, const std::byte* from, uint32_t local_key) {
  const transport::ChunkWrite& write = *burst.write;
  Path& path = paths_[{write.from_connection, burst.path}];
  path.connection = write.from_connection;
  path.path = burst.path;
  if (write.epoch != path.epoch) {
    // The peer has ended the queue pair of the earlier epoch.
    break_path(path, "the path was fenced");
    path.state = State::kIdle;
    path.epoch = write.epoch;
  }
  const auto token = read_token(write.token);
  if (token) tokens_[path.connection] = *token;
  if (given_up_ || path.state == State::kFailed || (!token && burst.payload_bytes > 0) ||
      path.waiting.size() >= verbs_params::kMaxPending) {
    report(path, write.number, false);
    return;
  }
  Waiting chunk{write.number, burst.region, {}};
  chunk.write.from = from;
  chunk.write.bytes = burst.payload_bytes;
  chunk.write.local_key = local_key;
  if (token) {
    chunk.write.to = token->address + write.remote_offset;
    chunk.write.remote_key = token->remote_key;
  }
  chunk.write.immediate = write.immediate;
  path.waiting.push_back(chunk);
  if (path.state == State::kIdle) ask(now, path, burst);
  if (path.state != State::kConnected || path.dirty) return;
  path.dirty = true;
  dirty_.push_back(&path);
}

void ChunkSender::refuse(const TxBurst& burst) {
  const transport::ChunkWrite& write = *burst.write;
  if (options_.mode != RdmaMode::kReliable) return;
  NicEvent event;
  event.kind = NicEventKind::kSent;
  event.connection = write.from_connection;
  event.path = burst.path;
  event.epoch = write.epoch;
  event.number = write.number;
  event.ok = false;
  events_.push_back(event);
}

void ChunkSender::ask(Nanos now, Path& path, const TxBurst& burst) {
  const auto token = tokens_.find(path.connection);
  if (token == tokens_.end()) {
    break_path(path, "no token of the peer is known");
    return;
  }
  if (ender_.waiting() >= verbs_params::kMostEnding) {
    break_path(path, "earlier queue pairs have not ended");
    return;
  }
  path.id = ++last_id_;
  Result<std::unique_ptr<QueuePair>> made =
      QueuePair::create(device_, {.mode = options_.mode,
                                  .receives = false,
                                  .id = uint64_t{path.id} << 1,
                                  .traffic_class = options_.traffic_class});
  if (!made) {
    log_warn("RDMA: {}", made.error().message());
    break_path(path, "there is no queue pair");
    return;
  }
  path.pair = std::move(*made);
  path.nonce = system_random();
  path.first_number = static_cast<uint32_t>(system_random() & 0xff'ffff);
  path.state = State::kAsking;
  by_nonce_[path.nonce] = &path;
  ExchangeMessage request;
  request.kind = ExchangeKind::kRequest;
  request.mode = options_.mode;
  request.mtu = device_.mtu();
  request.path = path.path;
  request.epoch = path.epoch;
  request.from_connection = path.connection;
  request.to_connection = burst.write->to_connection;
  request.attempt = ++attempts_;
  request.queue_pair = path.pair->number();
  request.first_number = path.first_number;
  request.secret = token->second.secret;
  request.nonce = path.nonce;
  transport::Address to = burst.to;
  to.port = token->second.exchange_port;
  exchange_.request(now, to, request);
}

void ChunkSender::on_message(const transport::Address& from, const ExchangeMessage& message) {
  const auto found = by_nonce_.find(message.nonce);
  if (found == by_nonce_.end()) return;
  Path& path = *found->second;
  exchange_.finish(message.nonce);
  if (message.kind == ExchangeKind::kAnswer) {
    if (path.state == State::kAsking) connect(path, from, message);
  } else {
    break_path(path, message.kind == ExchangeKind::kRefusal ? "the peer makes no queue pair"
                                                            : "the peer's queue pair is broken");
  }
}

void ChunkSender::on_silence(uint64_t nonce) {
  const auto found = by_nonce_.find(nonce);
  if (found != by_nonce_.end()) break_path(*found->second, "the peer answers no request for it");
}

void ChunkSender::connect(Path& path, const transport::Address& peer,
                          const ExchangeMessage& answer) {
  const Result<void> connected = path.pair->connect({.address = peer,
                                                     .queue_pair = answer.queue_pair,
                                                     .first_number = answer.first_number,
                                                     .mtu = std::min(answer.mtu, device_.mtu())},
                                                    path.first_number);
  if (!connected) {
    log_warn("RDMA: {}", connected.error().message());
    break_path(path, "it cannot be connected");
    return;
  }
  path.state = State::kConnected;
  by_id_[path.id] = &path;
  post(path);
}

void ChunkSender::flush() {
  for (Path* const path : dirty_) {
    path->dirty = false;
    if (path->state == State::kConnected) post(*path);
  }
  dirty_.clear();
}

void ChunkSender::post(Path& path) {
  std::array<RemoteWriteRequest, verbs_params::kSendDepth> row;
  const size_t room = verbs_params::kSendDepth - path.posted.size();
  const size_t count = std::min(room, path.waiting.size());
  for (size_t i = 0; i < count; ++i) row[i] = path.waiting[i].write;
  const size_t taken = path.pair->post_writes({row.data(), count});
  for (size_t i = 0; i < taken; ++i) {
    const Waiting chunk = path.waiting.pop_front();
    path.posted.push_back({chunk.number, chunk.write.bytes > 0});
  }
  if (taken < count && path.posted.empty()) break_path(path, "its queue takes no write");
}

void ChunkSender::on_completion(const Completion& completion) {
  const auto id = static_cast<uint32_t>(completion.id >> 1);
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) {
    on_flushed(id, completion.ok);
    return;
  }
  Path& path = *found->second;
  if (!completion.ok) {
    break_path(path, completion.error);
    on_flushed(id, false);
    return;
  }
  if (path.posted.empty()) return;
  report(path, path.posted.pop_front().number, true);
  if (!path.waiting.empty() && !path.dirty) {
    path.dirty = true;
    dirty_.push_back(&path);
  }
}

void ChunkSender::break_path(Path& path, const char* why) {
  if (path.state == State::kConnected || path.state == State::kAsking) {
    log_info("RDMA: queue pair of connection {:08x}, path {}, epoch {}: {}", path.connection,
             path.path, path.epoch, why);
  }
  drop_pair(path);
  path.state = options_.mode == RdmaMode::kReliable ? State::kFailed : State::kIdle;
  while (!path.waiting.empty()) report(path, path.waiting.pop_front().number, false);
}

void ChunkSender::drop_pair(Path& path) {
  if (!path.pair) return;
  exchange_.finish(path.nonce);
  by_id_.erase(path.id);
  by_nonce_.erase(path.nonce);
  const uint64_t number = ender_.end(std::move(path.pair));
  if (path.posted.empty()) return;
  Ending& ending = ending_[path.id];
  ending = {path.connection, path.path, path.epoch, number, std::move(path.posted)};
  path.posted = {};
  settle();  // where there is no thread, it has ended
}

// Completions of one queue pair come in the order of its writes.
void ChunkSender::on_flushed(uint32_t id, bool ok) {
  const auto found = ending_.find(id);
  if (found == ending_.end()) return;
  Ending& ending = found->second;
  report(ending, ending.posted.pop_front().number, ok);
  if (ending.posted.empty()) ending_.erase(found);
}

void ChunkSender::settle() {
  if (ending_.empty()) return;
  const uint64_t ended = ender_.ended();
  for (auto entry = ending_.begin(); entry != ending_.end();) {
    Ending& ending = entry->second;
    if (ending.number > ended) {
      ++entry;
      continue;
    }
    while (!ending.posted.empty()) report(ending, ending.posted.pop_front().number, false);
    entry = ending_.erase(entry);
  }
}

uint64_t ChunkSender::reads(const transport::RecallRequest& request) const {
  uint64_t number = 0;
  for (const auto& [id, ending] : ending_) {
    const bool covered =
        ending.connection == request.connection &&
        (request.path == transport::RecallRequest::kEveryPath || request.path == ending.path);
    for (size_t i = 0; covered && i < ending.posted.size(); ++i) {
      if (ending.posted[i].reads) number = std::max(number, ending.number);
    }
  }
  return number;
}

template <typename From>
void ChunkSender::report(const From& from, uint64_t number, bool ok) {
  if (options_.mode != RdmaMode::kReliable) return;
  NicEvent event;
  event.kind = NicEventKind::kSent;
  event.connection = from.connection;
  event.path = from.path;
  event.epoch = from.epoch;
  event.number = number;
  event.ok = ok;
  events_.push_back(event);
}

void ChunkSender::recall(const transport::RecallRequest& request) {
  const bool every = request.path == transport::RecallRequest::kEveryPath;
  for (auto entry = paths_.lower_bound({request.connection, every ? uint16_t{0} : request.path});
       entry != paths_.end() && entry->first.first == request.connection &&
       (every || entry->first.second == request.path);
       ++entry) {
    recall(entry->second);
  }
}

// Only the end of its queue pair takes a write from the NIC. Probes read no memory, so
// they stay: one that waits for the peer's answer shows when the path works.
void ChunkSender::recall(Path& path) {
  for (size_t i = 0; i < path.posted.size(); ++i) {
    if (path.posted[i].reads) return break_path(path, "its writes were recalled");
  }
  for (size_t left = path.waiting.size(); left > 0; --left) {
    const Waiting chunk = path.waiting.pop_front();
    if (chunk.write.bytes == 0) path.waiting.push_back(chunk);
  }
}

void ChunkSender::drop_waiting(transport::RegionId region) {
  for (auto& [key, path] : paths_) {
    for (size_t left = path.waiting.size(); left > 0; --left) {
      Waiting chunk = path.waiting.pop_front();
      if (chunk.region == region) {
        report(path, chunk.number, false);
      } else {
        path.waiting.push_back(chunk);
      }
    }
  }
}

void ChunkSender::give_up() {
  given_up_ = true;
  for (auto& [key, path] : paths_) break_path(path, "the device has failed");
}

void ChunkSender::close(uint32_t connection) {
  for (auto entry = paths_.lower_bound({connection, 0});
       entry != paths_.end() && entry->first.first == connection;) {
    drop_pair(entry->second);
    std::erase(dirty_, &entry->second);
    entry = paths_.erase(entry);
  }
  std::erase_if(ending_,
                [connection](const auto& entry) { return entry.second.connection == connection; });
  tokens_.erase(connection);
}

}  // namespace heddle::datapath
