// AnySource: see any_source.h. A rank is asked for one announcement at a time, and not before the
// message of the last one has its receive: thus both have the order in which they were sent.
#include "plugins/torch/any_source.h"

#include <algorithm>
#include <utility>

#include "plugins/torch/side_threads.h"

namespace heddle::pytorch {
namespace {

using collectives::Call;
using collectives::Collective;

constexpr const char* kWhat = "cannot receive";

bool may_take(const AnySource::Request& request, uint32_t source) {
  return !request.source || *request.source == source;
}

Error other_size(uint32_t source, uint64_t sent, uint64_t wanted) {
  return fail(ErrorCode::kInvalid, kWhat,
              "the next message of rank " + std::to_string(source) + " has " +
                  std::to_string(sent) + " bytes, this receive " + std::to_string(wanted),
              "receive it into a tensor of its size")
      .error;
}

}  // namespace

Call announcement_call(bool sends, uint32_t peer, void* bytes) {
  return {.collective = sends ? Collective::kSend : Collective::kReceive,
          .type = collectives::DataType::kInt64,
          .root = peer,
          .count = 1,
          .input = sends ? bytes : nullptr,
          .output = sends ? nullptr : bytes};
}

bool AnySource::post_directly(uint32_t source, int64_t tag, const std::function<void()>& post) {
  const OwnMutex::Lock lock = mutex_.enter();
  if (lock && source != rank_) {
    const State state = tag_of(tag).peers[source].state;
    if (state == State::kAsked || state == State::kAnnounced) return false;
  }
  post();
  return true;
}

uint64_t AnySource::receive(Request request) {
  Ended ended;
  const OwnMutex::Lock lock = mutex_.lock();
  const uint64_t number = ++numbers_;
  const int64_t tag = request.tag;
  Tag& state = tag_of(tag);
  state.waiting.push_back({number, std::move(request)});
  advance(tag, state, ended);
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

AnySource::Tag& AnySource::tag_of(int64_t tag) {
  Tag& found = tags_[tag];
  if (!found.peers.empty()) return found;
  for (uint32_t rank = 0; rank < size_; ++rank) {
    if (rank != rank_) found.peers[rank];
  }
  return found;
}

// After any change: announced messages meet requests, and further announcements are asked for.
void AnySource::advance(int64_t tag, Tag& state, Ended& ended) {
  if (const std::shared_ptr<Pairs> pairs = pairs_.lock()) {
    match(state, *pairs, ended);
    ask(tag, state, *pairs);
  }
  refuse_hopeless(state, ended);
}

// A message of another size than the first request that may take it waits for a later request.
void AnySource::match(Tag& state, Pairs& pairs, Ended& ended) {
  for (auto source = state.announced.begin(); source != state.announced.end();) {
    Peer& peer = state.peers[*source];
    const auto first = std::ranges::find_if(
        state.waiting, [=](const Waiting& each) { return may_take(each.request, *source); });
    if (first == state.waiting.end()) {
      ++source;
      continue;
    }
    ended.push_back(std::move(*first));
    state.waiting.erase(first);
    const Request& request = ended.back().request;
    if (request.bytes != peer.bytes) {
      request.refuse(other_size(*source, peer.bytes, request.bytes));
      continue;
    }
    peer.state = State::kIdle;
    request.begin(*source, pairs);
    source = state.announced.erase(source);
  }
}

void AnySource::ask(int64_t tag, Tag& state, Pairs& pairs) {
  for (auto& [rank, peer] : state.peers) {
    const uint32_t source = rank;
    const bool wanted = std::ranges::any_of(
        state.waiting, [=](const Waiting& each) { return may_take(each.request, source); });
    if (peer.state != State::kIdle || !wanted) continue;
    const auto bytes = std::make_shared<uint64_t>(0);
    collectives::CallOptions options;
    options.on_end = [self = shared_from_this(), tag, source, bytes](const Result<void>& end) {
      const Result<uint64_t> announced = end ? Result<uint64_t>(*bytes) : fail(end.error());
      run_aside([=] { self->take_announcement(tag, source, announced); });
    };
    const auto pair = pairs.with(source, tag);
    Result<void> posted;
    if (!pair) {
      posted = fail(pair.error());
    } else if (const auto call =
                   (*pair)->post(announcement_call(false, pairs.rank_of(source), bytes.get()),
                                 std::move(options));
               !call) {
      posted = fail(call.error());
    }
    peer.state = posted ? State::kAsked : State::kLost;
    if (!posted) peer.lost = "rank " + std::to_string(source) + ": " + posted.error().message();
  }
}

// Those that no rank can answer any more.
void AnySource::refuse_hopeless(Tag& state, Ended& ended) {
  for (auto each = state.waiting.begin(); each != state.waiting.end();) {
    std::string why = size_ == 1 ? "this group has no other rank" : "the group has left";
    bool hopeless = true;
    for (const auto& [rank, peer] : state.peers) {
      if (!may_take(each->request, rank)) continue;
      if (peer.state == State::kLost) why = peer.lost;
      hopeless = hopeless && (peer.state == State::kLost || peer.state == State::kIdle);
    }
    if (!hopeless) {
      ++each;
      continue;
    }
    ended.push_back(std::move(*each));
    each = state.waiting.erase(each);
    ended.back().request.refuse(fail(ErrorCode::kPeerDead, kWhat, why).error);
  }
}

// By a side thread.
void AnySource::take_announcement(int64_t tag, uint32_t source, const Result<uint64_t>& bytes) {
  Ended ended;
  const OwnMutex::Lock lock = mutex_.lock();
  Tag& state = tag_of(tag);
  Peer& peer = state.peers[source];
  if (bytes) {
    peer.state = State::kAnnounced;
    peer.bytes = *bytes;
    state.announced.push_back(source);
  } else {
    peer.state = State::kLost;
    peer.lost = "rank " + std::to_string(source) + ": " + bytes.error().message();
  }
  advance(tag, state, ended);
}

}  // namespace heddle::pytorch
