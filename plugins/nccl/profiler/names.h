// NCCL's names and numbers of functions, types, algorithms and protocols as heddle's enums.
#pragma once

#include <cstdint>
#include <optional>

#include "events/events.h"

namespace heddle::nccl {

// "AllReduce". Nothing for a function that moves no data between ranks by the proxy's rules
// (PutSignal), or an unknown one. Null is unknown, here and below.
std::optional<events::Operation> operation_of(const char* function);
events::ElementType element_type_of(const char* data_type);  // "ncclFloat32"
events::Algorithm algorithm_of(const char* algorithm);       // "RING"
events::Protocol protocol_of(const char* protocol);          // "LL128"

// The names that NCCL 2.24 and later give to the numbers of version 1; null: unknown.
const char* function_name(uint8_t number);
const char* data_type_name(uint8_t number);
const char* algorithm_name(uint8_t number);
const char* protocol_name(uint8_t number);

}  // namespace heddle::nccl
