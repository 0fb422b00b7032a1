// compressed_bench DIRECTORY [MIB]: the processor time of counting the words of a compressed file by weft's reader, next to that of
// the format's own program that only decompresses it. Ratios hold on busy machines, because processor time is compared.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <sys/resource.h>

#include "base/file.hpp"
#include "base/random.hpp"
#include "storage/text_reader.hpp"
#include "weft/text.hpp"

namespace {

struct Case {
  const char* format;
  const char* compress;
  const char* decompress;
  double limit;
};
constexpr Case kCases[] = {{"gzip", "gzip -6", "gzip -dc", 0.6},
                           {"bzip2", "bzip2 -9", "bzip2 -dc", 1.2},
                           {"zstd", "zstd -q -3", "zstd -dcq", 1.5},
                           {"xz", "xz -1", "xz -dc", 1.2},
                           {"lz4", "lz4 -q", "lz4 -dcq", 2.0}};

double processor_seconds(int who) {
  rusage usage{};
  getrusage(who, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

template <class Work>
double median_of_three(int who, Work&& work) {
  std::vector<double> times;
  for (int i = 0; i < 3; ++i) {
    const double before = processor_seconds(who);
    work();
    times.push_back(processor_seconds(who) - before);
  }
  std::sort(times.begin(), times.end());
  return times[1];
}

void shell(const std::string& command) {
  if (std::system(command.c_str()) == 0) return;
  std::fprintf(stderr, "compressed_bench: failed: %s\n", command.c_str());
  std::exit(1);
}

std::size_t words_of(const std::string& path, std::uint64_t size) {
  weft::storage::TextReader reader;
  std::size_t words = 0;
  const auto read = reader.for_each_piece({path, 0, size, {}}, [&](std::uint64_t, std::string_view lines) {
    for (const std::string_view word : weft::words(lines)) words += word.empty() ? 0 : 1;
  });
  if (read) return words;
  std::fprintf(stderr, "compressed_bench: %s\n", read.error().to_string().c_str());
  std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: compressed_bench DIRECTORY [MIB]\n");
    return 2;
  }
  const std::size_t bytes = (argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 128) << 20;
  const std::string plain = std::string(argv[1]) + "/words";
  std::string text;
  weft::Random random(1);
  while (text.size() < bytes) {
    // A third of the words are rare, lines have about eight of them: gzip makes a third of such text.
    text += "w" + std::to_string(random.below(random.chance(0.3) ? 1'000'000 : 500));
    text += random.chance(0.12) ? '\n' : ' ';
  }
  if (!weft::write_file(plain, text)) return 1;
  const std::size_t words = words_of(plain, text.size());
  const double plain_time = median_of_three(RUSAGE_SELF, [&] { words_of(plain, text.size()); });
  std::printf("%-6s %6s %10s %10s %8s %6s\n", "format", "MiB", "weft", "program", "ratio", "limit");
  std::printf("%-6s %6.0f %8.3f s %10s\n", "none", static_cast<double>(bytes >> 20), plain_time, "");
  bool met = true;
  for (const Case& each : kCases) {
    if (std::system(("command -v " + std::string(each.compress).substr(0, std::string(each.compress).find(' ')) + " > /dev/null")
                        .c_str()) != 0) {
      std::printf("%-6s left out: the program is not installed\n", each.format);
      continue;
    }
    const std::string path = plain + "." + each.format;
    shell(std::string(each.compress) + " -c " + plain + " > " + path);
    const std::uint64_t size = weft::read_file(path).value().size();
    if (words_of(path, size) != words) return 1;
    const double ours = median_of_three(RUSAGE_SELF, [&] { words_of(path, size); });
    const double theirs =
        median_of_three(RUSAGE_CHILDREN, [&] { shell(std::string(each.decompress) + " " + path + " > /dev/null"); });
    const double ratio = ours / theirs;
    met = met && ratio <= each.limit;
    std::printf("%-6s %6.0f %8.3f s %8.3f s %6.2f x %4.1f x%s\n", each.format, static_cast<double>(size >> 20), ours, theirs, ratio,
                each.limit, ratio <= each.limit ? "" : "  MISSED");
    std::remove(path.c_str());
  }
  std::remove(plain.c_str());
  return met ? 0 : 1;
}
