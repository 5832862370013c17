// The names by which a connection knows its send controller.
#pragma once

#include "transport/send/send_controller.h"

namespace heddle::transport {

using Flight = SendController;
using FlightOptions = SendOptions;
using Permit = SendQuota;

}  // namespace heddle::transport
