#include "engine/master/journal/journal.hpp"

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "base/crc32c.hpp"
#include "base/file.hpp"
#include "base/random.hpp"
#include "engine/master/journal/journal_check.hpp"
#include "tests/engine/master/journal/journal_files.hpp"
#include "tests/support/process.hpp"
#include "tests/support/small_disk.hpp"

namespace weft::master {
namespace {

using namespace test;
namespace fs = std::filesystem;

TEST_F(JournalFiles, TellWhichJobsEndedAndHowAndWhichRanAndWhichIdsWereGiven) {
  write_some();
  const JournalHistory told = history();
  ASSERT_EQ(ids_of(told.ended), Ids{1});
  ASSERT_EQ(ids_of(told.running), Ids{2});
  EXPECT_EQ(text_of(told.ended[0]), text_of(job_status(1, JobState::finished)));
  EXPECT_EQ(text_of(told.running[0].status), text_of(job_status(2, JobState::running, 2)));
  EXPECT_EQ(told.marks.next_job, 3u);
  EXPECT_EQ(told.marks.next_node, 7u);
  EXPECT_EQ(told.marks.at, Time(3002));
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(JournalFiles, AreForOneMasterAtATime) {
  {
    const JournalFile mine = open();
    const auto other = JournalFile::open(path, options);
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().code(), Code::unavailable);
    EXPECT_NE(other.error().to_string().find(path + " is in use by a master"), std::string::npos) << other.error().to_string();
    EXPECT_EQ(repair_journal(path).error().code(), Code::unavailable);
  }
  open();
  JournalFile mine = open();
  ASSERT_TRUE(mine.checkpoint());  // another file by the same name
  EXPECT_EQ(JournalFile::open(path, options).error().code(), Code::unavailable);
}

TEST(JournalRecords, OfEarlierReleasesAreRead) {
  // Without what an operator set of a worker.
  const std::string_view payload(
      "\x00\x00\x00\x00\x08\x00\x00\x00\x00\x00\x00\x00\x05\x00\x01\x00\x01\x00\x00\x00\x00\x00\x00\x00"
      "\x02\x00\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00\x04\x00\x00\x00\x03\x00\x00\x00"
      "\x05\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x42\x00\x00\x00\x00\x73\x74\x61\x74\x75\x73\xff",
      72);
  const auto record = decode_record(as_bytes(payload));
  ASSERT_TRUE(record) << record.error().to_string();
  EXPECT_EQ(record->marks.next_node, 4u);
  EXPECT_EQ(record->job, JobId(5));
  EXPECT_TRUE(record->ended && record->checkpoint);
  EXPECT_EQ(record->status, std::string_view("\0status\xff", 8));
  EXPECT_EQ(record->setting, NodeSetting{});
  EXPECT_EQ(record->numbering, 0u);
}

/// With fields behind those of version 2, which an earlier release passes over.
TEST(JournalRecords, BytesStayWhatTheyAre) {
  JournalRecord record;
  record.marks = {Time(1), Time(2), 3, 4};
  record.job = JobId(5), record.ended = record.checkpoint = true;
  record.status = std::string_view("\0status\xff", 8);
  const std::string frame = to_frame(record);
  EXPECT_EQ(std::to_string(frame.size()) + " " + std::to_string(crc32c(as_bytes(frame))), "148 204571932");
}

/// Every fact with something in each field.
std::vector<JobFact> all_facts() {
  FinishFact finish{StageId(1),      2, 3, NodeId(4), Time(5),  Time(6),  "output", "result",
                    {{"words", -7}}, 8, 9, Time(10),  Time(11), {12, 13}, {},       14};
  finish.usage.run = Time(15);
  finish.usage.bad_records = {16, {"example"}, 17};
  finish.usage.spill_began = Time(18);
  return {SubmissionFact{"submit", Time(1), 0.5, 2, 3, 4, true, 5},
          PartFact{"part"},
          ValueFact{ActionId(1), "value"},
          ShapeFact{StageId(1), {0, 2}, {{3, 1, 0, 4, 5}}, 6},
          LaunchFact{StageId(1), 2, 3, NodeId(4), Time(5), 6, 7},
          FailureFact{StageId(1), 2, 3, 4, 5, 6},
          std::move(finish),
          DriverFact{NodeId(1), 2, 3, true, true, {"/data/x"}, true, true, {Time(4), Time(5)}}};
}

TEST(JournalRecords, FactsComeBackAsTheyWere) {
  ASSERT_EQ(all_facts().size(), std::variant_size_v<JobFact>);
  for (const JobFact& fact : all_facts()) {
    JournalRecord record;
    record.job = JobId(7);
    record.fact = fact;
    const std::string frame = to_frame(record);
    const auto read = decode_record(as_bytes(frame).subspan(kRecordHeaderBytes));
    ASSERT_TRUE(read && read->fact) << fact.index();
    EXPECT_EQ(to_frame(*read), frame) << fact.index();
  }
}

TEST(JournalFold, KeepsOfARunningJobWhatItNeedsAndOfOneThatIsOverItsStatus) {
  JournalFold fold(10);
  std::uint64_t at = 0;
  const auto add = [&](JobFact fact) {
    JournalRecord record;
    record.job = JobId(7);
    record.fact = std::move(fact);
    fold.add(record, {at++, 100});
  };
  const auto finish = [](std::uint32_t task, std::uint32_t attempt) {
    FinishFact fact;
    fact.stage = StageId(1), fact.task = task, fact.attempt = attempt;
    return fact;
  };
  add(SubmissionFact{});
  add(PartFact{});
  for (const std::uint32_t task : {0u, 1u, 2u}) add(LaunchFact{StageId(1), task, 0, NodeId(1), Time(0)});
  EXPECT_EQ(fold.bytes(), 500u);
  add(finish(0, 0));
  add(finish(2, 0));
  EXPECT_EQ(fold.bytes(), 500u) << "the end of a task says what its launch said";
  add(FailureFact{StageId(1), 1, 0, 1});
  add(LaunchFact{StageId(1), 1, 1, NodeId(1), Time(0)});
  EXPECT_EQ(fold.bytes(), 600u) << "of several launches the last counts";
  add(finish(0, 5));
  EXPECT_EQ(fold.bytes(), 600u) << "and of several ends";
  add(finish(1u << 30, 0));
  EXPECT_EQ(fold.bytes(), 600u) << "no stage has so many tasks";
  JournalFold::Job job = fold.running().at(JobId(7));
  std::vector<std::uint64_t> kept;
  for_each_of(job, [&](const Extent& where) { kept.push_back(where.offset); });
  EXPECT_EQ(kept, (std::vector<std::uint64_t>{0, 1, 7, 9, 6, 8}));
  const auto add_all = [&] {
    for (JobFact& fact : all_facts())
      if (std::holds_alternative<SubmissionFact>(fact) || std::holds_alternative<ValueFact>(fact) ||
          std::holds_alternative<ShapeFact>(fact) || std::holds_alternative<DriverFact>(fact))
        add(std::move(fact));
  };
  add_all();
  EXPECT_EQ(fold.bytes(), 900u);
  for (int restart = 0; restart < 3; ++restart) add_all();
  EXPECT_EQ(fold.bytes(), 900u) << "each master may record them again";
  JournalRecord over;
  over.job = JobId(7);
  over.ended = true;
  fold.add(over, {at, 10});
  EXPECT_EQ(fold.bytes(), 10u);
  EXPECT_TRUE(fold.running().empty());
}

TEST_F(JournalFiles, OfTheLastReleaseAreContinuedAsOnesOfThis) {
  write_some();
  std::string old = bytes();
  old[8] = 2;
  write(old);
  EXPECT_EQ(ids_of(history().running), Ids{2});
  EXPECT_EQ(bytes()[8], 3);
  EXPECT_EQ(ids_of(history().ended), Ids{1});
}

TEST_F(JournalFiles, ACheckpointKeepsFactsAndNodes) {
  {
    JournalFile file = open();
    std::vector<JournalRecord> records;
    for (JobFact& fact : all_facts()) {
      JournalRecord record;
      record.job = JobId(7);
      record.fact = std::move(fact);
      records.push_back(std::move(record));
    }
    for (const std::uint32_t node : {1u, 2u}) {
      NodeFact fact;
      fact.node = NodeId(node);
      fact.capacity = "cpu=2";
      fact.process = 99;
      records.emplace_back().node = std::move(fact);
    }
    records.emplace_back().node_gone = NodeId(1);
    ASSERT_TRUE(file.commit(records));
    ASSERT_TRUE(file.checkpoint());
    ASSERT_TRUE(file.commit(records_of({job_status(7, JobState::running)})));
  }
  const JournalHistory kept = history();
  ASSERT_EQ(kept.nodes.size(), 1u);
  EXPECT_EQ(kept.nodes[0].node, NodeId(2));
  EXPECT_EQ(kept.nodes[0].process, 99u);
  ASSERT_EQ(ids_of(kept.running), Ids{7});
  const JournaledJob& job = kept.running[0];
  EXPECT_EQ(text_of(job.status), text_of(job_status(7, JobState::running)));
  EXPECT_EQ(job.submission->key, 4u);
  EXPECT_EQ(job.parts, std::vector<std::string>{"part"});
  EXPECT_EQ(job.values.at(ActionId(1)), "value");
  EXPECT_EQ(job.shapes.at(StageId(1)).splits.at(0).end_map, 5u);
  EXPECT_TRUE(job.launches.empty()) << "it ended";
  EXPECT_EQ(job.failures.at(0).count, 4u);
  EXPECT_EQ(job.finishes.at(0).counters.at("words"), -7);
  EXPECT_EQ(job.driver->files, std::vector<std::string>{"/data/x"});
}

TEST_F(JournalFiles, StayShortHoweverManyJobsGoThrough) {
  options = {.jobs_kept = 20, .checkpoint_bytes = 64 << 10};
  std::uint64_t longest = 0;
  {
    JournalFile file = open();
    for (std::uint64_t id = 1; id < 3000; id += 10) {
      std::vector<JobStatus> jobs;
      for (std::uint64_t more = 0; more < 10; ++more) {
        jobs.push_back(job_status(id + more, JobState::running));
        jobs.push_back(job_status(id + more, JobState::finished));
      }
      ASSERT_TRUE(file.commit(records_of(jobs)));
      longest = std::max(longest, fs::file_size(path));
      ASSERT_EQ(file.size(), fs::file_size(path));
    }
  }
  EXPECT_LT(longest, (64u << 10) + (32u << 10));
  const JournalHistory told = history();
  ASSERT_EQ(told.ended.size(), 20u);
  EXPECT_EQ(told.ended.front().id, JobId(2981));
  EXPECT_EQ(text_of(told.ended.back()), text_of(job_status(3000, JobState::finished)));
  EXPECT_TRUE(told.running.empty());
  EXPECT_EQ(told.marks.next_job, 3001u);
  EXPECT_TRUE(check_journal(path)->checkpoint);
}

TEST_F(JournalFiles, ACheckpointKeepsWhatIsAliveAndTheOrderOfEnds) {
  {
    JournalFile file = open();
    ASSERT_TRUE(file.commit(records_of({job_status(1, JobState::running), job_status(2, JobState::running),
                                        job_status(3, JobState::killed), job_status(2, JobState::failed)})));
    ASSERT_TRUE(file.checkpoint());
    ASSERT_TRUE(file.commit(records_of({job_status(4, JobState::finished)})));
  }
  const JournalHistory told = history();
  EXPECT_EQ(ids_of(told.running), Ids{1});
  EXPECT_EQ(ids_of(told.ended), (Ids{3, 2, 4}));
  EXPECT_EQ(told.ended[0].state, JobState::killed);
}

TEST_F(JournalFiles, TellWhatOperatorsSetOfWorkersUntilItIsTakenBack) {
  const auto set = [](const char* worker, const char* capacity, const char* why) {
    JournalRecord record;
    record.setting = {worker, capacity, why};
    return record;
  };
  const NodeSetting first{"w1", "cpu=1,memory=4096", "a new disk"}, second{"w2", "cpu=0", ""};
  {
    JournalFile file = open();
    ASSERT_TRUE(file.commit({set("w1", "cpu=2", "old"), set("w3", "cpu=1", ""), set("w2", "cpu=0", "")}));
    ASSERT_TRUE(file.commit({set("w1", "cpu=1,memory=4096", "a new disk"), set("w3", "", "")}));
    EXPECT_EQ(file.history()->settings, (std::vector{first, second}));
  }
  EXPECT_EQ(history().settings, (std::vector{first, second}));
  const std::uint64_t before = bytes().size();
  ASSERT_TRUE(open().checkpoint());
  EXPECT_LT(bytes().size(), before);
  EXPECT_EQ(history().settings, (std::vector{first, second}));
  EXPECT_TRUE(history().running.empty() && history().ended.empty());
}

/// Whatever there is of the new file, and whether or not it took the old one's place.
TEST_F(JournalFiles, ACrashAtAnyPointOfACheckpointLeavesAReadableJournal) {
  write_some();
  const std::string before = bytes();
  ASSERT_TRUE(open().checkpoint());
  const std::string after = bytes();
  ASSERT_LT(after.size(), before.size());
  const auto same = [this] {
    const JournalHistory told = history();
    return ids_of(told.ended) == Ids{1} && ids_of(told.running) == Ids{2} && told.marks.next_job == 3 &&
           text_of(told.running[0].status) == text_of(job_status(2, JobState::running, 2));
  };
  EXPECT_TRUE(same());
  for (std::size_t length = 0; length <= after.size(); ++length) {
    write(before);
    std::ofstream(path + ".new", std::ios::binary) << after.substr(0, length);
    EXPECT_TRUE(same()) << length;
    EXPECT_FALSE(fs::exists(path + ".new"));
  }
}

TEST_F(JournalFiles, ThatCannotBeMadeShorterGrowOn) {
  fs::create_directories(path + ".new/in the way");
  options = {.jobs_kept = 5, .checkpoint_bytes = 8 << 10};
  JournalFile file = open();
  for (std::uint64_t id = 1; id <= 100; ++id) ASSERT_TRUE(file.commit(records_of({job_status(id, JobState::finished)})));
  EXPECT_GT(file.size(), 16u << 10);
  fs::remove_all(path + ".new");
  for (std::uint64_t id = 101; id <= 200; ++id) ASSERT_TRUE(file.commit(records_of({job_status(id, JobState::finished)})));
  EXPECT_LT(file.size(), 16u << 10);
}

TEST_F(JournalFiles, KeepLinksToThem) {
  fs::create_symlink(path, directory.path() / "link");
  {
    auto file = JournalFile::open((directory.path() / "link").string(), options);
    ASSERT_TRUE(file) << file.error().to_string();
    ASSERT_TRUE(file->commit(records_of({job_status(1, JobState::running)})));
    ASSERT_TRUE(file->checkpoint());
  }
  EXPECT_TRUE(fs::is_symlink(directory.path() / "link"));
  EXPECT_EQ(ids_of(history().running), Ids{1});
}

TEST_F(JournalFiles, StatusesTooLargeForARecordLoseTheirStages) {
  JobStatus large = job_status(1, JobState::finished);
  large.error.assign(65u << 20, 'e');
  for (int i = 0; i < 70; ++i) large.counters[std::to_string(i) + std::string(1 << 20, 'c')] = i;
  ASSERT_TRUE(open().commit(records_of({large})));
  const JournalHistory told = history();
  ASSERT_EQ(ids_of(told.ended), Ids{1});
  EXPECT_EQ(told.ended[0].name, "job 1");
  EXPECT_EQ(told.ended[0].error.size(), 64u << 10);
  EXPECT_TRUE(told.ended[0].counters.empty());
}

/// On its reactor's thread; the file is looked at when somebody is told that records are durable.
TEST_F(JournalFiles, TellThoseWhoWaitWhenRecordsAreOnTheDisk) {
  const auto reactor = rpc::Reactor::start("test");
  Journal journal(open(), *reactor, [](const Error& error) { ADD_FAILURE() << error.to_string(); });
  std::atomic<int> told{0};
  std::vector<int> order;
  reactor->run([&] {
    EXPECT_TRUE(journal.durable());
    journal.when_durable([&](const Result<void>&) { order.push_back(0); });  // at once
    EXPECT_EQ(order.size(), 1u);
    journal.append(record_of(job_status(1, JobState::running)), Journal::Keep::lazily);
    EXPECT_TRUE(journal.durable());  // nothing was promised
    for (std::uint64_t id = 2; id <= 50; ++id) {
      journal.append(record_of(job_status(id, JobState::finished)), Journal::Keep::promised);
      journal.when_durable([&, id](const Result<void>& kept) {
        EXPECT_TRUE(kept);
        EXPECT_TRUE(check_journal(path)->ended.contains(JobId(id))) << id;
        order.push_back(static_cast<int>(id));
        ++told;
      });
    }
    EXPECT_FALSE(journal.durable());
  });
  for (const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
       told < 49 && std::chrono::steady_clock::now() < until;)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(told, 49);
  reactor->run([&] {
    EXPECT_TRUE(journal.durable());
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
    journal.append(record_of(job_status(99, JobState::running)), Journal::Keep::promised);
    int refused = 0;
    journal.when_durable([&](const Result<void>& kept) { refused += kept ? 0 : 1; });
    journal.end();
    journal.when_durable([&](const Result<void>& kept) { refused += kept ? 0 : 1; });
    EXPECT_EQ(refused, 2);
  });
  reactor->stop();
  journal.close();
  EXPECT_TRUE(check_journal(path)->running.contains(JobId(99)));  // written when it was closed, at the latest
}

TEST(JournalRecords, IdsThatWereGivenStayGivenWhicheverRecordSaysSo) {
  JournalMarks marks{Time(5), {}, 7, 9};
  marks.merge({Time(4), {}, 3, 2});
  EXPECT_EQ(marks.at, Time(5));
  EXPECT_EQ(marks.next_job, 7u);
  EXPECT_EQ(marks.next_node, 9u);
  marks.merge({Time(6), {}, 8, 2});
  EXPECT_EQ(marks.at, Time(6));
  EXPECT_EQ(marks.next_job, 8u);
  EXPECT_EQ(marks.next_node, 9u);
}

TEST(JournalRecords, OfMoreThanIsReadAreWrittenWithoutWhatTheySay) {
  JournalRecord record;
  record.marks.next_job = 7;
  record.job = JobId(3);
  record.fact = PartFact{std::string(1000, 'x')};
  const std::string whole = to_frame(record);
  EXPECT_EQ(to_frame(record, whole.size() - kRecordHeaderBytes), whole);
  const std::string frame = to_frame(record, whole.size() - kRecordHeaderBytes - 1);
  const auto read = records_of(as_bytes(frame));
  ASSERT_TRUE(read) << read.error().to_string();
  ASSERT_EQ(read->size(), 1u);
  EXPECT_EQ(read->at(0).record.marks.next_job, 7u);
  EXPECT_FALSE(read->at(0).record.job);
  EXPECT_FALSE(read->at(0).record.fact);
}

TEST(JournalRecords, AHeaderOfAnImpossibleLengthIsNone) {
  const auto header = [](std::uint32_t length) {
    std::string bytes;
    const auto put = [&](std::uint32_t value) {
      for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<char>(value >> shift & 0xff));
    };
    put(length);
    put(0);
    put(crc32c(as_bytes(bytes)));
    return read_record_header(as_bytes(bytes));
  };
  ASSERT_TRUE(header(static_cast<std::uint32_t>(kMaxRecordBytes)));
  EXPECT_EQ(header(static_cast<std::uint32_t>(kMaxRecordBytes))->length, kMaxRecordBytes);
  EXPECT_FALSE(header(static_cast<std::uint32_t>(kMaxRecordBytes) + 1));
}

TEST_F(JournalFiles, AnErrorOfTheDiskIsTheEndEvenIfTheDiskRecovers) {
  JournalFile file = open();
  ASSERT_TRUE(file.commit(records_of({job_status(1, JobState::running)})));
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit full{file.size() + 10, limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &full), 0);
  const auto refused = file.commit(records_of({job_status(2, JobState::running)}));
  ::setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, before);
  EXPECT_FALSE(refused);
  const auto again = file.commit(records_of({job_status(3, JobState::running)}));
  ASSERT_FALSE(again) << "behind half a record nothing can be found";
  EXPECT_NE(again.error().to_string().find("failed before"), std::string::npos) << again.error().to_string();
}

