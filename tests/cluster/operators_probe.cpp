// A job program whose every operator has an output of its own: rows in and out, aggregators, groups in order, windows, joins,
// numbers, named and compressed outputs. operators_test.cpp says what each must hold.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>
#include <weft/weft.h>

namespace {

struct Visit {
  std::uint64_t id = 0;
  std::string user, page;
  std::uint64_t time = 0;
  std::optional<std::int64_t> cents;
};
struct User {
  std::string user;
  std::optional<std::string> country;
};
struct Total {
  std::string user;
  std::uint64_t visits = 0;
  std::int64_t cents = 0;
  std::uint64_t first = 0, last = 0;
  double mean = 0;
};
struct Trade {
  std::string page;
  std::optional<std::string> country;
  std::optional<std::int64_t> cents;
};

struct Options : weft::InputOutput {
  std::string users, marker;
  bool again = false;
};

void declare(weft::Arguments& arguments, Options& options) {
  weft::declare(arguments, options);
  arguments.option("--users", options.users, "Lines of JSON");
  arguments.option("--marker", options.marker, "The tasks of a second stage make the file MARKER.held and wait for MARKER.go");
  arguments.flag("--again", options.again, "Reads what an earlier run has written compressed, and writes it as JSON");
}

void hold(const std::string& marker) {
  if (marker.empty()) return;
  if (const int file = open((marker + ".held").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600); file >= 0) close(file);
  while (access((marker + ".go").c_str(), F_OK) != 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

std::int64_t cents_of(const Visit& visit) { return visit.cents.value_or(0); }

template <class Visits>
void by_user(const Visits& visits, const Options& options) {
  const auto pairs = visits.map([](const Visit& visit) { return std::pair(visit.user, visit); });
  pairs.count_by_key(3)
      .map([marker = options.marker](const std::string& user, std::uint64_t count) {
        hold(marker);
        return std::pair(user, count);
      })
      .write_text(options.output + "/counts");
  const auto totals = pairs
                          .aggregate_by_key(weft::count(), weft::sum(cents_of), weft::min(&Visit::time), weft::max(&Visit::time),
                                            weft::mean(&Visit::time))
                          .map([](const std::string& user, const auto& of) {
                            const auto& [count, cents, first, last, mean] = of;
                            return Total{user, count, cents, first, last, mean};
                          });
  totals.write_csv(options.output + "/gzip", {}, weft::Compression::gzip);
  totals.write_csv(options.output + "/zstd", {}, weft::Compression::zstd);
  totals.write_csv(options.output + "/lz4", {}, weft::Compression::lz4);
  totals.write_csv(options.output + "/totals");
  pairs.keys().distinct().write_text(options.output + "/keys");
  pairs.values().map(&Visit::id).write_text(options.output + "/values");
}

template <class Visits>
void groups(const Visits& visits, const Options& options) {
  visits.map([](const Visit& visit) { return std::pair(visit.page, std::pair(visit.time, visit.id)); })
      .top_by_key(3)
      .write_text(options.output + "/top");
  const auto times = visits.map([](const Visit& visit) { return std::pair(visit.user, std::pair(visit.time, visit.id)); });
  const auto near = [](const auto& before, const auto& after) { return after.first - before.first <= 200; };
  times.group_by_key().sorted_by(std::identity()).windows(near).write_text(options.output + "/sessions");
  times.group_by_key().sorted_by(std::identity(), weft::Order::descending).windows(4, 2).write_text(options.output + "/windows");
  visits.map(&Visit::id).sort_by(std::identity()).zip_with_index().write_text(options.output + "/numbered");
}

template <class Visits, class Users>
void joins(const Visits& visits, const Users& users, const Options& options) {
  const auto countries = users.map([](const User& user) { return std::pair(user.user, user.country); });
  const auto pairs = visits.map([](const Visit& visit) { return std::pair(visit.user, visit); });
  pairs.left_join(countries)
      .map([](const auto& entry) {
        const auto& right = entry.second.right;
        return Trade{entry.second.left.page, right ? *right : std::nullopt, entry.second.left.cents};
      })
      .write_json(options.output + "/trades");
  pairs.full_join(countries)
      .map([](const auto& user, const auto& left, const auto& right) {
        return std::tuple(user, left ? left->id : 0, right ? right->value_or("?") : std::string("nobody"));
      })
      .write_text(options.output + "/full");
  pairs.anti_join(countries, 2).map([](const auto& entry) { return entry.second.id; }).write_text(options.output + "/strangers");
  pairs.join(countries, weft::JoinStrategy::broadcast)
      .map([](const auto&, const Visit& visit, const auto& country) { return std::pair(country.value_or("unknown"), visit.id); })
      .write_text_by(options.output + "/by", [](const std::string& country, std::uint64_t) { return country; });
}

void define(weft::Flow& flow, const Options& options) {
  if (options.again) {
    for (const std::string packed : {"gzip", "zstd", "lz4"})
      flow.read_csv<Total>(options.input.at(0) + "/" + packed).write_json(options.output + "/" + packed);
    return;
  }
  const auto visits = flow.read_csv<Visit>(options.input, {.missing = {"", "NA"}});
  by_user(visits, options);
  groups(visits, options);
  joins(visits, flow.read_json<User>(options.users), options);
  const auto all = visits.aggregate(weft::count(), weft::max(&Visit::time), weft::mean(cents_of));
  flow.on_driver([&all] {
    std::printf("%llu visits until %llu, %.6f each\n", static_cast<unsigned long long>(std::get<0>(all)),
                static_cast<unsigned long long>(std::get<1>(all).value_or(0)), std::get<2>(all).value_or(0));
  });
}

}  // namespace

WEFT_JOB(define, "Job of the tests of operators")
