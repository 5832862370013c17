// Sender: see sender.h.
#include "copying/sender.h"

#include <utility>

#include "base/interrupt.h"
#include "copying/params.h"

namespace heddle::copying {
namespace {

SourceOptions with_stop(SourceOptions options, const Exchange& exchange) {
  options.stopped = [&exchange] { return exchange.abandoned(); };
  return options;
}

}  // namespace

Result<std::unique_ptr<Sender>> Sender::make(engine::MessageLink& link, SourceOptions options) {
  std::unique_ptr<Sender> sender(new Sender(link, std::move(options)));
  if (Result<void> opened = sender->open(); !opened) return fail(opened.error());
  return sender;
}

Sender::Sender(engine::MessageLink& link, SourceOptions options)
    : link_(link),
      source_(with_stop(std::move(options), exchange_)),
      exchange_([&endpoint = link.endpoint()] { endpoint.interrupt(); }) {}

Sender::~Sender() {
  exchange_.abandon();
  if (disk_.joinable()) disk_.join();
  if (ended_) {
    // What the receiver does not take within a while is left.
    static_cast<void>(link_.close(params::kGoodbye));
  } else {
    link_.abort();
  }
  for (const PostedMessage& each : sending_) link_.wait(each.operation, Nanos::never());
  for (const PostedMessage& each : receiving_) link_.wait(each.operation, Nanos::never());
}

Result<void> Sender::open() {
  auto content = MessageMemory::make(link_.endpoint(), params::kMessageBytes, params::kMessages);
  if (!content) return fail(content.error());
  auto answers = MessageMemory::make(link_.endpoint(), params::kAnswerBytes, params::kAnswers);
  if (!answers) return fail(answers.error());
  content_ = std::move(*content);
  answers_ = std::move(*answers);
  for (size_t i = 0; i < params::kAnswers; ++i) {
    if (Result<void> posted = post_answer(i); !posted) return posted;
  }
  for (size_t i = 0; i < params::kMessages; ++i) exchange_.to_disk({i, 0});
  Result<Thread> disk = start_thread("heddle-read", [this] { exchange_.set_end(read_disk()); });
  if (!disk) return fail(disk.error());
  disk_ = std::move(*disk);
  return {};
}

// The thread of the disk.
Result<void> Sender::read_disk() {
  const bool bounded = link_.needs_posted_receives();
  uint64_t filled = 0;
  std::optional<MessagePlace> place;
  while (!source_.finished() && !exchange_.abandoned()) {
    while (const std::optional<Answers> answers = exchange_.next_answers()) {
      if (Result<void> taken = source_.take(*answers); !taken) return taken;
    }
    const bool may_fill = !bounded || filled < source_.taken() + params::kMessages;
    if (!place && may_fill) place = exchange_.next_place();
    if (place) {
      RecordWriter writer(content_.message(place->index));
      source_.fill(writer);
      if (writer.bytes() > 0) {
        ++filled;
        exchange_.to_network({place->index, writer.bytes()});
        place.reset();
        continue;
      }
    }
    if (source_.finished()) break;
    if (!exchange_.wait(!place && may_fill)) break;
  }
  return {};
}

Result<void> Sender::post_answer(size_t index) {
  Result<engine::Operation> posted =
      link_.receive(kAnswerChannel, answers_.slice(index, params::kAnswerBytes));
  if (!posted) return fail(end_of(link_, posted.error().code));
  receiving_.push_back({index, *posted});
  return {};
}

Result<void> Sender::run(const std::function<void(const CopyCounts&)>& progress) {
  Nanos shown;
  while (true) {
    if (interrupted() != 0) return fail(ErrorCode::kCancelled, "stopped", "by a signal");
    if (Result<void> stepped = step(); !stepped) return stepped;
    if (const std::optional<Result<void>> end = exchange_.end()) {
      ended_ = end->has_value();
      return *end;
    }
    link_.progress(params::kSlice);
    if (const Nanos now = link_.now(); now - shown >= params::kSlice) {
      shown = now;
      progress(source_.counts());
    }
  }
}

Result<void> Sender::step() {
  // Answers first: a receiver's reason comes before the end of the connection. Those that the
  // disk's thread has not taken are few, whatever the receiver sends.
  while (!receiving_.empty() && exchange_.answers_waiting() < params::kAnswers) {
    const PostedMessage first = receiving_.front();
    const engine::Outcome outcome = link_.peek(first.operation);
    if (!outcome.done) break;
    receiving_.pop_front();
    if (!outcome.ok) {
      if (exchange_.end()) return {};
      return fail(end_of(link_, outcome.error));
    }
    const auto bytes = answers_.message(first.index).first(outcome.bytes);
    exchange_.answers_to_disk(Answers(bytes.begin(), bytes.end()));
    if (Result<void> posted = post_answer(first.index); !posted) return {};
  }
  while (!sending_.empty()) {
    const PostedMessage first = sending_.front();
    const engine::Outcome outcome = link_.peek(first.operation);
    if (!outcome.done) break;
    sending_.pop_front();
    if (!outcome.ok) break;  // the answers' receives report why
    exchange_.to_disk({first.index, 0});
  }
  while (const std::optional<MessagePlace> filled = exchange_.take_from_disk()) {
    Result<engine::Operation> posted =
        link_.send(kContentChannel, content_.slice(filled->index, filled->bytes));
    if (posted) sending_.push_back({filled->index, *posted});
  }
  return {};
}

}  // namespace heddle::copying
