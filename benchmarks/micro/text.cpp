// Lines of a file and words of a line.
#include "weft/text.hpp"

#include <fstream>

#include <benchmark/benchmark.h>
#include <unistd.h>

#include "benchmarks/micro/micro.hpp"
#include "storage/text_reader.hpp"

namespace weft::micro {
namespace {

constexpr std::size_t kWords = 1 << 20;

/// Ten words to a line.
std::string text() {
  std::string result;
  std::size_t n = 0;
  for (const std::string& word : words_of(numbers(kWords, 1'000'000, true))) {
    result += word;
    result += ++n % 10 == 0 ? '\n' : ' ';
  }
  return result;
}

/// A file that is gone with the object.
class File {
 public:
  explicit File(const std::string& content)
      : path_(std::filesystem::temp_directory_path() / ("weft-micro-" + std::to_string(::getpid()))) {
    std::ofstream(path_, std::ios::binary) << content;
  }
  ~File() { std::filesystem::remove(path_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

void find_words(benchmark::State& state) {
  const std::string bytes = text();
  for (auto iteration : state) {
    std::size_t count = 0, letters = 0;
    for (const std::string_view word : words(bytes)) {
      ++count;
      letters += word.size();
    }
    benchmark::DoNotOptimize(count);
    benchmark::DoNotOptimize(letters);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes.size()));
}
BENCHMARK(find_words)->Unit(benchmark::kMillisecond);

void read_lines(benchmark::State& state) {
  const std::string bytes = text();
  const File file(bytes);
  storage::TextReader reader;
  for (auto iteration : state) {
    std::size_t count = 0;
    runtime::value_or_throw(reader.for_each_line(
        {file.path(), 0, bytes.size(), {}}, [](std::uint64_t) {}, [&count](std::string_view line) { count += line.size(); }));
    benchmark::DoNotOptimize(count);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes.size()));
}
BENCHMARK(read_lines)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace weft::micro
