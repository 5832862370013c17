// See bounded_json.h.
#include "recordings/import/bounded_json.h"

namespace heddle::recordings {
namespace {

// Counted before the parser, whose callback would be called for each value, and takes as long as an
// array has become for each object in it.
bool is_deep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char at = text[i];
    if (at == '"') in_string = !in_string;
    if (in_string) {
      if (at == '\\') ++i;
      continue;
    }
    if (at == '[' || at == '{') ++depth;
    if (at == ']' || at == '}') --depth;
    if (depth > kMostJsonDepth) return true;
  }
  return false;
}

}  // namespace

Result<ForeignJson> read_json(std::string_view text) {
  const char* const todo = "give the file as it was written";
  if (is_deep(text)) {
    return fail(ErrorCode::kExhausted, "cannot read the JSON",
                "values stand in each other too deeply", todo);
  }
  ForeignJson document = ForeignJson::parse(text, nullptr, false);
  if (!document.is_discarded()) return document;
  return fail(ErrorCode::kInvalid, "cannot read the JSON", "it is damaged, or none", todo);
}

const ForeignJson& member_or_empty(const ForeignJson& object, const char* name) {
  static const ForeignJson kNone = ForeignJson::array();
  const auto& members = object.get_ref<const ForeignJson::object_t&>();
  const auto found = members.find(name);
  return found == members.end() ? kNone : found->second;
}

}  // namespace heddle::recordings
