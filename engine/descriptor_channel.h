// Re-exports the unix descriptor channel of the datapath, for callers that use endpoints but no
// datapath.
#pragma once

#include "datapath/descriptor_channel.h"

namespace heddle::engine {

using datapath::connect_descriptor_channel;
using datapath::DescriptorChannel;
using datapath::DescriptorChannelName;
using datapath::DescriptorMessage;
using datapath::has_descriptors;
using datapath::receive_descriptors;
using datapath::ReceivedDescriptors;
using datapath::send_descriptors;

}  // namespace heddle::engine
