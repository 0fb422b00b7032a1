// Sums sines behind a source, or behind a shuffle, and writes what one took: "nanoseconds".
//
//   sines --input FILE --behind text|reduce|group|sort|join --figure FILE
#include <cmath>
#include <cstdint>
#include <ctime>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <weft/weft.h>

namespace {

struct Options {
  std::vector<std::string> input;
  std::string behind = "text", figure;
};

void declare(weft::Arguments& arguments, Options& options) {
  arguments.option("--input", options.input, "Lines of text").required();
  arguments.option("--behind", options.behind, "Where the sines are: text, reduce, group, sort or join").show_default();
  arguments.option("--figure", options.figure, "Written: the nanoseconds of one").required();
}

struct Work {
  std::uint64_t nanoseconds = 0, sines = 0;
  double sum = 0;
};

std::uint64_t thread_nanoseconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

Work work(std::string_view line) {
  constexpr int kSines = 2'000;
  const std::uint64_t before = thread_nanoseconds();
  Work work{0, kSines, 0};
  for (int i = 0; i < kSines; ++i) work.sum += std::sin(static_cast<double>(line.size() + static_cast<std::size_t>(i)));
  work.nanoseconds = thread_nanoseconds() - before;
  return work;
}

template <class Works>
void sum_up(weft::Flow& flow, const Works& works, const std::string& file) {
  const auto sums = works.aggregate(weft::sum(&Work::nanoseconds), weft::sum(&Work::sines), weft::sum(&Work::sum));
  flow.on_driver([&sums, &file] {
    std::ofstream(file) << static_cast<double>(std::get<0>(sums)) / static_cast<double>(std::get<1>(sums)) << "\n";
  });
}

void define(weft::Flow& flow, const Options& options) {
  const auto lines = flow.read_text(options.input);
  const auto pairs = lines.map([](std::string_view line) { return std::pair(std::string(line.substr(0, 6)), std::string(line)); });
  const auto of_second = [](const auto& entry) { return work(entry.second); };
  if (options.behind == "text") return sum_up(flow, lines.map([](std::string_view line) { return work(line); }), options.figure);
  if (options.behind == "sort")
    return sum_up(flow, pairs.sort_by([](const auto& entry) { return entry.second; }).map(of_second), options.figure);
  if (options.behind == "reduce") {
    const auto longest = [](const std::string& a, const std::string& b) { return a.size() < b.size() ? b : a; };
    return sum_up(flow, pairs.reduce_by_key(longest).map(of_second), options.figure);
  }
  if (options.behind == "join")
    return sum_up(flow, pairs.join(pairs).map([](const auto& entry) { return work(entry.second.left); }), options.figure);
  sum_up(flow, pairs.group_by_key().map([](const auto&, auto&& values) {
    Work sum;
    for (const auto& value : values) {
      const Work one = work(value);
      sum.nanoseconds += one.nanoseconds, sum.sines += one.sines, sum.sum += one.sum;
    }
    return sum;
  }),
         options.figure);
}

}  // namespace

int main(int argc, char** argv) {
  return weft::main<Options>(argc, argv, "Sums sines behind a source or a shuffle", declare, define);
}
