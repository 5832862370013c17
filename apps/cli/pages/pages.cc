// See pages.h.
#include "apps/cli/pages/pages.h"

#include <string_view>

namespace heddle::cli {
namespace {

void put(std::string& page, std::string_view mark, const std::string& text) {
  for (size_t at = page.find(mark); at != std::string::npos; at = page.find(mark, at)) {
    page.replace(at, mark.size(), text);
    at += text.size();
  }
}

}  // namespace

std::string html_text(const std::string& text) {
  std::string safe;
  for (const char each : text) {
    switch (each) {
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '&':
        safe += "&amp;";
        break;
      case '"':
        safe += "&quot;";
        break;
      default:
        safe += static_cast<unsigned char>(each) < ' ' ? '?' : each;
    }
  }
  return safe;
}

std::string fill_page(const char* page, const std::string& title, const Json& data) {
  std::string text = page;
  put(text, "@TITLE@", html_text(title));
  // Inside a script element nothing may look like its end.
  std::string safe;
  for (const char each : data.dump(-1, ' ', false, Json::error_handler_t::replace)) {
    if (each == '<') {
      safe += "\\u003c";
    } else {
      safe += each;
    }
  }
  put(text, "@DATA@", safe);
  return text;
}

}  // namespace heddle::cli
