// WordCount, TeraSort, the join, and many tiny files: what the data plane takes for them.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "benchmarks/e2e/input.hpp"
#include "benchmarks/e2e/sections.hpp"
#include "benchmarks/e2e/work.hpp"

namespace weft::bench {

namespace {

namespace fs = std::filesystem;

Input zipf_text(const Setting& setting, const std::string& name, std::uint64_t bytes, const std::string& hot = "0") {
  return {setting, name, "zipf_text", {std::to_string(bytes), "FILE", "1000000", "1", "1", hot}};
}

Work wordcount_of(const Setting& setting, const std::string& kind, const Input& input) {
  return {text("WordCount, %.0f MiB of %s", static_cast<double>(fs::file_size(input.path())) / 0x1p20, kind.c_str()),
          {setting.program("wordcount_limit"), input.path()},
          {setting.program("wordcount"), "--input", input.path()},
          1.25,
          1.5};
}

Input tera_records(const Setting& setting, const std::string& name, std::uint64_t records) {
  return {setting, name, "tera_records", {std::to_string(records), "FILE"}};
}

Digest digest_in_order(const std::string& directory) {
  bool in_order = false;
  const Digest digest = digest_sorted(directory, in_order);
  if (!in_order) {
    std::fprintf(stderr, "bench: the records in %s are not in order\n", directory.c_str());
    std::exit(1);
  }
  return digest;
}

Work terasort_of(const Setting& setting, const Input& input) {
  return {text("TeraSort, %.0f MiB of 100-byte records", static_cast<double>(fs::file_size(input.path())) / 0x1p20),
          {setting.program("terasort_limit"), input.path()},
          {setting.program("terasort"), "sort", "--input", input.path()},
          1.4,
          1.8,
          digest_in_order};
}

/// Two tables; `rows` of the left one, and a row of the right one for each of `keys`.
struct Tables {
  Tables(const Setting& setting, const std::string& name, const std::string& row_bytes, std::uint64_t left_rows,
         std::uint64_t right_rows, const std::string& hot = "0")
      : rows(left_rows),
        keys(right_rows),
        right(setting, name + "-right.bin", "join_rows", {row_bytes, "right", std::to_string(keys), "FILE"}),
        left(setting, name + "-left.bin", "join_rows",
             {row_bytes, "left", std::to_string(keys), "FILE", std::to_string(rows), hot}) {}
  std::uint64_t rows, keys;
  Input right, left;
};

Tables wide_tables(const Setting& setting, const std::string& name, std::uint64_t rows, const std::string& hot = "0") {
  return {setting, name, "100", rows, rows / 10, hot};
}

Work join_of(const Setting& setting, const Tables& tables) {
  return {text("Join of %.4g M with %.4g M rows of 100 bytes, sums by key", static_cast<double>(tables.rows) / 1e6,
               static_cast<double>(tables.keys) / 1e6),
          {setting.program("join_limit"), tables.left.path(), tables.right.path()},
          {setting.program("join_sum"), "--left", tables.left.path(), "--right", tables.right.path()},
          1.4,
          1.8};
}

Work group_join_of(const Setting& setting, const Tables& tables) {
  return {text("Join of %.4g M with %.4g M rows of 32 bytes, sums into 1,000 groups", static_cast<double>(tables.rows) / 1e6,
               static_cast<double>(tables.keys) / 1e6),
          {setting.program("group_join_limit"), tables.left.path(), tables.right.path()},
          {setting.program("join_groups"), "--left", tables.left.path(), "--right", tables.right.path()},
          1.25,
          1.6};
}

constexpr const char* kHotShare = "0.3";

}  // namespace

void wordcount(const Setting& setting) {
  const std::uint64_t bytes = setting.scaled(kGiB);
  {
    const Input zipf = zipf_text(setting, "zipf.txt", bytes), quarter = zipf_text(setting, "quarter.txt", bytes / 4);
    const Work work = wordcount_of(setting, "Zipf text", zipf);
    compare_with_limit(setting, work);
    measure_scaling(setting, work);
    compare_inputs(setting, "a quarter of it, and all: time per byte", wordcount_of(setting, "Zipf text", quarter), work, 4, 1.1);
  }
  const Input uniform = zipf_text(setting, "zipf.txt", bytes / 2), hot = zipf_text(setting, "hot.txt", bytes / 2, kHotShare);
  compare_inputs(setting, "half of it; 30 % of the words are one", wordcount_of(setting, "Zipf text", uniform),
                 wordcount_of(setting, "Zipf text", hot), 1, 1.1);
}

void source_words(const Setting& setting) {
  const Input source(setting, "source.txt", "source_text", {std::to_string(setting.scaled(kGiB)), "FILE", "/usr/include"});
  const Work work = wordcount_of(setting, "source code (/usr/include, repeated)", source);
  compare_with_limit(setting, work);
}

void terasort(const Setting& setting) {
  const std::uint64_t records = setting.scaled(kGiB) / 100;
  const Input input = tera_records(setting, "tera.bin", records);
  const Work work = terasort_of(setting, input);
  compare_with_limit(setting, work);
  measure_scaling(setting, work);
  compare_options(setting, "spilling, an eighth of the data as memory", work,
                  {"--memory", std::to_string(setting.scaled(kGiB) / 8 >> 20) + "MiB"}, 2.5);
  const Input quarter = tera_records(setting, "quarter.bin", records / 4);
  compare_inputs(setting, "a quarter of it, and all: time per byte", terasort_of(setting, quarter), work, 4, 1.1);
}

void join(const Setting& setting) {
  const std::uint64_t rows = setting.scaled(10'000'000);
  {
    const Tables tables = wide_tables(setting, "join", rows), quarter = wide_tables(setting, "quarter", rows / 4);
    const Work work = join_of(setting, tables);
    compare_with_limit(setting, work);
    measure_scaling(setting, work);
    compare_inputs(setting, "a quarter of it, and all: time per byte", join_of(setting, quarter), work, 4, 1.1);
  }
  {
    const Tables uniform = wide_tables(setting, "join", rows / 2), hot = wide_tables(setting, "hot", rows / 2, kHotShare);
    compare_inputs(setting, "half of it; 30 % of the left rows have one key", join_of(setting, uniform), join_of(setting, hot), 1,
                   2);
  }
  for (const std::uint64_t share : {10U, 100U, 10'000U}) {
    const Tables tables(setting, "groups", "32", rows, rows / share);
    const Work work = group_join_of(setting, tables);
    compare_with_limit(setting, work);
    compare_options(setting, "the same with JoinStrategy::broadcast", work, {"--strategy", "broadcast"}, 1.05);
    compare_options(setting, "the same with JoinStrategy::hash", work, {"--strategy", "hash"}, 3);
  }
  const Tables even(setting, "even", "32", rows / 2, rows / 20), hot(setting, "half", "32", rows / 2, rows / 20, "0.5");
  compare_inputs(setting, "half of the rows; half of them have one key", group_join_of(setting, even), group_join_of(setting, hot),
                 1, 1.5);
}

void tiny_files(const Setting& setting) {
  const int files = setting.quick ? 20'000 : 100'000;
  const std::string directory = setting.data + "/tiny", output = setting.data + "/tiny-counts";
  fs::create_directories(directory);
  for (int i = 0; i < files; ++i) std::ofstream(directory + "/" + std::to_string(i)) << "w" << i % 1000 << "\n";
  const Command command{setting.program("wordcount"), "--input", directory, "--output", output, "--overwrite", "--quiet"};
  const auto timings = alternate({command}, setting.rounds());
  std::printf("WordCount, %d files of a few bytes\n", files);
  const double seconds = median_seconds(timings[0]);
  row("weft embedded", text("%.2f s, peak %.0f MiB", seconds, max_mib(timings[0])), at_most(seconds, files / 1e4, " s"));
  fs::remove_all(directory);
  fs::remove_all(output);
}

}  // namespace weft::bench
