// Journals that are damaged, cut, or of other releases: what is read of them, what is refused, and what a repair leaves.
#include "engine/master/journal/journal_check.hpp"

#include <functional>

#include <gmock/gmock.h>

#include "base/crc32c.hpp"
#include "base/random.hpp"
#include "tests/engine/master/journal/journal_files.hpp"

namespace weft::master {
namespace {

using namespace test;
namespace fs = std::filesystem;

TEST_F(JournalFiles, CutAnywhereAreContinuedFromTheLastWholeRecord) {
  const auto ends = write_some();
  const std::string whole = bytes();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    write(whole.substr(0, length));
    JournalFile file = open();
    const auto records = static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), length) - ends.begin());
    EXPECT_EQ(file.size(), records == 0 ? kJournalHeaderBytes : ends[records - 1]) << length;
    if (length % 16 != 0) continue;  // a sync takes its time
    ASSERT_TRUE(file.commit(records_of({job_status(9, JobState::failed)})));
    EXPECT_EQ(file.history()->ended.back().id, JobId(9));
    EXPECT_FALSE(check_journal(path)->damage);
  }
}

TEST_F(JournalFiles, WhoseEndIsZerosAreContinued) {
  write_some();
  const std::string whole = bytes();
  for (const std::size_t zeros : {1u, 11u, 12u, 13u, 512u, 4096u, 1u << 20}) {
    write(whole + std::string(zeros, '\0'));
    EXPECT_EQ(open().size(), whole.size()) << zeros;
    EXPECT_EQ(bytes(), whole);
  }
  write(std::string(4096, '\0'));
  EXPECT_EQ(open().size(), kJournalHeaderBytes);
}

/// A power loss leaves sectors of the last write that were never written.
TEST_F(JournalFiles, WhoseLastRecordHasSectorsOfZerosAreContinued) {
  const auto ends = write_some();
  std::string whole = bytes();
  JobStatus large = job_status(3, JobState::running);
  large.name.assign(3000, 'x');
  ASSERT_TRUE(open().commit(records_of({large})));
  const std::string torn = bytes();
  for (std::size_t sector = (whole.size() / 512 + 1) * 512; sector < torn.size(); sector += 512) {
    std::string zeroed = torn;
    std::fill(zeroed.begin() + static_cast<std::ptrdiff_t>(sector), zeroed.end(), '\0');
    if (zeroed == torn) continue;  // the record ends in zeros
    write(zeroed);
    EXPECT_EQ(open().size(), whole.size()) << sector;
  }
  EXPECT_EQ(ends.back(), whole.size());
}

TEST_F(JournalFiles, NoFlippedBitGoesUnnoticed) {
  write_some();
  const std::string whole = bytes();
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    flip(bit);
    const auto file = JournalFile::open(path, options);
    if (file) {
      EXPECT_LT(file->size(), whole.size()) << "bit " << bit;  // cut, with a line in the log
      write(whole);
      continue;
    }
    EXPECT_TRUE(file.error().code() == Code::corrupt || file.error().code() == Code::version_mismatch) << "bit " << bit;
    EXPECT_NE(file.error().to_string().find(path), std::string::npos);
    flip(bit);
    EXPECT_EQ(bytes(), whole) << "bit " << bit;  // nothing was done to it
  }
}

TEST_F(JournalFiles, WithDamageInTheMiddleAreRefusedCheckedAndRepaired) {
  const auto ends = write_some();
  std::string damaged = bytes();
  damaged[ends[0] + kRecordHeaderBytes + 20] ^= 4;
  write(damaged);
  const auto refused = JournalFile::open(path, options);
  ASSERT_FALSE(refused);
  const std::string line = refused.error().to_string();
  EXPECT_NE(line.find("damaged at byte " + std::to_string(ends[0])), std::string::npos) << line;
  EXPECT_NE(line.find("weft journal repair " + path), std::string::npos) << line;
  EXPECT_EQ(line.find('\n'), std::string::npos);

  const auto report = check_journal(path);
  ASSERT_TRUE(report && report->damage);
  EXPECT_EQ(report->records, 1u);
  EXPECT_EQ(report->whole_bytes, ends[0]);
  EXPECT_EQ(report->damage->records, 2u);
  EXPECT_EQ(report->damage->bytes, ends[3] - ends[1]);
  EXPECT_EQ(report->damage->jobs, (std::set<JobId>{JobId(1), JobId(2)}));

  const auto repaired = repair_journal(path);
  ASSERT_TRUE(repaired) << repaired.error().to_string();
  EXPECT_EQ(repaired->copy, path + ".damaged");
  EXPECT_EQ(read_file(repaired->copy).value(), damaged);
  const JournalHistory told = history();
  EXPECT_EQ(ids_of(told.running), Ids{1});
  EXPECT_EQ(told.marks.next_job, 3u);  // job 2 is forgotten, its id is not
  EXPECT_FALSE(check_journal(path)->damage);
  EXPECT_TRUE(repair_journal(path)->copy.empty());  // there is nothing to do

  write(damaged);
  EXPECT_EQ(repair_journal(path)->copy, path + ".damaged.2");
}

