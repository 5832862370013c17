// Receiver: see receiver.h.
#include "copying/receiver.h"

#include "copying/params.h"
#include "datapath/resolve.h"

namespace heddle::copying {

Result<std::unique_ptr<Receiver>> Receiver::make(std::unique_ptr<engine::MessageLink> link,
                                                 Destination destination) {
  std::unique_ptr<Receiver> made(new Receiver(std::move(link), std::move(destination)));
  if (Result<void> opened = made->open(); !opened) return fail(opened.error());
  return made;
}

Receiver::Receiver(std::unique_ptr<engine::MessageLink> link, Destination destination)
    : link_(std::move(link)),
      peer_(datapath::to_text(link_->status().peer)),
      came_at_(link_->now()),
      store_(std::move(destination), [this] { return exchange_.abandoned(); }),
      exchange_([&endpoint = link_->endpoint()] { endpoint.interrupt(); }) {}

Receiver::~Receiver() {
  exchange_.abandon();
  if (disk_.joinable()) disk_.join();
  link_->abort();
  for (const PostedMessage& each : receiving_) link_->wait(each.operation, Nanos::never());
  for (const SentAnswers& each : sending_) link_->wait(each.operation, Nanos::never());
}

Result<void> Receiver::open() {
  auto content = MessageMemory::make(link_->endpoint(), params::kMessageBytes, params::kMessages);
  if (!content) return fail(content.error());
  content_ = std::move(*content);
  for (size_t i = 0; i < params::kMessages; ++i) {
    if (Result<void> posted = post_content(i); !posted) return posted;
  }
  Result<Thread> disk = start_thread("heddle-write", [this] { exchange_.set_end(write_disk()); });
  if (!disk) return fail(disk.error());
  disk_ = std::move(*disk);
  return {};
}

Result<void> Receiver::post_content(size_t index) {
  Result<engine::Operation> posted =
      link_->receive(kContentChannel, content_.slice(index, params::kMessageBytes));
  if (!posted) return fail(posted.error());
  receiving_.push_back({index, *posted});
  return {};
}

// The thread of the disk.
Result<void> Receiver::write_disk() {
  const bool reports = link_->needs_posted_receives();
  uint64_t written = 0;
  std::vector<Record> answers;
  while (!store_.finished()) {
    const std::optional<MessagePlace> place = exchange_.next_place();
    if (!place) {
      if (!exchange_.wait(true)) break;
      continue;
    }
    const Result<void> taken =
        store_.take(content_.message(place->index).first(place->bytes), answers);
    if (!taken) answers.push_back({.kind = RecordKind::kFatal, .error = taken.error()});
    if (reports) answers.push_back({.kind = RecordKind::kTaken, .id = ++written});
    answer(answers);
    if (!taken) return taken;
    exchange_.to_network(*place);
  }
  return {};
}

void Receiver::answer(std::vector<Record>& records) {
  size_t next = 0;
  while (next < records.size()) {
    Answers message(params::kAnswerBytes);
    RecordWriter writer(message);
    while (next < records.size() && writer.add(records[next])) ++next;
    message.resize(writer.bytes());
    exchange_.answers_to_network(std::move(message), params::kAnswers);
  }
  records.clear();
}

// How long after its end a copy is left. Answers that the sender lacks may wait for a new
// connection.
Nanos Receiver::leave_after() const {
  return params::kGoodbye + (sending_.empty() ? Nanos{} : link_->reconnect_timeout());
}

bool Receiver::step() {
  link_->step();
  if (!content_ended_) content_ended_ = !take_content();
  const std::optional<Result<void>> end = exchange_.end();
  send_answers();
  if (!store_.greeted() && link_->now() - came_at_ >= params::kIntroduceWithin) {
    error_ = {ErrorCode::kTimeout, "cannot receive this copy", "the sender did not say hello", ""};
    return false;
  }
  // A sender that has the last answer closes; one that stays is left after a while.
  if (end && !leaving_) leaving_ = link_->now();
  if (leaving_ && link_->now() - *leaving_ >= leave_after()) content_ended_ = true;
  if (!content_ended_) return true;
  // The sender has left: what came from it is written before this ends.
  if (!end && exchange_.idle()) exchange_.stop();
  if (!end) return true;
  if (!*end) error_ = end->error();
  return false;
}

// False: nothing more can come.
bool Receiver::take_content() {
  while (const std::optional<MessagePlace> released = exchange_.take_from_disk()) {
    if (Result<void> posted = post_content(released->index); !posted) break;
  }
  while (!receiving_.empty()) {
    const PostedMessage first = receiving_.front();
    const engine::Outcome outcome = link_->peek(first.operation);
    if (!outcome.done) return true;
    receiving_.pop_front();
    if (!outcome.ok) {
      error_ = end_of(*link_, outcome.error);
      return false;
    }
    exchange_.to_disk({first.index, outcome.bytes});
  }
  return link_->status().state != engine::ConnectionState::kClosed;
}

void Receiver::send_answers() {
  while (!sending_.empty() && link_->peek(sending_.front().operation).done) {
    sending_.pop_front();
  }
  while (sending_.size() < params::kAnswers) {
    std::optional<Answers> answers = exchange_.take_answers_from_disk();
    if (!answers) return;
    sending_.push_back({std::move(*answers), {}});
    SentAnswers& last = sending_.back();
    Result<engine::Operation> posted =
        link_->send(kAnswerChannel, {.start = last.bytes.data(), .bytes = last.bytes.size()});
    if (posted) {
      last.operation = *posted;
    } else {
      sending_.pop_back();
    }
  }
}

}  // namespace heddle::copying
