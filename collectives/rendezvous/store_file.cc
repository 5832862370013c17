// Store files: see store_file.h. Lines of text: a heading, ticket, run, and addresses.
#include "collectives/rendezvous/store_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>

#include "base/write_all.h"
#include "collectives/params.h"
#include "engine/addresses.h"
#include "engine/seed.h"

namespace heddle::collectives {
namespace {

constexpr std::string_view kHeading = "heddle store 1";

Unexpected cannot_write(const std::string& path) {
  const ErrorCode code = errno == EACCES || errno == EPERM ? ErrorCode::kPermission
                         : errno == ENOENT                 ? ErrorCode::kUnavailable
                                                           : ErrorCode::kSystem;
  return fail(code, "cannot write the store file '" + path + "'", std::strerror(errno),
              "choose a place in HEDDLE_STORE where rank 0 may write");
}

std::optional<StoreFile> parse(std::istream& text) {
  StoreFile file;
  std::string line;
  if (!std::getline(text, line) || line != kHeading) return std::nullopt;
  while (std::getline(text, line)) {
    const size_t space = line.find(' ');
    if (space == std::string::npos) return std::nullopt;
    const std::string name = line.substr(0, space);
    const std::string value = line.substr(space + 1);
    if (name == "ticket") {
      const char* const end = value.data() + value.size();
      if (std::from_chars(value.data(), end, file.ticket, 16).ptr != end) return std::nullopt;
    } else if (name == "run") {
      file.run = value;
    } else if (name == "at") {
      const Result<transport::Address> address = engine::find_address(value, 0);
      if (!address) return std::nullopt;
      file.addresses.push_back(*address);
    }
  }
  if (file.ticket == 0 || file.addresses.empty()) return std::nullopt;
  return file;
}

Result<StoreFile> checked(std::optional<StoreFile> file, const std::string& what,
                          const std::string& run) {
  if (!file) return fail(ErrorCode::kInvalid, what, "it is no store file", "");
  if (file->run == run) return *std::move(file);
  return fail(ErrorCode::kInvalid, what,
              fmt::format("it is of the run '{}', this process of '{}'", file->run, run), "");
}

}  // namespace

std::string store_text(const StoreFile& file) {
  std::string text = fmt::format("{}\nticket {:016x}\nrun {}\n", kHeading, file.ticket, file.run);
  for (const transport::Address& address : file.addresses) {
    text += fmt::format("at {}\n", engine::address_text(address));
  }
  return text;
}

Result<StoreFile> parse_store_text(const std::string& text, const std::string& run) {
  std::istringstream lines(text);
  return checked(parse(lines), "what rank 0 announced", run);
}

Result<void> write_store_file(const std::string& path, const StoreFile& file) {
  const std::string text = store_text(file);
  const std::string fresh = fmt::format("{}.{:016x}", path, engine::system_seed());
  const int descriptor =
      open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (descriptor < 0) return cannot_write(path);
  const bool written = write_all(descriptor, text) && fsync(descriptor) == 0;
  const bool closed = close(descriptor) == 0;
  if (written && closed && rename(fresh.c_str(), path.c_str()) == 0) return {};
  const Unexpected error = cannot_write(path);
  unlink(fresh.c_str());
  return error;
}

Result<StoreFile> read_store_file(const std::string& path, const std::string& run) {
  const std::string what = "the store file '" + path + "'";
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
  if (descriptor < 0 && errno != ENOENT) {
    return fail(ErrorCode::kPermission, what, std::strerror(errno), "");
  }
  if (descriptor < 0) return fail(ErrorCode::kUnavailable, what, "rank 0 has not written it", "");
  struct stat about {};
  std::string text(params::kMostStoreFileBytes, '\0');
  const bool known = fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode);
  const ssize_t got = known ? read(descriptor, text.data(), text.size()) : -1;
  close(descriptor);
  if (known && about.st_uid != 0 && about.st_uid != geteuid()) {
    return fail(ErrorCode::kPermission, what, "it belongs to another user", "");
  }
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  std::istringstream lines(text);
  return checked(parse(lines), what, run);
}

void remove_store_file(const std::string& path, uint64_t ticket) {
  std::ifstream stream(path);
  const std::optional<StoreFile> file = parse(stream);
  if (file && file->ticket == ticket) unlink(path.c_str());
}

}  // namespace heddle::collectives
