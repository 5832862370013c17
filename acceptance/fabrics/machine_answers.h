// Machine answers: the documents that `heddle agent` writes on a machine, as far as they have the
// shape that is expected. Private to fabrics/machines.cc.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "acceptance/commands.h"
#include "acceptance/fabric.h"
#include "acceptance/machine/machine_facts.h"
#include "acceptance/report.h"

namespace heddle::acceptance {

// The document that a command wrote, behind what a shell's start-up files may write; discarded
// where there is none.
Json document_in(const CommandEnd& end);

// Whether it has what `heddle agent facts` of this version or an older one writes.
bool is_whole(const Json& facts);

// Parts of whole facts. Nothing of a machine without RDMA, or with an older heddle.
std::optional<HostRdma> rdma_in(const Json& facts);
NamedFacts named_facts_in(const Json& facts);
// The NICs that others may reach, the one that has the address first: one address of each, of its
// IP version.
std::vector<HostNic> nics_in(const Json& facts, const std::string& address);
topology::LinkShape shape_in(const Json& facts);
// The rate of the tested port, where it or a device below it has hardware whose driver reports one;
// else 0, also of a veth pair, which reports 10 Gb/s whatever carries its packets.
double hardware_rate_in(const Json& facts, const MachineFacts& machine);
// That a machine took to read its hardware, as by nvidia-smi: no command waits for that later.
double reading_seconds(const Json& facts);

// Names of devices in a list; none of an older heddle.
std::vector<std::string> names_of(const Json& document, const char* list);

}  // namespace heddle::acceptance
