// See bounded_json.h.
#include "recordings/import/bounded_json.h"

#include <string>

namespace heddle::recordings {
namespace {

// Only counts how deep values are nested: a callback of the parser that keeps values would
// search all that its array has by then, after each object.
class DepthCount final : public nlohmann::json_sax<ForeignJson> {
 public:
  bool too_deep() const { return depth_ > kMostJsonDepth; }
  size_t damaged_at() const { return damaged_at_; }  // bytes, the last one read

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(size_t) override { return enter(); }
  bool key(string_t&) override { return true; }
  bool end_object() override { return leave(); }
  bool start_array(size_t) override { return enter(); }
  bool end_array() override { return leave(); }
  bool parse_error(size_t position, const std::string&, const ForeignJson::exception&) override {
    damaged_at_ = position;
    return false;
  }

 private:
  bool enter() { return ++depth_ <= kMostJsonDepth; }
  bool leave() {
    --depth_;
    return true;
  }

  int depth_ = 0;
  size_t damaged_at_ = 0;
};

// The byte at which values become too deep, from 1, of a text whose beginning is sound.
size_t too_deep_at(std::string_view text) {
  int depth = 0;
  bool in_text = false;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (in_text) {
      at += c == '\\' ? 1 : 0;
      in_text = c != '"';
    } else if (c == '"') {
      in_text = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMostJsonDepth) return at + 1;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return text.size();
}

}  // namespace

Result<ForeignJson> read_json(std::string_view text) {
  const char* const todo = "give the file as it was written";
  DepthCount depth;
  if (ForeignJson::sax_parse(text, &depth)) return ForeignJson::parse(text, nullptr, false);
  if (!depth.too_deep()) {
    return fail(ErrorCode::kInvalid, "cannot read the JSON",
                "it is no JSON, or damaged at byte " + std::to_string(depth.damaged_at()), todo);
  }
  return fail(ErrorCode::kExhausted, "cannot read the JSON",
              "values are nested too deeply at byte " + std::to_string(too_deep_at(text)), todo);
}

const ForeignJson& member_or_empty(const ForeignJson& object, const char* name) {
  static const ForeignJson kNone = ForeignJson::array();
  const auto& members = object.get_ref<const ForeignJson::object_t&>();
  const auto found = members.find(name);
  return found == members.end() ? kNone : found->second;
}

}  // namespace heddle::recordings
