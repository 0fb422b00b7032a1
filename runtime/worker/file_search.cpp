#include "runtime/worker/file_search.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

namespace weft::runtime {
namespace {

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

FileSearch::FileSearch(rpc::Reactor& reactor)
    : lookups_(reactor,
               {"searches for files", "is there a file system on this worker that does not answer?", std::chrono::minutes(1)}) {}

void FileSearch::find(protocol::FileQuery query, rpc::Responder responder) {
  lookups_.find([query = std::move(query)] { return find_files(query); },
                [to = std::make_shared<rpc::Responder>(std::move(responder))](const Result<protocol::FileAnswer>& answer) {
                  if (answer) return to->reply(protocol::encode(*answer));
                  to->fail(answer.error());
                });
}

}  // namespace weft::runtime
