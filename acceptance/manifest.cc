// See manifest.h.
#include "acceptance/manifest.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <sstream>
#include <string_view>
#include <utility>

#include "acceptance/params.h"
#include "base/descriptor.h"

namespace heddle::acceptance {
namespace {

constexpr size_t kDigits = 64;
constexpr std::string_view kHexadecimal = "0123456789abcdef";

class Sum {
 public:
  Sum() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr);
  }
  void add(const char* bytes, size_t count) { EVP_DigestUpdate(context_.get(), bytes, count); }
  std::string text() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> raw{};
    unsigned int length = 0;
    EVP_DigestFinal_ex(context_.get(), raw.data(), &length);
    std::string made;
    for (unsigned int i = 0; i < length; ++i) made += fmt::format("{:02x}", raw[i]);
    return made;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

Unexpected cannot_list(const std::string& path, ErrorCode code, const std::string& why) {
  return fail(code, fmt::format("cannot list the files of a report: {}", path), why,
              code == ErrorCode::kSystem
                  ? "see who may read the folder of the report and all that is in it"
                  : "a signature covers files alone: move other things out of the folder");
}

Unexpected cannot_list(const std::string& path) {
  return cannot_list(path, ErrorCode::kSystem, std::strerror(errno));
}

bool is_plain(const std::string& name) {
  return std::none_of(name.begin(), name.end(), [](char each) {
    return static_cast<unsigned char>(each) < ' ' || each == '\\' || each == 0x7f;
  });
}

struct CloseFolder {
  void operator()(DIR* folder) const { closedir(folder); }
};

// Reads a folder by its descriptor, so that a path may be longer than PATH_MAX.
class Walk {
 public:
  Walk(std::string folder, bool sums) : folder_(std::move(folder)), sums_(sums) {}

  Result<Manifest> run() {
    const int top = open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (top < 0) return cannot_list(folder_);
    if (Result<void> read = enter(top, "", 0); !read) return fail(read.error());
    return std::move(made_);
  }

 private:
  std::string path_of(const std::string& name) const { return folder_ + "/" + name; }

  // Closes `opened`. `under`: the folder's path in the report, with a slash in the end; empty at
  // the top.
  Result<void> enter(int opened, const std::string& under, size_t depth) {
    const std::unique_ptr<DIR, CloseFolder> folder(fdopendir(opened));
    if (folder == nullptr) {
      close(opened);
      return cannot_list(path_of(under));
    }
    if (depth > params::kDeepestFolder) {
      return cannot_list(path_of(under), ErrorCode::kInvalid,
                         fmt::format("folders are nested deeper than {}", params::kDeepestFolder));
    }
    for (;;) {
      errno = 0;
      const dirent* const entry = readdir(folder.get());
      if (entry == nullptr && errno != 0) return cannot_list(path_of(under));
      if (entry == nullptr) return {};
      const std::string name = entry->d_name;
      if (name == "." || name == "..") continue;
      if (under.empty() && (name == kManifestName || name == kSignatureName)) continue;
      if (Result<void> taken = take(dirfd(folder.get()), under, name, depth); !taken) return taken;
    }
  }

  Result<void> take(int folder, const std::string& under, const std::string& name, size_t depth) {
    const std::string path = under + name;
    struct stat found {};
    if (fstatat(folder, name.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0) {
      return cannot_list(path_of(path));
    }
    if (S_ISDIR(found.st_mode)) {
      const int inner =
          openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
      return inner < 0 ? cannot_list(path_of(path)) : enter(inner, path + "/", depth + 1);
    }
    if (!S_ISREG(found.st_mode) || !is_plain(name)) {
      made_.emplace(path, kNoFile);
      return {};
    }
    if (!sums_) return {};
    // Another thing may be there by now.
    const Descriptor file(
        openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!file.valid() || fstat(file.number(), &found) != 0) return cannot_list(path_of(path));
    if (!S_ISREG(found.st_mode)) {
      made_.emplace(path, kNoFile);
      return {};
    }
    return add_sum(file.number(), path);
  }

  Result<void> add_sum(int file, const std::string& path) {
    Sum sum;
    std::array<char, 1 << 16> piece{};
    for (;;) {
      const ssize_t got = read(file, piece.data(), piece.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return cannot_list(path_of(path));
      if (got == 0) break;
      sum.add(piece.data(), static_cast<size_t>(got));
    }
    made_.emplace(path, sum.text());
    return {};
  }

  std::string folder_;
  bool sums_;
  Manifest made_;
};

// Refuses what no signature can cover.
Result<Manifest> all_plain(const std::string& folder, Result<Manifest> found) {
  if (!found) return found;
  for (const auto& [name, sum] : *found) {
    if (sum != kNoFile) continue;
    const std::string path = folder + "/" + name;
    return is_plain(name)
               ? cannot_list(path, ErrorCode::kInvalid, "it is a link or no file")
               : cannot_list(path, ErrorCode::kInvalid, "its name has a control character or '\\'");
  }
  return found;
}

}  // namespace

std::string sha256_text(const std::string& bytes) {
  Sum sum;
  sum.add(bytes.data(), bytes.size());
  return sum.text();
}

Result<Manifest> manifest_of(const std::string& folder) {
  return all_plain(folder, Walk(folder, true).run());
}

Result<Manifest> survey_of(const std::string& folder) { return Walk(folder, true).run(); }

Result<void> check_signable(const std::string& folder) {
  const Result<Manifest> odd = all_plain(folder, Walk(folder, false).run());
  return odd ? Result<void>() : fail(odd.error());
}

std::string text_of(const Manifest& manifest) {
  std::string text;
  for (const auto& [name, sum] : manifest) text += fmt::format("{}  {}\n", sum, name);
  return text;
}

Result<Manifest> parse_manifest(const std::string& text) {
  Manifest made;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const bool fine = line.size() > kDigits + 2 && line.compare(kDigits, 2, "  ") == 0 &&
                      line.find_first_not_of(kHexadecimal) == kDigits &&
                      is_plain(line.substr(kDigits));
    if (!fine || !made.emplace(line.substr(kDigits + 2), line.substr(0, kDigits)).second) {
      return fail(
          ErrorCode::kInvalid, fmt::format("cannot read {}", kManifestName),
          fmt::format("'{}' is no line of sha256sum, or is there twice", line.substr(0, 200)),
          "ask for the report again");
    }
  }
  return made;
}

ManifestDiff compare_manifests(const Manifest& listed, const Manifest& found) {
  ManifestDiff diff;
  for (const auto& [name, sum] : listed) {
    const auto there = found.find(name);
    if (there == found.end()) {
      diff.missing.push_back(name);
    } else if (there->second != sum) {
      diff.changed.push_back(name);
    }
  }
  for (const auto& [name, sum] : found) {
    if (listed.count(name) == 0) diff.added.push_back(name);
  }
  return diff;
}

}  // namespace heddle::acceptance
