// A cluster that keeps files: a master with a data directory and workers with chunk directories, any of which can be killed and
// started again as they were.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "tests/cluster/programs.hpp"
#include "tests/support/checks.hpp"
#include "tests/support/process.hpp"

namespace weft::test {

/// Bytes that look like nothing, lines of text all the same.
inline std::string some_text(std::size_t bytes, unsigned seed) {
  std::mt19937 random(seed);
  std::string text;
  text.reserve(bytes + 16);
  while (text.size() < bytes) {
    text += "w" + std::to_string(random() % 5000);
    text += random() % 10 == 0 ? '\n' : ' ';
  }
  text.resize(bytes);
  return text;
}

struct FileClusterOptions {
  std::vector<std::string> master{}, worker{};  // further options
  int directories = 1;                          // for chunks, of each worker
  std::string scrub_rate = "64MiB";
  std::string reclaim_delay = "1s";
  std::string reserve = "1MiB";
  std::vector<std::string> work{};                   // directories of the first workers; the others have temporary ones
  std::string data{};                                // where the namespace lies; empty: beside everything else
  std::string chunks{};                              // where the directories for chunks are; empty: beside everything else
  std::map<std::string, std::string> environment{};  // of all processes
  bool named = true;                                 // workers are given names
};

class FileCluster {
 public:
  explicit FileCluster(int workers, FileClusterOptions options = {}) : options_(std::move(options)) {
    start_master("127.0.0.1:0");
    for (int i = 0; i < workers; ++i) add_worker();
    EXPECT_TRUE(ready(workers));
  }

  void add_worker() {
    workers_.emplace_back();
    start_worker(workers_.size() - 1);
  }
  void start_worker(std::size_t index) {
    const std::string number = std::to_string(index + 1);
    std::vector<std::string> command{program("weft"),    "worker",
                                     "--master",         address_,
                                     "--host",           "h" + number,
                                     "--rack",           index % 2 == 0 ? "A" : "B",
                                     "--slots",          "2",
                                     "--chunk-reserve",  options_.reserve,
                                     "--scrub-rate",     options_.scrub_rate,
                                     "--scrub-interval", "1s",
                                     "--copy-rate",      "0"};
    if (options_.named) command.insert(command.end(), {"--name", "w" + number});
    if (index < options_.work.size()) command.insert(command.end(), {"--directory", options_.work[index]});
    command.insert(command.end(), options_.worker.begin(), options_.worker.end());
    for (int i = 0; i < options_.directories; ++i) command.insert(command.end(), {"--chunk-dir", chunk_directory(index, i)});
    auto environment = options_.environment;
    environment["WEFT_TEST_NODE"] = "w" + number;
    workers_.at(index) = std::make_unique<Process>(
        command, ProcessOptions{.environment = environment, .deadline = std::chrono::seconds(600), .daemon = true});
  }
  /// It lives until then.
  void kill_worker(std::size_t index) {
    EXPECT_TRUE(workers_.at(index)->running()) << workers_.at(index)->err_so_far();
    workers_.at(index)->signal(SIGKILL);
    workers_.at(index)->wait();
  }
  void start_master(const std::string& listen) {
    unlink((scratch_ / "port").c_str());
    std::vector<std::string> command{program("weft"),   "master",
                                     "--listen",        listen,
                                     "--port-file",     scratch_ / "port",
                                     "--data-dir",      options_.data.empty() ? scratch_ / "data" : options_.data,
                                     "--reclaim-delay", options_.reclaim_delay,
                                     "--lost-grace",    "200ms"};
    command.insert(command.end(), options_.master.begin(), options_.master.end());
    master_ = std::make_unique<Process>(
        command, ProcessOptions{.environment = options_.environment, .deadline = std::chrono::seconds(600), .daemon = true});
    EXPECT_TRUE(eventually([&] { return !read_file(scratch_ / "port").empty(); })) << master_->err_so_far();
    address_ = read_file(scratch_ / "port");
    address_.erase(address_.find_last_not_of('\n') + 1);
  }
  void kill_master() {
    master_->signal(SIGKILL);
    master_->wait();
  }
  void restart_master() { start_master(std::string(address_)); }

  std::vector<std::string> fs(std::vector<std::string> words) const {
    words.insert(words.begin(), {program("weft"), "fs"});
    words.insert(words.begin() + 3, {"--master", address_});
    return words;
  }
  ProcessResult run_fs(std::vector<std::string> words) const {
    return run(fs(std::move(words)), {.environment = {}, .deadline = std::chrono::seconds(100)});
  }
  std::string report() const { return run_fs({"report", "--json"}).out; }
  static std::uint64_t number(const std::string& json, const std::string& name) {
    const auto at = json.find("\"" + name + "\":");
    return at == std::string::npos ? UINT64_MAX : std::stoull(json.substr(at + name.size() + 3));
  }
  static std::string text(const std::string& json, const std::string& name) {
    const auto at = json.find("\"" + name + "\":\"") + name.size() + 4;
    return json.substr(at, json.find('"', at) - at);
  }
  bool ready(int workers) const {
    return eventually([&] {
      const std::string text = report();
      int reported = 0;
      for (auto at = text.find("\"reported\":true"); at != std::string::npos; at = text.find("\"reported\":true", at + 1))
        ++reported;
      return reported == workers && has(text, "\"safe_mode\":false");
    });
  }
  bool healthy() const {
    return eventually(
        [&] {
          const std::string text = report();
          return has(text, "\"safe_mode\":false") && number(text, "missing_chunks") == 0 && number(text, "under_replicated") == 0 &&
                 number(text, "corrupt_replicas") == 0 && number(text, "copies") == 0;
        },
        std::chrono::seconds(60));
  }

  std::string chunk_directory(std::size_t index, int which = 0) const {
    const std::string name = "chunks-" + std::to_string(index + 1) + (which == 0 ? "" : "-" + std::to_string(which + 1));
    return options_.chunks.empty() ? scratch_ / name : options_.chunks + "/" + name;
  }
  /// Its chunks' files, in all its directories.
  std::vector<std::filesystem::path> chunk_files(std::size_t index, const std::string& folder = "chunks") const {
    std::vector<std::filesystem::path> found;
    for (int i = 0; i < options_.directories; ++i) {
      std::error_code none;
      for (const auto& entry : std::filesystem::directory_iterator(chunk_directory(index, i) + "/" + folder, none))
        found.push_back(entry.path());
    }
    return found;
  }
  const std::string& address() const { return address_; }
  Process& master() { return *master_; }
  Process& worker(std::size_t index) { return *workers_.at(index); }
  std::size_t size() const { return workers_.size(); }
  ScratchDirectory& scratch() { return scratch_; }

 private:
  ScratchDirectory scratch_;
  FileClusterOptions options_;
  std::string address_;
  std::unique_ptr<Process> master_;
  std::vector<std::unique_ptr<Process>> workers_;
};

}  // namespace weft::test
