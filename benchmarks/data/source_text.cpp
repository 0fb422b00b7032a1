// Concatenates the source files (by suffix) below some directories, in the order of their names, until BYTES are written; starts
// over when the files end. Real text for the WordCount benchmarks, from what a development machine has anyway.
//
//   source_text BYTES FILE DIRECTORY...
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "benchmarks/data/file_writer.hpp"

namespace {

namespace fs = std::filesystem;
using weft::bench::FileWriter;

bool is_source(const fs::path& path) {
  static constexpr std::array kSuffixes{".c", ".h", ".cc", ".hh", ".cpp", ".hpp", ".ipp", ".tcc"};
  const std::string suffix = path.extension().string();
  return std::find(kSuffixes.begin(), kSuffixes.end(), suffix) != kSuffixes.end();
}

std::vector<fs::path> sources_below(const char* directory) {
  std::vector<fs::path> found;
  const auto options = fs::directory_options::skip_permission_denied;
  for (const auto& entry : fs::recursive_directory_iterator(directory, options))
    if (entry.is_regular_file() && is_source(entry.path())) found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

void append(const fs::path& path, std::uint64_t limit, FileWriter& out) {
  std::ifstream in(path, std::ios::binary);
  while (out.bytes() < limit) {
    char* room = out.room(FileWriter::kSlack);
    in.read(room, static_cast<std::streamsize>(std::min<std::uint64_t>(FileWriter::kSlack, limit - out.bytes())));
    if (in.gcount() == 0) return;
    out.advance(static_cast<std::size_t>(in.gcount()));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return std::fprintf(stderr, "usage: source_text BYTES FILE DIRECTORY...\n"), 2;
  const std::uint64_t bytes = std::strtoull(argv[1], nullptr, 10);
  std::vector<fs::path> files;
  for (int i = 3; i < argc; ++i) {
    const auto more = sources_below(argv[i]);
    files.insert(files.end(), more.begin(), more.end());
  }
  FileWriter out(argv[2]);
  while (out.bytes() < bytes) {
    const std::uint64_t before = out.bytes();
    for (const fs::path& file : files) append(file, bytes, out);
    if (out.bytes() == before) return std::fprintf(stderr, "source_text: no source files below these directories\n"), 1;
  }
  return 0;
}
