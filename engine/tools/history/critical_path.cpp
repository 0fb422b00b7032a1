#include "engine/tools/history/critical_path.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "engine/tools/display/json_members.hpp"
#include "engine/tools/display/text_table.hpp"
#include "runtime/protocol/task_phases.hpp"

namespace weft::history {

namespace {

constexpr struct {
  const char *name, *key;
} kKinds[kSpentKinds] = {{"driver", "driver"},
                         {"waiting for slots", "waiting_for_slots"},
                         {"failed attempts", "failed_attempts"},
                         {"starting", "starting"},
                         {"reading", "reading"},
                         {"shuffle", "shuffle"},
                         {"user code", "user_code"},
                         {"writing", "writing"},
                         {"not finished", "unfinished"}};

std::size_t place_of(Spent spent) { return static_cast<std::size_t>(spent); }

/// Places of attempts in the order of their ends.
class Ends {
 public:
  void add(const LoggedJob& job, std::size_t place) { places_.emplace_back(job.attempts[place].ended, place); }
  void sort() { std::sort(places_.begin(), places_.end()); }
  /// The last that ended by then and that `skip` does not refuse.
  template <class Skip>
  std::optional<std::size_t> last(Time by, const Skip& skip) const {
    auto after = std::upper_bound(places_.begin(), places_.end(), std::pair(by, SIZE_MAX));
    while (after != places_.begin())
      if (--after; !skip(after->second)) return after->second;
    return std::nullopt;
  }

 private:
  std::vector<std::pair<Time, std::size_t>> places_;
};

class PathWalk {
 public:
  PathWalk(const EventHistory& history, const LoggedJob& job)
      : job_(job),
        runs_(job.status.state == JobState::running),
        began_(job.status.submitted),
        at_(std::max(began_, runs_ ? history.now() : job.status.ended)),
        on_path_(job.attempts.size()) {
    for (std::size_t i = 0; i < job.stages.size(); ++i) stages_[job.stages[i].id] = i;
    for (std::size_t i = 0; i < job.attempts.size(); ++i) index(i);
    all_.sort();
    for (auto* of : {&of_node_, &finished_, &unsuccessful_})
      for (auto& [key, ends] : *of) ends.sort();
  }

  CriticalPath run() {
    path_.total = at_ - began_;
    std::optional<std::size_t> next = begin();
    while (next) next = follow(*next);
    std::reverse(path_.stages.begin(), path_.stages.end());
    return std::move(path_);
  }

 private:
  using Key = std::pair<std::uint32_t, std::uint32_t>;
  using Index = std::map<Key, Ends>;

  void index(std::size_t place) {
    const LoggedAttempt& attempt = job_.attempts[place];
    if (attempt.fate == Fate::running) return;
    all_.add(job_, place);
    of_node_[{attempt.node, 0}].add(job_, place);
    if (attempt.fate == Fate::finished) finished_[{attempt.stage, 0}].add(job_, place);
    if (attempt.fate == Fate::failed || attempt.fate == Fate::lost) unsuccessful_[{attempt.stage, attempt.task}].add(job_, place);
  }

  std::optional<std::size_t> last_of(const Index& index, Key key, Time by) const {
    const auto found = index.find(key);
    return found == index.end() ? std::nullopt : found->second.last(by, [this](std::size_t place) { return on_path_[place]; });
  }

  /// Where the path ends: at what runs, what made the job fail, or what finished last.
  std::optional<std::size_t> begin() {
    if (const auto running = runs_ ? first_running() : std::nullopt) return running;
    const JobState state = job_.status.state;
    const Fate wanted = state == JobState::failed ? Fate::failed : Fate::finished;
    auto last = all_.last(at_, [&](std::size_t place) { return state != JobState::killed && job_.attempts[place].fate != wanted; });
    if (!last) last = all_.last(at_, [](std::size_t) { return false; });
    const Time from = last ? job_.attempts[*last].ended : began_;
    if (const auto waits = state == JobState::finished ? std::nullopt : first_waiting())
      spend(of_stage(*waits), Spent::waiting, std::max(from, planned(*waits)));
    spend_on_driver(from);
    return last;
  }

  /// Of the attempts that run, those of the earliest stage are waited for by all others; of these the oldest.
  std::optional<std::size_t> first_running() const {
    std::optional<std::size_t> first;
    for (std::size_t i = 0; i < job_.attempts.size(); ++i)
      if (job_.attempts[i].fate == Fate::running && (!first || job_.attempts[i].stage < job_.attempts[*first].stage)) first = i;
    return first;
  }

