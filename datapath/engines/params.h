// Constants of judgement of datapath/engines/: unit, source, reasonable range.
#pragma once

#include <cstddef>

namespace heddle::datapath::engines_params {

// Bytes that wait to be taken by an engine's thread; more are dropped, as by a full socket. Less
// than the receive buffer of a socket, since few datagrams are handed over. Chosen. Range: 256 KiB
// to 8 MiB.
inline constexpr size_t kInboxBytes = 1 << 20;

}  // namespace heddle::datapath::engines_params
