#include "schedulers/prediction/job_ends.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "schedulers/prediction/goals_met.hpp"
#include "schedulers/prediction/work_left.hpp"

namespace weft::schedulers {

namespace {

constexpr double kForever = 1e9;     // seconds
constexpr std::size_t kSteps = 300;  // after these, each job keeps the slots that it has
constexpr double kStepsAhead = 32;   // steps to the end of all work: the needs of jobs change with time
constexpr double kUnserved = 1e-3;   // slots that a job without any counts as having

Time to_time(double seconds) { return Time(std::llround(std::clamp(seconds, 0.0, kForever) * 1e9)); }

/// The progress of a job through its phases. Slots are cores.
struct Course {
  JobId job;
  std::vector<PhaseLeft> phases;
  double task = 1;  // cores of a task
  double to_goal = std::numeric_limits<double>::infinity();
  double running = 0, slots = 0;
  std::size_t at = 0;
  bool begun = false;  // the phase has had slots

  bool over() const { return at == phases.size(); }
  double work() const {
    double sum = 0;
    for (std::size_t i = at; i < phases.size(); ++i) sum += phases[i].work;
    return sum;
  }
  double usable() const { return phases[at].tasks; }
  double seconds(double with) const { return seconds_with(std::span(phases).subspan(at), with); }  // as many slots
  double needed(double passed) const {
    return std::isfinite(to_goal) ? slots_needed(std::span(phases).subspan(at), to_goal - passed) : 0;
  }
  /// Seconds until its phase ends.
  double phase_ends() const {
    const PhaseLeft& now = phases[at];
    if (now.work <= 0) return now.longest;
    return slots > 0 ? std::min(kForever, std::max(now.longest, now.work / slots)) : kForever;
  }
  /// The last tasks of a phase cannot be divided: while they run, half of the slots are idle on average.
  void begin_phase() {
    if (slots <= 0 || std::exchange(begun, true)) return;
    PhaseLeft& now = phases[at];
    if (now.waiting > 0) now.work += now.longest * std::max(0.0, std::min(slots, now.tasks) - task) / 2;
  }
  void go_on(double seconds) {
    if (phase_ends() <= seconds * (1 + 1e-9)) {
      ++at;
      begun = false;
      return;
    }
    phases[at].work = std::max(0.0, phases[at].work - slots * seconds);
    if (slots > 0) phases[at].longest = std::max(0.0, phases[at].longest - seconds);
  }
};

/// Gives each course give(course, level) slots, at the highest level from `low` to `high` whose total is not more than `all`.
template <class Give>
void fill(std::vector<Course*>& courses, double all, double low, double high, Give&& give) {
  const auto enough = [&](double level) {
    double sum = 0;
    for (const Course* course : courses) sum += give(*course, level);
    return sum <= all;
  };
  if (!enough(high)) {
    for (int i = 0; i < 40; ++i) {
      const double middle = (low + high) / 2;
      (enough(middle) ? low : high) = middle;
    }
    high = low;
  }
  for (Course* course : courses) course->slots = give(*course, high);
}

/// What each job has of the slots before the rest is shared: what it needs for its goal, where goals decide. The nearest goal
/// first; jobs that are late or give their goals up last, or not at all where only goals at risk need slots.
std::vector<double> reserved(const std::vector<Course*>& courses, double all, const Sharing& sharing, double passed) {
  std::vector<double> reserved(courses.size());
  if (sharing.goals == Goals::none) return reserved;
  std::vector<Goal> goals;
  for (const Course* course : courses) goals.push_back({course->to_goal - passed, course->work(), course->seconds(all)});
  const std::vector<bool> out = goals_to_give_up(goals, all);
  std::vector<bool> needs(courses.size(), true);
  if (sharing.goals == Goals::at_risk) needs = goals_at_risk(goals, out, all, sharing.margin, sharing.wait);
  std::vector<std::size_t> in_order;
  for (std::size_t i = 0; i < courses.size(); ++i)
    if (needs[i]) in_order.push_back(i);
  std::ranges::stable_sort(in_order, {}, [&](std::size_t i) { return std::pair(bool(out[i]), goals[i].seconds); });
  double left = all;
  for (const std::size_t i : in_order) {
    const double needed = courses[i]->needed(passed);  // a job has a whole slot even where it needs a part of one
    reserved[i] = std::min({needed > 0 ? std::max(needed, courses[i]->task) : 0, courses[i]->usable(), left});
    left -= reserved[i];
  }
  return reserved;
}

void share(std::vector<Course*>& courses, double all, const Sharing& sharing, const std::map<JobId, std::size_t>& places,
           double passed) {
  if (sharing.goals == Goals::none && sharing.order.empty()) {
    return fill(courses, all, 0, all / kUnserved, [](const Course& course, double level) {
      return std::min(std::max(course.running, kUnserved) * level, course.usable());
    });
  }
  const std::vector<double> first = reserved(courses, all, sharing, passed);
  double left = all;
  for (std::size_t i = 0; i < courses.size(); ++i) left -= courses[i]->slots = first[i];
  if (sharing.order.empty()) {
    return fill(courses, all, 0, all,
                [&](const Course& course, double level) { return std::min(course.slots + level, course.usable()); });
  }
  std::vector<Course*> in_order = courses;
  std::ranges::stable_sort(in_order, {}, [&](const Course* course) {
    const auto place = places.find(course->job);
    return place == places.end() ? places.size() : place->second;
  });
  for (Course* course : in_order) {
    const double more = std::min(left, course->usable() - course->slots);
    course->slots += more;
    left -= more;
  }
}

double cores_of(const JobInfo& job) {
  for (const auto& [id, stage] : job.stages)
    if (!stage.complete()) return std::max(stage.demand.cpu, 1e-6);
  return 1;
}

Course course_of(const ClusterView& view, const JobInfo& job, WorkLeft left) {
  Course course;
  course.job = job.id;
  course.task = cores_of(job);
  course.phases = std::move(left.phases);
  for (PhaseLeft& phase : course.phases) {
    phase.work *= course.task;
    phase.tasks *= course.task;
  }
  if (job.deadline) course.to_goal = in_seconds(*job.deadline - view.now());
  course.running = static_cast<double>(job.running) * course.task;
  return course;
}

/// Follows the courses to their ends. A course that is not over after kSteps keeps the slots that it has then.
void follow(std::vector<Course>& all, double slots, const Sharing& sharing, std::map<JobId, ExpectedEnd>& ends, Time now) {
  double passed = 0, work = 0;
  for (const Course& course : all)
    for (const PhaseLeft& phase : course.phases) work += phase.work;
  const double longest_step = sharing.goals != Goals::none ? std::max(1e-3, work / std::max(slots, 1.0) / kStepsAhead) : kForever;
  std::map<JobId, std::size_t> places;
  for (const JobId job : sharing.order) places.emplace(job, places.size());
  std::vector<Course*> going;
  for (Course& course : all) going.push_back(&course);
  for (std::size_t step = 0;; ++step) {
    std::erase_if(going, [&](const Course* course) {
      if (course->over()) ends[course->job].end = now + to_time(passed);
      return course->over();
    });
    if (going.empty() || step == kSteps || passed >= kForever) break;
    share(going, slots, sharing, places, passed);
    double next = longest_step;
    for (Course* course : going) {
      course->begin_phase();
      next = std::min(next, course->phase_ends());
      if (step == 0) ends[course->job].slots = course->slots / course->task;
    }
    for (Course* course : going) course->go_on(next);
    passed += next;
  }
  for (const Course* course : going) {
    const double rest = course->seconds(course->slots);
    ends[course->job].end = now + to_time(std::isfinite(rest) ? passed + rest : kForever);
  }
}

}  // namespace

std::map<JobId, ExpectedEnd> expected_ends(const ClusterView& view, const Sharing& sharing) {
  std::map<JobId, ExpectedEnd> ends;
  std::vector<Course> courses;
  // Of typed slots the map slots: as a rule there are as many reduce slots.
  const double cluster = view.capacity().map_slots > 0 ? view.capacity().map_slots : view.capacity().cpu;
  double unknown = 0;
  for (const auto& [id, job] : view.jobs()) {
    ExpectedEnd& expected = ends[id];
    WorkLeft left = work_left(view, job);
    if (left.unknown > 0) {
      ++unknown;
      expected.slots = static_cast<double>(job.running);
      continue;
    }
    const double each = cores_of(job);
    const double alone = seconds_with(left.phases, cluster / each);
    if (std::isfinite(alone)) expected.alone = view.now() + to_time(alone);
    if (job.deadline) expected.needed = slots_needed(left.phases, in_seconds(*job.deadline - view.now()));
    courses.push_back(course_of(view, job, std::move(left)));
  }
  // Jobs of unknown durations keep an even part of the slots.
  const double known = static_cast<double>(courses.size());
  if (known > 0) follow(courses, cluster * known / (known + unknown), sharing, ends, view.now());
  return ends;
}

}  // namespace weft::schedulers
