// GroupByTest: makes records, groups them by key, and digests the groups. Prints "… groups, … records, sum …".
//
//   group_by once --bytes 512MiB --maps 40 --reduces 40        one shuffle
//   group_by twice …                                           a second one, which leaves nearly everything where the first has put
//                                                              it
//   group_by sort --input FILE --output DIRECTORY              TeraSort
//
// Maps make or read records as fast as the machine can, or with --rate as slowly as on other machines: each task then pauses after
// every quarter of a mebibyte.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <thread>
#include <utility>

#include <CLI/CLI.hpp>
#include <weft/weft.h>

#include "base/text.hpp"
#include "benchmarks/shuffle/group_by_records.hpp"

namespace {

using weft::bench::Digest;
using weft::bench::Record;

constexpr std::uint64_t kPauseEvery = 256u << 10;  // bytes

struct Options {
  std::uint64_t bytes = 64u << 20;
  std::uint32_t value_bytes = 4096;
  std::uint32_t maps = 8, reduces = 8;
  std::uint64_t rate = 0;  // bytes per second of a task; 0: no pauses
  std::uint32_t strays = 7;
};

void declare(CLI::App& app, Options& options) {
  const auto size = [&app](const std::string& flag, std::uint64_t& value, const std::string& help) {
    app.add_option_function<std::string>(
           flag, [&value](const std::string& text) { value = weft::parse_size(text).value_or(value); }, help)
        ->check([](const std::string& text) { return weft::parse_size(text) ? std::string() : "no size: " + text; });
  };
  size("--bytes", options.bytes, "Of all values together");
  size("--rate", options.rate, "Bytes per second that a task makes at most, writing them aside (default: no bound)");
  app.add_option("--value-bytes", options.value_bytes, "Of each record")->check(CLI::Range(8u, 1u << 20))->capture_default_str();
  app.add_option("--maps", options.maps, "Tasks that make records")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--reduces", options.reduces, "Tasks that group them")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--strays", options.strays, "Of a hundred records, those that the second shuffle moves")->capture_default_str();
}

/// The key space in equal ranges.
constexpr auto kRange = [](std::uint64_t key, std::uint32_t ranges) { return (key >> 32) * ranges >> 32; };

auto records_of(weft::Flow& flow, const Options& options) {
  const std::uint64_t records = options.bytes / options.value_bytes;
  const std::uint64_t pause_every = kPauseEvery / options.value_bytes + 1;
  const std::chrono::duration<double> pause(
      options.rate == 0 ? 0 : static_cast<double>(pause_every * options.value_bytes) / static_cast<double>(options.rate));
  return flow.generate(
      records,
      [=, value_bytes = options.value_bytes](std::uint64_t index) {
        if (pause.count() > 0 && index % pause_every == 0) std::this_thread::sleep_for(pause);
        return weft::bench::make_record(index, records, value_bytes);
      },
      options.maps);
}

template <class Groups>
void print_digest(weft::Flow& flow, const Groups& groups) {
  const auto digests = groups
                           .template map_partitions<Digest>([](auto&& all, auto&& emit) {
                             Digest digest;
                             all([&](auto&& group) {
                               ++digest.groups;
                               for (const std::string_view value : group.second) digest.add(group.first, value);
                             });
                             emit(digest);
                           })
                           .collect();
  Digest sum;
  for (const Digest& digest : digests) sum.add(digest);
  flow.on_driver([&] { std::printf("%s\n", weft::bench::to_string(sum).c_str()); });
}

void once(weft::Flow& flow, const Options& options) { print_digest(flow, records_of(flow, options).group_by_key(options.reduces)); }

void twice(weft::Flow& flow, const Options& options) {
  const auto by_range = weft::partition_by(kRange, options.reduces);
  const auto again = records_of(flow, options)
                         .group_by_key(by_range)
                         .template flat_map<Record>([strays = options.strays](auto&& group, auto&& emit) {
                           const std::uint64_t key = weft::bench::second_key(group.first, strays);
                           for (auto&& value : group.second) emit(Record{key, value});
                         });
  print_digest(flow, again.group_by_key(by_range));
}

struct SortOptions {
  std::string input, output;
  std::uint64_t rate = 0;  // as above
};

void declare_sort(CLI::App& app, SortOptions& options) {
  app.add_option("--input", options.input, "File of 100-byte records")->required();
  app.add_option("--output", options.output, "Directory for the sorted records")->required();
  app.add_option("--rate", options.rate, "Bytes per second that a task reads at most")->capture_default_str();
}

void sort(weft::Flow& flow, const SortOptions& options) {
  constexpr std::size_t kRecordBytes = 100, kKeyBytes = 10;
  constexpr std::uint64_t kRecords = kPauseEvery / kRecordBytes;
  const std::chrono::duration<double> pause(
      options.rate == 0 ? 0 : static_cast<double>(kRecords * kRecordBytes) / static_cast<double>(options.rate));
  flow.read_records<kRecordBytes>(options.input)
      .filter([pause](std::string_view) {
        thread_local std::uint64_t read = 0;
        if (pause.count() > 0 && ++read % kRecords == 0) std::this_thread::sleep_for(pause);
        return true;
      })
      .sort_by([](std::string_view record) { return record.substr(0, kKeyBytes); })
      .write_records(options.output);
}

}  // namespace

int main(int argc, char** argv) {
  weft::Programs programs("Groups records by key and digests the groups");
  programs.add<Options>("once", "One shuffle", declare, once);
  programs.add<Options>("twice", "Two shuffles by the same ranges of keys", declare, twice);
  programs.add<SortOptions>("sort", "Sorts records", declare_sort, sort);
  return programs.main(argc, argv);
}
