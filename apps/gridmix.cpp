// The kinds of jobs that clusters of the Gridmix benchmark run, on lines "key<TAB>rest": a sort moves all it reads, a combine
// brings it down to a few numbers by key, a select keeps a little of it.
//
//   gridmix gen --rows 1000000 --output rows
//   gridmix sort --input rows --output sorted
//   gridmix combine --input rows --output sums
//   gridmix select --input rows --output low --below 05
#include <array>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include <weft/weft.h>

namespace {

constexpr auto key_of = [](std::string_view line) { return line.substr(0, line.find('\t')); };

struct Generate {
  std::uint64_t rows = 0, seed = 1, keys = 100'000, row_bytes = 100;
  std::string output;
};

void declare_gen(weft::Arguments& arguments, Generate& options) {
  arguments.option("--rows", options.rows, "Rows to write").required();
  arguments.option("--output", options.output, "Directory for the rows").required();
  arguments.option("--keys", options.keys, "Different keys at most, numbers of eight digits")
      .between(1, 100'000'000)
      .show_default();
  arguments.option("--row-bytes", options.row_bytes, "Bytes of a row, at least").between(1, 100'000).show_default();
  arguments.option("--seed", options.seed, "Other seeds give other rows").show_default();
}

void gen(weft::Flow& flow, const Generate& options) {
  flow.generate(options.rows,
                [options](std::uint64_t row) {
                  weft::Random random(options.seed, row);
                  std::array<char, 40> head{};
                  std::snprintf(head.data(), head.size(), "%08u\trow %010llu ",
                                static_cast<unsigned>(random.below(options.keys) * (100'000'000 / options.keys)),
                                static_cast<unsigned long long>(row));
                  std::string line(head.data());
                  while (line.size() < options.row_bytes) line += static_cast<char>('a' + random.below(26));
                  return line;
                })
      .write_text(options.output);
}

void sort(weft::Flow& flow, const weft::InputOutput& job) { flow.read_text(job.input).sort_by(key_of).write_text(job.output); }

/// By key: rows, and their bytes.
void combine(weft::Flow& flow, const weft::InputOutput& job) {
  using Sums = std::pair<std::uint64_t, std::uint64_t>;
  flow.read_text(job.input)
      .map([](std::string_view line) { return std::pair(key_of(line), Sums(1, line.size())); })
      .reduce_by_key([](const Sums& a, const Sums& b) { return Sums(a.first + b.first, a.second + b.second); })
      .write_text(job.output);
}

struct Select : weft::InputOutput {
  std::string below;
};

void declare_select(weft::Arguments& arguments, Select& options) {
  weft::declare(arguments, options);
  arguments.option("--below", options.below, "Keep the lines whose keys are less than this, byte by byte").required();
}

void choose(weft::Flow& flow, const Select& options) {
  flow.read_text(options.input)
      .filter([below = options.below](std::string_view line) { return key_of(line) < below; })
      .write_text(options.output);
}

void declare_plain(weft::Arguments& arguments, weft::InputOutput& options) { weft::declare(arguments, options); }

}  // namespace

int main(int argc, char** argv) {
  weft::Programs programs("Jobs of the Gridmix benchmark");
  programs.add<Generate>("gen", "Writes pseudo-random rows", declare_gen, gen);
  programs.add<weft::InputOutput>("sort", "Sorts rows by key", declare_plain, sort);
  programs.add<weft::InputOutput>("combine", "Counts the rows of each key and their bytes", declare_plain, combine);
  programs.add<Select>("select", "Keeps the rows of small keys", declare_select, choose);
  return programs.main(argc, argv);
}
