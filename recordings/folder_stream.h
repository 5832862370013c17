// A folder of recordings that are still written, sent as a stream of bytes: `heddle agent
// recordings` writes it where a job runs, and `heddle monitor` keeps a copy of the folder from it.
//
// The stream begins with kStreamGreeting, behind whatever a login wrote. Then frames,
// little-endian: kind (1 byte), length of the name (2), offset (8), length of the data (4), name,
// data. Names are those of recordings, which may lie in the folder `nodes` where the receiver asked
// for it. Kinds: 'F' a new file,
// of `offset` bytes; 'D' data at `offset` of a file; 'A' a sign of life, with how many files there
// are (offset).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "base/nanos.h"
#include "base/result.h"
#include "events/recording_changes.h"

namespace heddle::recordings {

inline constexpr std::string_view kStreamGreeting = "\nheddle recordings 1\n";

class FolderSender {
 public:
  // The folder need not be there yet.
  explicit FolderSender(std::string folder);

  // Sends its subfolder `nodes` too, and as part of that the recordings in `node_records`; empty:
  // none. Only where the receiver asks for it: an older one refuses their names.
  void add_nodes(const std::string& node_records);

  // False: the reader has gone.
  using Send = std::function<bool(std::string_view bytes)>;
  // Sends what was written since the last call, and a sign of life.
  bool send_changes(const Send& send);
  // What could not be read, once each.
  std::vector<Error> take_errors() { return std::exchange(errors_, {}); }

 private:
  // A folder, and what its files' names begin with in the stream.
  struct Source {
    std::string folder;
    std::string prefix;
    std::string todo;  // where it cannot be read; empty: it may be absent
  };
  void find_files(const Source& source);
  void complain(const std::string& path, Error error);

  std::vector<Source> sources_;
  bool greeted_ = false;
  std::map<std::string, events::RecordingChanges> files_;  // by name
  std::set<std::string> announced_;
  std::set<std::string> complained_;
  std::vector<Error> errors_;
};

// What a sender may make a receiver keep. Ranges: 1 to 65,536 files; 64 KiB to 1 TiB.
struct FolderLimits {
  size_t files = 4096;
  uint64_t file_bytes = uint64_t{1} << 36;  // size of a file, mostly holes
  uint64_t disk_bytes = uint64_t{1} << 34;  // that are no holes, of all files
};

class FolderReceiver {
 public:
  // Writes into this folder, which is there.
  explicit FolderReceiver(std::string folder, const FolderLimits& limits = {})
      : folder_(std::move(folder)), limits_(limits) {}

  // The next bytes of the stream. Errors: kInvalid (no such stream), kExhausted (it exceeds the
  // limits, or the disk is full), kSystem. After one, nothing more is taken.
  Result<void> take(std::string_view bytes);
  // A new stream of the same folder begins.
  void restart();

  bool greeted() const { return greeted_; }
  uint64_t signs_of_life() const { return signs_; }

 private:
  struct Frame {
    char kind = 0;
    uint64_t offset = 0;
    std::string_view name;
    std::string_view data;
  };
  struct File {
    uint64_t bytes = 0;
    std::set<uint64_t> pages;  // of kPageBytes, that are no holes
  };
  bool find_greeting();
  // The bytes of the frame at the beginning of what is there; 0: more are needed.
  Result<size_t> parse(std::string_view bytes, Frame& frame) const;
  Result<void> take(const Frame& frame);
  Result<void> add_file(const Frame& frame);
  Result<void> write(const Frame& frame);
  int descriptor_of(const std::string& path);
  // Whether there may be data in this part of the file.
  bool has_room(File& file, uint64_t from, uint64_t to);

  std::string folder_;
  FolderLimits limits_;
  std::string unparsed_;
  bool greeted_ = false;
  uint64_t signs_ = 0;
  std::map<std::string, File> files_;  // by name
  uint64_t pages_ = 0;
  std::string open_path_;  // of the last one written
  Descriptor open_;
};

}  // namespace heddle::recordings
