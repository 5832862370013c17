// Receiver: one copy that a listener receives over a link, direct or through relays. Its owner's
// thread moves messages by step(), and one thread writes the disk.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/thread.h"
#include "copying/exchange.h"
#include "copying/message_memory.h"
#include "copying/store.h"
#include "engine/message_link.h"

namespace heddle::copying {

class Receiver {
 public:
  // Errors: kExhausted (memory, threads); then the link is aborted.
  static Result<std::unique_ptr<Receiver>> make(std::unique_ptr<engine::MessageLink> link,
                                                Destination destination);
  ~Receiver();

  // Moves on what can be. False: the copy is over.
  bool step();

  const std::string& peer() const { return peer_; }
  // When over: whether the sender confirmed the end, and why not.
  bool whole() const { return store_.finished(); }
  const Error& error() const { return error_; }
  const Store& store() const { return store_; }

 private:
  Receiver(std::unique_ptr<engine::MessageLink> link, Destination destination);
  Result<void> open();
  Result<void> write_disk();
  void answer(std::vector<Record>& records);
  Result<void> post_content(size_t index);
  void send_answers();
  bool take_content();
  Nanos leave_after() const;

  const std::unique_ptr<engine::MessageLink> link_;
  const std::string peer_;
  const Nanos came_at_;
  Store store_;
  Exchange exchange_;
  MessageMemory content_;
  struct SentAnswers {
    Answers bytes;
    engine::Operation operation;
  };
  std::deque<PostedMessage> receiving_;
  std::deque<SentAnswers> sending_;
  Thread disk_;
  Error error_;
  std::optional<Nanos> leaving_;  // since when only the sender's close is awaited
  bool content_ended_ = false;
};

}  // namespace heddle::copying
