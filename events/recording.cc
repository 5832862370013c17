// The file behind a recording, and how its blocks are taken in turn.
#include "events/recording.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "events/recording/layout.h"

namespace heddle::events {

using recording::BlockHeader;
using recording::FileHeader;
using recording::kBlockBytes;
using recording::kHeaderBytes;

namespace {

constexpr uint32_t kLeastBlocks = 2;

Unexpected refuse(const std::string& directory, int error) {
  const std::string what = "cannot record in " + directory;
  const std::string why = std::strerror(error);
  switch (error) {
    case EACCES:
    case EPERM:
    case EROFS:
      return fail(ErrorCode::kPermission, what, why, "choose a folder that you may write");
    case ENOSPC:
    case EDQUOT:
      return fail(ErrorCode::kExhausted, what, why, "make room there, or choose another folder");
    default:
      return fail(ErrorCode::kSystem, what, why, "choose another folder");
  }
}

// What others may see of a job is its owner's matter.
Result<void> own_directory(const std::string& directory) {
  if (directory.empty()) {
    return fail(ErrorCode::kInvalid, "cannot record", "no folder is given", "name one");
  }
  if (mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) return refuse(directory, errno);
  struct stat status {};
  if (stat(directory.c_str(), &status) != 0) return refuse(directory, errno);
  if (!S_ISDIR(status.st_mode)) return refuse(directory, ENOTDIR);
  if (status.st_uid == geteuid() || geteuid() == 0) return {};
  return fail(ErrorCode::kInvalid, "cannot record in " + directory, "it belongs to another user",
              "choose a folder of your own");
}

// A name that no process has used there.
Result<int> new_file(const std::string& directory, std::string& path) {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  for (int number = 0; number < 1000; ++number) {
    path = fmt::format("{}/{}.{}.{}.heddle", directory, host.data(), getpid(), number);
    const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (descriptor >= 0) return descriptor;
    if (errno != EEXIST) return refuse(directory, errno);
  }
  return refuse(directory, EEXIST);
}

int64_t realtime_now() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return (seconds(time.tv_sec) + nanos(time.tv_nsec)).count;
}

std::string identity_text(const RecordingOptions& options) {
  std::string text;
  for (const auto& [name, value] : options.identity) text += name + "=" + value + "\n";
  return text;
}

}  // namespace

bool recorded_at(RecordLevel level, EventKind kind) {
  switch (kind) {
    case EventKind::kBurstSent:
    case EventKind::kAckReceived:
    case EventKind::kWindowChanged:
      return level >= RecordLevel::kSegments;
    default:
      return true;
  }
}

Result<std::shared_ptr<Recording>> Recording::create(const RecordingOptions& options) {
  if (Result<void> own = own_directory(options.directory); !own) return fail(own.error());
  std::string path;
  const Result<int> descriptor = new_file(options.directory, path);
  if (!descriptor) return fail(descriptor.error());
  const uint64_t wanted = options.most.count / kBlockBytes;
  const auto blocks = static_cast<uint32_t>(std::clamp<uint64_t>(wanted, kLeastBlocks, 1u << 20));
  const uint64_t bytes = kHeaderBytes + uint64_t{blocks} * kBlockBytes;
  // The first block's room is taken now, so that a full disk is told of and not met as a signal.
  int error = posix_fallocate(*descriptor, 0, kHeaderBytes + kBlockBytes);
  if (error == 0 && ftruncate(*descriptor, static_cast<off_t>(bytes)) != 0) error = errno;
  void* start = MAP_FAILED;
  if (error == 0) {
    start = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, *descriptor, 0);
    if (start == MAP_FAILED) error = errno;
  }
  if (error != 0) {
    close(*descriptor);
    unlink(path.c_str());
    return refuse(options.directory, error);
  }
  return std::shared_ptr<Recording>(
      new Recording(options, std::move(path), *descriptor, static_cast<std::byte*>(start), blocks));
}

Recording::Recording(const RecordingOptions& options, std::string path, int descriptor,
                     std::byte* start, uint32_t blocks)
    : path_(std::move(path)),
      level_(options.level),
      clock_(options.clock),
      descriptor_(descriptor),
      start_(start),
      blocks_(blocks),
      usable_(blocks),
      taken_(blocks),
      roomy_(blocks) {
  roomy_[0] = true;
  write_header(options);
}

void Recording::write_header(const RecordingOptions& options) {
  auto* header = new (start_) FileHeader{};
  std::string identity = identity_text(options);
  identity.resize(
      std::min(identity.size(), kHeaderBytes - sizeof(FileHeader) - kSchemaText.size()));
  header->version = recording::kVersion;
  header->header_bytes = kHeaderBytes;
  header->block_bytes = kBlockBytes;
  header->blocks = blocks_;
  header->schema_bytes = static_cast<uint32_t>(kSchemaText.size());
  header->identity_bytes = static_cast<uint32_t>(identity.size());
  header->started_realtime_ns = realtime_now();
  std::byte* texts = start_ + sizeof(FileHeader);
  std::memcpy(texts, kSchemaText.data(), kSchemaText.size());
  std::memcpy(texts + kSchemaText.size(), identity.data(), identity.size());
  std::atomic_thread_fence(std::memory_order_release);
  header->magic = recording::kMagic;  // from here on it can be read
}

