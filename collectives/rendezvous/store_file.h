// Store files: a file in a folder that all ranks share, with the address of rank 0's store and a
// ticket. A file left by a crash does no harm: no process answers at the address, or its ticket
// differs. Only the owner can read the file, so the ticket proves that a rank belongs to the same
// user.
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

// Writes and parses its content. Errors: kInvalid (of another run, or malformed).
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
