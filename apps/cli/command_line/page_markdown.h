// PageMarkdown: pages as the reference in docs/.
#pragma once

#include <string>
#include <vector>

#include "apps/cli/command_line/page.h"

namespace heddle::cli {

// docs/reference/commands.md: an index, then each page.
std::string commands_markdown(const std::vector<Page>& pages);
// Of one page, its title at that level.
std::string page_markdown(const Page& page, int level);

// The text with the characters that Markdown would take for its own made plain.
std::string markdown_escaped(const std::string& text);

}  // namespace heddle::cli