  /// The first stage of which no attempt was launched.
  std::optional<std::uint32_t> first_waiting() const {
    std::map<std::uint32_t, bool> launched;
    for (const LoggedAttempt& attempt : job_.attempts) launched[attempt.stage] = true;
    for (const auto& stage : job_.stages)
      if (!launched.contains(stage.id)) return stage.id;
    return std::nullopt;
  }

  /// Takes the attempt onto the path, and returns the one before it.
  std::optional<std::size_t> follow(std::size_t place) {
    const LoggedAttempt& attempt = job_.attempts[place];
    on_path_[place] = true;
    const std::optional<std::size_t> input = last_input(attempt);
    const Time inputs_end = input ? job_.attempts[*input].ended : began_;
    if (input && inputs_end > attempt.launched) {
      spend_on(place, inputs_end);
      return input;
    }
    spend_on(place, attempt.launched);
    const std::optional<std::size_t> before = last_of(unsuccessful_, {attempt.stage, attempt.task}, attempt.launched);
    const std::optional<std::size_t> slot = last_of(of_node_, {attempt.node, 0}, attempt.launched);
    std::optional<std::size_t> cause;
    for (const auto& candidate : {before, input, slot})
      if (candidate && (!cause || job_.attempts[*candidate].ended > job_.attempts[*cause].ended)) cause = candidate;
    const Time planned_at = planned(attempt.stage);
    if (cause && job_.attempts[*cause].ended >= planned_at) {
      spend(of_stage(attempt.stage), Spent::waiting, job_.attempts[*cause].ended);
      return cause;
    }
    spend(of_stage(attempt.stage), Spent::waiting, planned_at);
    cause = all_.last(at_, [this](std::size_t one) { return on_path_[one]; });  // what the driver waited for
    spend_on_driver(cause ? job_.attempts[*cause].ended : began_);
    return cause;
  }

  std::optional<std::size_t> last_input(const LoggedAttempt& attempt) const {
    std::optional<std::size_t> last;
    const auto stage = stages_.find(attempt.stage);
    if (stage == stages_.end()) return last;
    for (const std::uint32_t input : job_.stages[stage->second].inputs) {
      const auto found = last_of(finished_, {input, 0}, at_);
      if (found && (!last || job_.attempts[*found].ended > job_.attempts[*last].ended)) last = found;
    }
    return last;
  }

  Time planned(std::uint32_t stage) const {
    const auto found = stages_.find(stage);
    return found == stages_.end() ? began_ : std::max(began_, job_.planned[found->second]);
  }

  StageOnPath& of_stage(std::uint32_t stage) {
    const auto found = std::find_if(path_.stages.begin(), path_.stages.end(), [&](const auto& one) { return one.stage == stage; });
    if (found == path_.stages.end()) return path_.stages.emplace_back(StageOnPath{.stage = stage});
    std::rotate(found, found + 1, path_.stages.end());  // the path has reached it earlier
    return path_.stages.back();
  }

  /// The time from then until where the path is; logs of clocks that were set back give none.
  Time take(Time from) {
    from = std::clamp(from, began_, at_);
    return std::exchange(at_, from) - from;
  }
  void spend(StageOnPath& stage, Spent on, Time from) { stage.spent[place_of(on)] += take(from); }
  void spend_on_driver(Time from) { path_.driver += take(from); }

  void spend_on(std::size_t place, Time from) {
    const LoggedAttempt& attempt = job_.attempts[place];
    StageOnPath& stage = of_stage(attempt.stage);
    const Time time = take(from);
    ++stage.attempts;
    if (time >= stage.longest_time) stage.longest = place, stage.longest_time = time;
    if (attempt.fate != Fate::finished) {
      stage.spent[place_of(attempt.fate == Fate::running ? Spent::unfinished : Spent::failed)] += time;
      return;
    }
    // How long each took is known, not when: of an attempt of which a part counts, the last of these count.
    const auto phases = runtime::phases_of(attempt.usage, {attempt.shuffle_read, attempt.shuffle_write});
    Time left = time;
    for (const auto& [kind, took] : {std::pair(Spent::writing, phases.write), std::pair(Spent::code, phases.compute),
                                     std::pair(Spent::reading, phases.read), std::pair(Spent::shuffle, phases.shuffle)}) {
      const Time part = std::clamp(took, Time(0), left);
      stage.spent[place_of(kind)] += part;
      left -= part;
    }
    stage.spent[place_of(Spent::starting)] += left;
  }

