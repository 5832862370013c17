// Key files: see key_file.h. Checks use the open descriptor, so the file cannot be exchanged after
// them.
#include "engine/key_file.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <string_view>

namespace heddle::engine {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

std::string mode_text(mode_t mode) {
  std::string text = "0000";
  for (size_t i = 0; i < 4; ++i) text[3 - i] = static_cast<char>('0' + (mode >> 3 * i & 7));
  return text;
}

Unexpected cannot_read(const std::string& path, ErrorCode code, const std::string& why,
                       const std::string& todo) {
  return fail(code, "cannot use key file '" + path + "'", why, todo);
}

Result<void> check_private(const std::string& path, int descriptor) {
  struct stat is {};
  if (fstat(descriptor, &is) != 0) {
    return cannot_read(path, ErrorCode::kSystem, std::strerror(errno), "");
  }
  if (!S_ISREG(is.st_mode)) {
    return cannot_read(path, ErrorCode::kPermission, "it is not a regular file",
                       "name a file that holds keys: 'heddle key generate FILE' makes one");
  }
  if (is.st_uid != geteuid() && is.st_uid != 0) {
    return cannot_read(
        path, ErrorCode::kPermission,
        "it belongs to user " + std::to_string(is.st_uid) + ", who could put in a key of theirs",
        "chown it to the user who runs heddle, or to root");
  }
  if ((is.st_mode & 077) != 0) {
    return cannot_read(path, ErrorCode::kPermission,
                       "its mode is " + mode_text(is.st_mode & 07777) +
                           ": others than its owner have rights to it",
                       "chmod 600 '" + path + "', and make new keys if others may have read it");
  }
  return {};
}

Result<std::string> read_all(const std::string& path, int descriptor) {
  std::string text;
  std::array<char, 4096> part;
  while (true) {
    const ssize_t got = ::read(descriptor, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return cannot_read(path, ErrorCode::kSystem, std::strerror(errno), "");
    if (got == 0) return text;
    text.append(part.data(), static_cast<size_t>(got));
    if (text.size() > params::kMostKeyFileBytes) {
      return cannot_read(path, ErrorCode::kInvalid, "it is larger than 64 KiB",
                         "one key a line, at most 16 of them");
    }
  }
}

int value_of(char digit) {
  const char lower = digit >= 'A' && digit <= 'F' ? static_cast<char>(digit - 'A' + 'a') : digit;
  const size_t at = kDigits.find(lower);
  return at == std::string_view::npos ? -1 : static_cast<int>(at);
}

// False: not 64 hexadecimal digits.
bool parse_key(std::string_view digits, transport::ClusterKey& key) {
  if (digits.size() != 2 * key.secret.size()) return false;
  for (size_t i = 0; i < key.secret.size(); ++i) {
    const int high = value_of(digits[2 * i]);
    const int low = value_of(digits[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    key.secret[i] = static_cast<std::byte>(high << 4 | low);
  }
  return true;
}

// The line without its comment and without surrounding white space.
std::string_view content_of(std::string_view line) {
  line = line.substr(0, line.find('#'));
  const size_t from = line.find_first_not_of(" \t\r");
  if (from == std::string_view::npos) return {};
  return line.substr(from, line.find_last_not_of(" \t\r") - from + 1);
}

std::string hex(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes) {
    text += kDigits[static_cast<size_t>(byte) >> 4];
    text += kDigits[static_cast<size_t>(byte) & 15];
  }
  return text;
}

Result<void> write_key(const std::string& path, int descriptor, const transport::ClusterKey& key) {
  const std::string text = key_file_text(key);
  const ssize_t put = ::write(descriptor, text.data(), text.size());
  if (put == static_cast<ssize_t>(text.size()) && fsync(descriptor) == 0) return {};
  const int error = put < 0 ? errno : ENOSPC;
  ::unlink(path.c_str());
  return fail(ErrorCode::kSystem, "cannot write key file '" + path + "'", std::strerror(error),
              "make room, or choose another file");
}

}  // namespace

Result<std::vector<transport::ClusterKey>> read_key_file(const std::string& path) {
  // Non-blocking: opening a named pipe would otherwise wait for a writer.
  const File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.descriptor() < 0) {
    const bool denied = errno == EACCES || errno == EPERM;
    return cannot_read(path, denied ? ErrorCode::kPermission : ErrorCode::kUnavailable,
                       std::strerror(errno),
                       denied ? "run heddle as the file's owner"
                              : "'heddle key generate FILE' makes one; copy it to every host");
  }
  if (Result<void> good = check_private(path, file.descriptor()); !good) return fail(good.error());
  Result<std::string> text = read_all(path, file.descriptor());
  if (!text) return fail(text.error());
  std::vector<transport::ClusterKey> keys;
  int line_number = 0;
  for (size_t from = 0; from < text->size(); ++line_number) {
    const size_t end = std::min(text->find('\n', from), text->size());
    const std::string_view content = content_of(std::string_view(*text).substr(from, end - from));
    from = end + 1;
    if (content.empty()) continue;
    transport::ClusterKey key;
    if (!parse_key(content, key) || keys.size() == kMostKeys) {
      const bool many = keys.size() == kMostKeys;
      return cannot_read(path, ErrorCode::kInvalid,
                         "line " + std::to_string(line_number + 1) +
                             (many ? " is one key too many" : " is no key"),
                         many ? "at most 16 keys" : "a key is 64 hexadecimal digits");
    }
    keys.push_back(key);
  }
  if (!keys.empty()) return keys;
  return cannot_read(path, ErrorCode::kInvalid, "there is no key in it",
                     "put one in, or set no key_file to go without");
}

Result<transport::ClusterKey> generate_key() {
  transport::ClusterKey key;
  if (getrandom(key.secret.data(), key.secret.size(), 0) !=
      static_cast<ssize_t>(key.secret.size())) {
    return fail(ErrorCode::kSystem, "cannot make a key", std::strerror(errno), "");
  }
  return key;
}

std::string key_file_text(const transport::ClusterKey& key) {
  return "# heddle cluster key " + id_text(key) + "\n" + hex(key.secret) + "\n";
}

Result<transport::ClusterKey> generate_key_file(const std::string& path) {
  const Result<transport::ClusterKey> made = generate_key();
  if (!made) return made;
  const transport::ClusterKey& key = *made;
  const File file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                         S_IRUSR | S_IWUSR));
  if (file.descriptor() < 0) {
    const int error = errno;
    const bool there = error == EEXIST;
    const bool denied = error == EACCES || error == EPERM || error == EROFS;
    return fail(there    ? ErrorCode::kInUse
                : denied ? ErrorCode::kPermission
                         : ErrorCode::kUnavailable,
                "cannot make key file '" + path + "'", std::strerror(error),
                there ? "a key that may be in use is not overwritten: choose another name"
                      : "choose a folder that you may write to");
  }
  // Restores the permissions that the umask removed.
  if (fchmod(file.descriptor(), S_IRUSR | S_IWUSR) != 0) {
    return fail(ErrorCode::kSystem, "cannot make key file '" + path + "'", std::strerror(errno),
                "");
  }
  if (Result<void> put = write_key(path, file.descriptor(), key); !put) return fail(put.error());
  return key;
}

std::string id_text(const transport::ClusterKey& key) { return hex(transport::key_id(key)); }

}  // namespace heddle::engine
