#include "engine/tools/history/causes.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>

namespace weft::history {

namespace {

/// Words of an error that tell its cause, whatever failed of it.
struct Words {
  std::string_view part, cause;
};
constexpr Words kWords[] = {{"No space left", "disk_full"},
                            {"disk is full", "disk_full"},
                            {"bad_alloc", "out_of_memory"},
                            {"out of memory", "out_of_memory"},
                            {"out-of-memory", "out_of_memory"},
                            {"bad record", "bad_record"},
                            {"--max-bad-records", "bad_record"},
                            {"cannot read input", "unreadable_input"},
                            {"is truncated: it ends at byte", "unreadable_input"},
                            {"is damaged at byte", "unreadable_input"},
                            {"changed while the job ran", "unreadable_input"},
                            {"changed since it was listed", "unreadable_input"}};

std::string cause_in(const std::string& text) {
  const auto found = std::find_if(std::begin(kWords), std::end(kWords),
                                  [&](const Words& words) { return text.find(words.part) != std::string::npos; });
  return found == std::end(kWords) ? "" : std::string(found->cause);
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

std::string cause_of(const Attempt& attempt) {
  // What a program prints before it dies is in the message, too, and is not the cause.
  if (attempt.kind == "crashed") return contains(attempt.why, "killed by the kernel: out of memory") ? "out_of_memory" : "crash";
  if (attempt.kind == "timed_out") return "timeout";
  if (attempt.kind == "fetch_failed") return "lost_output";
  if (attempt.kind == "plan_mismatch") return "plan_mismatch";
  const std::string known = cause_in(attempt.why);
  if (!known.empty()) return known;
  return attempt.kind == "environment" ? "environment" : "user_code";
}

std::string cause_of(const Job& job) {
  if (job.state == Job::State::killed) return job.error == "its driver was lost" ? "lost_driver" : "killed";
  if (contains(job.error, "the master was restarted")) return "lost_master";
  if (contains(job.error, "each task wants ")) return "wrong_demand";
  const std::string known = cause_in(job.error);
  return known.empty() ? "failed" : known;
}

std::string advice_on(const std::string& cause) {
  static const std::map<std::string, std::string> kAdvice{
      {"disk_full", "free space where the workers keep their work directories and outputs, or name another --directory"},
      {"out_of_memory",
       "raise --memory of the workers' executors, or give a worker fewer slots; more partitions make tasks smaller"},
      {"bad_record", "look at the records that the message names; --max-bad-records lets a job go on without them"},
      {"crash",
       "the program ended while it ran a task: weft job logs has the signal and the backtrace; SIGKILL comes from outside of it"},
      {"timeout", "raise --task-timeout, or find out why the task takes so long"},
      {"lost_output", "map outputs could not be read from another worker; --shuffle-replicas 2 keeps a copy of each"},
      {"plan_mismatch",
       "run the same binary everywhere, and let define() depend on its options only, not on machine, time or chance"},
      {"unreadable_input", "put the input back, whole, where all workers can read it under this name, or into the cluster's files"},
      {"environment", "a worker could not do its part: its log tells what it lacks"},
      {"user_code", "the program threw: the message says what and at which input"},
      {"wrong_demand", "lower --demand, or the stage's own demand, or add a larger worker"},
      {"killed", "somebody ended it; the reason is theirs"},
      {"lost_driver", "the job's own program died or lost its connection: see its exit code and its standard error"},
      {"lost_master", "run the job again; the previous master's log tells why it ended"},
      {"failed", "weft job status and weft job logs have more of it"}};
  return kAdvice.at(cause);
}

}  // namespace weft::history
