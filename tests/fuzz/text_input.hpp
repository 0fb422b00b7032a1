// What people and other programs write for weft to read, as bytes: each function reads them as one kind of text or of message,
// checks what must hold of what was read, and keeps nothing. Used by the fuzzers and by a test that replays the corpus.
#pragma once

#include <array>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>

#include <sys/mman.h>
#include <unistd.h>

#include "base/assert.hpp"
#include "base/config.hpp"
#include "engine/master/core/speculation.hpp"
#include "engine/simulator/experiment/availability_file.hpp"
#include "engine/simulator/workloads/recording.hpp"
#include "engine/simulator/workloads/workloads.hpp"
#include "schedulers/builtin.hpp"
#include "schedulers/config/pools.hpp"
#include "schedulers/config/queues.hpp"
#include "storage/access/content.hpp"
#include "storage/text_reader.hpp"
#include "tests/fuzz/answers_input.hpp"
#include "tests/fuzz/request_input.hpp"
#include "tests/fuzz/rows_input.hpp"
#include "tests/fuzz/words_input.hpp"

namespace weft::fuzz {

/// A message is one line, whatever bytes it quotes.
template <class T>
void check_refusal(const Result<T>& result) {
  if (result) return;
  const std::string message = result.error().to_string();
  const bool one_line = !message.empty() && message.find('\n') == std::string::npos;
  if (!one_line) std::fprintf(stderr, "a refusal of more or less than a line: '%s'\n", message.c_str());
  WEFT_ASSERT(one_line);
}

/// `--scheduler` and `--speculation`.
inline void read_spec(std::string_view text) {
  static const std::map<std::string, std::string> kFiles{{"p", "[[pool]]\nname = \"a\"\nweight = 2\n"},
                                                         {"q", "[[queue]]\nname = \"a\"\ncapacity = 100\n"}};
  const auto made = schedulers::make_scheduler(text, schedulers::reader_of(kFiles));
  check_refusal(made);
  const auto speculation = master::parse_speculation(text);
  check_refusal(speculation);
  if (speculation) WEFT_ASSERT(master::parse_speculation(master::to_string(*speculation)).value() == *speculation);
}

/// `--demand`, capacities.
inline void read_resources(std::string_view text) {
  const auto parsed = schedulers::parse_resources(text);
  check_refusal(parsed);
  if (!parsed) return;
  WEFT_ASSERT(schedulers::valid(*parsed));
  WEFT_ASSERT(schedulers::parse_resources(schedulers::to_string(*parsed)).has_value());
}

/// A configuration file with a key of every kind.
inline void read_config(std::string_view text) {
  std::string name;
  bool flag = false;
  double real = 0;
  std::uint64_t size = 0;
  Duration duration{0};
  std::vector<std::string> list;
  std::uint16_t port = 0;
  Config config;
  config.text("name", name, "");
  config.flag("worker.flag", flag, "");
  config.real("worker.real", real, "");
  config.size("worker.size", size, "");
  config.duration("worker.duration", duration, "");
  config.list("master.list", list, "");
  config.integer("master.port", port, "");
  check_refusal(config.load_text(text, "weft.toml"));
}

inline void read_pools(std::string_view text) {
  const auto pools = schedulers::parse_pools({"pools.toml", std::string(text)});
  check_refusal(pools);
  if (!pools) return;
  for (std::size_t i = 0; i < pools->size(); ++i) WEFT_ASSERT(!(*pools)[i].parent || *(*pools)[i].parent < i);
}

inline void read_queues(std::string_view text) {
  const auto queues = schedulers::parse_queues({"queues.toml", std::string(text)});
  check_refusal(queues);
  if (!queues) return;
  for (std::size_t i = 0; i < queues->size(); ++i) WEFT_ASSERT(!(*queues)[i].parent || *(*queues)[i].parent < i);
}

/// The bytes as a file that is nowhere.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : file_(::memfd_create("bytes", MFD_CLOEXEC)) {
    WEFT_ASSERT(file_ >= 0 && ::write(file_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { ::close(file_); }
  std::string path() const { return "/proc/self/fd/" + std::to_string(file_); }

 private:
  int file_;
};

/// An input file, in the format that its first bytes say: read whole, and cut in three. When both can be read they are the same.
inline void read_compressed(std::string_view bytes) {
  constexpr std::uint64_t kLongestLine = 1u << 20;  // or a bomb would take its time
  const MemoryFile file(bytes);
  const auto text_of = [&](std::span<const storage::Split> splits) -> Result<std::string> {
    storage::TextReader reader(kLongestLine);
    std::string text;
    for (const storage::Split& split : splits)
      WEFT_TRY(reader.for_each_piece(split, [&](std::uint64_t, std::string_view lines) {
        text += lines;
        return text.size() < 16 * kLongestLine;
      }));
    return text;
  };
  const std::uint64_t size = bytes.size();
  const auto format = storage::compression_of(bytes.substr(0, storage::kContentBytes)).value_or(storage::Format::raw);
  const std::array whole{storage::Split{file.path(), 0, size, {}, format}};
  const std::array cut{storage::Split{file.path(), 0, size / 3, {}, format},
                       storage::Split{file.path(), size / 3, size / 2 - size / 3, {}, format},
                       storage::Split{file.path(), size / 2, size - size / 2, {}, format}};
  const auto at_once = text_of(whole), in_parts = text_of(cut);
  check_refusal(at_once);
  check_refusal(in_parts);
  if (at_once && in_parts && at_once->size() < 16 * kLongestLine) WEFT_ASSERT(*at_once == *in_parts);
  const std::array by_name{storage::Split{file.path(), 0, size, {}, storage::Format::deflate}};
  check_refusal(text_of(by_name));
}

/// A trace of that kind (workloads.hpp), in a file that is nowhere.
inline void read_workload(const std::string& kind, std::string_view text) {
  const MemoryFile file(text);
  const std::string path = file.path();
  if (kind == "log") {
    check_refusal(simulator::workloads::read_event_log(path));
  } else {
    const auto workload = simulator::workloads::load(kind + ":" + path, {});
    check_refusal(workload);
    if (workload) WEFT_ASSERT(!workload->jobs.empty());
  }
}

inline void read_availability(std::string_view text) {
  const MemoryFile file(text);
  check_refusal(simulator::experiment::read_availability_file(file.path()));
}

inline void read_text(const std::string& kind, std::string_view text) {
  if (kind == "availability") return read_availability(text);
  if (kind == "capacity") return read_capacity(text);
  if (kind == "changes") return read_changes(text);
  if (kind == "leader") return read_leader(text);
  if (kind == "lease") return read_lease(text);
  if (kind == "profiles") return read_profiles(text);
  if (kind == "transfer") return read_transfer(text);
  if (kind == "words") return read_words(text);
  if (kind == "spec") return read_spec(text);
  if (kind == "resources") return read_resources(text);
  if (kind == "config") return read_config(text);
  if (kind == "pools") return read_pools(text);
  if (kind == "compressed") return read_compressed(text);
  if (kind == "csv") return read_csv_bytes(text, false);
  if (kind == "csv_multiline") return read_csv_bytes(text, true);
  if (kind == "json") return read_json_bytes(text);
  if (kind == "queues") return read_queues(text);
  if (kind == "request") return read_request(text);
  if (kind == "s3_answer") return read_s3_answer(text);
  if (kind == "webhdfs") return read_webhdfs(text);
  read_workload(kind, text);
}

}  // namespace weft::fuzz
