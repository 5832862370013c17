// What a recording holds, as `heddle record info`, `gather` and `import` print it.
#pragma once

#include "recordings/job_contents.h"

namespace heddle::cli {

// Of the whole job; with `json` as a document with its files, else without them.
void print_contents(const recordings::JobContents& job, bool json);
// After a blank line, what each file holds.
void print_files(const recordings::JobContents& job);

}  // namespace heddle::cli
