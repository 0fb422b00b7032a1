#include "engine/master/core/expectations.hpp"

#include <cmath>

#include <fmt/format.h>

#include "base/text.hpp"

namespace weft::master {

namespace {

constexpr Time kEvery = std::chrono::seconds(1), kSoonest = std::chrono::milliseconds(100);
constexpr int kPart = 10;  // of the time to a job's end: then it is looked at again

std::string tasks_text(double slots) {
  const double shown = std::ceil(slots - 0.05);
  return fmt::format("{:.0f} {} at a time", shown, shown == 1 ? "task" : "tasks");
}

/// What would help a job that is expected to end too late.
std::string advice(const JobStatus& status) {
  const Expectation& expected = *status.expected;
  const Time deadline = *status.deadline;
  if (expected.alone > deadline)
    return fmt::format(
        "even with all workers for itself it would end {} after it, so it is run as well as can be; a later deadline or more "
        "workers would help",
        human_duration(expected.alone - deadline));
  const std::string room = fmt::format("there is room for {}", tasks_text(expected.cluster));
  if (expected.needed > expected.slots)
    return fmt::format("it has {} and needs {} from now on ({}): more workers, fewer jobs beside it or a later deadline would help",
                       tasks_text(expected.slots), tasks_text(expected.needed), room);
  return fmt::format("it runs {} ({}); more workers or a later deadline would help", tasks_text(expected.slots), room);
}

}  // namespace

bool Expectations::due(Time now, JobId job) const {
  const auto known = ends_.find(job);
  if (!made_ || known == ends_.end() || now - *made_ >= kEvery) return true;
  return now - *made_ >= kSoonest && known->second.end && (now - *made_) * kPart >= *known->second.end - *made_;
}

std::optional<std::string> Expectations::add(const Core& core, Time now, JobStatus& status) {
  if (status.state != JobState::running || !status.deadline) return std::nullopt;
  if (due(now, status.id)) {
    ends_ = core.expected_ends();
    made_ = now;
    std::erase_if(misses_, [this](const auto& job) { return !ends_.contains(job.first); });
  }
  const auto found = ends_.find(status.id);
  if (found == ends_.end()) return std::nullopt;
  const schedulers::ExpectedEnd& end = found->second;
  const schedulers::Resources& capacity = core.view().capacity();
  status.expected = Expectation{end.end.value_or(Time(0)), end.alone, end.slots, end.needed,
                                capacity.map_slots > 0 ? capacity.map_slots : capacity.cpu};
  const Outlook is = outlook(status);
  if (is == Outlook::unknown) return std::nullopt;
  const auto [said, first] = misses_.try_emplace(status.id, false);
  if (said->second == (is == Outlook::misses)) return std::nullopt;
  said->second = is == Outlook::misses;
  return fmt::format("job {} ({}): {}", status.id.value(), status.name, outlook_text(status));
}

void Expectations::add(const Core& core, Time now, JobStatus& status, const Log& log) {
  const auto news = add(core, now, status);
  if (!news) return;
  if (outlook(status) == Outlook::misses) {
    log.warn("{}", *news);
  } else {
    log.info("{}", *news);
  }
}

Outlook outlook(const JobStatus& status) {
  if (!status.deadline || !status.expected || status.expected->end <= Time(0)) return Outlook::unknown;
  return status.expected->end > *status.deadline ? Outlook::misses : Outlook::meets;
}

std::string outlook_text(const JobStatus& status) {
  if (outlook(status) == Outlook::unknown)
    return "whether the deadline can be met is not known before a task of each stage has ended, unless the program or an earlier "
           "run says how long they take";
  const Expectation& expected = *status.expected;
  if (outlook(status) == Outlook::meets)
    return fmt::format("expected to meet the deadline with {} to spare", human_duration(*status.deadline - expected.end));
  if (status.expected->end - *status.deadline > std::chrono::hours(24 * 365))
    return "expected to miss the deadline: " + advice(status);
  return fmt::format("expected to miss the deadline by {}: {}", human_duration(expected.end - *status.deadline), advice(status));
}

}  // namespace weft::master
