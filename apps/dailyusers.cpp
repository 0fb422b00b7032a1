// How many users saw each page on each day (UTC), of rows with the columns user, page and time, in seconds.
#include <weft/weft.h>

struct Visit {
  std::string user, page;
  std::uint64_t time;
};

void define(weft::Flow& flow, const weft::InputOutput& job) {
  flow.read_csv<Visit>(job.input)
      .map([](const Visit& visit) { return std::tuple(visit.time / 86'400, visit.page, visit.user); })
      .distinct()
      .map([](std::uint64_t day, const auto& page, const auto&) { return std::pair(std::tuple(day, page), 1); })
      .count_by_key()
      .write_text(job.output);
}

WEFT_JOB(define, "Counts the users of each page on each day")