TEST_F(JournalFiles, WithDamageToEveryRecordInTurnAreRepairedUpToIt) {
  const auto ends = write_some();
  const std::string whole = bytes();
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const std::uint64_t begin = i == 0 ? kJournalHeaderBytes : ends[i - 1];
    for (std::uint64_t at = begin; at < ends[i]; at += 5) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ 0x40);
      write(damaged);
      const auto report = check_journal(path);
      ASSERT_TRUE(report && report->damage) << at;
      EXPECT_EQ(report->records, i) << at;
      EXPECT_EQ(report->damage->records, ends.size() - i - 1) << at;
    }
  }
}

TEST_F(JournalFiles, OfAnotherVersionOrNoneAtAllAreRefusedWithWhatToDo) {
  std::string old = journal_header();
  old[8] = 1;
  write(old + "what version 1 had");
  const auto refused = JournalFile::open(path, options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::version_mismatch);
  EXPECT_NE(refused.error().to_string().find("version 1, and this weft reads versions 2 and 3: an earlier release"),
            std::string::npos)
      << refused.error().to_string();
  EXPECT_EQ(repair_journal(path).error().code(), Code::version_mismatch);
  old[8] = kJournalVersion + 1;
  write(old);
  const std::string later = JournalFile::open(path, options).error().to_string();
  EXPECT_NE(later.find("and this weft reads versions 2 and 3: a later release of weft wrote it; start that release"),
            std::string::npos)
      << later;
  EXPECT_EQ(later.find("empty file"), std::string::npos) << "its jobs need not go";
  for (const std::string other : {"of something else\n", "x"}) {
    write(other);
    EXPECT_NE(JournalFile::open(path, options).error().to_string().find("this is no weft journal; name the file"),
              std::string::npos);
    EXPECT_FALSE(repair_journal(path));
    EXPECT_EQ(bytes(), other);
  }
  EXPECT_EQ(JournalFile::open(directory.path().string(), options).error().code(), Code::io);
  EXPECT_EQ(JournalFile::open("/dev/null", options).error().code(), Code::invalid_argument);
  EXPECT_EQ(check_journal((directory.path() / "none").string()).error().code(), Code::not_found);
}

TEST_F(JournalFiles, ThatAreRepairedGoOnWithTheirSeriesOfJobIds) {
  write_some();
  JournalRecord start;
  start.numbering = 77;
  ASSERT_TRUE(open().commit_first(start));
  const std::string one = bytes();
  flip(kJournalHeaderBytes * 8 + 99);
  ASSERT_TRUE(repair_journal(path));
  EXPECT_EQ(history().numbering, 77u) << "which is said behind the damage";
  write(one);
  ASSERT_TRUE(open().commit_first({}));
  flip((bytes().size() - 1) * 8);
  ASSERT_TRUE(repair_journal(path));
  EXPECT_EQ(history().numbering, 77u);
  EXPECT_EQ(check_journal(path)->numbering, 77u);
}

/// Whoever repairs one does not make it one of no cluster.
TEST_F(JournalFiles, OfOneClusterAreRefusedToMastersOfAnother) {
  EXPECT_EQ(cluster_of_journal(path).value(), "") << "there is none";
  write_some();
  EXPECT_EQ(cluster_of_journal(path).value(), "") << "of an earlier release";
  options.cluster = "one";
  JournalRecord start;
  start.cluster = options.cluster;
  {
    JournalFile file = open();
    ASSERT_TRUE(file.commit_first(start));
    EXPECT_EQ(cluster_of_journal(path).value(), "one");
    ASSERT_TRUE(file.checkpoint());
  }
  EXPECT_EQ(check_journal(path)->cluster, "one");
  EXPECT_EQ(cluster_of_journal(path).value(), "one");
  options.cluster = "other";
  const auto refused = JournalFile::open(path, options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::invalid_argument);
  EXPECT_THAT(refused.error().to_string(),
              testing::HasSubstr("is of cluster one, and the files of this master are of cluster other"));
  options.cluster.clear();
  EXPECT_TRUE(JournalFile::open(path, options)) << "a master that keeps no files";
  flip((bytes().size() - 1) * 8);
  ASSERT_FALSE(JournalFile::open(path, options));
  ASSERT_TRUE(repair_journal(path));
  EXPECT_EQ(check_journal(path)->cluster, "one");
}

