// Writes a graph for PageRank: lines "from<TAB>to" of numbered nodes. Low numbers are linked to more often.
//
//   graph_edges BYTES FILE NODES
#include <charconv>
#include <cstdio>
#include <cstdlib>

#include "benchmarks/data/file_writer.hpp"
#include "benchmarks/data/random.hpp"

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: graph_edges BYTES FILE NODES\n");
    return 2;
  }
  const std::uint64_t bytes = std::strtoull(argv[1], nullptr, 10);
  const auto nodes = static_cast<std::uint32_t>(std::strtoul(argv[3], nullptr, 10));
  weft::bench::FileWriter file(argv[2]);
  weft::bench::Random random(1);
  constexpr std::size_t kLine = 24;
  while (file.bytes() < bytes) {
    char* const line = file.room(kLine);
    char* end = std::to_chars(line, line + kLine, random.below(nodes)).ptr;
    *end++ = '\t';
    end = std::to_chars(end, line + kLine, random.below(1 + random.below(nodes))).ptr;
    *end++ = '\n';
    file.advance(static_cast<std::size_t>(end - line));
  }
}
