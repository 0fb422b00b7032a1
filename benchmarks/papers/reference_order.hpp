// How the recorded runs of the Carbyne authors' simulator are repeated.
#pragma once

namespace weft::papers {

/// Jobs that arrived in the same second entered it in the order of a Java hash set of objects. This position in the sequence of
/// OpenJDK's identity hashes explains all four policies' runs, to the second and for every job.
constexpr const char* kReferenceOrder = "hash_order=734";

constexpr const char* kReferenceTetris = "tetris(mode=paper, srtf=false, barrier=2, penalty=1, digits=2)";
constexpr const char* kReferenceShortest = "srtf(stages=cpm)";
constexpr const char* kReferenceShares = "drf(form=closed, mean=all, leftover=furthest, digits=2)";

}  // namespace weft::papers
