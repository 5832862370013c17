// Store files: a file in a folder that all ranks share, in which rank 0 writes where its store
// listens. It holds nothing else, so one that a crash has left over does no harm: nobody answers
// there, or one that does not know the file's ticket. Only its owner can read it: who knows the
// ticket is proven to be of the same user.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/endpoint.h"

namespace heddle::collectives {

struct StoreFile {
  uint64_t ticket = 0;  // of the store that wrote it
  std::string run;
  std::vector<transport::Address> addresses;
};

// What stands in it, and the other way round. Errors: kInvalid (another run's, or no such text).
std::string store_text(const StoreFile& file);
Result<StoreFile> parse_store_text(const std::string& text, const std::string& run);

// Puts it in the place of whatever is there, at once. Errors: kPermission, kUnavailable, kSystem.
Result<void> write_store_file(const std::string& path, const StoreFile& file);
// Errors: kUnavailable (not there yet), kPermission (not of this user or root), kInvalid (another
// run's, or no such file).
Result<StoreFile> read_store_file(const std::string& path, const std::string& run);
// Removes it if it is still the one with this ticket.
void remove_store_file(const std::string& path, uint64_t ticket);

}  // namespace heddle::collectives
