// See folder_stream.h.
#include "recordings/folder_stream.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <span>
#include <utility>

#include "recordings/contents.h"
#include "recordings/many_files.h"
#include "recordings/node_files.h"
#include "recordings/params.h"

namespace heddle::recordings {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kOfNodes = "nodes/";
constexpr char kNewFile = 'F';
constexpr char kData = 'D';
constexpr char kAlive = 'A';
constexpr size_t kHeadBytes = 15;

template <typename Value>
void append(std::string& text, Value value) {
  for (size_t i = 0; i < sizeof value; ++i) {
    text += static_cast<char>(static_cast<uint64_t>(value) >> (8 * i));
  }
}

template <typename Value>
Value read_value(std::string_view text) {
  uint64_t value = 0;
  for (size_t i = 0; i < sizeof(Value); ++i) {
    value |= uint64_t{static_cast<uint8_t>(text[i])} << (8 * i);
  }
  return static_cast<Value>(value);
}

std::string frame_of(char kind, std::string_view name, uint64_t offset, std::string_view data) {
  std::string made(1, kind);
  append(made, static_cast<uint16_t>(name.size()));
  append(made, offset);
  append(made, static_cast<uint32_t>(data.size()));
  made += name;
  made += data;
  return made;
}

// What a recording's file may be named: nothing that leads out of the folder and that of machines.
bool is_file_name(std::string_view name) {
  if (name.starts_with(kOfNodes)) name.remove_prefix(kOfNodes.size());
  return name.size() > std::strlen(kRecordingSuffix) && name.ends_with(kRecordingSuffix) &&
         name.front() != '.' && name.find('/') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

Unexpected no_stream(const std::string& why) {
  return fail(ErrorCode::kInvalid, "cannot read what the other machine sent", why,
              "run the same version of heddle on all machines");
}

Unexpected too_much(const std::string& why) {
  return fail(ErrorCode::kExhausted, "cannot keep what the other machine sent", why,
              "look whether the folder there holds recordings of one job only");
}

}  // namespace

FolderSender::FolderSender(std::string folder) {
  allow_many_files();
  sources_.push_back({std::move(folder), "", "give the folder in which the job records there"});
}

void FolderSender::add_nodes(const std::string& node_records) {
  const std::string prefix(kOfNodes);
  sources_.push_back({nodes_folder(sources_.front().folder), prefix, ""});
  if (node_records.empty()) return;
  sources_.push_back({node_records, prefix,
                      "give --node-records the folder of `heddle agent serve` there, and let this "
                      "user's group read it"});
}

void FolderSender::complain(const std::string& path, Error error) {
  if (complained_.insert(path).second) errors_.push_back(std::move(error));
}

void FolderSender::find_files(const Source& source) {
  std::error_code error;
  for (fs::directory_iterator at(source.folder, error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = source.prefix + at->path().filename().string();
    if (!is_file_name(name) || files_.contains(name)) continue;
    auto changes = events::RecordingChanges::open(at->path().string());
    if (changes) {
      files_.emplace(name, std::move(*changes));
    } else if (changes.error().code != ErrorCode::kInvalid) {  // it may have no header yet
      complain(name, changes.error());
    }
  }
  const bool may_be_absent = source.todo.empty() && error.value() == ENOENT;
  if (!error || may_be_absent) return;
  complain(source.folder,
           {ErrorCode::kUnavailable, "cannot read the recordings in " + source.folder,
            error.message(), source.todo.empty() ? "let this user read it" : source.todo});
}

bool FolderSender::send_changes(const Send& send) {
  if (!greeted_ && !send(kStreamGreeting)) return false;
  greeted_ = true;
  for (const Source& source : sources_) find_files(source);
  bool sent = true;
  for (auto& [name, changes] : files_) {
    if (announced_.insert(name).second) {
      sent = sent && send(frame_of(kNewFile, name, changes.bytes(), {}));
    }
    const std::string& of_file = name;
    changes.look([&](uint64_t at, std::span<const std::byte> bytes) {
      const std::string_view data(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      sent = sent && send(frame_of(kData, of_file, at, data));
    });
  }
  return sent && send(frame_of(kAlive, {}, files_.size(), {}));
}

void FolderReceiver::restart() {
  unparsed_.clear();
  greeted_ = false;
}

bool FolderReceiver::find_greeting() {
  const size_t at = unparsed_.find(kStreamGreeting);
  if (at == std::string::npos) return false;
  unparsed_.erase(0, at + kStreamGreeting.size());
  return greeted_ = true;
}

Result<void> FolderReceiver::take(std::string_view bytes) {
  unparsed_ += bytes;
  if (!greeted_ && !find_greeting()) {
    if (unparsed_.size() <= params::stream::kMostBeforeGreeting) return {};
    return no_stream("it is no stream of recordings");
  }
  std::string_view left = unparsed_;
  while (!left.empty()) {
    Frame frame;
    const Result<size_t> parsed = parse(left, frame);
    if (!parsed) return fail(parsed.error());
    if (*parsed == 0) break;
    if (Result<void> taken = take(frame); !taken) return taken;
    left.remove_prefix(*parsed);
  }
  unparsed_.erase(0, unparsed_.size() - left.size());
  return {};
}

Result<size_t> FolderReceiver::parse(std::string_view bytes, Frame& frame) const {
  if (bytes.size() < kHeadBytes) return size_t{0};
  frame.kind = bytes[0];
  const auto name_bytes = read_value<uint16_t>(bytes.substr(1));
  frame.offset = read_value<uint64_t>(bytes.substr(3));
  const auto data_bytes = read_value<uint32_t>(bytes.substr(11));
  const bool known = frame.kind == kNewFile || frame.kind == kData || frame.kind == kAlive;
  if (!known || name_bytes > params::stream::kMostNameBytes ||
      data_bytes > params::stream::kMostDataBytes) {
    return no_stream("its frames make no sense");
  }
  const size_t whole = kHeadBytes + name_bytes + data_bytes;
  if (bytes.size() < whole) return size_t{0};
  frame.name = bytes.substr(kHeadBytes, name_bytes);
  frame.data = bytes.substr(kHeadBytes + name_bytes, data_bytes);
  return whole;
}

Result<void> FolderReceiver::take(const Frame& frame) {
  switch (frame.kind) {
    case kNewFile:
      return add_file(frame);
    case kData:
      return write(frame);
    default:
      ++signs_;
      return {};
  }
}

Result<void> FolderReceiver::add_file(const Frame& frame) {
  if (!is_file_name(frame.name)) return no_stream("a file has a name that is none");
  if (frame.offset > limits_.file_bytes) {
    return too_much(fmt::format("a file of {} bytes", frame.offset));
  }
  const std::string name(frame.name);
  const auto known = files_.find(name);
  if (known == files_.end() && files_.size() >= limits_.files) {
    return too_much(fmt::format("more than {} files", limits_.files));
  }
  if (known != files_.end() && known->second.bytes == frame.offset) return {};
  const std::string path = folder_ + "/" + name;
  if (frame.name.starts_with(kOfNodes)) mkdir(nodes_folder(folder_).c_str(), 0700);
  const Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid() || ftruncate(file.number(), static_cast<off_t>(frame.offset)) != 0) {
    return fail(ErrorCode::kSystem, "cannot write " + path, std::strerror(errno),
                "give another folder with -o");
  }
  files_[name] = {frame.offset, {}};
  return {};
}

bool FolderReceiver::has_room(File& file, uint64_t from, uint64_t to) {
  for (uint64_t page = from / params::stream::kPageBytes;
       page <= (to - 1) / params::stream::kPageBytes; ++page) {
    if (file.pages.insert(page).second) ++pages_;
  }
  return pages_ * params::stream::kPageBytes <= limits_.disk_bytes;
}

// One file's data comes in many frames, one after the other.
int FolderReceiver::descriptor_of(const std::string& path) {
  if (open_.valid() && open_path_ == path) return open_.number();
  open_ = Descriptor(open(path.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC));
  open_path_ = path;
  return open_.number();
}

Result<void> FolderReceiver::write(const Frame& frame) {
  const auto known = files_.find(std::string(frame.name));
  if (known == files_.end()) return no_stream("it has data of an unknown file");
  const uint64_t size = known->second.bytes;
  if (frame.offset > size || frame.data.size() > size - frame.offset) {
    return no_stream("it has data behind the end of a file");
  }
  if (frame.data.empty()) return {};
  if (!has_room(known->second, frame.offset, frame.offset + frame.data.size())) {
    return too_much(fmt::format("more than {} bytes", limits_.disk_bytes));
  }
  const std::string path = folder_ + "/" + known->first;
  const int file = descriptor_of(path);
  size_t written = 0;
  while (file >= 0 && written < frame.data.size()) {
    const ssize_t wrote = pwrite(file, frame.data.data() + written, frame.data.size() - written,
                                 static_cast<off_t>(frame.offset + written));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) break;
    written += static_cast<size_t>(wrote);
  }
  if (written == frame.data.size()) return {};
  const bool full = errno == ENOSPC || errno == EDQUOT;
  return fail(full ? ErrorCode::kExhausted : ErrorCode::kSystem, "cannot write " + path,
              std::strerror(errno), "make room, or give another folder with -o");
}

}  // namespace heddle::recordings