TEST_F(JournalFiles, OnAFullDiskAreAsTheyWereAndGoOnWhenThereIsRoom) {
  weft::test::SmallDisk disk((directory.path() / "disk").string(), 2);
  if (!disk.mounted()) GTEST_SKIP() << "mounting a small tmpfs needs root";
  path = disk.path() + "/journal";
  JournalFile file = open();
  ASSERT_TRUE(file.commit(records_of({job_status(1, JobState::running)})));
  disk.fill();
  JobStatus large = job_status(2, JobState::running);
  large.name.assign(20'000, 'n');
  while (file.commit(records_of({job_status(1, JobState::running)}))) {  // what was reserved already
  }
  const std::string before = bytes();
  for (int i = 0; i < 2; ++i) {
    const auto refused = file.commit(records_of({large}));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), Code::resource_exhausted);
    EXPECT_EQ(refused.error().to_string(), "the journal " + path +
                                               " cannot be written: its disk is full; make room there, and it goes on by itself "
                                               "(cannot write: No space left on device)");
    EXPECT_EQ(bytes(), before);
  }
  disk.clear();
  ASSERT_TRUE(file.commit(records_of({large})));
  ASSERT_TRUE(file.commit(records_of({job_status(1, JobState::finished)})));
  EXPECT_EQ(ids_of(file.history()->running), Ids{2});
  EXPECT_FALSE(check_journal(path)->damage);
}

