// Store: see store.h.
#include "copying/store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/write_error.h"
#include "copying/params.h"

namespace heddle::copying {

Result<void> Store::take(std::span<const std::byte> message, std::vector<Record>& answers) {
  answers_ = &answers;
  RecordReader reader(message);
  while (!finished_) {
    if (stopped_()) return fail(ErrorCode::kCancelled, "the copy is stopped", "by a signal");
    const Result<std::optional<Record>> record = reader.next();
    if (!record) return fail(record.error());
    if (!record->has_value()) return {};
    const Result<void> taken = take(**record);
    if (taken) continue;
    // A full disk, and what comes before an introduction, ends the copy.
    const ErrorCode code = taken.error().code;
    if (code == ErrorCode::kExhausted || code == ErrorCode::kCancelled || !greeted()) return taken;
    ++failures_;
    if (writing_ && writing_->id == (*record)->id) writing_.reset();
    if ((*record)->kind == RecordKind::kData) writing_.reset();
    answers.push_back({.kind = RecordKind::kFailed, .id = (*record)->id, .error = taken.error()});
  }
  return {};
}

Result<void> Store::take(const Record& record) {
  if (record.kind == RecordKind::kHello) return greet(record);
  if (!greeted()) {
    return fail(ErrorCode::kInvalid, "cannot receive this copy", "the sender did not say hello",
                "use the same version of heddle on both sides");
  }
  switch (record.kind) {
    case RecordKind::kFolder:
      return make_folder(record);
    case RecordKind::kLink:
      return make_link(record);
    case RecordKind::kLeave:
      return leave_folder(record);
    case RecordKind::kOffer:
      return offer(record);
    case RecordKind::kStart:
      return start(record);
    case RecordKind::kData:
      return append(record);
    case RecordKind::kEnd:
      return end(record);
    case RecordKind::kWithdraw:
      withdraw();
      return {};
    case RecordKind::kDone:
      finished_ = true;
      answers_->push_back({.kind = RecordKind::kFinished});
      return {};
    default:
      return fail(ErrorCode::kExhausted, "cannot receive this copy",
                  "the sender sent an answer of a receiver",
                  "use the same version of heddle on both sides");
  }
}

Result<void> Store::greet(const Record& hello) {
  if (greeted()) return {};
  dry_ = hello.dry;
  Result<SafeFolder> folder = SafeFolder::open(root_.folder, root_.make && !dry_);
  if (folder) folder = folder->below(hello.path, !dry_);
  const bool missing = !folder && folder.error().code == ErrorCode::kUnavailable;
  if (!folder && !(dry_ && missing)) return fail(folder.error());
  if (folder) folder_ = std::move(*folder);
  greeted_ = true;
  answers_->push_back({.kind = RecordKind::kWelcome, .version = params::kVersion});
  return {};
}

Result<void> Store::make_folder(const Record& record) {
  if (dry_) return {};
  if (Result<void> good = check_path(record.path); !good) return good;
  const Result<SafeFolder::Place> place = folder_->place_of(record.path);
  if (!place) return fail(place.error());
  // Until the copy leaves it, this user may write there.
  if (mkdirat(place->folder, place->name.c_str(), 0700 | (record.mode & 0777)) == 0) return {};
  const int error = errno;
  struct stat found {};
  const bool there = error == EEXIST &&
                     fstatat(place->folder, place->name.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0;
  if (there && S_ISDIR(found.st_mode)) return open_for_writing(*place);
  const std::string what = fmt::format("cannot make the folder {}", quoted_path(record.path));
  if (there) {
    return fail(ErrorCode::kInvalid, what,
                S_ISLNK(found.st_mode)
                    ? "a symbolic link has this name in the destination, and a copy follows none"
                    : "a file has this name in the destination",
                "remove or rename it there");
  }
  return cannot_write(what, error, "free space at the destination, and run the copy again");
}

// Two copies may make the same link at once: each then has the other's, or makes it again.
Result<void> Store::make_link(const Record& record) {
  if (dry_) return {};
  if (Result<void> good = check_path(record.path); !good) return good;
  const Result<SafeFolder::Place> place = folder_->place_of(record.path);
  if (!place) return fail(place.error());
  const std::string fresh = fresh_link_name(place->name);
  int error = 0;
  for (int tries = 0; tries < 10; ++tries) {
    unlinkat(place->folder, fresh.c_str(), 0);
    error = symlinkat(record.target.c_str(), place->folder, fresh.c_str()) == 0 ? 0 : errno;
    if (error == EEXIST) continue;
    if (error != 0) break;
    const auto set =
        set_attributes({place->folder, fresh}, Kind::kLink, record.mode, record.mtime_ns);
    if (set && renameat(place->folder, fresh.c_str(), place->folder, place->name.c_str()) == 0) {
      return {};
    }
    error = errno;
    unlinkat(place->folder, fresh.c_str(), 0);
    if (error != ENOENT) break;
  }
  return cannot_write(fmt::format("cannot make the link {}", quoted_path(record.path)), error,
                      "free space at the destination, and run the copy again");
}

Result<void> Store::leave_folder(const Record& record) {
  if (dry_) return {};
  if (Result<void> good = check_path(record.path); !good) return good;
  const Result<SafeFolder::Place> place = folder_->place_of(record.path);
  if (!place) return fail(place.error());
  return set_attributes(*place, Kind::kFolder, record.mode, record.mtime_ns);
}

Result<void> Store::offer(const Record& record) {
  if (Result<void> good = check_path(record.path); !good) return good;
  Result<SafeFolder::Place> place =
      folder_ ? folder_->place_of(record.path) : fail(ErrorCode::kUnavailable, "", "", "");
  if (!place && dry_ && place.error().code == ErrorCode::kUnavailable) {
    answers_->push_back({.kind = RecordKind::kWanted, .id = record.id, .digest = Digest().value()});
    return {};
  }
  if (!place) return fail(place.error());
  struct stat found {};
  const bool there = fstatat(place->folder, place->name.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0;
  if (there && S_ISDIR(found.st_mode)) {
    return fail(ErrorCode::kInvalid, fmt::format("cannot write {}", quoted_path(record.path)),
                "a folder has this name in the destination", "remove or rename it there");
  }
  const bool same = there && S_ISREG(found.st_mode) &&
                    static_cast<uint64_t>(found.st_size) == record.size &&
                    nanoseconds_of(found.st_mtim) == record.mtime_ns;
  if (!same) return want(record, *place);
  if (!dry_ && (found.st_mode & 0777) != (record.mode & 0777)) {
    const auto set = set_attributes(*place, Kind::kFile, record.mode, record.mtime_ns);
    if (!set) return set;
  }
  answers_->push_back({.kind = RecordKind::kPresent, .id = record.id});
  return {};
}

Result<void> Store::want(const Record& record, const SafeFolder::Place& place) {
  // A part that is offered again, as it was, is not read again.
  const auto is_it = [now = part_state(place)](const KeptPart& kept) {
    return kept.read.state == now;
  };
  auto kept = std::ranges::find_if(kept_parts_, is_it);
  if (kept == kept_parts_.end()) {
    Result<PartRead> part = read_part(place, stopped_);
    if (!part) return fail(part.error());
    if (part->state.bytes == 0) {
      answers_->push_back(
          {.kind = RecordKind::kWanted, .id = record.id, .digest = part->digest.value()});
      return {};
    }
    if (kept_parts_.size() == params::kPartsKept) kept_parts_.erase(kept_parts_.begin());
    kept = kept_parts_.insert(kept_parts_.end(), {.id = 0, .read = std::move(*part)});
  }
  kept->id = record.id;
  answers_->push_back({.kind = RecordKind::kWanted,
                       .id = record.id,
                       .from = kept->read.state.bytes,
                       .digest = kept->read.digest.value()});
  return {};
}

Result<void> Store::start(const Record& record) {
  writing_.reset();
  if (dry_) return {};
  if (Result<void> good = check_path(record.path); !good) return good;
  const Result<SafeFolder::Place> place = folder_->place_of(record.path);
  if (!place) return fail(place.error());
  Result<PartFile> part = PartFile::open(*place, record.path);
  if (!part) return fail(part.error());
  Writing writing{.id = record.id, .part = std::move(*part), .digest = {}};
  if (Result<void> kept = writing.part.keep(record.from); !kept) return kept;
  const auto known = std::ranges::find(kept_parts_, record.id, &KeptPart::id);
  if (known != kept_parts_.end() && known->read.settled && known->read.state.bytes == record.from &&
      known->read.state == writing.part.opened()) {
    writing.digest = std::move(known->read.digest);
  } else if (record.from > 0) {
    if (Result<void> read = writing.part.read_kept(writing.digest, stopped_); !read) return read;
  }
  if (known != kept_parts_.end()) kept_parts_.erase(known);
  writing_ = std::move(writing);
  return {};
}

// Data without a file are those of a file that failed.
Result<void> Store::append(const Record& record) {
  if (!writing_) return {};
  writing_->digest.add(record.data);
  const uint64_t id = writing_->id;
  const Result<void> appended = writing_->part.append(record.data);
  if (appended) {
    bytes_ += record.data.size();
    return {};
  }
  if (appended.error().code == ErrorCode::kExhausted) return appended;
  writing_.reset();
  ++failures_;
  answers_->push_back({.kind = RecordKind::kFailed, .id = id, .error = appended.error()});
  return {};
}

Result<void> Store::end(const Record& record) {
  if (!writing_ || writing_->id != record.id) return {};
  Writing writing = std::move(*writing_);
  writing_.reset();
  if (writing.part.bytes() != record.size || writing.digest.value() != record.digest) {
    writing.part.remove();
    return fail(ErrorCode::kSystem,
                fmt::format("cannot store {}", quoted_path(writing.part.path())),
                "what arrived differs from the source by its checksum", "run the copy again");
  }
  if (Result<void> done = writing.part.finish(record.mode, record.mtime_ns); !done) return done;
  ++files_;
  answers_->push_back({.kind = RecordKind::kStored, .id = record.id});
  return {};
}

void Store::withdraw() {
  if (writing_) writing_->part.remove();
  writing_.reset();
}

}  // namespace heddle::copying
