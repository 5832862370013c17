// Source: see source.h.
#include "copying/source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "copying/params.h"
#include "copying/part_file.h"
#include "copying/safe_folder.h"

namespace heddle::copying {
namespace {

int64_t mtime_of(const struct stat& state) { return nanoseconds_of(state.st_mtim); }

Record record_of(RecordKind kind, uint64_t id, const TreeEntry& entry) {
  return {.kind = kind,
          .id = id,
          .path = entry.path,
          .mode = entry.state.st_mode & 0777,
          .mtime_ns = mtime_of(entry.state),
          .size = static_cast<uint64_t>(entry.state.st_size)};
}

Unexpected unreadable(const std::string& source) {
  return fail(errno == EACCES ? ErrorCode::kPermission : ErrorCode::kSystem,
              fmt::format("cannot read {}", quoted_path(source)), std::strerror(errno),
              "check its permissions and its disk");
}

// The checksum of the first bytes of a file, read once; false: it is shorter or unreadable, or
// `stopped`.
bool digest_of(int file, uint64_t bytes, Digest& digest, const std::function<bool()>& stopped) {
  std::vector<std::byte> piece(std::min<uint64_t>(params::kReadBytes, bytes));
  for (uint64_t at = 0; at < bytes;) {
    if (stopped()) return false;
    const size_t wanted = std::min<uint64_t>(piece.size(), bytes - at);
    const ssize_t got = pread(file, piece.data(), wanted, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    digest.add(std::span(piece).first(static_cast<size_t>(got)));
    at += static_cast<uint64_t>(got);
  }
  return true;
}

}  // namespace

Source::Source(SourceOptions options) : options_(std::move(options)), walk_(options_.sources) {}

void Source::report(const Error& error) {
  ++counts_.failed;
  options_.failed(error);
}

void Source::fill(RecordWriter& message) {
  offered_ = 0;
  if (!greeted_) {
    greeted_ = message.add({.kind = RecordKind::kHello,
                            .path = options_.folder,
                            .version = params::kVersion,
                            .dry = options_.dry});
  }
  while (!options_.stopped() && add_some(message)) {
  }
}

// False: the message is full, or an answer is needed.
bool Source::add_some(RecordWriter& message) {
  if (sending_) return sending_->ended ? end_file(message) : send_content(message);
  const bool more = waiting_.size() < params::kMostOffers &&
                    waiting_bytes_ < params::kMostOfferBytes && offered_ < params::kOffersAMessage;
  if (!walked_ && more) return offer_next(message);
  if (!waiting_.empty()) return send_next(message);
  if (!walked_ || done_sent_) return false;
  done_sent_ = message.add({.kind = RecordKind::kDone});
  return false;
}

bool Source::offer_next(RecordWriter& message) {
  if (!unsent_) {
    Result<std::optional<TreeEntry>> entry = walk_.next();
    if (!entry) {
      report(entry.error());
      return true;
    }
    if (!entry->has_value()) {
      walked_ = true;
      return true;
    }
    unsent_ = Waiting{.id = next_id_++, .entry = std::move(**entry), .answer = {}};
  }
  const TreeEntry& entry = unsent_->entry;
  if (entry.kind == EntryKind::kFile) {
    if (!message.add(record_of(RecordKind::kOffer, unsent_->id, entry))) return false;
    ++offered_;
  } else if (entry.kind == EntryKind::kFolder && !options_.dry) {
    if (!message.add(record_of(RecordKind::kFolder, unsent_->id, entry))) return false;
  } else if (entry.kind == EntryKind::kLink && !options_.dry) {
    Record link = record_of(RecordKind::kLink, unsent_->id, entry);
    link.target = entry.target;
    if (!message.add(link)) return false;
  }
  // Files wait for an answer, the end of a folder for those in it.
  if (entry.kind == EntryKind::kFile || (entry.kind == EntryKind::kLeave && !options_.dry)) {
    waiting_bytes_ += entry.source.size() + entry.path.size();
    waiting_.push_back(std::move(*unsent_));
  }
  unsent_.reset();
  return true;
}

bool Source::send_next(RecordWriter& message) {
  Waiting& next = waiting_.front();
  if (next.entry.kind == EntryKind::kLeave) {
    if (!message.add(record_of(RecordKind::kLeave, next.id, next.entry))) return false;
  } else {
    if (!next.answer) return false;
    if (next.answer->kind == RecordKind::kWanted && options_.dry) {
      ++counts_.files;
      counts_.bytes += static_cast<uint64_t>(next.entry.state.st_size);
    } else if (next.answer->kind == RecordKind::kWanted && !start_file(message, next)) {
      return false;
    }
  }
  opened_.reset();
  waiting_bytes_ -= next.entry.source.size() + next.entry.path.size();
  waiting_.pop_front();
  return true;
}

// Nothing: it cannot be read, which is reported.
std::optional<Source::Sending> Source::open_file(const Waiting& next) {
  Sending sending{.id = next.id, .entry = next.entry, .file = {}, .digest = {}};
  sending.file =
      Descriptor(open(next.entry.source.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat& state = sending.entry.state;
  if (!sending.file.valid() || fstat(sending.file.number(), &state) != 0) {
    report(unreadable(next.entry.source).error);
    return std::nullopt;
  }
  // A folder above it may have become a link to another place.
  if (!S_ISREG(state.st_mode) || !is_same_file(next.entry.state, state)) {
    report({ErrorCode::kInvalid, fmt::format("cannot copy {}", quoted_path(next.entry.source)),
            "another file has its name by now", "run the copy again"});
    return std::nullopt;
  }
  posix_fadvise(sending.file.number(), 0, 0, POSIX_FADV_SEQUENTIAL);
  // What is at the receiver is kept where the source begins with the same content.
  const Answer& answer = *next.answer;
  if (answer.from > 0 && answer.from <= static_cast<uint64_t>(state.st_size) &&
      digest_of(sending.file.number(), answer.from, sending.digest, options_.stopped) &&
      sending.digest.value() == answer.digest) {
    sending.at = answer.from;
  } else {
    sending.digest.reset();
  }
  return sending;
}

// False: the message is full. A file that cannot be read is left out.
bool Source::start_file(RecordWriter& message, const Waiting& next) {
  if (!opened_) opened_ = open_file(next);
  if (!opened_) return true;
  Record start = record_of(RecordKind::kStart, next.id, opened_->entry);
  start.from = opened_->at;
  if (!message.add(start)) return false;
  counts_.resumed += opened_->at;
  sending_ = std::move(opened_);
  return true;
}

bool Source::send_content(RecordWriter& message) {
  Sending& sending = *sending_;
  const uint64_t left = static_cast<uint64_t>(sending.entry.state.st_size) - sending.at;
  const std::span<std::byte> space = message.data_space();
  if (left > 0 && space.empty()) return false;
  const size_t wanted = std::min<uint64_t>(space.size(), left);
  const ssize_t got = left == 0 ? 0
                                : pread(sending.file.number(), space.data(), wanted,
                                        static_cast<off_t>(sending.at));
  if (got < 0 && errno == EINTR) return true;
  if (got <= 0) {
    sending.ended = true;
    if (got < 0) report(unreadable(sending.entry.source).error);
    if (got < 0) sending.file = Descriptor();
    return true;
  }
  sending.digest.add(space.first(static_cast<size_t>(got)));
  message.add_data(static_cast<size_t>(got));
  sending.at += static_cast<uint64_t>(got);
  counts_.bytes += static_cast<uint64_t>(got);
  return true;
}

bool Source::end_file(RecordWriter& message) {
  Sending& sending = *sending_;
  struct stat now {};
  const bool readable = sending.file.valid();
  const bool whole = readable && fstat(sending.file.number(), &now) == 0 &&
                     state_of(sending.entry.state) == state_of(now) &&
                     sending.at == static_cast<uint64_t>(now.st_size);
  Record end =
      record_of(whole ? RecordKind::kEnd : RecordKind::kWithdraw, sending.id, sending.entry);
  end.digest = sending.digest.value();
  if (!message.add(end)) return false;
  if (readable && !whole) {
    report({ErrorCode::kInvalid, fmt::format("cannot copy {}", quoted_path(sending.entry.source)),
            "it changed while it was copied", "run the copy again when it is written no more"});
  }
  sending_.reset();
  return true;
}

Result<void> Source::take(std::span<const std::byte> answers) {
  RecordReader reader(answers);
  while (true) {
    const Result<std::optional<Record>> answer = reader.next();
    if (!answer) return fail(answer.error());
    if (!answer->has_value()) return {};
    if (Result<void> taken = take(**answer); !taken) return taken;
  }
}

Result<void> Source::take(const Record& answer) {
  switch (answer.kind) {
    case RecordKind::kFatal:
      return fail(answer.error.code, answer.error.what, answer.error.why, answer.error.todo);
    case RecordKind::kFinished:
      finished_ = done_sent_;
      return {};
    case RecordKind::kTaken:
      taken_ = answer.id;
      return {};
    case RecordKind::kStored:
      ++counts_.files;
      return {};
    case RecordKind::kFailed:
      report(fail(answer.error.code, answer.error.what, answer.error.why, answer.error.todo).error);
      break;
    case RecordKind::kPresent:
      ++counts_.skipped;
      break;
    case RecordKind::kWanted:
      break;
    default:
      return {};
  }
  const auto found = std::ranges::lower_bound(waiting_, answer.id, {}, &Waiting::id);
  if (found != waiting_.end() && found->id == answer.id) {
    found->answer = {answer.kind, answer.from, answer.digest};
  }
  // The rest of a file that has failed is not sent.
  if (answer.kind == RecordKind::kFailed && sending_ && sending_->id == answer.id) {
    sending_->ended = true;
    sending_->file = Descriptor();
  }
  return {};
}

}  // namespace heddle::copying
