// The order in which things run that CUDA leaves open, drawn from a seed; seed 0 is the order of their numbers.
//
// Generator: splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014). Shuffle: Fisher-Yates.
#pragma once

#include <cstdint>

namespace shim {

struct Chance {
    bool drawn;
    uint64_t state;

    explicit Chance(uint64_t seed) : drawn(seed != 0), state(seed) {}

    uint64_t next() {
        uint64_t z = state += 0x9e3779b97f4a7c15ull;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
        z = (z ^ z >> 27) * 0x94d049bb133111ebull;
        return z ^ z >> 31;
    }

    unsigned below(unsigned bound) { return unsigned((next() >> 32) * bound >> 32); }

    // Whether a warp goes on while the others stand still: mostly, so that one may be many exchanges ahead.
    bool again() { return drawn && below(4) != 0; }
};

// order[0..count) becomes a permutation of the numbers below `count`.
inline void shuffle(unsigned* order, unsigned count, Chance& chance) {
    for (unsigned k = 0; k < count; k++) {
        unsigned j = chance.drawn ? chance.below(k + 1) : k;
        order[k] = order[j], order[j] = k;
    }
}

}  // namespace shim
