// Document: see document.h.
#include "base/document.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <toml++/toml.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include "base/descriptor.h"
#include "base/write_all.h"
#include "base/write_error.h"

namespace heddle {
namespace {

constexpr std::streamoff kMostTextBytes = std::streamoff{256} << 20;

DocumentValue value_of(const toml::node& node);

void take_scalar(const toml::node& node, DocumentValue& value) {
  if (const auto* text = node.as_string()) {
    value.kind = DocumentKind::kText;
    value.text = text->get();
  } else if (const auto* integer = node.as_integer()) {
    value.kind = DocumentKind::kInteger;
    value.integer = integer->get();
  } else if (const auto* fraction = node.as_floating_point()) {
    value.kind = DocumentKind::kFraction;
    value.fraction = fraction->get();
  } else if (const auto* boolean = node.as_boolean()) {
    value.kind = DocumentKind::kBoolean;
    value.boolean = boolean->get();
  } else {
    value.kind = DocumentKind::kOther;  // dates and times
  }
}

DocumentValue value_of(const toml::node& node) {
  DocumentValue value;
  value.line = static_cast<int>(node.source().begin.line);
  value.column = static_cast<int>(node.source().begin.column);
  if (const toml::table* table = node.as_table()) {
    value.kind = DocumentKind::kTable;
    for (const auto& [key, inner] : *table) {
      value.items.push_back(value_of(inner));
      value.items.back().key = std::string(key.str());
      value.items.back().key_line = static_cast<int>(key.source().begin.line);
      value.items.back().key_column = static_cast<int>(key.source().begin.column);
    }
  } else if (const toml::array* array = node.as_array()) {
    value.kind = DocumentKind::kArray;
    for (const toml::node& inner : *array) value.items.push_back(value_of(inner));
  } else {
    take_scalar(node, value);
  }
  return value;
}

}  // namespace

const DocumentValue* DocumentValue::find(std::string_view name) const {
  for (const DocumentValue& item : items) {
    if (item.key == name) return &item;
  }
  return nullptr;
}

Result<DocumentValue> parse_document(std::string_view text, const std::string& name) {
  try {
    return value_of(toml::parse(text, name));
  } catch (const toml::parse_error& error) {
    return fail(ErrorCode::kInvalid,
                fmt::format("cannot read {}:{}:{}", name, error.source().begin.line,
                            error.source().begin.column),
                std::string(error.description()), "correct the file; it must be TOML");
  }
}

Result<std::string> read_text_file(const std::string& path, const std::string& todo) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  // A device such as /dev/zero has no end.
  std::array<char, 65'536> piece{};
  while (file.read(piece.data(), piece.size()) || file.gcount() > 0) {
    text.write(piece.data(), file.gcount());
    if (text.tellp() > kMostTextBytes) {
      return fail(ErrorCode::kInvalid, fmt::format("cannot read {}", path),
                  "it has more than 256 MiB, which is no text that heddle reads", todo);
    }
  }
  if (!file.is_open() || file.bad()) {
    return fail(ErrorCode::kUnavailable, fmt::format("cannot read {}", path), std::strerror(errno),
                todo);
  }
  return std::move(text).str();
}

Result<void> write_text_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (file) return {};
  return fail(ErrorCode::kSystem, fmt::format("cannot write {}", path), std::strerror(errno),
              "choose another file, or make room there");
}

Result<void> replace_text_file(const std::string& path, const std::string& text) {
  const std::string what = fmt::format("cannot write {}", path);
  struct stat about {};
  const bool exists = stat(path.c_str(), &about) == 0;
  if (exists && !S_ISREG(about.st_mode)) {
    return fail(ErrorCode::kInvalid, what, "it is no file", "name a file");
  }
  std::string draft = path + ".XXXXXX";
  const Descriptor file(mkostemp(draft.data(), O_CLOEXEC));
  if (!file.valid()) return cannot_write(what, errno, "free some space there");
  // Rights as of the file before, or as another program would make it: mkostemp() keeps it from
  // others.
  const mode_t mask = umask(0);
  umask(mask);
  const mode_t rights = exists ? about.st_mode & 0777 : 0666 & ~mask;
  const bool written = fchmod(file.number(), rights) == 0 && write_all(file.number(), text) &&
                       fsync(file.number()) == 0 && std::rename(draft.c_str(), path.c_str()) == 0;
  if (written) return {};
  const int error = errno;
  unlink(draft.c_str());
  return cannot_write(what, error, "free some space there");
}

}  // namespace heddle
