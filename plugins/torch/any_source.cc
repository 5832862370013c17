// AnySource: see any_source.h. Every request that waits has a posted receive at each rank from
// which its message may come; receives are posted by the threads that make requests.
#include "plugins/torch/any_source.h"

#include <algorithm>
#include <utility>

namespace heddle::pytorch {
namespace {

using collectives::Call;
using collectives::Collective;

constexpr const char* kWhat = "cannot receive";

bool may_come_from(const AnySource::Request& request, uint32_t source) {
  return !request.source || *request.source == source;
}

}  // namespace

AnySource::Tag& AnySource::tag_of(int64_t tag) {
  Tag& found = tags_[tag];
  if (!found.peers.empty()) return found;
  for (uint32_t rank = 0; rank < size_; ++rank) {
    if (rank != rank_) found.peers[rank];
  }
  return found;
}

bool AnySource::holds_messages_of(uint32_t source, int64_t tag) {
  const OwnMutex::Lock lock = mutex_.enter();
  if (!lock) return false;
  const auto found = tags_.find(tag);
  if (found == tags_.end()) return false;
  const auto peer = found->second.peers.find(source);
  if (peer == found->second.peers.end()) return false;
  return peer->second.posted > 0 ||
         std::ranges::any_of(found->second.arrived,
                             [=](const Message& each) { return each.source == source; });
}

std::vector<uint32_t> AnySource::sources_of(const Tag& tag, const Request& request) const {
  std::vector<uint32_t> sources;
  for (const auto& [rank, peer] : tag.peers) {
    if (may_come_from(request, rank) && peer.lost.empty()) sources.push_back(rank);
  }
  return sources;
}

// A message meets a receive of its own size only.
Result<void> AnySource::check(const Tag& tag, const Request& request) const {
  const std::vector<uint32_t> sources = sources_of(tag, request);
  if (sources.empty()) {
    std::string why = size_ == 1 ? "this group has no other rank" : "";
    for (const auto& [rank, peer] : tag.peers) {
      if (may_come_from(request, rank) && why.empty()) why = peer.lost;
    }
    return fail(ErrorCode::kPeerDead, kWhat, why);
  }
  for (const uint32_t source : sources) {
    const Peer& peer = tag.peers.at(source);
    if (peer.posted == 0 || (peer.type == request.type && peer.count == request.count)) continue;
    return fail(ErrorCode::kInvalid, kWhat,
                "a receive of another type or size is posted to rank " + std::to_string(source) +
                    " with this tag for an earlier receive from any source",
                "use another tag for messages of another size");
  }
  return {};
}

std::optional<AnySource::Message> AnySource::take_arrived(Tag& tag, const Request& request) {
  const auto found = std::ranges::find_if(
      tag.arrived, [&request](const Message& each) { return may_come_from(request, each.source); });
  if (found == tag.arrived.end()) return std::nullopt;
  Message message = std::move(*found);
  tag.arrived.erase(found);
  return message;
}

std::vector<uint32_t> AnySource::missing_posts(Tag& tag) const {
  const Request& newest = tag.waiting.back().request;
  std::vector<uint32_t> missing;
  for (const uint32_t source : sources_of(tag, newest)) {
    Peer& peer = tag.peers[source];
    const auto wanted = std::ranges::count_if(
        tag.waiting, [=](const Waiting& each) { return may_come_from(each.request, source); });
    if (peer.posted >= static_cast<uint64_t>(wanted)) continue;
    ++peer.posted;
    peer.type = newest.type;
    peer.count = newest.count;
    missing.push_back(source);
  }
  return missing;
}

Result<uint64_t> AnySource::receive(Pairs& pairs, Request request) {
  const int64_t tag = request.tag;
  std::vector<uint32_t> missing;
  uint64_t number = 0;
  {
    const OwnMutex::Lock lock = mutex_.enter();
    if (!lock) return fail(ErrorCode::kClosed, kWhat, "the group is the parent's");
    Tag& state = tag_of(tag);
    number = ++numbers_;
    const auto first = std::ranges::find_if(
        state.arrived, [&](const Message& each) { return may_come_from(request, each.source); });
    if (first != state.arrived.end() && first->bytes.size() != request.bytes) {
      return fail(ErrorCode::kInvalid, kWhat,
                  "the message that rank " + std::to_string(first->source) + " sent has " +
                      std::to_string(first->bytes.size()) + " bytes, the receive " +
                      std::to_string(request.bytes),
                  "receive it into a tensor of its size");
    }
    if (std::optional<Message> message = take_arrived(state, request)) {
      request.on_end(message->source, std::move(message->bytes));
      return number;
    }
    if (const Result<void> possible = check(state, request); !possible) {
      return fail(possible.error());
    }
    state.waiting.push_back({number, std::move(request)});
    missing = missing_posts(state);
  }
  for (const uint32_t source : missing) post(pairs, tag, source);
  return number;
}

bool AnySource::cancel(int64_t tag, uint64_t number) {
  Waiting cancelled;  // goes without the lock
  const OwnMutex::Lock lock = mutex_.enter();
  if (!lock) return false;
  std::deque<Waiting>& waiting = tag_of(tag).waiting;
  const auto found =
      std::ranges::find_if(waiting, [=](const Waiting& each) { return each.number == number; });
  if (found == waiting.end()) return false;
  cancelled = std::move(*found);
  waiting.erase(found);
  return true;
}

void AnySource::post(Pairs& pairs, int64_t tag, uint32_t source) {
  Call call = {.collective = Collective::kReceive, .root = pairs.rank_of(source)};
  uint64_t bytes = 0;
  {
    const OwnMutex::Lock lock = mutex_.lock();
    const Peer& peer = tag_of(tag).peers[source];
    call.type = peer.type;
    call.count = peer.count;
    bytes = call.count * collectives::size_of(call.type);
  }
  const auto memory = std::make_shared<Bytes>(bytes);
  call.output = memory->data();
  collectives::CallOptions options;
  options.on_end = [self = shared_from_this(), tag, source, memory](const Result<void>& ended) {
    if (ended) {
      self->handle_message(tag, source, std::move(*memory));
    } else {
      self->handle_loss(tag, source, ended.error());
    }
  };
  const auto pair = pairs.with(source, tag);
  if (!pair) return handle_loss(tag, source, pair.error());
  if (const auto posted = (*pair)->post(std::move(call), std::move(options)); !posted) {
    handle_loss(tag, source, posted.error());
  }
}

// --- by the progress thread ---

void AnySource::handle_message(int64_t tag, uint32_t source, Bytes bytes) {
  Waiting first;
  {
    const OwnMutex::Lock lock = mutex_.lock();
    Tag& state = tag_of(tag);
    --state.peers[source].posted;
    const auto found = std::ranges::find_if(
        state.waiting, [=](const Waiting& each) { return may_come_from(each.request, source); });
    if (found == state.waiting.end()) {
      state.arrived.push_back({source, std::move(bytes)});
      return;
    }
    first = std::move(*found);
    state.waiting.erase(found);
  }
  first.request.on_end(source, std::move(bytes));
}

// Requests fail that no rank can answer any more.
void AnySource::handle_loss(int64_t tag, uint32_t source, const Error& error) {
  std::vector<Waiting> failed;
  {
    const OwnMutex::Lock lock = mutex_.lock();
    Tag& state = tag_of(tag);
    Peer& peer = state.peers[source];
    --peer.posted;
    peer.lost = "rank " + std::to_string(source) + ": " + error.message();
    for (auto each = state.waiting.begin(); each != state.waiting.end();) {
      if (!sources_of(state, each->request).empty()) {
        ++each;
        continue;
      }
      failed.push_back(std::move(*each));
      each = state.waiting.erase(each);
    }
  }
  for (Waiting& each : failed) each.request.on_end(source, fail(error));
}

}  // namespace heddle::pytorch
