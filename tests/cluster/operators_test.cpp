// Operators by key, groups, windows, joins, rows, compressed files and named outputs: the same in one process, on private workers
// and on a standing cluster, one of whose workers dies, as the standard library has it.
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>
#include <random>
#include <set>

#include "tests/cluster/cluster.hpp"

namespace weft::test {
namespace {

using Lines = std::vector<std::string>;

struct Visit {
  std::uint64_t id = 0;
  std::string user, page;
  std::uint64_t time = 0;
  std::optional<std::int64_t> cents;
};

std::string decimal(double number) {
  char digits[64];
  return {digits, std::to_chars(digits, digits + sizeof digits, number).ptr};
}

Lines sorted(Lines lines) {
  std::sort(lines.begin(), lines.end());
  return lines;
}

/// In quotes, `quote` in front of those inside.
std::string quoted(const std::string& text, char quote) {
  std::string made = "\"";
  for (const char c : text) {
    if (c == '"') made += quote;
    made += c;
  }
  return made + "\"";
}

/// Visits of 40 users, of which the first has a third, and the countries of some of them and of others.
class Data {
 public:
  explicit Data(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    for (std::uint64_t id = 0; id < 3'000; ++id) {
      Visit& visit = visits.emplace_back();
      visit.id = id;
      visit.user = "u" + std::to_string(random() % 3 == 0 ? 0 : random() % 40);
      visit.page = "/a,\"" + std::to_string(random() % 25) + "\"";
      visit.time = random() % 20'000;
      if (random() % 4 != 0) visit.cents = static_cast<std::int64_t>(random() % 10'000) - 500;
    }
    static const std::string kCountries[] = {"DE", "FR", "IT"};
    for (int user = 20; user < 50; ++user)
      countries["u" + std::to_string(user)] = user % 5 == 0 ? std::optional<std::string>() : kCountries[user % 3];
  }

  /// Three files of rows, the second compressed, and one of JSON.
  void write(const ScratchDirectory& directory) const {
    std::filesystem::create_directory(directory / "in");
    for (std::size_t file = 0; file < 3; ++file) {
      std::string text = "page,id,other,time,user,cents\n";
      for (std::size_t i = file; i < visits.size(); i += 3) {
        const Visit& visit = visits[i];
        text += quoted(visit.page, '"') + "," + std::to_string(visit.id) + ",x," + std::to_string(visit.time) + "," + visit.user +
                "," +
                (visit.cents  ? std::to_string(*visit.cents)
                 : i % 2 == 0 ? "NA"
                              : "") +
                "\n";
      }
      write_file(directory / ("in/" + std::to_string(file) + ".csv"), text);
    }
    ASSERT_EQ(run({"/bin/sh", "-c", "exec gzip \"$0\"", directory / "in/1.csv"}).exit_code, 0);
    std::string users;
    for (const auto& [user, country] : countries)
      users += "{\"user\":\"" + user + "\"" +
               (country       ? ",\"country\":\"" + *country + "\""
                : user < "u3" ? ",\"country\":null"
                              : "") +
               "}\n";
    write_file(directory / "users.jsonl", users);
  }

  std::map<std::string, std::vector<Visit>> by_user() const {
    std::map<std::string, std::vector<Visit>> groups;
    for (const Visit& visit : visits) groups[visit.user].push_back(visit);
    return groups;
  }

  std::vector<Visit> visits;
  std::map<std::string, std::optional<std::string>> countries;
};

/// By the names of outputs: their lines, sorted.
using Outputs = std::map<std::string, Lines>;

void expect_totals(const Data& data, Outputs& expected) {
  for (const auto& [user, visits] : data.by_user()) {
    std::int64_t cents = 0;
    std::uint64_t first = visits[0].time, last = 0, sum = 0;
    for (const Visit& visit : visits) {
      cents += visit.cents.value_or(0);
      first = std::min(first, visit.time);
      last = std::max(last, visit.time);
      sum += visit.time;
    }
    const std::string count = std::to_string(visits.size()),
                      mean = decimal(static_cast<double>(sum) / static_cast<double>(visits.size()));
    expected["counts"].push_back(user + "\t" + count);
    expected["keys"].push_back(user);
    expected["totals"].push_back(user + "," + count + "," + std::to_string(cents) + "," + std::to_string(first) + "," +
                                 std::to_string(last) + "," + mean);
    expected["again"].push_back("{\"user\":\"" + user + "\",\"visits\":" + count + ",\"cents\":" + std::to_string(cents) +
                                ",\"first\":" + std::to_string(first) + ",\"last\":" + std::to_string(last) + ",\"mean\":" + mean +
                                "}");
  }
}

using Times = std::vector<std::pair<std::uint64_t, std::uint64_t>>;  // time, id

std::string text_of(const Times& times) {
  std::string text;
  for (const auto& [time, id] : times) text += (text.empty() ? "" : ",") + std::to_string(time) + "\t" + std::to_string(id);
  return text;
}

void expect_groups(const Data& data, Outputs& expected) {
  std::map<std::string, Times> pages;
  for (const Visit& visit : data.visits) pages[visit.page].emplace_back(visit.time, visit.id);
  for (auto& [page, times] : pages) {
    std::sort(times.rbegin(), times.rend());
    times.resize(std::min<std::size_t>(times.size(), 3));
    expected["top"].push_back(page + "\t" + text_of(times));
  }
  for (const auto& [user, visits] : data.by_user()) {
    Times times;
    for (const Visit& visit : visits) times.emplace_back(visit.time, visit.id);
    std::sort(times.begin(), times.end());
    for (std::size_t begin = 0; begin < times.size();) {
      std::size_t end = begin + 1;
      while (end < times.size() && times[end].first - times[end - 1].first <= 200) ++end;
      expected["sessions"].push_back(user + "\t" + text_of({times.data() + begin, times.data() + end}));
      begin = end;
    }
    std::reverse(times.begin(), times.end());
    for (std::size_t begin = 0; begin + 4 <= times.size(); begin += 2)
      expected["windows"].push_back(user + "\t" + text_of({times.data() + begin, times.data() + begin + 4}));
  }
  for (const Visit& visit : data.visits) {
    expected["values"].push_back(std::to_string(visit.id));
    expected["numbered"].push_back(std::to_string(visit.id) + "\t" + std::to_string(visit.id));
  }
}

void expect_joins(const Data& data, Outputs& expected) {
  std::set<std::string> seen;
  for (const Visit& visit : data.visits) {
    seen.insert(visit.user);
    const auto user = data.countries.find(visit.user);
    const bool known = user != data.countries.end();
    const std::string id = std::to_string(visit.id);
    expected["trades"].push_back("{\"page\":" + quoted(visit.page, '\\') +
                                 ",\"country\":" + (known && user->second ? "\"" + *user->second + "\"" : "null") +
                                 ",\"cents\":" + (visit.cents ? std::to_string(*visit.cents) : "null") + "}");
    expected["full"].push_back(visit.user + "\t" + id + "\t" + (known ? user->second.value_or("?") : "nobody"));
    if (!known) expected["strangers"].push_back(id);
    if (known) {
      const std::string country = user->second.value_or("unknown");
      expected["by"].push_back(country + "/" + country + "\t" + id);
    }
  }
  for (const auto& [user, country] : data.countries) {
    if (!seen.contains(user)) expected["full"].push_back(user + "\t0\t" + country.value_or("?"));
  }
}

Outputs expected_of(const Data& data) {
  Outputs expected;
  expect_totals(data, expected);
  expect_groups(data, expected);
  expect_joins(data, expected);
  for (auto& [name, lines] : expected) lines = sorted(std::move(lines));
  return expected;
}

/// Of an output with a directory for each name: "NAME/line".
Lines named_lines(const std::string& directory) {
  Lines lines;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (!entry.is_directory()) continue;
    for (const std::string& line : part_lines(entry.path())) lines.push_back(entry.path().filename().string() + "/" + line);
  }
  return lines;
}

class Operators : public testing::Test {
 protected:
  Operators() { data_.write(files_); }

