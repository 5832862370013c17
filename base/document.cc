// Document: see document.h.
#include "base/document.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

namespace heddle {
namespace {

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
  text << file.rdbuf();  // an empty file makes `text` fail, and errno stays 0
  if (!file.is_open() || (text.fail() && errno != 0)) {
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

}  // namespace heddle
