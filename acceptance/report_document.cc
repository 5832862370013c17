// See report_document.h.
#include "acceptance/report_document.h"

#include <filesystem>
#include <system_error>

#include "acceptance/params.h"
#include "base/document.h"

namespace heddle::acceptance {

Result<Json> read_report(const std::string& path) {
  std::error_code none;
  const bool folder = std::filesystem::is_directory(path, none);
  const std::string file = folder ? path + "/report.json" : path;
  const Result<std::string> text = read_text_file(file, "give the folder of --report");
  if (!text) return fail(text.error());
  // Each level of a document takes some of the stack.
  bool deep = false;
  const auto is_kept = [&deep](int depth, Json::parse_event_t /*event*/, const Json& /*value*/) {
    deep = deep || depth > params::kDeepestReport;
    return !deep;
  };
  Json document = Json::parse(*text, is_kept, false);
  if (!deep && document.is_object() && document.contains("verdict") &&
      document.contains("stages")) {
    return document;
  }
  return fail(no_report(file + " is none"));
}

const Json* stage_data(const Json& report, const std::string& stage, const char* key) {
  for (const Json& each : report.at("stages")) {
    if (each.at("name") == stage && each.at("data").contains(key)) return &each["data"].at(key);
  }
  return nullptr;
}

Error no_report(const std::string& why) {
  return {ErrorCode::kInvalid, "cannot read a report of `heddle verify`", why,
          "give the folder that --report made, with this version of heddle"};
}

}  // namespace heddle::acceptance
