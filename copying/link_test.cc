// Sender and Receiver over a link: a copy from end to end, the reason of a failure at the sender,
// and a link whose connection is broken while the last answers wait.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/temporary_folder.h"
#include "base/thread.h"
#include "copying/params.h"
#include "copying/receiver.h"
#include "copying/records.h"
#include "copying/sender.h"
#include "engine/endpoint.h"
#include "engine/message_link.h"

namespace heddle::copying {
namespace {

namespace fs = std::filesystem;

std::unique_ptr<engine::Endpoint> open_on_loopback() {
  engine::NetworkOptions network;
  network.bind = "127.0.0.1";
  engine::Options options;
  options.transport.accept = true;
  return std::move(engine::Endpoint::open(network, options)).value();
}

// A direct link that has what relays change: it needs posted receives, and it reconnects. Its
// connection breaks before the answer that a file is stored, and until restore() nothing is sent.
class RelayedLink : public engine::DirectLink {
 public:
  using DirectLink::DirectLink;
  bool needs_posted_receives() const override { return true; }
  Nanos reconnect_timeout() const override { return seconds(60); }

  Result<engine::Operation> send(engine::Channel channel,
                                 const engine::MessageBytes& bytes) override {
    ++sent_;
    broken_ = broken_ || (breaks_ && has_stored({bytes.start, bytes.bytes}));
    if (!broken_) return DirectLink::send(channel, bytes);
    waiting_.push_back({channel, bytes, {}});
    return engine::Operation{kFirstWaiting + waiting_.size() - 1};
  }
  engine::Outcome peek(engine::Operation operation) override {
    const Waiting* const waiting = find(operation);
    if (waiting == nullptr) return DirectLink::peek(operation);
    return waiting->sent ? DirectLink::peek(*waiting->sent) : engine::Outcome{};
  }
  engine::Outcome wait(engine::Operation operation, Nanos timeout) override {
    const Waiting* const waiting = find(operation);
    if (waiting != nullptr && !waiting->sent) return {.done = true};
    return DirectLink::wait(waiting == nullptr ? operation : *waiting->sent, timeout);
  }

  size_t sent() const { return sent_; }  // any thread may ask
  void break_at_the_end() { breaks_ = true; }
  bool broken() const { return broken_; }
  void restore() {
    breaks_ = broken_ = false;
    for (Waiting& each : waiting_) each.sent = DirectLink::send(each.channel, each.bytes).value();
  }

 private:
  static constexpr uint64_t kFirstWaiting = uint64_t{1} << 60;
  struct Waiting {
    engine::Channel channel = 0;
    engine::MessageBytes bytes;
    std::optional<engine::Operation> sent;
  };
  static bool has_stored(std::span<const std::byte> message) {
    RecordReader reader(message);
    while (const auto record = reader.next().value()) {
      if (record->kind == RecordKind::kStored) return true;
    }
    return false;
  }
  const Waiting* find(engine::Operation operation) const {
    return operation.id < kFirstWaiting ? nullptr : &waiting_[operation.id - kFirstWaiting];
  }

  std::atomic<size_t> sent_ = 0;
  bool breaks_ = false;
  bool broken_ = false;
  std::vector<Waiting> waiting_;
};

class CopyOverLink : public testing::Test {
 protected:
  CopyOverLink() : place_(*TemporaryFolder::make("heddle-copying")) {
    from_ = place_.path() + "/from";
    to_ = place_.path() + "/to";
    fs::create_directories(from_);
    fs::create_directories(to_);
    near_ = open_on_loopback();
    far_ = open_on_loopback();
  }
  ~CopyOverLink() override {
    receiver_.reset();
    if (sending_.joinable()) sending_.join();
  }

  // Sends `from_` to `folder` from a thread of its own. Returns the far end's link.
  template <typename Link>
  std::unique_ptr<Link> send(const std::string& folder = "") {
    const engine::Connection connection = near_->connect(far_->local_address()).value();
    auto link = std::make_unique<Link>(*near_, connection);
    Link& own = *link;
    link_ = std::move(link);
    const auto work = [this, &own, folder] {
      auto sender =
          Sender::make(own, {.sources = {from_ + "/"}, .folder = folder, .failed = [](auto&) {}});
      sent_ = (*sender)->run([](const CopyCounts&) {});
      sender->reset();
      left_ = true;
    };
    sending_ = start_thread("sender", work).value();
    return std::make_unique<Link>(*far_, far_->accept(seconds(60)).value());
  }
  template <typename Link>
  Link& copy(const std::string& folder = "") {
    std::unique_ptr<Link> link = send<Link>(folder);
    Link& own = *link;
    receiver_ = Receiver::make(std::move(link), {to_}).value();
    return own;
  }
  bool step() {
    far_->progress(millis(10));
    return receiver_->step();
  }
  void finish() {
    while (step()) {
    }
    sending_.join();
  }

