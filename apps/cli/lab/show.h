// What `heddle lab list` and `status` print, as text and as JSON. Pure, so that tests read it.
#pragma once

#include <string>
#include <vector>

#include "lab/conditions.h"
#include "lab/counts.h"
#include "lab/lab.h"

namespace heddle::cli {

// Everything that one `status` knows: a lab, its conditions, and counters at two times.
struct LabPicture {
  const lab::Lab& lab;
  const lab::Conditions& conditions;
  const lab::Counts& before;
  const lab::Counts& now;
};

std::string status_text(const LabPicture& picture);
std::string status_json(const LabPicture& picture);

// One line a lab, or a line that says that there is none.
std::string list_text(const std::vector<lab::Lab>& labs);
std::string list_json(const std::vector<lab::Lab>& labs);

}  // namespace heddle::cli
