// Regressions: seeds that found a bug, and what broke. They run first. The behavior of a seed
// changes when the options that it selects change, so each bug has a unit test too, named after
// what broke; a seed that no longer finds its bug is replaced by one that does.
#pragma once

#include <cstdint>

namespace heddle::vopr {

struct Regression {
  uint64_t seed;
  const char* what_broke;
};

inline constexpr Regression kRegressions[] = {
    {120,
     "each side bounded what it remembers of withdrawn operations by a rule of its own, and "
     "refused the other's frames for ever"},
    {924, "records of losses were kept until an acknowledgement that could not be asked for"},
    {24, "a datagram was received over a chunk that had landed"},
    {290, "the same, behind a reliable NIC"},
    {217, "a reliable NIC's word was taken for delivered, while the receive was withdrawn"},
    {2238, "messages waited for chunk paths that never came back, while datagrams passed"},
    {128, "posts were refused before the end of their connection was told"},
    {1213, "with keys, an init that was refused for want of room was taken for a replay for 20 s"},
    {957, "a sender without credit and a receiver without demand waited for each other"},
    {2316, "the same, with data in flight"},
    {10, "a hostile peer's grant half the sequence space away made room for 2^31 grants"},
    {330,
     "a forged packet number that no window allows was acknowledged, and all that came with it was "
     "dropped for ever"},
    {100147, "a sender turned for nothing where a datagram is larger than its share of a socket"},
    {101259, "the same, over several paths"},
    {811, "a header that a switch had cut off was opened as if it were a sealed packet"},
    {105373,
     "a grant was overtaken by that of another receive with the same slot, and a message that was "
     "posted later was written into a buffer whose receive had ended"},
    {144126, "the same, and into a buffer of another receive"},
    {108036, "a size probe did not count against the capacity of the peer's socket"},
    {131646,
     "a NIC's report of a write of an earlier epoch had the new queue pair made anew, in every "
     "round trip"},
    {174058,
     "of a receiver's two paths one was dead, and each frame with its credit took that one"},
    {122549,
     "the checker did not wait for the close of a connection whose init was in flight when its "
     "initiator ended"},
    {165264, "without keys, an init repeated after its connection had ended made a second one"},
    {301400,
     "an acceptor whose answers were lost gave up, and the checker did not expect its refusal"},
    {433, "a NIC that had stalled read the buffer of a send that had ended"},
    {210373,
     "a fence lost all writes of a path whose numbers were far ahead of the acknowledged ones, and "
     "nothing asked for the acknowledgement that it waited for"},
    {230237,
     "the probe that was to ask for it after each fence had a reliable NIC make its queue pair "
     "anew, in every round trip"},
    {211593,
     "a peer whose datagrams no longer arrived counted as alive for its writes, and messages "
     "waited for ever"},
    {226981,
     "an acceptor whose answers were lost aborted, and the checker did not expect its refusal"},
    {292297,
     "a message held a record for each path that a write of it might still land on, and a hostile "
     "peer names 255 paths"},
    {299677,
     "a lost write behind a fenced one of its path was not looked for, and its message waited for "
     "ever"},
    {301170,
     "a reliable NIC failed each write just before its acknowledgement, which returned the path, "
     "and an idle connection probed all paths in every round trip"},
    {333877,
     "a failed probe was declared lost, so that its acknowledgement did not return its path, and "
     "an "
     "idle connection set paths aside and returned them without end"},
    {384119,
     "a reliable NIC passed empty writes and failed those of payload, and each probe returned the "
     "path to have the next one fail"},
    {380636,
     "where no path was active all control packets took the same one, and the answers to a probe "
     "of a path that worked again never arrived"},
    {537894, "the program drew one of no paths of a connection that had ended since its notice"},
    {735171,
     "a host refused an init since its connection had declared the initiator dead, and its "
     "program, which would have explained it, had not received the notice"},
    {746389,
     "a probe of a NIC's path for which no record was left held the acknowledgements back, and the "
     "host turned for nothing"},
    {1026663,
     "a caller went away over a long road, its socket overflowed before the helper thread took "
     "over, and the checker did not expect it"},
};

}  // namespace heddle::vopr