  void write_file(const std::string& name, size_t bytes) const {
    std::ofstream(from_ + "/" + name, std::ios::binary) << std::string(bytes, 'x');
  }

  TemporaryFolder place_;
  std::string from_;
  std::string to_;
  std::unique_ptr<engine::Endpoint> near_;
  std::unique_ptr<engine::Endpoint> far_;
  std::unique_ptr<engine::MessageLink> link_;  // the sender's
  std::unique_ptr<Receiver> receiver_;
  Thread sending_;
  std::optional<Result<void>> sent_;  // once left_
  std::atomic<bool> left_ = false;
};

TEST_F(CopyOverLink, ACopyEndsAtBothSides) {
  constexpr size_t kLarge = 100'000'001;  // more than both sides have messages for
  write_file("large", kLarge);
  for (int i = 0; i < 50; ++i) write_file(std::to_string(i), i);
  for (const bool direct : {true, false}) {
    if (direct) {
      copy<engine::DirectLink>();
    } else {
      copy<RelayedLink>("relayed");
    }
    finish();
    EXPECT_TRUE(receiver_->whole()) << receiver_->error().message();
    EXPECT_EQ(receiver_->store().files(), 51U);
    EXPECT_TRUE(*sent_) << sent_->error().message();
    EXPECT_EQ(fs::file_size(to_ + (direct ? "/large" : "/relayed/large")), kLarge);
  }
}

TEST_F(CopyOverLink, AReceiversFailureIsTheSendersError) {
  write_file("file", 1);
  copy<engine::DirectLink>("../outside");
  finish();
  EXPECT_FALSE(receiver_->whole());
  ASSERT_FALSE(*sent_);
  EXPECT_EQ(sent_->error().message(), receiver_->error().message());
  EXPECT_TRUE(fs::is_empty(to_));
}

// The sender had everything but the last answer, and reported an incomplete copy.
TEST_F(CopyOverLink, AnswersThatWaitForANewConnectionAreNotDropped) {
  write_file("file", 3'000'000);
  RelayedLink& link = copy<RelayedLink>();
  link.break_at_the_end();
  while (!link.broken()) ASSERT_TRUE(step());
  const Nanos broken_at = far_->now();
  while (far_->now() - broken_at < params::kGoodbye + millis(200)) ASSERT_TRUE(step());
  EXPECT_FALSE(left_);
  link.restore();
  finish();
  EXPECT_TRUE(*sent_) << sent_->error().message();
}

// Beyond them, frames wait in the relays, and the confirmations behind them: neither side went on.
TEST_F(CopyOverLink, NoMoreMessagesAreSentThanTheReceiverHasReceivesFor) {
  write_file("file", 2 * params::kMessages * params::kMessageBytes);
  const std::unique_ptr<RelayedLink> link = send<RelayedLink>();
  std::vector<std::byte> message(params::kMessageBytes);
  const auto take = [&] {
    const engine::Operation receive =
        link->receive(kContentChannel, {.start = message.data(), .bytes = message.size()}).value();
    EXPECT_TRUE(link->wait(receive, seconds(60)).done);
  };
  const auto answer = [&](const Record& record) {
    std::vector<std::byte> bytes(params::kAnswerBytes);
    RecordWriter writer(bytes);
    EXPECT_TRUE(writer.add(record));
    const engine::Operation sent =
        link->send(kAnswerChannel, {.start = bytes.data(), .bytes = writer.bytes()}).value();
    EXPECT_TRUE(link->wait(sent, seconds(60)).done);
  };
  const auto& sender = static_cast<const RelayedLink&>(*link_);
  take();
  answer({.kind = RecordKind::kWanted, .id = 1});
  for (size_t taken = 1; taken < params::kMessages; ++taken) take();
  const Nanos waits_at = far_->now();
  while (far_->now() - waits_at < millis(200)) far_->progress(millis(10));
  EXPECT_EQ(sender.sent(), params::kMessages);
  answer({.kind = RecordKind::kTaken, .id = 5});
  for (size_t taken = 0; taken < 5; ++taken) take();
  EXPECT_EQ(sender.sent(), params::kMessages + 5);
  link->abort();
}

}  // namespace
}  // namespace heddle::copying
