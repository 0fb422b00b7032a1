// The order of jobs that arrived in the same second in a recorded run of the Carbyne authors' simulator.
#pragma once

#include <array>
#include <cstddef>

namespace weft::papers {

/// Such jobs entered it in the order of a Java hash set of objects. This is the order of the first 34 jobs there, found from the
/// sequence of OpenJDK's identity hashes: one position in that sequence explains all four policies' runs, to the second and for
/// every job. Later jobs arrived one by one.
constexpr std::array<std::size_t, 34> kHashOrder{1,  5,  2,  7,  16, 9,  6,  15, 3,  0,  8,  11, 4,  14, 17, 12, 10,
                                                 13, 18, 23, 19, 21, 22, 20, 24, 25, 28, 27, 26, 30, 29, 31, 33, 32};

constexpr const char* kReferenceTetris = "tetris(srtf=false, barrier=2, penalty=1, round=1e-6)";
constexpr const char* kReferenceShortest = "srtf(stages=cpm)";
constexpr const char* kReferenceShares = "drf(form=closed, leftover=furthest, digits=2)";

}  // namespace weft::papers
