// How fast one core reads rows of CSV and lines of JSON into structs:
//
//   csv_rows [MEBIBYTES] [DIRECTORY]        (256, /dev/shm)
//
// Plain rows: five columns, no quotes. "all columns" makes two texts and three numbers of each row, "two columns" only a text view
// and a number. Prints the median of five runs, in MB of file per second, next to its limit; exit status 1 when one is missed.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>
#include <weft/weft.h>

namespace {

struct Visit {
  std::uint64_t id;
  std::string user, page;
  std::uint32_t bytes;
  double seconds;
};
struct Brief {
  std::string_view page;
  std::uint32_t bytes;
};

/// Rows until there are so many bytes. `json`: as lines of JSON.
void write_rows(const std::string& path, std::uint64_t bytes, bool json) {
  std::ofstream file(path, std::ios::binary);
  weft::Random random(1);
  if (!json) file << "id,user,page,bytes,seconds\n";
  std::string row;
  std::uint64_t written = 0;
  for (std::uint64_t id = 1'000'000; written < bytes; ++id) {
    const std::string user = "user" + std::to_string(random.below(100'000)),
                      page = "/shop/item/" + std::to_string(random.below(5'000));
    const std::string size = std::to_string(200 + random.below(50'000)),
                      seconds = std::to_string(random.below(60)) + "." + std::to_string(100 + random.below(900));
    row = json ? "{\"id\":" + std::to_string(id) + ",\"user\":\"" + user + "\",\"page\":\"" + page + "\",\"bytes\":" + size +
                     ",\"seconds\":" + seconds + "}\n"
               : std::to_string(id) + "," + user + "," + page + "," + size + "," + seconds + "\n";
    file << row;
    written += row.size();
  }
}

/// Whether the limit, in MB/s, is kept.
bool measure(const char* what, double limit, const std::string& path, const std::function<std::uint64_t(weft::Flow&)>& count) {
  std::vector<double> rates;
  std::uint64_t records = 0;
  for (int i = 0; i < 5; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const auto report = weft::run_locally([&](weft::Flow& flow) { records = count(flow); }, {.threads = 1});
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    if (!report) {
      std::fprintf(stderr, "%s\n", report.error().to_string().c_str());
      std::exit(1);
    }
    rates.push_back(static_cast<double>(std::filesystem::file_size(path)) / took.count() / 1e6);
  }
  std::sort(rates.begin(), rates.end());
  const bool kept = rates[2] >= limit;
  const std::string bound = limit > 0 ? std::to_string(std::lround(limit)) : "-";
  std::printf("%-28s %6.0f MB/s   limit %4s%s   (%llu records, %.0f to %.0f)\n", what, rates[2], bound.c_str(),
              kept ? "" : " MISSED", static_cast<unsigned long long>(records), rates[0], rates[4]);
  return kept;
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t mebibytes = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 256;
  const std::string folder = std::string(argc > 2 ? argv[2] : "/dev/shm") + "/weft-csv-rows-" + std::to_string(getpid());
  std::filesystem::create_directory(folder);
  const std::string csv = folder + "/rows.csv", json = folder + "/rows.jsonl";
  write_rows(csv, mebibytes << 20, false);
  write_rows(json, mebibytes << 20, true);
  bool kept = measure("read_csv, all columns", 500, csv, [&](weft::Flow& flow) {
    const auto [n, bytes] = flow.read_csv<Visit>(csv).aggregate(weft::count(), weft::sum(&Visit::bytes));
    return bytes > 0 ? n : 0;
  });
  kept &= measure("read_csv, two columns", 500, csv, [&](weft::Flow& flow) {
    const auto [n, bytes] = flow.read_csv<Brief>(csv).aggregate(weft::count(), weft::sum(&Brief::bytes));
    return bytes > 0 ? n : 0;
  });
  kept &= measure("read_json, all members", 0, json, [&](weft::Flow& flow) {
    const auto [n, bytes] = flow.read_json<Visit>(json).aggregate(weft::count(), weft::sum(&Visit::bytes));
    return bytes > 0 ? n : 0;
  });
  kept &= measure("read_text, lines only", 0, csv, [&](weft::Flow& flow) { return flow.read_text(csv).count(); });
  std::filesystem::remove_all(folder);
  return kept ? 0 : 1;
}
