#include "runtime/worker/file_search.hpp"

#include <filesystem>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/core.h>

#include "base/guarded.hpp"

namespace weft::runtime {
namespace {

constexpr std::size_t kMostSearches = 128;  // a thread each

protocol::FileAnswer find_files(const protocol::FileQuery& query) {
  protocol::FileAnswer answer;
  for (const std::string& path : query.paths) {
    std::error_code ignored;
    const auto status = std::filesystem::status(path, ignored);
    if (!std::filesystem::is_regular_file(status) && !std::filesystem::is_directory(status)) answer.missing.push_back(path);
  }
  return answer;
}

}  // namespace

FileSearch::FileSearch(rpc::Reactor& reactor) : from_threads_(reactor) {}

FileSearch::~FileSearch() { from_threads_.close(); }

void FileSearch::find(protocol::FileQuery query, rpc::Responder responder) {
  if (waiting_.size() >= kMostSearches)
    return responder.fail(Error(Code::resource_exhausted,
                                fmt::format("{} searches for files have not ended; is there a file system on this worker that "
                                            "does not answer?",
                                            kMostSearches)));
  const std::uint64_t number = next_++;
  waiting_.emplace(number, std::move(responder));
  auto tell = guarded(alive_, [this, number](const protocol::FileAnswer& answer) { found(number, answer); });
  try {
    std::thread([there = from_threads_, query = std::move(query), tell = std::move(tell)] {
      there.post([tell, answer = find_files(query)]() mutable { tell(answer); });
    }).detach();
  } catch (const std::system_error& error) {
    waiting_.extract(number).mapped().fail(Error(Code::resource_exhausted, fmt::format("no thread can be made: {}", error.what())));
  }
}

void FileSearch::found(std::uint64_t number, const protocol::FileAnswer& answer) {
  waiting_.extract(number).mapped().reply(protocol::encode(answer));
}

}  // namespace weft::runtime