  const LoggedJob& job_;
  const bool runs_;
  const Time began_;
  Time at_;  // what comes after it has been spent
  std::vector<bool> on_path_;
  std::map<std::uint32_t, std::size_t> stages_;  // places in job_.stages
  Ends all_;
  Index of_node_, finished_, unsuccessful_;
  CriticalPath path_;
};

std::string stage_name(const LoggedJob& job, std::uint32_t stage) {
  const auto found = std::find_if(job.stages.begin(), job.stages.end(), [&](const auto& one) { return one.id == stage; });
  return found == job.stages.end() ? "" : found->name;
}

int percent(Time part, Time all) { return all > Time(0) ? static_cast<int>(100.0 * in_seconds(part) / in_seconds(all) + 0.5) : 0; }

/// "user code 3.1 s, reading 250 ms": the longest first, without what is less than a hundredth of the job.
std::string spent_text(const SpentTimes& spent, Time all) {
  std::vector<std::pair<Time, std::size_t>> parts;
  for (std::size_t i = 0; i < kSpentKinds; ++i)
    if (spent[i] > Time(0) && spent[i] * 100 >= all) parts.emplace_back(spent[i], i);
  std::sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text;
  for (const auto& [time, kind] : parts)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", kKinds[kind].name, human_duration(time));
  return text;
}

}  // namespace

const char* name_of(Spent spent) { return kKinds[place_of(spent)].name; }
const char* key_of(Spent spent) { return kKinds[place_of(spent)].key; }

Time StageOnPath::total() const { return std::accumulate(spent.begin(), spent.end(), Time(0)); }

const StageOnPath* CriticalPath::limiting() const {
  const auto most =
      std::max_element(stages.begin(), stages.end(), [](const auto& a, const auto& b) { return a.total() < b.total(); });
  return most == stages.end() || most->total() <= Time(0) ? nullptr : &*most;
}

CriticalPath critical_path(const EventHistory& history, const LoggedJob& job) { return PathWalk(history, job).run(); }

std::string path_json(const EventHistory& history, const LoggedJob& job) {
  const CriticalPath path = critical_path(history, job);
  const auto stage = [&](JsonWriter& json, const StageOnPath& one) {
    tools::members(json, "stage", one.stage, "name", stage_name(job, one.stage), "seconds", in_seconds(one.total()), "attempts",
                   one.attempts);
    json.key("spent_seconds").begin_object();
    for (std::size_t i = 0; i < kSpentKinds; ++i)
      if (one.spent[i] > Time(0)) json.member(kKinds[i].key, in_seconds(one.spent[i]));
    json.end_object();
    if (one.attempts == 0) return;
    const LoggedAttempt& longest = job.attempts[one.longest];
    tools::members(json, "longest_task", longest.task, "longest_seconds", in_seconds(one.longest_time), "longest_on",
                   history.worker_name(longest.node));
  };
  std::optional<std::uint32_t> limiting;
  if (const StageOnPath* most = path.limiting()) limiting = most->stage;
  return tools::json_line(tools::object("seconds", in_seconds(path.total), "driver_seconds", in_seconds(path.driver),
                                        "limiting_stage", limiting, "stages", tools::objects(path.stages, stage)));
}

std::string path_text(const EventHistory& history, const LoggedJob& job) {
  const CriticalPath path = critical_path(history, job);
  const StageOnPath* most = path.limiting();
  if (path.total <= Time(0) || most == nullptr) return "";
  std::string text = fmt::format("critical path: stage {} limits the job with {} % of its {}", most->stage,
                                 percent(most->total(), path.total), human_duration(path.total));
  if (most->attempts > 0) {
    const LoggedAttempt& longest = job.attempts[most->longest];
    text += fmt::format("; the longest there was task {}.{} on {} ({})", longest.stage, longest.task,
                        escaped(history.worker_name(longest.node)), human_duration(most->longest_time));
  }
  tools::TextTable table({"STAGE", "NAME", "TIME", "PART", "SPENT ON"});
  for (const StageOnPath& one : path.stages)
    table.row(one.stage, stage_name(job, one.stage), human_duration(one.total()),
              fmt::format("{} %", percent(one.total(), path.total)), spent_text(one.spent, path.total));
  if (path.driver > Time(0))
    table.row("-", "driver", human_duration(path.driver), fmt::format("{} %", percent(path.driver, path.total)), "");
  return text + "\n\n" + table.text();
}

}  // namespace weft::history
