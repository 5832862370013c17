// See manifest.h.
#include "acceptance/manifest.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string_view>
#include <system_error>

namespace heddle::acceptance {
namespace {

namespace fs = std::filesystem;

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

Result<std::string> sum_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  Sum sum;
  std::array<char, 1 << 16> piece{};
  while (file) {
    file.read(piece.data(), piece.size());
    sum.add(piece.data(), static_cast<size_t>(file.gcount()));
  }
  if (file.eof()) return sum.text();
  return fail(ErrorCode::kSystem, fmt::format("cannot read {}", path.string()),
              std::strerror(errno), "see who may read the files of the report");
}

bool is_plain(const std::string& name) {
  return std::none_of(name.begin(), name.end(), [](char each) {
    return static_cast<unsigned char>(each) < ' ' || each == '\\' || each == 0x7f;
  });
}

Unexpected cannot_list(const std::string& folder, ErrorCode code, const std::string& why) {
  return fail(code, fmt::format("cannot list the files of {}", folder), why,
              "a signature covers files alone: move other things out of the folder");
}

}  // namespace

std::string sha256_text(const std::string& bytes) {
  Sum sum;
  sum.add(bytes.data(), bytes.size());
  return sum.text();
}

Result<Manifest> manifest_of(const std::string& folder) {
  Manifest made;
  std::error_code error;
  fs::recursive_directory_iterator at(folder, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    const std::string name = at->path().lexically_relative(folder).generic_string();
    if (name == kManifestName || name == kSignatureName) continue;
    const fs::file_type type = at->symlink_status(error).type();
    if (error || type == fs::file_type::directory) continue;
    if (type != fs::file_type::regular) {
      return cannot_list(folder, ErrorCode::kInvalid, name + " is a link or no file");
    }
    if (!is_plain(name)) {
      return cannot_list(folder, ErrorCode::kInvalid, name + " has a control character or '\\'");
    }
    Result<std::string> sum = sum_of(at->path());
    if (!sum) return fail(std::move(sum).error());
    made.emplace(name, std::move(*sum));
  }
  if (error) return cannot_list(folder, ErrorCode::kSystem, error.message());
  return made;
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
      return fail(ErrorCode::kInvalid, fmt::format("cannot read {}", kManifestName),
                  fmt::format("'{}' is no line of sha256sum, or is there twice", line),
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
