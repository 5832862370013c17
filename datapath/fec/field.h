// The field of 256 elements, and the Reed-Solomon code over it that parity is made with: row p of
// parity is the sum of all members m of a group, each times coefficient(p, m). The coefficients are
// a Cauchy matrix whose columns are scaled so that row 0 is all ones (plain XOR), so any k rows
// rebuild any k members (Bloemer et al., An XOR-Based Erasure-Resilient Coding Scheme, 1995).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace heddle::datapath {

uint8_t field_product(uint8_t a, uint8_t b);
// CHECKs that it is not 0.
uint8_t field_inverse(uint8_t a);

// Of parity row `parity` (below kMostFecParity) and member `member` (below kMostFecData); never 0.
uint8_t coefficient(uint32_t parity, uint32_t member);

// target += scale * source, byte by byte; target is at least as long.
void add_scaled(std::span<std::byte> target, std::span<const std::byte> source, uint8_t scale);
// target = scale * target.
void scale(std::span<std::byte> target, uint8_t scale);

}  // namespace heddle::datapath
