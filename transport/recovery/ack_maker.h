// AckMaker: an old name of AckRules, for the files of SendController that still use it.
#pragma once

#include "transport/recovery/ack_rules.h"

namespace heddle::transport {

using AckMaker = AckRules;

}  // namespace heddle::transport
