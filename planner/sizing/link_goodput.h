// Goodput of a long link, in closed form; size_distance.h has the question and the sources.
#pragma once

#include "planner/size_distance.h"

namespace heddle::planner {

inline constexpr double kSecondsAKm = 5e-6;  // light in fibre of index 1.5, one way
// Of a RoCEv2 packet: Ethernet with preamble, check and gap 38, IPv4 20, UDP 8, BTH 12, ICRC 4.
inline constexpr double kHeaderBytes = 82;

double link_round_trip_s(const DistanceQuestion& question, double km);
double link_capacity(const DistanceQuestion& question);  // payload, in bits a second
double link_outstanding_bits(const DistanceQuestion& question);
double link_lossless(const DistanceQuestion& question, double km);  // in bits a second
double link_repeated(const DistanceQuestion& question, double km);  // packets that a loss repeats
double link_goodput(const DistanceQuestion& question, double km);   // in bits a second

}  // namespace heddle::planner
