#include "engine/tools/history/causes.hpp"

#include <map>
#include <string_view>

namespace weft::history {

namespace {

/// Words of an error that show its cause, whatever failed because of it.
struct CauseWords {
  std::string_view part, cause;
};
constexpr CauseWords kWords[] = {{"No space left", "disk_full"},
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

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

/// Of the first words that the text has; `otherwise` when it has none.
std::string cause_in(const std::string& text, std::string_view otherwise) {
  for (const auto& [part, cause] : kWords)
    if (contains(text, part)) return std::string(cause);
  return std::string(otherwise);
}

}  // namespace

std::string cause_of(const LoggedAttempt& attempt) {
  // What a program prints before it dies is in the message, too, and is not the cause.
  if (attempt.kind == "crashed") return contains(attempt.why, "killed by the kernel: out of memory") ? "out_of_memory" : "crash";
  if (attempt.kind == "timed_out") return "timeout";
  if (attempt.kind == "fetch_failed") return "lost_output";
  if (attempt.kind == "plan_mismatch") return "plan_mismatch";
  if (attempt.kind == "refused") return cause_in(attempt.why, "unreadable_input");
  return cause_in(attempt.why, attempt.kind == "environment" ? "environment" : "user_code");
}

std::string cause_of(const LoggedJob& job) {
  if (job.status.state == JobState::killed) return job.status.error == "its driver was lost" ? "lost_driver" : "killed";
  if (contains(job.status.error, "the master was restarted")) return "lost_master";
  if (contains(job.status.error, "each task wants ")) return "wrong_demand";
  return cause_in(job.status.error, "failed");
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
