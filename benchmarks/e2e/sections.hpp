// The parts of the benchmark run; each makes its inputs, asks its questions, and removes the inputs.
#pragma once

#include "benchmarks/e2e/setting.hpp"

namespace weft::bench {

void control_plane(const Setting& setting);
void wordcount(const Setting& setting);
void source_words(const Setting& setting);
void terasort(const Setting& setting);
void join(const Setting& setting);
void tiny_files(const Setting& setting);
void many_partitions(const Setting& setting);
void floats(const Setting& setting);
void memory(const Setting& setting);

}  // namespace weft::bench