  std::string out(const std::string& name) const { return files_ / name; }
  Lines job(const Lines& where, const std::string& output) const {
    for (const char* suffix : {"", "-again"}) std::filesystem::create_directory(out(output + suffix));
    Lines words{program("cluster_operators_probe"),
                "--quiet",
                "--input",
                files_ / "in",
                "--users",
                files_ / "users.jsonl",
                "--output",
                out(output)};
    words.insert(words.end(), where.begin(), where.end());
    return words;
  }
  void check(const ProcessResult& ran, const Lines& where, const std::string& output) {
    ASSERT_EQ(ran.exit_code, 0) << ran.err;
    std::int64_t cents = 0;
    std::uint64_t latest = 0;
    for (const Visit& visit : data_.visits) {
      cents += visit.cents.value_or(0);
      latest = std::max(latest, visit.time);
    }
    char line[100];
    std::snprintf(line, sizeof line, "3000 visits until %llu, %.6f each\n", static_cast<unsigned long long>(latest),
                  static_cast<double>(cents) / 3000);
    EXPECT_EQ(ran.out, line);
    for (const char* suffix : {"gzip/part-00000.gz", "zstd/part-00000.zst", "lz4/part-00000.lz4"})
      EXPECT_TRUE(exists(out(output) + "/" + suffix)) << suffix;
    Lines again{
        program("cluster_operators_probe"), "--again", "--quiet", "--input", out(output), "--output", out(output + "-again")};
    again.insert(again.end(), where.begin(), where.end());
    const auto second = run(again);
    ASSERT_EQ(second.exit_code, 0) << second.err;
    const Outputs expected = expected_of(data_);
    for (const auto& [name, lines] : expected) {
      if (name == "again") {
        for (const char* packed : {"gzip", "zstd", "lz4"})
          EXPECT_EQ(sorted(part_lines(out(output + "-again/") + packed)), lines) << packed;
        continue;
      }
      Lines found = name == "by" ? named_lines(out(output) + "/by") : part_lines(out(output) + "/" + name);
      if (name == "totals") std::erase(found, "user,visits,cents,first,last,mean");
      if (name == "numbered") {
        EXPECT_TRUE(std::is_sorted(found.begin(), found.end(), [](const auto& a, const auto& b) {
          return std::stoul(a) < std::stoul(b);
        })) << "the parts are in global order";
      }
      EXPECT_EQ(sorted(std::move(found)), lines) << name;
    }
  }

