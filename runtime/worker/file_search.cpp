#include "runtime/worker/file_search.hpp"

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include <sys/syscall.h>
#include <unistd.h>

namespace weft::runtime {
namespace {

/// This thread, and no other, sees files with the rights of the account from now on. Its other rights stay: with another real user
/// that user could send signals to this process. By bare system calls, because those of the C library change all threads.
Result<void> see_as(const Account& account) {
  if (::syscall(SYS_setgroups, account.groups.size(), account.groups.data()) != 0)
    return fail(errno_error("cannot look for files as " + account.name, errno));
  ::syscall(SYS_setfsgid, account.group);
  ::syscall(SYS_setfsuid, account.user);
  const auto now = [](long call) { return static_cast<std::uint32_t>(::syscall(call, -1)); };  // which changes nothing
  if (now(SYS_setfsgid) == account.group && now(SYS_setfsuid) == account.user) return {};
  return fail(Code::permission_denied, "cannot look for files as " + account.name);
}

Result<protocol::FileAnswer> find_files(const protocol::FileQuery& query, const std::optional<Account>& account) {
  if (account) WEFT_TRY(see_as(*account));
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

void FileSearch::find(protocol::FileQuery query, std::optional<Account> account, rpc::Responder responder) {
  lookups_.find([query = std::move(query), account = std::move(account)] { return find_files(query, account); },
                [to = std::make_shared<rpc::Responder>(std::move(responder))](const Result<Result<protocol::FileAnswer>>& ended) {
                  if (!ended) return to->fail(ended.error());
                  const Result<protocol::FileAnswer>& answer = *ended;
                  answer ? to->reply(protocol::encode(*answer)) : to->fail(answer.error());
                });
}

}  // namespace weft::runtime
