#include "engine/master/journal.hpp"

#include <fstream>

#include "base/file.hpp"
#include "base/random.hpp"
#include "engine/master/journal.capnp.h"
#include "engine/master/simulated.hpp"
#include "engine/plan/capnp_bytes.hpp"
#include "schedulers/registry.hpp"
#include "tests/engine/master/core_driver.hpp"

namespace weft::master {
namespace {

using namespace test;

/// One event of each kind, with every field set.
std::vector<Event> all_events() {
  std::vector<Event> events;
  JobSubmitted job;
  job.job = JobId(7);
  job.name = "n";
  job.user = "u";
  job.pool = "p";
  job.priority = -3;
  job.deadline = Time(99);
  job.demand = {1, 2, 3, 4, 5, 6, 7, 8};
  job.max_attempts = 9;
  job.task_timeout = Time(5);
  job.shuffle_replicas = 2;
  job.hints = {2, 3, 4, sched::Resources{1, 1, 1, 1}, std::nullopt, sched::Resources{2, 2, 2, 2}};
  events.emplace_back(job);
  events.emplace_back(PlanExtended{JobId(7), part(1, {source(0, 2, 3), result(reader(1, {0}, 3, 0))}, {0})});
  events.emplace_back(JobClosed{JobId(7)});
  events.emplace_back(JobKilled{JobId(7), "by \"alice\""});
  events.emplace_back(WorkerJoined{NodeId(3), "w", "h", "r", "h:1", {4, 5, 6, 7}, {{"gpu", "1"}}, {{Time(3), {1, 0, 0, 0}}}, 77});
  events.emplace_back(WorkerHeartbeat{NodeId(3), {1, 2, 3, 4, 5, 6, 7, 8}, 8, {{Time(4), {2, 0, 0, 0}}}});
  events.emplace_back(WorkerLost{NodeId(3), "gone"});
  const AttemptId attempt{TaskId{JobId(7), StageId(1), 2}, 3};
  events.emplace_back(TaskStarted{attempt, NodeId(3)});
  TaskFinished finished;
  finished.attempt = attempt;
  finished.node = NodeId(3);
  finished.output = {{1, 2}, {3, 4}};
  finished.result = Buffer::copy_of(as_bytes("result"));
  finished.counters = {{"a", -1}, {"b", 2}};
  finished.input_bytes = 11;
  finished.input_records = 12;
  finished.shuffle_times = {Time(13), Time(14)};
  finished.spread = {1, 0, 7};
  events.emplace_back(std::move(finished));
  TaskFailed failed;
  failed.attempt = attempt;
  failed.node = NodeId(3);
  failed.kind = FailureKind::fetch_failed;
  failed.message = "m\n";
  failed.fetch = shuffle::FetchFailure{ShuffleId(1), 2, 3, NodeId(4)};
  events.emplace_back(std::move(failed));
  events.emplace_back(TimerFired{5});
  events.emplace_back(SchedulerConfigured{"fair(pools=p)", {{"p", "[pool]\n"}, {"q", ""}}});
  events.emplace_back(OutputCopied{{NodeId(3), JobId(7), ShuffleId(1), 2, 4}});
  events.emplace_back(CopyFailed{{NodeId(3), JobId(7), ShuffleId(1), 2, 4}, "disk full"});
  return events;
}

std::string text(const Buffer& buffer) { return std::string(as_chars(buffer.view())); }

TEST(Journal, RoundTripsEveryEvent) {
  ASSERT_EQ(all_events().size(), std::variant_size_v<Event>);
  for (const auto& event : all_events()) {
    const Buffer bytes = encode_event(Time(17), event);
    auto read = decode_event(bytes.view());
    ASSERT_TRUE(read) << read.error().to_string();
    EXPECT_EQ(read->at, Time(17));
    EXPECT_EQ(read->event.index(), event.index());
    EXPECT_EQ(text(encode_event(read->at, read->event)), text(bytes));
    EXPECT_EQ(event_json(read->at, read->event), event_json(Time(17), event));
  }
}

TEST(Journal, KeepsWhatATaskSpentOnItsShuffles) {
  TaskFinished finished;
  finished.shuffle_times = {Time(13), Time(14)};
  const Event event = std::move(finished);
  const auto read = decode_event(encode_event(Time(17), event).view());
  ASSERT_TRUE(read) << read.error().to_string();
  EXPECT_EQ(std::get<TaskFinished>(read->event).shuffle_times, (shuffle::ShuffleTimes{Time(13), Time(14)}));
  EXPECT_NE(event_json(Time(17), event).find(R"("shuffle_read_ns":13,"shuffle_write_ns":14)"), std::string::npos);
  EXPECT_EQ(event_json(Time(17), Event(TaskFinished{})).find("shuffle_"), std::string::npos);
}

TEST(Journal, ReadsTheTwoListsThatOutputsOnceWere) {
  capnp::MallocMessageBuilder message;
  auto finished = message.initRoot<wire::Record>().initTaskFinished();
  auto bytes = finished.initOutputBytes(3);
  auto records = finished.initOutputRecords(2);
  for (unsigned i = 0; i < 3; ++i) bytes.set(i, 10 + i);
  for (unsigned i = 0; i < 2; ++i) records.set(i, 20 + i);
  const auto entry = decode_event(plan::detail::to_buffer(message).view());
  ASSERT_TRUE(entry) << entry.error().to_string();
  const auto& output = std::get<TaskFinished>(entry->event).output;
  ASSERT_EQ(output.size(), 3u);
  EXPECT_EQ(output[1].bytes, 11u);
  EXPECT_EQ(output[1].records, 21u);
  EXPECT_EQ(output[2].records, 0u);
}

TEST(Journal, GivesEventsAsJsonLines) {
  const auto events = all_events();
  EXPECT_EQ(event_json(Time(5), events[3]), R"({"time_ns":5,"event":"job_killed","job":7,"reason":"by \"alice\""})");
  EXPECT_EQ(event_json(Time(5), events[7]),
            R"({"time_ns":5,"event":"task_started","job":7,"stage":1,"task":2,"attempt":3,"node":3})");
  for (const auto& event : events) EXPECT_EQ(event_json(Time(0), event).find('\n'), std::string::npos);
}

TEST(Journal, TellsWhatAReplayNeeds) {
  EXPECT_NE(event_json(Time(5), all_events()[8]).find(R"("partition_bytes":[1,3])"), std::string::npos);
  plan::Stage stage = source(0, 2, 3);
  stage.demand.cpu = 2;
  stage.estimated_task_duration = Time(7);
  stage.branches[0].splits = {{{"a", 0, 10, {"h1"}}, {"b", 0, 5, {"h2", "h1"}}}, {{"c", 0, 1, {}}}};
  const std::string line = event_json(Time(5), PlanExtended{JobId(7), part(1, {stage}, {})});
  EXPECT_NE(line.find(R"("demand":{"cpu":2},"estimated_task_ns":7,"splits":[{"task":0,"bytes":15,"hosts":["h1","h2"]},)"
                      R"({"task":1,"bytes":1,"hosts":[]}])"),
            std::string::npos)
      << line;
}

std::string whole_journal() {
  std::string bytes;
  auto journal = memory_journal(bytes);
  for (const auto& event : all_events()) EXPECT_TRUE(journal->append(encode_event(Time(1), event).view()));
  return bytes;
}

TEST(Journal, ToleratesATailCutAnywhere) {
  const std::string bytes = whole_journal();
  std::size_t last = 0;
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    auto read = read_journal(as_bytes(bytes.substr(0, length)));
    ASSERT_TRUE(read) << length << ": " << read.error().to_string();
    EXPECT_LE(read->valid_bytes, length);
    EXPECT_EQ(read->warning.has_value(), read->valid_bytes != length) << length;
    EXPECT_GE(read->entries.size(), last);
    last = read->entries.size();
  }
  EXPECT_EQ(last, all_events().size() - 1);
}