  ScratchDirectory files_;
  const Data data_{7};
};

TEST_F(Operators, AreRightInOneProcess) {
  for (const Lines& where : {Lines{"--threads", "2"}, Lines{"--threads", "2", "--memory", "8MiB"}}) {
    const std::string output = "embedded" + std::to_string(where.size());
    check(run(job(where, output)), where, output);
  }
}

TEST_F(Operators, AreRightOnPrivateWorkers) {
  const Lines where{"--workers", "3"};
  check(run(job(where, "private")), where, "private");
}

TEST_F(Operators, AreRightOnAStandingCluster) {
  Cluster cluster(3);
  const Lines where{"--cluster", cluster.address()};
  check(run(job(where, "standing"), cluster.options()), where, "standing");
}

/// One of three workers is killed when the first shuffles are written and their readers run.
TEST_F(Operators, AreRightOnAStandingClusterThatLosesAWorker) {
  Cluster cluster(3);
  const Lines where{"--cluster", cluster.address()};
  Lines words = job(where, "killed");
  words.insert(words.end(), {"--marker", files_ / "marker"});
  Process driver(words, cluster.options());
  ASSERT_TRUE(eventually([&] { return exists(files_ / "marker.held"); })) << driver.err_so_far();
  cluster.worker(1).signal(SIGKILL);
  ASSERT_TRUE(cluster.has_nodes(2));
  write_file(files_ / "marker.go", "");
  check(driver.wait(), where, "killed");
  EXPECT_TRUE(has(cluster.admin({"job", "status", "1", "--json"}).out, "\"workers_lost\":1"));
}

}  // namespace
}  // namespace weft::test