Recording::~Recording() {
  reinterpret_cast<FileHeader*>(start_)->closed.store(1, std::memory_order_release);
  munmap(start_, kHeaderBytes + uint64_t{blocks_} * kBlockBytes);
  close(descriptor_);
}

std::unique_ptr<Recorder> Recording::add_writer() {
  return std::make_unique<Recorder>(shared_from_this(), writers_.fetch_add(1));
}

uint64_t Recording::dropped_events() const {
  return reinterpret_cast<const FileHeader*>(start_)->dropped_events.load();
}

std::byte* Recording::block_at(uint32_t block) const {
  return start_ + kHeaderBytes + uint64_t{block} * kBlockBytes;
}

// Once a lap: the disk's room is taken before it is written.
bool Recording::make_room(uint32_t block) {
  if (roomy_[block].load(std::memory_order_acquire)) return true;
  const auto from = static_cast<off_t>(kHeaderBytes + uint64_t{block} * kBlockBytes);
  const bool room = posix_fallocate(descriptor_, from, kBlockBytes) == 0;
  roomy_[block].store(room, std::memory_order_release);
  return room;
}

std::byte* Recording::next_block(uint32_t writer, std::byte* former, Nanos base) {
  const auto release = [&](std::byte* block) {
    if (block == nullptr) return;
    taken_[static_cast<size_t>(block - block_at(0)) / kBlockBytes].store(false,
                                                                         std::memory_order_release);
  };
  release(former);
  // As many as there are blocks: then each is some writer's.
  for (uint32_t tried = 0; tried < blocks_; ++tried) {
    const uint64_t sequence = sequence_.fetch_add(1);
    const auto block = static_cast<uint32_t>(sequence % usable_.load());
    if (taken_[block].exchange(true, std::memory_order_acquire)) continue;
    if (!make_room(block)) {
      taken_[block].store(false, std::memory_order_release);
      usable_.store(std::max(block, 1u));
      continue;
    }
    auto* header = reinterpret_cast<BlockHeader*>(block_at(block));
    if (header->magic == recording::kBlockMagic) {
      reinterpret_cast<FileHeader*>(start_)->dropped_events += header->events.load();
    }
    header->used.store(0, std::memory_order_release);
    header->events.store(0, std::memory_order_release);
    header->writer = writer;
    header->sequence = sequence;
    header->base_ns = clock_ != nullptr ? clock_().count : base.count;
    header->realtime_ns = clock_ != nullptr ? realtime_now() : base.count;
    std::atomic_thread_fence(std::memory_order_release);
    header->magic = recording::kBlockMagic;
    return block_at(block);
  }
  return nullptr;
}

Recorder::Recorder(std::shared_ptr<Recording> recording, uint32_t writer)
    : recording_(std::move(recording)), writer_(writer) {
  for (size_t kind = 0; kind < kEventKindCount; ++kind) {
    wanted_[kind] = recorded_at(recording_->level_, static_cast<EventKind>(kind));
  }
}

Recorder::~Recorder() {
  if (block_ == nullptr) return;
  const size_t block = static_cast<size_t>(block_ - recording_->block_at(0)) / kBlockBytes;
  recording_->taken_[block].store(false, std::memory_order_release);
}

std::byte* Recorder::begin_apart(Nanos time, uint32_t bytes) {
  if (static_cast<size_t>(end_ - at_) < bytes + recording::kJumpBytes) {
    block_ = recording_->next_block(writer_, block_, time);
    events_ = 0;
    at_ = end_ = nullptr;
    if (block_ == nullptr) return nullptr;
    at_ = block_ + sizeof(BlockHeader);
    end_ = block_ + kBlockBytes;
    latest_ = {reinterpret_cast<const BlockHeader*>(block_)->base_ns};
  }
  const uint64_t step = static_cast<uint64_t>((time - latest_).count);
  if (step > UINT32_MAX) {
    *at_++ = static_cast<std::byte>(recording::kJump);
    put(at_, time.count);
    latest_ = time;
  }
  return at_;
}

void Recorder::publish() {
  auto* header = reinterpret_cast<BlockHeader*>(block_);
  header->events.store(events_, std::memory_order_relaxed);
  header->used.store(static_cast<uint32_t>(at_ - block_ - sizeof(BlockHeader)),
                     std::memory_order_release);
}

}  // namespace heddle::events
