// Source: the sending side of a copy, without a network. It fills messages with records, and takes
// the receiver's answers. What it holds is bounded, whatever the number of files.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"
#include "copying/digest.h"
#include "copying/records.h"
#include "copying/tree_walk.h"

namespace heddle::copying {

struct SourceOptions {
  std::vector<std::string> sources;
  std::string folder;  // of the destination; empty: the listener's own
  bool dry = false;    // asks what would be copied, and sends nothing
  // Asked before each record, and while a long file is read: true makes that stop.
  std::function<bool()> stopped = [] { return false; };
  // Called for each entry that is not copied, and why.
  std::function<void(const Error&)> failed;
};

// Counted while a copy runs; any thread may read them.
struct CopyCounts {
  std::atomic<uint64_t> files{0};    // stored at the receiver; a dry run: that would be
  std::atomic<uint64_t> bytes{0};    // of content that was sent; a dry run: that would be
  std::atomic<uint64_t> resumed{0};  // bytes of incomplete files that were there
  std::atomic<uint64_t> skipped{0};  // files that were there
  std::atomic<uint64_t> failed{0};
};

class Source {
 public:
  explicit Source(SourceOptions options);

  // Adds records until the message is full or nothing can be added before an answer comes.
  void fill(RecordWriter& message);
  // Takes a message of answers. Errors: those that end the copy.
  Result<void> take(std::span<const std::byte> answers);
  // The receiver has confirmed the end.
  bool finished() const { return finished_; }
  // Messages that the receiver has written, where it reports that.
  uint64_t taken() const { return taken_; }
  const CopyCounts& counts() const { return counts_; }

 private:
  // What is kept of an answer to an offer.
  struct Answer {
    RecordKind kind = RecordKind::kFailed;  // kWanted, kPresent or kFailed
    uint64_t from = 0;
    DigestValue digest{};
  };
  // An entry whose turn has not come yet, in the order of the walk.
  struct Waiting {
    uint64_t id = 0;
    TreeEntry entry;
    std::optional<Answer> answer;  // files
  };
  // The file whose content is being sent.
  struct Sending {
    uint64_t id = 0;
    TreeEntry entry;
    Descriptor file;
    Digest digest;
    uint64_t at = 0;
    bool ended = false;  // only its last record is left
  };

  bool add_some(RecordWriter& message);
  bool offer_next(RecordWriter& message);
  bool send_next(RecordWriter& message);
  std::optional<Sending> open_file(const Waiting& next);
  bool start_file(RecordWriter& message, const Waiting& next);
  bool send_content(RecordWriter& message);
  bool end_file(RecordWriter& message);
  void report(const Error& error);
  Result<void> take(const Record& answer);

  SourceOptions options_;
  TreeWalk walk_;
  CopyCounts counts_;
  std::deque<Waiting> waiting_;
  std::optional<Waiting> unsent_;  // walked to, and not in a message yet
  std::optional<Sending> opened_;  // its kStart is not in a message yet
  std::optional<Sending> sending_;
  size_t waiting_bytes_ = 0;  // of names
  size_t offered_ = 0;        // in the present message
  uint64_t next_id_ = 1;
  uint64_t taken_ = 0;
  bool greeted_ = false;
  bool walked_ = false;
  bool done_sent_ = false;
  bool finished_ = false;
};

}  // namespace heddle::copying
