// See bounded_json.h.
#include "recordings/import/bounded_json.h"

namespace heddle::recordings {

Result<ForeignJson> read_json(std::string_view text) {
  bool too_deep = false;
  // What is deeper is not kept, however much of it follows.
  const auto keep = [&too_deep](int depth, ForeignJson::parse_event_t event, ForeignJson&) {
    const bool begins = event == ForeignJson::parse_event_t::array_start ||
                        event == ForeignJson::parse_event_t::object_start;
    if (!begins || depth < kMostJsonDepth) return true;
    too_deep = true;
    return false;
  };
  ForeignJson document = ForeignJson::parse(text, keep, false);
  const char* const todo = "give the file as it was written";
  if (document.is_discarded()) {
    return fail(ErrorCode::kInvalid, "cannot read the JSON", "it is damaged, or none", todo);
  }
  if (!too_deep) return document;
  return fail(ErrorCode::kExhausted, "cannot read the JSON",
              "values stand in each other too deeply", todo);
}

const ForeignJson& member_or_empty(const ForeignJson& object, const char* name) {
  static const ForeignJson kNone = ForeignJson::array();
  const auto& members = object.get_ref<const ForeignJson::object_t&>();
  const auto found = members.find(name);
  return found == members.end() ? kNone : found->second;
}

}  // namespace heddle::recordings