TEST_F(JournalFiles, OnAFullDiskHaveRoomForTheFirstRecordsOfMasters) {
  weft::test::SmallDisk disk((directory.path() / "disk").string(), 2);
  if (!disk.mounted()) GTEST_SKIP() << "mounting a small tmpfs needs root";
  path = disk.path() + "/journal";
  ASSERT_TRUE(open().commit(records_of({job_status(1, JobState::running)})));
  disk.fill();
  JobStatus small = job_status(3, JobState::running);
  {
    JournalFile file = open();
    while (file.commit(records_of({small}))) {  // what was reserved already
    }
  }
  for (std::uint32_t master = 1; master <= 60; ++master) {
    JournalFile file = open();
    JournalRecord first;
    first.masters = master;
    ASSERT_TRUE(file.commit_first(first)) << master;
    EXPECT_EQ(file.commit(records_of({small})).error().code(), Code::resource_exhausted) << "what is kept is for these only";
  }
  EXPECT_EQ(history().masters, 60u);
  disk.clear();
  ASSERT_TRUE(open().commit(records_of({small})));
  EXPECT_FALSE(check_journal(path)->damage);
}

TEST_F(JournalFiles, OnAFullDiskLetWhoeverWaitsWaitAndForgetNoPromise) {
  weft::test::SmallDisk disk((directory.path() / "disk").string(), 2);
  if (!disk.mounted()) GTEST_SKIP() << "mounting a small tmpfs needs root";
  path = disk.path() + "/journal";
  const auto reactor = rpc::Reactor::start("test");
  Journal journal(open(), *reactor, [](const Error& error) { ADD_FAILURE() << error.to_string(); });
  const auto full = [&] {
    bool is = false;
    reactor->run([&] { is = journal.full().has_value(); });
    return is;
  };
  std::atomic<int> told{0};
  disk.fill();
  reactor->run([&] {
    for (std::uint64_t id = 1; id <= 5; ++id) {
      JobStatus large = job_status(id, JobState::finished);
      large.name.assign(20'000, 'n');
      journal.append(record_of(large), Journal::Keep::promised);
      journal.when_durable([&](const Result<void>& kept) { told += kept ? 1 : 100; });
    }
  });
  ASSERT_TRUE(weft::test::eventually(full));
  reactor->run([&] { journal.append(record_of(job_status(6, JobState::finished)), Journal::Keep::promised); });
  EXPECT_EQ(told, 0);
  disk.clear();
  EXPECT_TRUE(weft::test::eventually([&] { return told == 5 && !full(); }));
  reactor->stop();
  journal.close();
  for (std::uint64_t id = 1; id <= 6; ++id) EXPECT_TRUE(check_journal(path)->ended.contains(JobId(id))) << id;
}

TEST_F(JournalFiles, GrowToFourTimesWhatIsAliveBeforeTheyAreRewritten) {
  options = {.checkpoint_bytes = 1};
  JournalFile file = open();
  JobStatus job = job_status(1, JobState::running);
  job.name.assign(20'000, 'n');
  std::uint64_t longest = 0;
  for (int i = 0; i < 12; ++i) {
    ASSERT_TRUE(file.commit(records_of({job})));
    longest = std::max(longest, file.size());
  }
  EXPECT_GT(longest, 60'000u) << "three records of 20 kB beside it";
  EXPECT_LT(longest, 100'000u);
}

TEST_F(JournalFiles, WhoeverWaitsIsToldOfNoRecordThatIsStillBeingWritten) {
  const auto reactor = rpc::Reactor::start("test");
  Journal journal(open(), *reactor, [](const Error& error) { ADD_FAILURE() << error.to_string(); });
  std::atomic<int> told{0};
  const std::function<void(std::uint64_t)> promise_two = [&](std::uint64_t first) {
    const auto promise = [&](std::uint64_t id) {
      journal.append(record_of(job_status(id, JobState::finished)), Journal::Keep::promised);
      journal.when_durable([&, id](const Result<void>&) {
        EXPECT_EQ(journal.durable(), id % 2 == 0)
            << id;  // at the callback of the first of two, the second is promised and not written yet
        EXPECT_TRUE(check_journal(path)->ended.contains(JobId(id))) << id;
        ++told;
        if (id % 2 == 0 && id < 20) promise_two(id + 1);
      });
    };
    promise(first);
    reactor->post([promise, first] { promise(first + 1); });  // while the first is written
  };
  reactor->run([&] { promise_two(1); });
  EXPECT_TRUE(weft::test::eventually([&] { return told == 20; }));
  EXPECT_EQ(told, 20);
  reactor->stop();
  journal.close();
}

}  // namespace
}  // namespace weft::master