TEST(Journal, RefusesEveryDamagedByte) {
  const std::string good = whole_journal();
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string bytes = good;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
    auto read = read_journal(as_bytes(bytes));
    ASSERT_FALSE(read) << "byte " << at;
    EXPECT_TRUE(read.error().code() == Code::corrupt || read.error().code() == Code::version_mismatch) << at;
  }
  std::string newer = good;
  newer[8] = 2;
  EXPECT_EQ(read_journal(as_bytes(newer)).error().code(), Code::version_mismatch);
}

TEST(Journal, DecodingSurvivesAnyBytes) {
  for (const auto& event : all_events()) {
    const std::string good = text(encode_event(Time(1), event));
    for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
      Random random(seed);
      std::string bytes = good;
      for (int i = 0; i < 3; ++i) bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
      if (auto read = decode_event(as_bytes(bytes))) (void)event_json(read->at, read->event);
    }
  }
}

TEST(Journal, ContinuesAFileAfterACrashInTheMiddleOfARecord) {
  auto directory = TempDir::create().value();
  const std::string path = (directory.path() / "journal").string();
  EXPECT_EQ(read_journal_file(path).error().code(), Code::not_found);
  {
    auto journal = file_journal(path, SyncPolicy::each, 0).value();
    ASSERT_TRUE(journal->append(encode_event(Time(1), TimerFired{1}).view()));
    ASSERT_TRUE(journal->append(encode_event(Time(2), TimerFired{2}).view()));
  }
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 3);
  auto recovered = read_journal_file(path).value();
  EXPECT_TRUE(recovered.warning);
  ASSERT_EQ(recovered.entries.size(), 1u);
  {
    auto journal = file_journal(path, SyncPolicy::on_request, recovered.valid_bytes).value();
    ASSERT_TRUE(journal->append(encode_event(Time(3), TimerFired{3}).view()));
    ASSERT_TRUE(journal->sync());
    EXPECT_EQ(journal->size(), std::filesystem::file_size(path));
  }
  recovered = read_journal_file(path).value();
  EXPECT_FALSE(recovered.warning);
  ASSERT_EQ(recovered.entries.size(), 2u);
  EXPECT_EQ(std::get<TimerFired>(recovered.entries[1].event).timer, 3u);
}

TEST(Journal, HoldsAcceptedEventsOnly) {
  std::string bytes;
  auto journal = memory_journal(bytes);
  Core core(sched::make_scheduler("fifo").value(), {});
  std::vector<Command> commands;
  EXPECT_FALSE(apply_journaled(core, *journal, Time(1), JobClosed{JobId(1)}, commands));
  JobSubmitted job;
  job.job = JobId(1);
  EXPECT_TRUE(apply_journaled(core, *journal, Time(1), std::move(job), commands));
  EXPECT_EQ(read_journal(as_bytes(bytes))->entries.size(), 1u);
}

TEST(Journal, RefusesToReplayIntoACoreItDoesNotFit) {
  Core core(sched::make_scheduler("fifo").value(), {});
  std::vector<JournalEntry> entries;
  entries.push_back({Time(1), JobClosed{JobId(1)}});
  std::vector<Command> commands;
  EXPECT_EQ(replay(std::move(entries), core, commands).error().code(), Code::corrupt);
}

}  // namespace
}  // namespace weft::master
