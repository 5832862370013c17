// PageMan: a page in the language of man(7).
#pragma once

#include <string>

#include "apps/cli/command_line/page.h"

namespace heddle::cli {

// heddle(1), heddle-lab-run(1); in another section of the manual where it is about no command.
std::string page_man(const Page& page, int manual = 1);
// "heddle-lab-run": the name of its page.
std::string man_name(const Page& page);

}  // namespace heddle::cli
