// Faults of the loopback plugin: HEDDLE_LOOPBACK holds "name=number" separated by commas, read by
// listen and connect for the comms that they make.
#pragma once

namespace heddle::nccl::loopback {

struct Faults {
  int null = 0;       // each k-th isend and irecv posts nothing
  int polls = 0;      // the calls of connect, and of accept, that give no comm
  int fail = 0;       // the k-th finished test of a comm is a remote error
  int corrupt = 0;    // the k-th message received has a wrong byte
  int shorten = 0;    // the k-th message received is reported as one byte shorter
  int unwritten = 0;  // the k-th isend does not write *request
  int silent = 0;     // 1: test writes no sizes
  int recvs = 8;      // max_recvs
  int devices = 1;
  int init = 0;  // what init returns
};

Faults read_faults();

}  // namespace heddle::nccl::loopback
