// PageMan: see page_man.h.
#include "apps/cli/command_line/page_man.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/version.h"

namespace heddle::cli {
namespace {

// Text that roff prints as it is: '-' is a minus for it, '\' begins an escape, and a line that
// begins with '.' or ''' is a request.
std::string roff(const std::string& text) {
  std::string out;
  bool line_begins = true;
  for (const char letter : text) {
    if (line_begins && (letter == '.' || letter == '\'')) out += "\\&";
    if (letter == '\\') {
      out += "\\e";
    } else if (letter == '-') {
      out += "\\-";
    } else {
      out += letter;
    }
    line_begins = letter == '\n';
  }
  return out;
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
  return text;
}

std::string section_man(const PageSection& section) {
  std::string text = ".SH " + roff(upper(section.title)) + "\n";
  for (const PageRow& row : section.rows) {
    text += ".TP\n.B " + roff(row.term) + "\n" + roff(row.text) + "\n";
  }
  return text;
}

}  // namespace

std::string man_name(const Page& page) {
  std::string name = full_name(page);
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

std::string page_man(const Page& page, int manual) {
  std::string text = fmt::format(".TH {} {} \"\" \"heddle {}\" \"heddle\"\n.SH NAME\n{} \\- {}\n",
                                 roff(upper(man_name(page))), manual, kVersion,
                                 roff(man_name(page)), roff(page.summary));
  if (!page.usage.empty()) text += ".SH SYNOPSIS\n";
  for (size_t i = 0; i < page.usage.size(); ++i) {
    text += (i > 0 ? ".br\n" : "") + roff(page.usage[i]) + "\n";
  }
  if (!page.paragraphs.empty()) text += ".SH DESCRIPTION\n";
  for (size_t i = 0; i < page.paragraphs.size(); ++i) {
    text += (i > 0 ? ".PP\n" : "") + roff(page.paragraphs[i]) + "\n";
  }
  for (const PageSection& section : page.commands) text += section_man(section);
  for (const PageSection& section : page.options) text += section_man(section);
  if (!page.exit_statuses.empty()) text += section_man({"Exit status", page.exit_statuses});
  if (!page.examples.empty()) {
    text += ".SH EXAMPLES\n.nf\n" + roff(page.examples) + "\n.fi\n";
  }
  const std::string others =
      page.words.empty() ? "heddle-COMMAND(1) for each command" : "heddle(1)";
  return text + ".SH SEE ALSO\n" + roff(others) + "\n";
}

}  // namespace heddle::cli