TEST_F(JournalFiles, ThatWereThereAreNotBegunAnew) {
  options.cluster = "one";
  options.must_exist = true;
  const auto refused = JournalFile::open(path, options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::invalid_argument);
  EXPECT_FALSE(std::filesystem::exists(path));
  write("");
  std::filesystem::permissions(path, std::filesystem::perms::all);
  testing::internal::CaptureStderr();
  EXPECT_TRUE(JournalFile::open(path, options)) << "that was made by hand";
  EXPECT_TRUE(JournalFile::open(path, options)) << "it has a header now";
  const std::string said = testing::internal::GetCapturedStderr();
  const std::string warning = "the journal " + path + " is empty: this master begins with no jobs, and their numbers with 1";
  EXPECT_NE(said.find(warning), std::string::npos) << said;
  EXPECT_NE(said.find(warning), said.rfind(warning)) << "each time: " << said;
  EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

TEST_F(JournalFiles, OfANewMasterOrWithJobsAreNotCalledEmpty) {
  testing::internal::CaptureStderr();
  options.cluster = "one";
  (void)open();
  write_some();
  options.must_exist = true;
  (void)open();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(JournalFiles, OfAnyBytesAreReadOrRefused) {
  write_some();
  const std::string whole = bytes();
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    std::string mixed = whole;
    for (int i = 0; i < 4; ++i) {
      const std::size_t from = random.below(mixed.size()), to = random.below(mixed.size());
      const std::size_t length = std::min({random.below(200), mixed.size() - from, mixed.size() - to});
      mixed.replace(to, length, mixed.substr(from, length));
    }
    write(mixed);
    (void)check_journal(path);
    (void)repair_journal(path);
    (void)JournalFile::open(path, options);
  }
}

/// Behind checksums that are right.
TEST(JournalRecords, OfAnyBytesAreReadOrRefused) {
  JournalRecord record = record_of(job_status(1, JobState::failed));
  const std::string frame = to_frame(record), status = text_of(job_status(1, JobState::failed));
  const std::string payload = frame.substr(kRecordHeaderBytes);
  ASSERT_TRUE(decode_record(as_bytes(payload)) && decode_status(as_bytes(status)));
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    Random random(seed);
    std::string bytes = seed % 2 == 0 ? payload : status;
    for (int i = 0; i < 3; ++i) bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
    if (const auto read = decode_record(as_bytes(bytes))) (void)decode_status(as_bytes(read->status));
    (void)decode_status(as_bytes(bytes));
  }
  EXPECT_FALSE(decode_record({}));
  EXPECT_FALSE(decode_status({}));
}

/// What is never written in full are sectors; a record that ends with one, and is whole there, was not torn.
TEST_F(JournalFiles, ADamagedRecordThatEndsWithASectorIsRefused) {
  JournalRecord record = record_of(job_status(2, JobState::running));
  record.status = std::string(8, 's');
  std::uint64_t start = 0;
  {
    JournalFile file = open();
    ASSERT_TRUE(file.commit(records_of({job_status(1, JobState::running)})));  // an odd number of headers is never a multiple of 8
    start = file.size();
  }
  for (std::size_t bytes = 8; (start + to_frame(record).size()) % 512 != 0; bytes += 8) {
    ASSERT_LT(bytes, 2000u);
    record.status = std::string(bytes, 's');
  }
  {
    JournalFile file = open();
    std::vector<JournalRecord> one;
    one.push_back(std::move(record));
    ASSERT_TRUE(file.commit(std::move(one)));
    ASSERT_EQ(file.size() % 512, 0u);
  }
  std::string damaged = bytes();
  damaged[start + kRecordHeaderBytes + 40] ^= 4;
  damaged.back() = 's';
  write(damaged);
  EXPECT_EQ(JournalFile::open(path, options).error().code(), Code::corrupt);
}

TEST_F(JournalFiles, TheSearchBehindDamageBeginsWithTheNextByte) {
  const auto ends = write_some();
  const std::string whole = bytes();
  write(whole.substr(0, ends[0]) + "x" + whole.substr(ends[0]));
  const auto report = check_journal(path);
  ASSERT_TRUE(report && report->damage);
  EXPECT_EQ(report->damage->records, 3u) << "all behind one byte too many";
}

}  // namespace
}  // namespace weft::master
