// WordCount, a sort and a join whose tasks wait, as tasks do on slow devices, instead of computing: what one takes does not depend
// on what its neighbours do, so a log of one run tells how long it takes in another. For scripts/fidelity.
//
// `paced read` reads lines of files and shuffles a part of them, so that bytes go over links, too.
//
//   paced wordcount --maps 12 --map-ms 300 --reduces 6 --reduce-ms 200
//   paced sort …
//   paced join …
//   paced read --input weft://in/text --percent 40 --map-ms 300 --reduces 6 --reduce-ms 200
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <weft/weft.h>

namespace {

struct Options {
  std::uint32_t maps = 8, reduces = 4;
  std::uint32_t map_ms = 200, reduce_ms = 200;
};

void declare(weft::Arguments& arguments, Options& options) {
  arguments.option("--maps", options.maps, "Tasks that make records").positive();
  arguments.option("--reduces", options.reduces, "Tasks behind the shuffle").positive();
  arguments.option("--map-ms", options.map_ms,
                   "Milliseconds that a map waits in the mean, from half to one and a half times as long");
  arguments.option("--reduce-ms", options.reduce_ms, "The same of tasks behind the shuffle");
}

struct ReadOptions : Options {
  std::vector<std::string> input;
  std::uint32_t percent = 100;
};

void declare_read(weft::Arguments& arguments, ReadOptions& options) {
  arguments.option("--input", options.input, "Files of lines that differ").required();
  arguments.option("--percent", options.percent, "Part of the lines that is shuffled");
  arguments.option("--map-ms", options.map_ms, "Milliseconds that a map waits in the mean");
  arguments.option("--reduces", options.reduces, "Tasks behind the shuffle").positive();
  arguments.option("--reduce-ms", options.reduce_ms, "Milliseconds that one of these waits in the mean");
}

constexpr std::uint64_t kRecordsOfMap = 500;

std::uint64_t mixed(std::uint64_t number) { return (number + 1) * 0x9e3779b97f4a7c15ULL >> 20; }

void wait(std::uint32_t mean_ms, std::uint64_t number) {
  std::this_thread::sleep_for(std::chrono::microseconds(mean_ms * (500 + mixed(number) % 1001)));
}

/// Numbers, some often; `of`: other numbers for another table.
auto numbers(weft::Flow& flow, const Options& options, std::uint64_t of = 0) {
  return flow
      .generate(
          options.maps,
          [ms = options.map_ms, of](std::uint64_t map) {
            wait(ms, map + of);
            return map + of;
          },
          options.maps)
      .flat_map<std::uint64_t>([](std::uint64_t map, auto&& emit) {
        for (std::uint64_t i = 0; i < kRecordsOfMap; ++i) emit(mixed(map * kRecordsOfMap + i) % 1000);
      });
}

/// Each task behind the shuffle waits, then all records are counted.
template <class Records>
void wait_and_count(weft::Flow& flow, const Records& records, const Options& options) {
  const std::uint64_t count = records
                                  .template map_partitions<std::uint64_t>([ms = options.reduce_ms](auto&& all, auto&& emit) {
                                    std::uint64_t seen = 0;
                                    all([&](auto&&) { ++seen; });
                                    wait(ms, seen);
                                    emit(seen);
                                  })
                                  .reduce(std::plus<>())
                                  .value_or(0);
  flow.on_driver([&] { std::printf("%llu records\n", static_cast<unsigned long long>(count)); });
}

auto keyed(weft::Flow& flow, const Options& options, std::uint64_t of = 0) {
  return numbers(flow, options, of).map([](std::uint64_t number) { return std::pair(number, std::uint64_t{1}); });
}

void wordcount(weft::Flow& flow, const Options& options) {
  wait_and_count(flow, keyed(flow, options).reduce_by_key(std::plus<>(), options.reduces), options);
}

void sort(weft::Flow& flow, const Options& options) {
  wait_and_count(
      flow, numbers(flow, options).sort_by([](std::uint64_t number) { return number; }, weft::Order::ascending, options.reduces),
      options);
}

void join(weft::Flow& flow, const Options& options) {
  const auto right = keyed(flow, options, 1'000'000).reduce_by_key(std::plus<>(), options.reduces);
  wait_and_count(flow, keyed(flow, options).join(right, options.reduces), options);
}

void read_lines(weft::Flow& flow, const ReadOptions& options) {
  const auto lines = flow.read_text(options.input)
                         .map_partitions<std::pair<std::uint64_t, std::string>>(
                             [ms = options.map_ms, percent = options.percent](auto&& all, auto&& emit) {
                               std::uint64_t seen = 0, mix = 0;
                               all([&](std::string_view line) {
                                 const std::uint64_t key = std::hash<std::string_view>()(line);
                                 mix ^= key;
                                 const bool part = (seen + 1) * percent / 100 > seen * percent / 100;
                                 ++seen;
                                 if (part) emit(std::pair(key, std::string(line)));
                               });
                               wait(ms, mix);
                             });
  wait_and_count(flow, lines.reduce_by_key([](std::string kept, std::string_view) { return kept; }, options.reduces), options);
}

}  // namespace

int main(int argc, char** argv) {
  weft::Programs programs("Jobs whose tasks wait instead of computing");
  programs.add<Options>("wordcount", "Counts numbers", declare, wordcount);
  programs.add<Options>("sort", "Sorts numbers", declare, sort);
  programs.add<Options>("join", "Joins numbers with counts of others", declare, join);
  programs.add<ReadOptions>("read", "Counts lines of files, of which a part is shuffled", declare_read, read_lines);
  return programs.main(argc, argv);
}
