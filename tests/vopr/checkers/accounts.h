// Accounts: counts the bytes allocated by `new` for each account. Each block stores the account it
// was charged to, so freeing it credits that account. A program that links this has its operators
// new and delete replaced.
#pragma once

#include <cstdint>

namespace heddle::vopr {

// For memory of no endpoint: the simulated network, the checkers, the programs.
inline constexpr uint32_t kNobodysAccount = 0;
inline constexpr uint32_t kAccounts = 64;

// Charges later allocations to this account; returns the previous one.
uint32_t charge(uint32_t account);

// Allocated bytes, in requested sizes.
int64_t bytes_on(uint32_t account);

// An account above this limit aborts the process with a message, before the machine runs out of
// memory.
inline constexpr int64_t kMostOnAnAccount = int64_t{1} << 30;

}  // namespace heddle::vopr
