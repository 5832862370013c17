// See delay_counts.h.
#include "lab/delay_counts.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "lab/state.h"

namespace heddle::lab {
namespace {

constexpr size_t kNumbers = sizeof(DelayCounts) / sizeof(uint64_t);
using Numbers = std::array<uint64_t, kNumbers>;

}  // namespace

std::string delay_counts_path(const std::string& lab) { return lab_folder(lab) + "/delays"; }

Result<DelayCountsFile> DelayCountsFile::create(const std::string& path, size_t count) {
  DelayCountsFile file;
  file.count_ = count;
  file.descriptor_ = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  const size_t bytes = count * sizeof(DelayCounts);
  if (file.descriptor_ >= 0 && ftruncate(file.descriptor_, static_cast<off_t>(bytes)) == 0) {
    void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.descriptor_, 0);
    if (at != MAP_FAILED) {
      file.numbers_ = static_cast<uint64_t*>(at);
      return file;
    }
  }
  return fail(ErrorCode::kSystem, "cannot write " + path, std::strerror(errno),
              "see whether /run has room and is writable");
}

DelayCountsFile::~DelayCountsFile() {
  if (numbers_ != nullptr) munmap(numbers_, count_ * sizeof(DelayCounts));
  if (descriptor_ >= 0) close(descriptor_);
}

DelayCountsFile::DelayCountsFile(DelayCountsFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      numbers_(std::exchange(other.numbers_, nullptr)),
      count_(other.count_) {}

void DelayCountsFile::store(size_t direction, const DelayCounts& counts) {
  const auto numbers = std::bit_cast<Numbers>(counts);
  for (size_t i = 0; i < kNumbers; ++i) {
    const std::atomic_ref<uint64_t> place(numbers_[direction * kNumbers + i]);
    place.store(numbers[i], std::memory_order_relaxed);
  }
}

bool DelayCountsFile::is_removed() const {
  struct stat there {};
  return fstat(descriptor_, &there) == 0 && there.st_nlink == 0;
}

std::vector<DelayCounts> read_delay_counts(const std::string& path) {
  std::vector<DelayCounts> list;
  std::ifstream file(path, std::ios::binary);
  Numbers numbers{};
  while (file.read(reinterpret_cast<char*>(numbers.data()), sizeof numbers)) {
    list.push_back(std::bit_cast<DelayCounts>(numbers));
  }
  return list;
}

}  // namespace heddle::lab
