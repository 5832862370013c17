// Records: what the two sides of a copy send each other. A message is a row of records, each a
// kind, a length and a body in little-endian order. Every length is checked before it is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "copying/digest.h"

namespace heddle::copying {

// From the sender: kHello first, then kFolder, kOffer, kLink and kLeave in the order of the walk.
// The data of a wanted file is kStart, any number of kData, and kEnd or kWithdraw, one file at a
// time. kDone is the last one.
// From the receiver: kWelcome or kFatal; for an offer kWanted, kPresent or kFailed; for a file's
// end kStored or kFailed; kFinished after kDone. kFatal ends the copy.
// Over links that need posted receives, kTaken follows each message, and the sender sends no more
// of them than the receiver has receives for.
enum class RecordKind : uint8_t {
  kHello = 1,
  kFolder,
  kOffer,
  kLink,
  kLeave,
  kStart,
  kData,
  kEnd,
  kWithdraw,
  kDone,
  kWelcome = 32,
  kWanted,
  kPresent,
  kStored,
  kFailed,
  kFatal,
  kFinished,
  kTaken,
};

// Only the fields of its kind have a meaning; the others are not sent.
struct Record {
  RecordKind kind = RecordKind::kDone;
  uint64_t id = 0;                  // of an entry, chosen by the sender; kTaken: messages so far
  std::string path;                 // kHello: the folder; else relative to it. Any bytes
  std::string target;               // kLink
  uint32_t mode = 0;                // permissions, 0777 at most
  int64_t mtime_ns = 0;             // since 1970
  uint64_t size = 0;                // bytes
  uint64_t from = 0;                // kStart, kWanted: bytes that are there already
  DigestValue digest{};             // kEnd: of the whole; kWanted: of those bytes
  uint32_t version = 0;             // kHello, kWelcome
  bool dry = false;                 // kHello: nothing is to be written
  std::span<const std::byte> data;  // kData: within the message
  Error error;                      // kFailed, kFatal
};

// Appends records to a message.
class RecordWriter {
 public:
  explicit RecordWriter(std::span<std::byte> message) : message_(message) {}

  // False: it does not fit, and nothing is written.
  bool add(const Record& record);
  // A kData record in two steps: where its data go (empty: none fit), then the count of bytes that
  // were put there.
  std::span<std::byte> data_space() const;
  void add_data(size_t bytes);

  size_t bytes() const { return used_; }

 private:
  std::span<std::byte> message_;
  size_t used_ = 0;
};

// Reads the records of a message.
class RecordReader {
 public:
  explicit RecordReader(std::span<const std::byte> message) : rest_(message) {}

  // The next one; empty at the end. Errors: kInvalid (not such a message), kVersion (a hello of
  // another version, with the side to upgrade).
  Result<std::optional<Record>> next();

 private:
  std::span<const std::byte> rest_;
};

}  // namespace heddle::copying
