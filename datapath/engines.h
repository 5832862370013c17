// Engines: datapaths that receive on one port, each for the connections of one engine
// (transport/engine_share.h). What arrives at another engine's datapath is handed over to its own:
// a socket filter or a NIC's queue chooses by the first of several merged datagrams, or knows no
// connections at all.
#pragma once

#include <memory>
#include <vector>

#include "datapath/datapath.h"

namespace heddle::datapath {

// Takes over `inner`, one per engine in the order of their indices, at most
// transport::kMostEngines. What NICs write must reach the engine that admitted the writer. Returns
// as many datapaths, each around one of them. Each may be driven by a thread of its own; the others
// may be gone before it.
std::vector<std::unique_ptr<Datapath>> with_engines(std::vector<std::unique_ptr<Datapath>> inner);

}  // namespace heddle::datapath
