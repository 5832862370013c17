// AnySource: receives from any rank of a group. heddle grants each receive to one sender, so a
// receive is posted to every rank, each into memory of its own. The first message that comes is
// delivered; those of other ranks serve the next receives with this tag, in the order of their
// arrival. Messages of one rank keep their order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/own_mutex.h"
#include "base/result.h"
#include "collectives/data_type.h"
#include "plugins/torch/pairs.h"

namespace heddle::pytorch {

class AnySource : public std::enable_shared_from_this<AnySource> {
 public:
  using Bytes = std::vector<std::byte>;
  // A message and its sender, or why none comes. Called by any thread; must not wait.
  using OnEnd = std::function<void(uint32_t source, Result<Bytes> message)>;

  struct Request {
    int64_t tag = 0;
    std::optional<uint32_t> source;  // nothing: any
    collectives::DataType type = collectives::DataType::kUint8;
    uint64_t count = 0;
    uint64_t bytes = 0;
    OnEnd on_end;
  };

  AnySource(uint32_t rank, uint32_t size) : rank_(rank), size_(size) {}

  // Whether a receive from this rank has to be one of receive(), since messages of the rank are or
  // will be held here.
  bool holds_messages_of(uint32_t source, int64_t tag);
  // Its number. Errors: kInvalid (a posted receive or a message has another size), why no rank can
  // send any more, those of SharedCommunicator::post().
  Result<uint64_t> receive(Pairs& pairs, Request request);
  // No message will be delivered to it. False: it has ended, or is about to.
  bool cancel(int64_t tag, uint64_t number);

 private:
  struct Peer {
    uint32_t posted = 0;  // receives that have not ended, all of one type and count
    collectives::DataType type = collectives::DataType::kUint8;
    uint64_t count = 0;
    std::string lost;  // why its receives fail; empty: they do not
  };
  struct Message {
    uint32_t source = 0;
    Bytes bytes;
  };
  struct Waiting {
    uint64_t number = 0;
    Request request;
  };
  struct Tag {
    std::map<uint32_t, Peer> peers;
    std::deque<Message> arrived;
    std::deque<Waiting> waiting;
  };

  Tag& tag_of(int64_t tag);
  std::vector<uint32_t> sources_of(const Tag& tag, const Request& request) const;
  Result<void> check(const Tag& tag, const Request& request) const;
  static std::optional<Message> take_arrived(Tag& tag, const Request& request);
  // The ranks to which a receive has to be posted for the newest request.
  std::vector<uint32_t> missing_posts(Tag& tag) const;
  void post(Pairs& pairs, int64_t tag, uint32_t source);
  void handle_message(int64_t tag, uint32_t source, Bytes bytes);
  void handle_loss(int64_t tag, uint32_t source, const Error& error);

  const uint32_t rank_;
  const uint32_t size_;
  OwnMutex mutex_;
  std::map<int64_t, Tag> tags_;  // under mutex_
  uint64_t numbers_ = 0;         // under mutex_
};

}  // namespace heddle::pytorch
